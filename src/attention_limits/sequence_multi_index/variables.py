"""Variables of the sequence multi-index family."""

from attention_limits.pipeline.base.registry import Coordinate, Variable
from attention_limits.sequence_multi_index.schema import variables_erm as erm
from attention_limits.sequence_multi_index.schema import variables_thresholds as atlas
from attention_limits.sequence_multi_index.schema import variables_training as training

SOURCE = (
    "Troiani, Cui, Dandi, Krzakala, Zdeborova 2025, Fundamental limits of learning in sequence multi-index models and deep "
    "attention networks, arXiv:2502.00901"
)

COORDINATES = (
    Coordinate("alpha", "samples per dimension", "α", "n / D: number of sequences over the dimension of a token"),
    Coordinate("skip", "skip strength", "c", "weight of the residual connection, in units of the attention's row sum"),
    Coordinate("beta", "inverse temperature", "β", "of the softmax, per product of two fields of unit variance"),
    Coordinate("tokens", "sequence length", "M", "number of tokens"),
    Coordinate("noise", "output noise", "Δ", "variance of the Gaussian noise on every entry of the output"),
    Coordinate(
        "participation_ratio",
        "participation ratio",
        "PR",
        "(tr Sigma)^2 / (D tr Sigma^2) of the covariance of the dimensions of a token, 1 for independent ones",
    ),
    Coordinate("step", "step of the staircase", "k", "number of the threshold, from 1"),
    Coordinate("held", "held overlap", "Q_kk", "overlap at which a layer is held, in units of the prior variance"),
    Coordinate("held_layer", "held layer", "k", "layer whose overlap is held, from 1"),
    Coordinate("sample", "sequence", "μ", "number of the sequence in its data set, from 0"),
    Coordinate("dimension", "dimension", "i", "component of a token, from 0"),
    Coordinate("batch", "batches drawn", "b", "number of batches that gradient descent has used so far"),
)

_STATE_EVOLUTION = (
    "Q = Q_hat (I + Q_hat)^-1, Q_hat = alpha E sum_a g_a g_a^T (state evolution); W_hat W^T / D (simulations)"
)
_PRIOR = "in units of the prior variance of a weight"
_PAIR = ("layer", "layer_star")

