"""Variables of empirical risk minimisation with weight decay."""

from attention_limits.pipeline.registry import Coordinate, Variable

_PER_DIMENSION = "per dimension d; those of the teacher are 1 + rho"
_OUTPUT = "summed over the T^2 entries of the output"
_THEORY = "state evolution of weight decay, `erm.learned`"

COORDINATES = (
    Coordinate("weight_decay", "weight decay", "λ", "strength of λ d tr S, added to the sum of the squared errors"),
    Coordinate("score_noise", "score noise", "τ", "variance of the noise on a score off the diagonal"),
    Coordinate("bulk", "bulk of the spectrum", "b", "number of the bulk, from 1, descending"),
    Coordinate("place", "place in a bulk", "i", "number of the point, from 1, from the largest eigenvalue on"),
)
VARIABLES = (
    Variable(
        "mse", (), "error of the learned S", "mse", "||S - S*||_F^2 / d: 1 + rho for S = 0, 0 exact", "Q - 2 m + q",
    ),
    Variable(
        "mse_bayes", (), "Bayes-optimal error at the same alpha and noise", "mmse", "as the error of the learned S",
        "V = mmse(D), 1/D = alpha K / (V + tau)",
    ),
    Variable(
        "learned_rank", (), "rank of the learned S", "rank/d", "fraction of the eigenvalues that are not zero; 0 to 1",
        "int_eps mu; of a minimum: eigenvalues above 1e-6 times the largest one",
    ),
    Variable("learned_trace", (), "trace of the learned S", "tr S / d", "sqrt(rho) for the teacher", "eta A"),
    Variable("learned_norm", (), "norm of the learned S", "q", _PER_DIMENSION, "tr S^2 / d = eta^2 J"),
    Variable(
        "learned_overlap", (), "overlap of the learned S with the teacher", "m", _PER_DIMENSION,
        "tr S S* / d = eta (J + eps A - delta^2 Theta)",
    ),
    Variable("training_loss", (), "mean training loss of a sample", "", f"{_OUTPUT}, without the decay", "E ||y - f(u)||_F^2"),
    Variable(
        "test_loss", (), "mean loss of a fresh sample with noise", "", f"{_OUTPUT}, without the decay", "E ||y - f(omega)||_F^2"
    ),
    Variable(
        "objective", (), "training objective", "e", "per squared dimension", "alpha training_loss + lambda tr S / d"
    ),
    Variable(
        "free_energy", (), "free energy of the training", "f", "per squared dimension; equal to the objective at a fixed point",
        f"replica functional, {_THEORY}",
    ),
    Variable(
        "replicon", (), "largest eigenvalue of the replicon", "", "below 1: replica symmetry is locally stable",
        "(2 alpha E ||dDelta/domega||^2 / Theta^2) int int ((f(x) - f(y)) / (x - y))^2 mu mu",
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
        "exact_recovery", (), "samples from which on the learned S is exact, without noise, as the decay vanishes", "α_perf",
        "n / d^2; infinite with noise", "transition of trace minimisation, `erm.semicircle`",
    ),
    Variable(
        "interpolation", (), "samples up to which the learned S fits the data as the decay vanishes", "α_int", "n / d^2",
        "J - delta^2 Theta = Q + tau, K alpha = Theta, eps = 0; `erm.thresholds`",
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
