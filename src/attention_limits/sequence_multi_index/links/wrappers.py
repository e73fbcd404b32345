"""Links around a function of the fields, and around another link: correlated tokens, all tokens as one, output noise.

Tokens x_a = sum_b T^(1/2)_ab z_b with z_b standard normal in every dimension have the covariance T between tokens, the same in
each dimension. Their fields are h = k T^(1/2), k the fields of the z_b, and the theory of independent tokens holds for the link
k -> g(k T^(1/2)) (derived in this module: the change of variables is exact). Solvers and data sets hold the whitened tokens z_b.
"""

import inspect
from collections.abc import Callable, Mapping

import numpy as np

from attention_limits.sequence_multi_index.links.link import (
    NORMAL_TOKENS,
    SMALLEST_EIGENVALUE,
    Link,
    as_array,
    inference,
    require,
    require_shape,
)

# Random fields that show the sign symmetry of a function, and the largest relative change of an output that is rounding.
_FIELDS, _ROUNDING = 64, 1e-9


def reads_fields(made: Callable) -> bool:
    """Whether `made` is a function of the fields: its first argument is called h. Others make a link."""
    return not inspect.isclass(made) and next(iter(inspect.signature(made).parameters), "") == "h"


def _require_outputs(what: str, function: Callable, h: np.ndarray) -> None:
    """Raise ValueError, in which the function is called `what`, unless it gives one output (n, ...) for each of n fields h."""
    try:
        y = function(h)
        # An array with an object in it is None where the function returns nothing.
        shape = None if y is None or (np.ndim(y) == 0 and np.asanyarray(y).item() is None) else np.shape(y)
    except (Exception, SystemExit) as error:
        raise ValueError(_failure(what, h, error)) from None
    if shape is None:
        raise ValueError(f"{what} returned None; is `return` missing?")
    if shape[:1] != h.shape[:1]:
        raise ValueError(
            f"{what} must return (n, ...), an output for each of n sequences: h of shape (n, rows, tokens) = {h.shape} gave "
            f"{shape}; h[..., 0, 0] is the first row and token of all sequences, h[0] the first sequence"
        )


def _failure(what: str, h: np.ndarray, error: BaseException) -> str:
    """The message about an `error` of a function of the fields h, called `what`."""
    keys = "; the keys rows and tokens of the model give this shape, and h[..., 0, 0] is its first row and token"
    of_shape = keys if isinstance(error, IndexError | ValueError) else ""
    return f"{what} fails for h of shape (n, rows, tokens) = {h.shape}: {type(error).__name__}: {error}{of_shape}"


class FunctionOfFields(Link):
    """The link y = function(h, ...) of a plain function, for a posterior with output noise (`OutputNoise`).

    Parameters
    ----------
    function : callable
        From fields h (..., P, M) to outputs (...) or (..., *output), with NumPy functions on the last two axes of h.
    rows, tokens : int
        P and M.
    parameters : mapping
        Its other arguments.

    Raises
    ------
    ValueError
        If the function fails on fields of this shape. The sign symmetry is that of its outputs on random fields.
    """

    def __init__(self, function: Callable, rows: int, tokens: int, parameters: Mapping):
        self.rows, self.tokens = rows, tokens
        self.name = getattr(function, "__name__", "link").strip("<>")
        self._function, self._parameters = function, dict(parameters)
        h = np.random.default_rng(0).standard_normal((_FIELDS, rows, tokens))
        call = f"{self.name}({', '.join(['h', *(f'{key}={value!r}' for key, value in parameters.items())])})"
        # A function that takes the first index of h for a row fails on a single sequence at the latest.
        for fields in (h, h[:1]):
            _require_outputs(call, self.forward, fields)
        flips = np.concatenate([-np.ones((1, rows)), 1.0 - 2.0 * np.eye(rows)])
        try:
            y = self.forward(h)
            same = [np.allclose(self.forward(h * flip[:, None]), y, _ROUNDING, _ROUNDING) for flip in flips]
        except (Exception, SystemExit) as error:
            raise ValueError(_failure(call, h, error)) from None
        self.sign_symmetry = "rows" if all(same) else "all" if same[0] else "none"

    def forward(self, h):
        """Output (..., *output) of the fields (..., P, M)."""
        # A list or a number is an array too.
        return as_array(self._function(h, **self._parameters))


