"""Variables of empirical risk minimisation with weight decay.

The learned S has the law of eta (S* + delta Z - eps)_+, Z of the Gaussian orthogonal ensemble; mu is the law of the eigenvalues x
of S* + delta Z, and Theta the mean derivative of (x - eps)_+ (`erm.spectral`). Without symmetry Z has independent entries, and x
are singular values (`erm.teachers`). f is the output of the scores.
"""

from attention_limits.pipeline.base.registry import Coordinate, Variable

_PER_DIMENSION = "per dimension d; those of the teacher are 1 + rho, untied 1"
_OUTPUT = "summed over the M^2 entries of the output"
_THEORY = "state evolution of weight decay, `erm.estimate`"
_NODES = (
    "(s^2 / 4 + b^2)^(1/2), s the standard deviation over the four quarters of the nodes, b the difference of their mean to the "
    "value of all nodes"
)
_FLAG, _STOP = "true or false", "stopping rule of the iteration"
_PROXIMAL = "u = argmin_u ||y - f(u)||_F^2 + ||u - omega||_F^2 / (4 V)"

COORDINATES = (
    Coordinate("weight_decay", "weight decay", "λ", "strength of λ d tr S, added to the sum of the squared errors"),
    Coordinate("score_noise", "score noise", "τ", "variance of the noise on a score off the diagonal"),
    Coordinate("bulk", "bulk of the spectrum", "b", "number of the bulk, from 1, descending"),
    Coordinate("place", "place in a bulk", "i", "number of the point, from 1, from the largest eigenvalue on"),
)
VARIABLES = (
    Variable(
        "mse", (), "error of the learned S", "mse", "||S - S*||_F^2 / d: 1 + rho, untied 1, for S = 0; 0 exact", "Q - 2 m + q",
    ),
    Variable(
        "mse_node_error", (), "error of the mse of the learned S from the finite number of nodes", "",
        "as the mse; 0 without nodes", _NODES,
    ),
    Variable(
        "test_loss_node_error", (), "error of the test loss from the finite number of nodes", "",
        "as the test loss; 0 without nodes", _NODES,
    ),
    Variable(
        "mse_bayes", (), "Bayes-optimal error at the same alpha and noise", "mmse", "as the error of the learned S",
        "V = mmse(D), 1/D = alpha K / (V + tau)",
    ),
    Variable(
        "learned_rank", (), "rank of the learned S", "rank/d", "eigenvalues or singular values that are not zero, per d; 0 to 1",
        "mu(x > eps); of a minimum: eigenvalues above 1e-6 times the largest one",
    ),
    Variable(
        "learned_trace", (), "trace of the learned S; untied: sum of its singular values", "tr S / d",
        "sqrt(rho) for a tied teacher", "eta int (x - eps)_+ mu",
    ),
    Variable(
        "learned_norm", (), "norm of the learned S", "q", _PER_DIMENSION, "q = tr S^2 / d = eta^2 int (x - eps)_+^2 mu",
    ),
    Variable(
        "learned_overlap", (), "overlap of the learned S with the teacher", "m", _PER_DIMENSION,
        "m = tr S S* / d = eta (int (x - eps)_+^2 mu + eps int (x - eps)_+ mu - delta^2 Theta)",
    ),
    Variable(
        "training_loss", (), "mean training loss of a sample", "", f"{_OUTPUT}, without the decay",
        f"E ||y - f(u)||_F^2, {_PROXIMAL} (theory); ||y - f(h)||_F^2 (simulations)",
    ),
    Variable(
        "test_loss", (), "mean loss of a fresh sample with noise", "", f"{_OUTPUT}, without the decay", "E ||y - f(omega)||_F^2"
    ),
    Variable(
        "objective", (), "training objective", "e", "per squared dimension", "alpha training_loss + lambda tr S / d"
    ),
    Variable(
        "free_energy", (), "free energy of the training", "φ", "per squared dimension; equal to the objective at a fixed point",
        f"replica functional, {_THEORY}",
    ),
    Variable(
        "replicon", (), "replicon", "", "below 1: replica symmetry is locally stable",
        "(2 alpha E ||dDelta/domega||^2 / Theta^2) int int (((x - eps)_+ - (x' - eps)_+) / (x - x'))^2 mu mu, "
        f"Delta = u - omega, {_PROXIMAL}",
    ),
    Variable(
        "replica_symmetric", (), "whether the replica-symmetric solution is trusted", "", _FLAG, "replicon < 1",
    ),
    Variable(
        "spectrum_value", ("bulk", "place"), "eigenvalue of the learned S", "λ", "tr S^2 / d = q; missing bulks have none",
        "eta (x - eps)",
    ),
    Variable(
        "spectrum_density", ("bulk", "place"), "density of the eigenvalues of the learned S", "", "its integral is the rank",
        "mu(x) / eta",
    ),
    Variable(
        "exact_recovery", (), "samples above which the learned S is exact, without noise, as the decay vanishes", "α_perf",
        "n / d^2; infinite with noise", "transition of trace minimisation, `erm.semicircle`",
    ),
    Variable(
        "interpolation", (), "samples up to which the learned S fits the data as the decay vanishes", "α_int", "n / d^2",
        "int x_+^2 mu - delta^2 Theta = Q + tau, K alpha = Theta, eps = 0; `erm.thresholds`",
    ),
    Variable(
        "best_decay", (), "weight decay of the smallest error", "λ*",
        "0: the limit of vanishing decay; the ends of the search are bounds", "`erm.linear.best`, or a search",
    ),
    Variable(
        "minimum_residual", (), "change of S by one proximal step, or one undamped step of message passing", "", "relative to S",
        "||(S - t grad - t lambda d)_+ - S|| / ||S||",
    ),
    Variable("teacher_norm", (), "norm of the teacher", "Q", "1 + rho in the limit of large d", "tr S*^2 / d"),
)  # fmt: skip

