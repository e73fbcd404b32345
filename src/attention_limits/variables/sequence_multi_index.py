"""Variables of the sequence multi-index family."""

from attention_limits.variables.record import Coordinate, Variable

SOURCE = (
    "Troiani, Cui, Dandi, Krzakala, Zdeborova 2025, Fundamental limits of learning in sequence multi-index models and deep "
    "attention networks, arXiv:2502.00901"
)

COORDINATES = (
    Coordinate("alpha", "samples per dimension", "α", "n / d: number of sequences over the dimension of a token"),
    Coordinate("skip", "skip strength", "c", "weight of the residual connection, in units of the attention's row sum"),
)

_STATE_EVOLUTION = "Q = Q_hat (I + Q_hat)^-1, Q_hat = alpha E sum_a g_a g_a^T (state evolution); W_hat W^T / D (GAMP)"
_PRIOR = "in units of the prior variance of a weight"
_PAIR = ("layer", "layer_star")

VARIABLES = (
    Variable(
        "overlap",
        _PAIR,
        "overlap of estimated and true weights",
        "Q",
        f"{_PRIOR}: 0 nothing learnt, 1 exact; sign of each GAMP layer chosen towards the teacher; one value per replica",
        _STATE_EVOLUTION,
    ),
    Variable(
        "teacher_norm",
        _PAIR,
        "overlap of the true weights with themselves",
        "R",
        _PRIOR,
        "W W^T / D of the drawn teacher",
    ),
    Variable(
        "free_entropy",
        (),
        "replica free entropy at the fixed point",
        "Φ",
        "per dimension, natural logarithm, up to alpha times a constant in Q (Jacobian of u -> y)",
        "Phi(Q) = 1/2 tr Q + 1/2 log det(I - Q) + lambda / (2 (1 - lambda)) tr Q + alpha E log Z_out",
    ),
    Variable(
        "error_plug_in",
        (),
        "generalisation error of the network with the estimated weights",
        "ε_plug-in",
        "summed over the entries of the output matrix",
        "E ||g(h) - g(omega)||_F^2",
    ),
    Variable(
        "error_bayes",
        (),
        "generalisation error of the posterior mean of the output",
        "ε_Bayes",
        "summed over the entries of the output matrix",
        "E ||g(h) - E[g(h) | omega]||_F^2",
    ),
    Variable(
        "residual",
        (),
        "last change per iteration",
        "",
        "relative change of Q_hat (state evolution); largest relative change of a layer of W_hat (GAMP)",
        "stopping rule of the iteration",
    ),
    Variable(
        "iterations",
        (),
        "iterations done",
        "",
        "count, without the warm-up of the state evolution",
        "stopping rule of the iteration",
    ),
    Variable(
        "converged",
        (),
        "whether the residual reached the tolerance, or recovery became exact",
        "",
        "true or false",
        "stopping rule of the iteration",
    ),
    Variable(
        "resolved",
        (),
        "fraction of channel integrals that met their accuracy check",
        "",
        "0 to 1; for GAMP the smallest over the iterations",
        "checkerboard imbalance of the trapezoid rule below 1e-4",
    ),
    Variable(
        "overlap_trajectory",
        ("iteration", *_PAIR),
        "overlap per iteration, signs as they are",
        "m_t",
        _PRIOR,
        "W_hat_t W^T / D",
    ),
    Variable(
        "norm_trajectory",
        ("iteration", *_PAIR),
        "norm of the estimate per iteration",
        "q_t",
        _PRIOR,
        "W_hat_t W_hat_t^T / D",
    ),
    Variable(
        "variance_trajectory",
        ("iteration", *_PAIR),
        "posterior variance per iteration, as GAMP predicts it",
        "V_t",
        _PRIOR,
        "V = (I + A + lambda / (1 - lambda) I)^-1, damped like the weights",
    ),
    Variable(
        "cosine_trajectory",
        ("iteration", "layer"),
        "cosine similarity of estimate and teacher per iteration, signed",
        "cos_t",
        "-1 to 1",
        "W_hat_l . W_l / (|W_hat_l| |W_l|)",
    ),
    Variable(
        "alpha_2",
        (),
        "weak-recovery threshold of the last layer",
        "α_2",
        "samples per dimension, n / d",
        "alpha_2 = 1 / ||F||, F(Q) = E_y sum_ab T_ab Q T_ab^T at Q = 0",
    ),
    Variable(
        "alpha_1",
        (),
        "weak-recovery threshold of the first layer",
        "α_1",
        "samples per dimension, n / d; missing where layer 1 has no threshold on the branch Q_11 = 0",
        "alpha_1 f_11(Q_22*(alpha_1)) = 1, f_11 = E ||E[z_1 z_1^T | y, omega_2] - I||_F^2",
    ),
    Variable(
        "overlap_at_alpha_1",
        (),
        "overlap of the last layer where the first is learnt",
        "Q_22",
        _PRIOR,
        "Q_22*(alpha_1)",
    ),
    Variable("direction", _PAIR, "subspace learnt first", "", "unit trace", "leading eigenmatrix of F at Q = 0"),
)

# Question classification (trec).
COORDINATES += (
    Coordinate("learning_rate", "learning rate", "η", "constant step of AdamW"),
    Coordinate("epoch", "epoch", "t", "passes over the training questions done; 0 is the start"),
)
VARIABLES += (
    Variable(
        "weight_similarity",
        ("epoch", "layer"),
        "cosine similarity of a layer's weights with those at the end",
        "s_l(t)",
        "-1 to 1; 1 at the last epoch by definition",
        "tr W_l(t)^T W_l(last) / (|W_l(t)| |W_l(last)|), Frobenius norms",
    ),
    Variable(
        "product_similarity",
        ("epoch", "layer"),
        "the same of W_l W_l^T, through which alone the network depends on W_l",
        "s'_l(t)",
        "0 to 1; 1 at the last epoch by definition",
        "tr M(t) M(last) / (|M(t)| |M(last)|), M = W_l W_l^T",
    ),
    Variable(
        "weight_half_time",
        ("layer",),
        "when the similarity of the weights has gone half of its way to 1",
        "t_l",
        "epochs, linear between epochs; missing for a diverged training",
        "s_l(t_l) = (1 + s_l(0)) / 2",
        "epoch",
    ),
    Variable(
        "product_half_time",
        ("layer",),
        "when the similarity of W_l W_l^T has gone half of its way to 1",
        "t'_l",
        "epochs, linear between epochs; missing for a diverged training",
        "s'_l(t'_l) = (1 + s'_l(0)) / 2",
        "epoch",
    ),
    Variable(
        "train_accuracy",
        ("epoch",),
        "share of right answers on the training questions",
        "",
        "0 to 1",
        "the class of the largest score is the answer",
    ),
    Variable(
        "test_accuracy",
        ("epoch",),
        "share of right answers on the held-out questions",
        "",
        "0 to 1",
        "the class of the largest score is the answer",
    ),
    Variable(
        "train_loss",
        ("epoch",),
        "cross entropy on the training questions",
        "",
        "nats per question",
        "- mean log softmax(scores)_class",
    ),
    Variable(
        "majority_accuracy",
        (),
        "share of right answers on the held-out questions of the most frequent class",
        "",
        "0 to 1",
        "most frequent among the training questions",
    ),
    Variable(
        "vocabulary_size",
        (),
        "number of distinct tokens",
        "",
        "count over training and held-out questions, with padding and unknown",
        "size of the embedding",
    ),
)
