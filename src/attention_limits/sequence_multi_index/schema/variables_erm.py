"""Variables of empirical risk minimisation.

q, m, mu, V, V_hat, m_hat, g and omega are those of `erm.state_evolution`; sigma is the standard deviation of a component of a
token, 1 by default.
"""

from attention_limits.pipeline.base.registry import Coordinate, Variable

_PRIOR = "in units of the prior variance of a weight of the target"
_SOURCE = "replica-symmetric state evolution of empirical risk minimisation, `erm.state_evolution`"
_NODES = (
    "(s^2 / 4 + b^2)^(1/2), s the standard deviation over the four quarters of the nodes, b the difference of their mean to the "
    "value of all nodes"
)
_FLAG, _STOP, _PAIR = "true or false", "stopping rule of the iteration", ("layer", "layer_star")
_STARTS = "only with `further_starts`"

COORDINATES = (
    Coordinate("ridge", "ridge", "λ", "strength of λ/2 |W|², added to the sum of the losses of all samples"),
    Coordinate("layer_other", "layer of the student", "l'", "as layer"),
    Coordinate(
        "omega",
        "weight of the positional attention",
        "ω",
        "y = (1 - omega) softmax_rows(beta h*^T h*) + omega A, fields h* of rows by tokens",
    ),
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
        "student_norm", ("layer", "layer_other"), "overlap of the student's weights with themselves", "q/σ²", _PRIOR,
        "q / sigma^2 = W W^T / D",
    ),
    Variable(
        "target_norm", ("layer_star", "layer_star_other"), "overlap of the target's weights with themselves", "R", _PRIOR,
        "W* W*^T / D of the drawn target",
    ),
    Variable(
        "susceptibility", ("layer", "layer_other"), "susceptibility of the student's weights", "V/σ²",
        "response of a weight to a field of its component",
        "V / sigma^2 = (lambda I + sigma^2 V_hat)^-1, V_hat = -alpha E sum_a dg_a/domega_a; GAMP: E is the mean over the samples",
    ),
    Variable(
        "objective", (), "training objective at the minimum", "e", "per dimension, ridge included",
        "L / D, L = sum_i l(y_i, h_i) + lambda / 2 |W|^2 over the samples i",
    ),
    Variable(
        "free_energy", (), "replica-symmetric free energy", "f", "per dimension; at a fixed point it is the objective",
        _SOURCE,
    ),
    Variable(
        "test_loss_node_error", (), "error of the test loss from the finite number of nodes", "",
        "as the test loss; 0 without random nodes", _NODES,
    ),
    Variable("test_loss", (), "mean loss of a fresh sample", "ε_ℓ", "without the ridge", "E l(y, h)"),
    Variable(
        "misclassification", (), "fraction of wrong classes on fresh samples", "ε",
        "0 to 1; missing for outputs that are no classes", "P(sign h != y), or P(argmax h != argmax y)",
    ),
    Variable(
        "replicon", (), "replicon", "", "below 1: replica symmetry is locally stable",
        "spectral radius of Delta -> alpha V E[sum_ab G_ab Delta G_ab^T] V, G_ab = dg_a/domega_b",
    ),
    Variable(
        "jump_index", (), "weight of the jumps of the proximal operator", "J",
        "0 without jumps; above 0.05 the replica-symmetric numbers may be wrong by more than 3 %; below -0.05 kinks or few nodes",
        "largest eigenvalue of V^1/2 (V_hat from derivatives - V_hat from Stein's identity) V^1/2; the lowest one below -0.05",
    ),
    Variable(
        "replica_symmetric", (), "whether the replica-symmetric solution is trusted", "", _FLAG,
        "replicon < 1 and |jump index| <= 0.05",
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
        "transition_node_error", ("criterion",), "error of a transition from the finite number of nodes", "",
        "as the transition; missing where a quarter of the nodes has no transition", _NODES,
    ),
    Variable(
        "constant_loss", (), "mean loss of the best constant output", "ε_const", "in units of test_loss", "1/2 E |y - E y|^2",
    ),
    Variable(
        "transition_jump_index", ("criterion",), "largest jump index of the branches at a transition", "J",
        "above 0.05 the transition may be wrong by more than 3 %", "`jump_index` of both branches, or of the semantic one",
    ),
    Variable(
        "objective_by_start", ("init",), "training objective at the minimum from each start", "e", f"as objective; {_STARTS}",
        "L / D; which start has the smallest one over all data sets together: `readings.lowest_start`",
    ),
    Variable(
        "student_norm_by_start", ("init", "layer", "layer_other"),
        "overlap of the student's weights with themselves at the minimum from each start", "q/σ²",
        f"as student_norm; {_STARTS}", "W W^T / D",
    ),
    Variable(
        "objective_rise", ("layer",), "rise of the training objective where an overlap is held closer to zero", "",
        "relative to the minimum; only with `profile`", "e(|m| - 0.1) / e(|m|) - 1 of each row, `erm.minimisation`",
    ),
    Variable(
        "determined", (), "whether the training objective determines the overlaps", "", f"{_FLAG}; only with `profile`",
        "every objective_rise is at least 0.01",
    ),
    Variable(
        "best_ridge", (), "ridge of the smallest test loss", "λ*", "an end of the range of the search is a bound",
        "argmin over lambda of E l(y, h)",
    ),
)  # fmt: skip


