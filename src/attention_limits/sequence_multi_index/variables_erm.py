"""Variables of empirical risk minimisation."""

from attention_limits.pipeline.registry import Coordinate, Variable

_PRIOR = "in units of the prior variance of a weight of the target"
_SOURCE = "replica-symmetric state evolution of empirical risk minimisation, `erm.state_evolution`"

COORDINATES = (
    Coordinate("ridge", "ridge", "λ", "strength of λ/2 |W|², added to the sum of the losses of all samples"),
    Coordinate("layer_other", "layer of the student", "l'", "as layer"),
    Coordinate("omega", "weight of the positional attention", "ω", "T = (1 - omega) softmax(h* h*^T) + omega A"),
    Coordinate(
        "start_size", "size of the start", "", "standard deviation of the first weights; those of the target have 1"
    ),
    Coordinate("direction", "direction of the positions", "k", "number of the orthonormal direction u_k, from 1"),
    Coordinate(
        "criterion", "criterion of a transition", "", "energy: training objectives; constant: errors on fresh data"
    ),
    Coordinate("layer_star_other", "layer of the teacher", "k'", "as layer_star"),
)
VARIABLES = (
    Variable(
        "student_norm", ("layer", "layer_other"), "overlap of the student's weights with themselves", "q", _PRIOR,
        "W W^T / D",
    ),
    Variable(
        "target_norm", ("layer_star", "layer_star_other"), "overlap of the target's weights with themselves", "R", _PRIOR,
        "W* W*^T / D of the drawn target",
    ),
    Variable(
        "susceptibility", ("layer", "layer_other"), "susceptibility of the student's weights", "V",
        "response of a weight to a field of its component", "V = (lambda I + V_hat)^-1, V_hat = -alpha E sum_a dg_a/domega_a",
    ),
    Variable(
        "objective", (), "training objective at its minimum", "e", "per dimension, ridge included",
        "L / D, L = sum_mu l(y_mu, h_mu) + lambda / 2 |W|^2",
    ),
    Variable(
        "free_energy", (), "replica-symmetric free energy", "f", "per dimension; at a fixed point it is the objective",
        _SOURCE,
    ),
    Variable("test_loss", (), "mean loss of a fresh sample", "ε_ℓ", "without the ridge", "E l(y, h)"),
    Variable(
        "misclassification", (), "fraction of wrong classes on fresh samples", "ε",
        "0 to 1; missing for outputs that are no classes", "P(sign h != y), or P(argmax h != argmax y)",
    ),
    Variable(
        "replicon", (), "largest eigenvalue of the replicon", "", "below 1: replica symmetry is locally stable",
        "spectral radius of Delta -> alpha V E[sum_ab G_ab Delta G_ab^T] V, G = dg/domega",
    ),
    Variable(
        "jump_index", (), "weight of the jumps of the proximal operator", "J",
        "0 without jumps; above 0.05 the replica-symmetric numbers may be wrong by more than 3 %",
        "largest eigenvalue of V^1/2 (V_hat from derivatives - V_hat from Stein's identity) V^1/2",
    ),
    Variable(
        "replica_symmetric", (), "whether the replica-symmetric solution is trusted", "", "true or false",
        "replicon < 1 and jump index <= 0.05",
    ),
    Variable(
        "position_overlap", ("layer", "direction"), "overlap of the student's weights with the positions", "μ",
        "in units of the mean of a token of coefficient one", "W u_k / sqrt(D)",
    ),
    Variable(
        "transition", ("criterion",), "number of samples at which the semantic solution becomes better", "α_c, α_l",
        "samples per dimension, n / D; missing: not between the ends of the search, or a solution does not converge",
        "energy: equal free energies of the semantic branch and the other one; constant: the test loss of the semantic branch "
        "equals that of the best constant output",
    ),
    Variable(
        "constant_loss", (), "mean loss of the best output that reads no token", "ε_const", "in units of test_loss",
        "1/2 E |y - E y|^2",
    ),
    Variable(
        "transition_jump_index", ("criterion",), "largest jump index of the branches at a transition", "J",
        "above 0.05 the transition may be wrong by more than 3 %", "`jump_index` of both branches, or of the semantic one",
    ),
    Variable(
        "best_ridge", (), "ridge of the smallest test loss", "λ*", "an end of the range of the search is a bound",
        "argmin over lambda of E l(y, h)",
    ),
)  # fmt: skip