VARIABLES = (
    Variable(
        "overlap",
        _PAIR,
        "overlap of estimated and true weights",
        "Q",
        f"{_PRIOR}: 0 nothing learned, 1 exact; in simulations teacher_norm is exact, 1 up to some sqrt(2 / D); sign of a "
        "simulated layer chosen towards the teacher; one value per replica",
        _STATE_EVOLUTION,
    ),
    Variable(
        "overlap_node_error",
        _PAIR,
        "standard error of the overlap from the finite number of nodes, within one replica",
        "",
        f"{_PRIOR}; large where few and all nodes end on two sides of a jump",
        "|Q(n / w) - Q(n)| / sqrt(w - 1), on the first n / w and on all n nodes; w is the warm-up, 4 if it is 1",
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
        "entropy",
        (),
        "entropy of the outputs given the sequences",
        "h(Y | X) / D",
        "per dimension, in nats; differential for a continuous output; -inf at exact recovery without noise",
        "-Phi + alpha E log |dy / du|, at the fixed point",
    ),
    Variable(
        "mutual_information",
        (),
        "mutual information of weights and outputs given the sequences",
        "I(W; Y | X) / D",
        "per dimension, in nats; infinite for a continuous output without noise",
        "h(Y | X) / D - alpha h(y | h), at the fixed point",
    ),
    Variable(
        "error_plug_in",
        (),
        "generalisation error of the network with the estimated weights",
        "ε_plug-in",
        "summed over the entries of the output matrix; missing where fewer than 20 effective nodes carry the mean",
        "E ||g(h) - g(omega)||_F^2",
    ),
    Variable(
        "error_bayes",
        (),
        "generalisation error of the posterior mean of the output, at the fixed point",
        "ε_Bayes",
        "summed over the entries of the output matrix; missing where fewer than 20 effective nodes carry the mean",
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
        "whether the iteration ended: the residual reached the tolerance, or recovery became exact",
        "",
        "true or false; says nothing about the error of few nodes",
        "stopping rule of the iteration; state evolution: also, small changes of the end point do not grow; GAMP: also, the last "
        "iteration had at least half of the outputs",
    ),
    Variable(
        "resolved",
        (),
        "fraction of channel integrals that met their accuracy check",
        "",
        "0 to 1; for GAMP the smallest over the iterations",
        "checkerboard imbalance of the trapezoid rule below 1e-4, or effective sample size above 20",
    ),
    Variable(
        "overlap_trajectory",
        ("iteration", *_PAIR),
        "overlap per iteration, signs as they are",
        "m_t",
        _PRIOR,
        "W_hat_t W^T / D (GAMP); Q_t = Q_hat_t (I + Q_hat_t)^-1, Q_hat_t = alpha E sum_a g_a g_a^T at Q_(t-1) (state evolution)",
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
        "threshold",
        ("step",),
        "threshold of weak recovery, step by step",
        "α_k",
        "samples per dimension, n / D; 0: from any alpha on; missing: nothing more is learned on this branch",
        "alpha ||F_rest(Q(alpha))|| = 1 on the branch whose overlap is confined to the subspace learned before",
    ),
    Variable(
        "spectrum_participation_ratio",
        (),
        "participation ratio of the covariance of the dimensions of a token",
        "PR",
        "above 0, at most 1; only where the model has a covariance",
        "(tr Sigma)^2 / (D tr Sigma^2)",
    ),
    Variable(
        "threshold_error",
        ("step",),
        "standard error of a threshold on the nodes of one replica",
        "",
        "samples per dimension; that of the first step covers the bias of few nodes; missing where a half of the nodes has no "
        "threshold",
        "first step: differences of blocks of the nodes; others: half of the difference between the two halves of the nodes",
    ),
    Variable(
        "threshold_node_error",
        ("step",),
        "error of a threshold from few nodes",
        "",
        "samples per dimension, signed: its mean over replicas is the error that they share; zero for the first step",
        "mean over the two halves of the nodes, a sampled channel with half as many too, minus the threshold on all",
    ),
    Variable(
        "threshold_bound",
        ("step",),
        "alpha below which nothing is learned, where the first threshold is missing",
        "",
        "samples per dimension, n / D; missing elsewhere",
        "1 / ||F|| at zero overlap, with ||F|| raised by four norms of its noise",
    ),
    Variable(
        "direction",
        ("step", *_PAIR),
        "subspace learned at a threshold",
        "",
        "positive, of unit trace; of several rows where their thresholds are equal within errors",
        "leading eigenmatrix of F_rest, F(Q) = E_y sum_ab T_ab Q T_ab^T",
    ),
    Variable(
        "overlap_at_threshold",
        ("step", *_PAIR),
        "overlap of the subspace learned before, at the threshold",
        "Q",
        _PRIOR,
        "fixed point of the branch at the threshold",
    ),
    Variable(
        "jump",
        (),
        "alpha at which the overlap of the direction that is learned first jumps",
        "α_jump",
        "samples per dimension, n / D; missing where it does not jump, or where several directions are learned first",
        "first maximum of alpha along the branch of this direction",
    ),
    Variable(
        "jump_overlap",
        _PAIR,
        "overlap below the jump",
        "Q",
        _PRIOR,
        "fixed point of the branch at the first maximum of alpha",
    ),
    Variable(
        "layer_overlap",
        ("held_layer", "layer"),
        "overlap of every layer while one is held",
        "Q_ll",
        f"{_PRIOR}; that of the held layer is the grid value, up to the fluctuations of GAMP at finite D",
        "state evolution with Q_kk fixed for the held layer k; |W_hat_l . W_l| / |W_l|^2 (GAMP)",
    ),
    Variable(
        "layer_overlap_node_error",
        ("held_layer", "layer"),
        "error of the overlap of every layer from few nodes, while one is held",
        "",
        _PRIOR,
        "absolute difference between the fixed points on half of the nodes and on all",
    ),
    Variable(
        "held_unique",
        ("held_layer",),
        "whether an informed start ends at the same fixed point while a layer is held",
        "",
        "true or false",
        "no overlap differs by more than 0.01 between the starts at the smallest and at the largest overlap, both converged",
    ),
    Variable(
        "held_residual",
        ("held_layer",),
        "last change per iteration with a layer held",
        "",
        "relative change of Q_hat (state evolution), or of the free layers of W_hat (GAMP)",
        "stopping rule of the iteration",
    ),
    Variable(
        "held_converged",
        ("held_layer",),
        "whether state evolution or GAMP with a layer held converged",
        "",
        "true or false",
        "stopping rule of the iteration",
    ),
    Variable(
        "held_resolved",
        ("held_layer",),
        "fraction of channel integrals with a layer held that met their accuracy check",
        "",
        "0 to 1",
        "as resolved, at the fixed point",
    ),
    Variable(
        "step_converged",
        ("step",),
        "whether the branch converged at a threshold",
        "",
        "true or false; false for steps there are none of",
        "stopping rule of the iteration",
    ),
    Variable(
        "step_resolved",
        ("step",),
        "fraction of outputs at a threshold whose channel met its check",
        "",
        "0 to 1",
        "as resolved",
    ),
    Variable(
        "overlap_by_start",
        ("init", *_PAIR),
        "overlap reached from each start",
        "Q",
        _PRIOR,
        _STATE_EVOLUTION,
    ),
    Variable(
        "overlap_by_start_node_error",
        ("init", *_PAIR),
        "error of the overlap from each start from the finite number of nodes, within one replica",
        "",
        f"{_PRIOR}, signed: its mean over replicas is the error that they share; large where few and all nodes end on two sides "
        "of a jump",
        "(Q(n / 4) - Q(n)) / sqrt(3), on the first n / 4 and on all n nodes",
    ),
    Variable(
        "free_entropy_by_start",
        ("init",),
        "replica free entropy of the fixed point of each start",
        "Φ",
        "per dimension, up to alpha times a constant in Q; infinite at exact recovery from continuous outputs",
        "Phi(Q) = 1/2 tr Q + 1/2 log det(I - Q) + alpha E log Z_out",
    ),
    Variable(
        "free_entropy_by_start_node_error",
        ("init",),
        "error of the free entropy of each start from the finite number of nodes, within one replica",
        "",
        "as the free entropy, signed: its mean over replicas is the error that they share; missing or infinite at exact recovery",
        "(Phi(n / 4) - Phi(n)) / sqrt(3), each at its own fixed point, on the first n / 4 and on all n nodes",
    ),
    Variable(
        "learned_by_start",
        ("init",),
        "whether the overlap from each start differs from the one without data",
        "",
        "true or false; the phase of learning follows from all replicas together (readings.phases)",
        "root mean square of the difference of a row above a tenth of gap",
    ),
    Variable(
        "converged_by_start",
        ("init",),
        "whether the state evolution from each start converged",
        "",
        "true or false; says nothing about the error of few nodes",
        "stopping rule of the iteration; small changes of the end point do not grow",
    ),
)