class CorrelatedTokens(Link):
    """A link that reads tokens of covariance T.

    Parameters
    ----------
    link : Link
        The link of the tokens themselves.
    covariance : array (M, M)
        T, positive definite with a diagonal of ones.

    Raises
    ------
    ValueError
        If it is not, or if the link has spikes.
    """

    def __init__(self, link: Link, covariance):
        require(link, {NORMAL_TOKENS})
        T = np.array(covariance, dtype=float) if len({len(row) for row in covariance}) == 1 else np.zeros((0, 0))
        if T.shape != (link.tokens, link.tokens):
            raise ValueError(
                f"token_covariance: allowed: {link.tokens} rows of {link.tokens} numbers, the number of tokens"
            )
        if not np.array_equal(T, T.T) or not np.array_equal(np.diag(T), np.ones(len(T))):
            raise ValueError(f"token_covariance: allowed: a symmetric matrix with a diagonal of ones, got {T.tolist()}")
        values, vectors = np.linalg.eigh(T)
        if values[0] < SMALLEST_EIGENVALUE:
            raise ValueError(
                f"token_covariance: allowed: a smallest eigenvalue ≥ {SMALLEST_EIGENVALUE}, got {values[0]:.3g}"
            )
        self.link, self.name, self.root = link, link.name, (vectors * np.sqrt(values)) @ vectors.T
        self._inverse = (vectors / np.sqrt(values)) @ vectors.T
        self._log_volume = 0.5 * float(np.log(values).sum())
        for name in ("rows", "tokens", "sign_symmetry", "rotations", "noise_dimension", "free_rows", "angles"):
            setattr(self, name, getattr(link, name))
        self.no_density, self.no_moments = link.no_density, link.no_moments
        if not link.no_density:
            form = "fibre" if inference(link) == "fibre" else "log_likelihood"
            setattr(self, form, getattr(self, f"_{form}"))

    def forward(self, h):
        """Output (..., *output) of the fields (..., P, M) of whitened tokens."""
        return self.link.forward(h @ self.root)

    def observe(self, h, noise=None):
        """As of the link, at the fields of the tokens themselves."""
        return self.link.observe(h @ self.root, noise)

    def log_volume(self, h):
        """As for the link, at the fields of the tokens themselves."""
        return self.link.log_volume(h @ self.root)

    @property
    def output_entropy(self):
        """The entropy of the link."""
        return self.link.output_entropy

    def _fibre(self, observed, free, angles):
        """Candidates of the rows that are not free; each carries the volume det(T)^(-1/2)."""
        candidates, log_weight = self.link.fibre(observed, free @ self.root, angles)
        return candidates @ self._inverse, log_weight - (self.rows - self.free_rows) * self._log_volume

    def _log_likelihood(self, observed, h):
        """As for the link, at the fields of the tokens themselves."""
        return self.link.log_likelihood(observed, h @ self.root)