def _overlap(source):
    meaning = "overlap of the student's weights with those of the target"
    return Variable("overlap", _PAIR, meaning, "m/σ²", f"{_PRIOR}: 0 nothing learned, 1 for W = W*", source)


def _objective_at_the_end():
    (shared,) = (item for item in VARIABLES if item.name == "objective")
    return Variable("objective", (), "training objective at the last weights", "e", shared.normalisation, shared.source)


_ERROR = Variable(
    "error_plug_in", (), "generalisation error of the student", "ε_plug-in",
    "summed over the entries of the output; missing unless the loss is the square", "E |y - y_student|^2, y without its noise",
)  # fmt: skip
_GRADIENT = Variable(
    "residual", (), "gradient of the training objective at the last weights", "", "relative to that of the ridge alone",
    "|grad L| / |lambda W|",
)  # fmt: skip
_OF_THEORY = (
    _overlap("m / sigma^2, m = sigma^4 Lambda^-1 m_hat R, Lambda = lambda I + sigma^2 V_hat"), _ERROR,
    Variable(
        "overlap_node_error", _PAIR, "error of the overlap from the finite number of nodes", "",
        "as the overlap; 0 without random nodes", _NODES,
    ),
    Variable(
        "residual", (), "last change per iteration", "",
        "largest change of m / sigma^2, mu, log V, and of the root of the part of q that m and mu leave, divided by sigma", _STOP,
    ),
    Variable("iterations", (), "iterations done", "", "count", _STOP),
    Variable("converged", (), "whether the residual reached the tolerance", "", _FLAG, _STOP),
    Variable(
        "resolved", (), "fraction of proximal operators whose minimum was found", "", "0 to 1",
        "Newton's method ended at the fixed point",
    ),
)  # fmt: skip
_OF_WEIGHTS = (_overlap("W W*^T / D"), _ERROR)

# Texts of these estimators, where those of the family differ.
OWN = {
    "erm_state_evolution": _OF_THEORY,
    "erm_optimal_ridge": _OF_THEORY,
    "erm_minimisation": (
        *_OF_WEIGHTS, _GRADIENT,
        Variable("iterations", (), "iterations of L-BFGS", "", "count", _STOP),
        Variable(
            "converged", (), "whether the gradient of the training objective is small", "", _FLAG,
            "|grad L| <= 10 tolerance |lambda W|, or |grad L| <= tolerance lambda",
        ),
        Variable(
            "overlap_by_start", ("init", *_PAIR), "overlap with the target at the minimum from each start", "m/σ²",
            f"as overlap; {_STARTS}", "W W*^T / D",
        ),
        Variable(
            "converged_by_start", ("init",), "whether the gradient of the training objective is small at the end from each start",
            "", f"{_FLAG}; {_STARTS}", "as converged",
        ),
    ),
    "erm_online_sgd": (
        *_OF_WEIGHTS, _objective_at_the_end(), _GRADIENT,
        Variable("iterations", (), "steps done", "", "count, one step per sample", "all samples, or until the pass diverges"),
        Variable("converged", (), "whether the pass did not diverge", "", _FLAG, "all fields stay below 1e8"),
    ),
    "erm_gamp": (
        *_OF_WEIGHTS, _objective_at_the_end(),
        Variable(
            "residual", (), "change of the weights in the last iteration", "", "root mean square, relative to the weights", _STOP,
        ),
        Variable("iterations", (), "iterations done", "", "count", _STOP),
        Variable("converged", (), "whether the residual reached the tolerance", "", _FLAG, _STOP),
    ),
}  # fmt: skip
SOURCE = (
    "Derived for this project; positional directions of Cui et al. 2024, arXiv:2402.03902; proof for P = M = 1: Vilucchio et al. "
    "2025, arXiv:2502.20003"
)
SOURCES = dict.fromkeys((*OWN, "erm_transition"), SOURCE)