# Limit of many layers (depth_scaling).
COORDINATES += (
    Coordinate("ratio", "depth over skip strength", "κ", "L / c"),
    Coordinate("depth", "number of attention layers", "L", "count"),
)
VARIABLES += (
    Variable(
        "committee_error",
        (),
        "mean squared error of the first order in 1 / c",
        "",
        "per entry of the output, mean over random fields",
        "E ||y - y_committee||_F^2 / M^2, u = (I + (1/c) sum_{l<L} S(h_l)) h_L",
    ),
    Variable(
        "large_depth_error",
        (),
        "mean squared error of the limit of infinitely many layers",
        "",
        "per entry of the output, mean over random fields",
        "E ||y - y_limit||_F^2 / M^2, u = B(L/c)^T h_L, dB/dt = B Sbar(B)^T",
    ),
)

COORDINATES += atlas.COORDINATES + training.COORDINATES + erm.COORDINATES

# Of the map of the public program of Troiani et al. 2025 (arXiv:2502.00901).
VARIABLES += (
    Variable(
        "missed",
        (),
        "probability that the cubature of the public program misses the posterior of an output",
        "",
        "0 to 1, the largest over the iterations; missing for three layers and for the exact channel",
        "||N - N_exact|| > 0.1 ||N_exact||, N = int V^-1 (h - omega) w",
    ),
)

VARIABLES += atlas.VARIABLES + training.VARIABLES + erm.VARIABLES
SOURCES = erm.SOURCES
OWN = erm.OWN | {
    "published_map": (
        Variable(
            "overlap_trajectory",
            ("iteration", "layer", "layer_star"),
            "overlap after each iteration of the map, diagonal",
            "Q_t",
            "in units of the prior variance of a weight",
            "Q_t = damping Q_(t-1) + (1 - damping) Q_hat (I + Q_hat)^-1, Q_hat = alpha E sum_a g_a g_a^T at Q_(t-1)",
        ),
        Variable(
            "resolved",
            (),
            "fraction of outputs whose quadrature met its own check",
            "",
            "0 to 1, the smallest over the iterations",
            "cubature of two layers within its tolerance, denominator of three layers above 1e-5; exact: as in state_evolution",
        ),
        Variable(
            "error_plug_in",
            (),
            "generalisation error of the network with the estimated weights, at the overlaps of the start",
            "ε_plug-in",
            "summed over the entries of the output matrix",
            "E ||g(h) - g(omega)||_F^2",
        ),
        Variable(
            "error_bayes",
            (),
            "generalisation error of the posterior mean of the output, at the overlaps of the start",
            "ε_Bayes",
            "summed over the entries of the output matrix",
            "E ||g(h) - E[g(h) | omega]||_F^2",
        ),
    ),
}