_SPECTRUM = Variable(
    "eigenvalues",
    ("eigenvalue",),
    "spectrum of the learned S",
    "λ",
    "tr S^2 / d = q (learned_norm)",
    "S of the last iteration",
)
_OF_THEORY = (
    Variable(
        "residual", (), "last change per iteration", "",
        "largest change of log q, log V and log(Q + tau - m^2 / q); 0 without an iteration, as for linear scores", _STOP,
    ),
    Variable("iterations", (), "iterations done", "", "count; 0 without an iteration, as for linear scores", _STOP),
    Variable(
        "converged", (), "whether the residual reached the tolerance", "", f"{_FLAG}; true for linear scores", _STOP,
    ),
    Variable(
        "resolved", (), "fraction of proximal operators whose minimum was found", "", "0 to 1; 1 for linear scores",
        "Newton's method ended at the fixed point",
    ),
    Variable(
        "recovery_threshold", (), "samples at which the Bayes-optimal error becomes zero", "α_rec",
        "n / d^2, the same at all alpha; infinite with noise", "2 nu / K: as many equations as parameters",
    ),
)  # fmt: skip

# Texts of these estimators, where those of the family differ.
OWN = {
    "erm_state_evolution": _OF_THEORY,
    "erm_optimal_decay": _OF_THEORY,
    "erm_minimisation": (
        _SPECTRUM,
        Variable("iterations", (), "iterations of L-BFGS and proximal steps", "", "count", _STOP),
        Variable("converged", (), "whether a proximal step changes S by at most the tolerance", "", _FLAG, _STOP),
    ),
    "erm_gamp": (
        _SPECTRUM,
        Variable("iterations", (), "iterations done", "", "count", _STOP),
        Variable("converged", (), "whether an undamped step changes S by at most the tolerance", "", _FLAG, _STOP),
        Variable("diverged", (), "whether the iteration was stopped as diverging", "", _FLAG, "tr S^2 > 100 tr S*^2"),
    ),
}
SOURCE = "Boncoraglio, Erba et al. 2025, arXiv:2509.24914; Erba et al. 2025, arXiv:2505.17958"
SOURCES = dict.fromkeys(OWN, SOURCE)