class BlockMultiIndex(Link):
    """A link as a multi-index model of one token: its P M fields are the rows of one token in M D dimensions.

    With x = (x_1, ..., x_M) the tokens one after the other and the weights I_M kron W, a matrix of P M rows and M D columns,
    the fields are h_pa = (I_M kron W)_(a p) x / sqrt(D) (Troiani et al. 2025, arXiv:2502.00901, appendix B). Row p of token a
    is the row p M + a here, so that arrays of fields (..., P, M) and (..., P M, 1) hold the same numbers in the same order.
    Fields of covariance V kron I_M are those of the sequence model; here they may have any covariance between rows and tokens.

    Parameters
    ----------
    link : Link
    """

    tokens = 1

    def __init__(self, link: Link):
        self.link, self.name = link, link.name
        self.rows, self.free_rows = link.rows * link.tokens, link.free_rows * link.tokens
        # The sign of a row is that of its fields of all tokens together: of a single field it is not free.
        self.sign_symmetry = "none" if link.sign_symmetry == "none" else "all"
        self.angles, self.noise_dimension = link.angles, link.noise_dimension
        self.no_density, self.no_moments = link.no_density, link.no_moments
        if not link.no_density:
            form = "fibre" if inference(link) == "fibre" else "log_likelihood"
            setattr(self, form, getattr(self, f"_{form}"))

    def _fields(self, h, rows):
        """Fields (..., rows M, 1) as fields (..., rows, M) of the link; ValueError for another shape."""
        return require_shape(h, rows * self.link.tokens, 1).reshape(*h.shape[:-2], rows, self.link.tokens)

    def forward(self, h):
        """Output (..., *output) of the fields (..., P M, 1)."""
        return self.link.forward(self._fields(h, self.link.rows))

    def observe(self, h, noise=None):
        """As of the link."""
        return self.link.observe(self._fields(h, self.link.rows), noise)

    def log_volume(self, h):
        """As for the link."""
        return self.link.log_volume(self._fields(h, self.link.rows))

    @property
    def output_entropy(self):
        """The entropy of the link."""
        return self.link.output_entropy

    def _fibre(self, observed, free, angles):
        """The candidates of the link, their fields one below the other."""
        candidates, log_weight = self.link.fibre(observed, self._fields(free, self.link.free_rows), angles)
        return candidates.reshape(*candidates.shape[:3], self.rows - self.free_rows, 1), log_weight

    def _log_likelihood(self, observed, h):
        """As for the link."""
        return self.link.log_likelihood(observed, self._fields(h, self.link.rows))


class OutputNoise(Link):
    """A link whose output carries independent Gaussian noise, y = g(h) + sqrt(variance) N(0, 1) in every entry.

    Parameters
    ----------
    link : Link
        The noiseless link; only its `forward` is used.
    variance : float
        Delta > 0.

    Raises
    ------
    ValueError
        If the variance is not positive, the link already has noise, or spikes, or its `forward` gives no output for one sequence.
    """

    def __init__(self, link: Link, variance: float):
        if not (np.isfinite(variance) and variance > 0):
            raise ValueError(f"noise must be a variance > 0, got {variance!r}")
        require(link, {NORMAL_TOKENS})
        if link.noise_dimension:
            raise ValueError("this link already has noise; no more can be added")
        self.link, self.variance, self.name = link, variance, link.name
        self.rows, self.tokens, self.sign_symmetry = link.rows, link.tokens, link.sign_symmetry
        self.rotations = link.rotations
        zeros = np.zeros((1, link.rows, link.tokens))
        _require_outputs(f"{link.name}: forward(h)", link.forward, zeros)
        self._output = np.shape(link.forward(zeros))[1:]
        self.noise_dimension = int(np.prod(self._output, dtype=int))

    def forward(self, h):
        """Output without noise, array (..., *output), of fields h (..., P, M)."""
        return self.link.forward(h)

    def observe(self, h, noise=None):
        """Noisy output y (n, *output); noise (n, noise_dimension) is standard normal."""
        return self.link.forward(h) + np.sqrt(self.variance) * np.reshape(noise, (len(h), *self._output))

    def log_likelihood(self, observed, h):
        """log N(y; g(h), Delta), array (n, S), of outputs (n, *output) and fields (n, S, P, M)."""
        difference = observed[:, None] - self.link.forward(h)
        squares = np.sum(difference.reshape(*h.shape[:2], -1) ** 2, axis=2)
        return -0.5 * (squares / self.variance + self.noise_dimension * np.log(2.0 * np.pi * self.variance))

    @property
    def output_entropy(self):
        """The entropy of the noise."""
        return 0.5 * self.noise_dimension * np.log(2.0 * np.pi * np.e * self.variance)
