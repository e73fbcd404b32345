"""Variables of the attention-indexed family."""

from attention_limits.variables.record import Coordinate, Variable

SOURCE = (
    "Boncoraglio, Troiani, Erba, Zdeborova 2025, Bayes optimal learning of attention-indexed models, arXiv:2506.01582"
)

COORDINATES = (
    Coordinate(
        "alpha", "samples per squared dimension", "α", "n / d^2: number of sequences over the dimension squared"
    ),
    Coordinate("ratio", "width ratio", "ρ", "r / d: width of the attention over the dimension of a token"),
    Coordinate("tokens", "sequence length", "T", "number of tokens"),
)

_ERROR = "||S - S_hat||_F^2 / d: 1 for S_hat = sqrt(rho) I, 0 exact"

VARIABLES = ()

# Averaged gradient descent (gradient_descent).
COORDINATES += (
    Coordinate("start", "random start", "k", "number of the start on the same data, from 1"),
    Coordinate("average", "estimates averaged", "m", "number of starts whose estimates are averaged"),
    Coordinate("step", "step of gradient descent", "t", "number of updates done"),
)
VARIABLES += (
    Variable("mmse_by_start", ("start",), "error of the estimate of each start", "ε_GD", _ERROR, "Adam, last weights"),
    Variable(
        "mmse_average", ("average",), "error of the mean of m estimates", "ε_AGD", f"{_ERROR}; mean over all sets of m starts",
        "||S - (1/m) sum_k S_k||_F^2 / d",
    ),
    Variable(
        "mmse_extrapolated", (), "error of the mean of infinitely many estimates", "ε_∞", _ERROR,
        "mean over pairs k != l of tr (S_k - S)(S_l - S) / d = (m AGD_m - GD) / (m - 1)",
    ),
    Variable(
        "mmse_extrapolated_error", (), "standard error of the extrapolation over the starts", "",
        "as the extrapolation; for one data set; missing below three starts", "jackknife over the starts",
    ),
    Variable(
        "train_error", ("start", "step"), "error on the training data", "",
        "summed over the entries of the output, mean over the sequences; missing after an early stop",
        "mean_mu ||y_mu - softmax(beta h_W,mu)||_F^2",
    ),
    Variable("steps_done", (), "steps of gradient descent done", "", "count", "all, or until the tolerance of the specification"),
    Variable("finite", (), "whether the estimates stayed finite", "", "true or false", "gradient descent"),
)  # fmt: skip
