"""Links of one token, M = 1: multi-index models of independent samples, phase retrieval among them.

Thresholds of such models: Troiani et al. 2024, arXiv:2405.15480.
"""

from dataclasses import dataclass
from math import lgamma, log, pi

import numpy as np

from attention_limits.sequence_multi_index.links.link import HALF_LINE, LENGTH, SAMPLING, Link, require_shape


def _require_rows(rows, least=1):
    if rows < least:
        raise ValueError(f"rows must be >= {least}, got {rows}")


@dataclass(frozen=True)
class Monomial(Link):
    """y = h_1^a_1 h_2^a_2 ... h_P^a_P.

    Given the other rows the output fixes h_P^a_P, with the weight |dy / dh_P|^-1 = |h_P| / (a_P |y|): one candidate for odd a_P,
    two or none for even a_P.

    Attributes
    ----------
    exponents : sequence of int
        a_1 ... a_P, each >= 1.

    Raises
    ------
    ValueError
        If the list is empty, or an entry is not such a number.
    """

    exponents: tuple[int, ...]

    tokens = 1

    def __post_init__(self):
        if not self.exponents or any(a != int(a) or a < 1 for a in self.exponents):
            raise ValueError(f"exponents must be whole numbers >= 1, at least one, got {list(self.exponents)}")

    @property
    def rows(self):
        """P."""
        return len(self.exponents)

    @property
    def student(self):
        """The product of powers; see `Link`."""
        return "polynomial", self.exponents

    @property
    def free_rows(self):
        """All but the last."""
        return self.rows - 1

    @property
    def sign_symmetry(self):
        """rows if all exponents are even, all if their sum is."""
        if all(a % 2 == 0 for a in self.exponents):
            return "rows"
        return "none" if sum(self.exponents) % 2 else "all"

    def forward(self, h):
        """Output y, array (...), of fields h (..., P, 1)."""
        return np.prod(require_shape(h, self.rows, 1)[..., 0] ** np.array(self.exponents), axis=-1)

    def fibre(self, observed, free, angles):
        """The candidates of the last row; see `Link` and the class."""
        last = self.exponents[-1]
        y = observed[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            power = y / np.prod(free[..., 0] ** np.array(self.exponents[:-1]), axis=-1)
            size = np.abs(power) ** (1.0 / last)
            log_weight = np.log(size) - np.log(last * np.abs(y))
        possible = np.isfinite(size) & (size > 0) & ((power > 0) | (last % 2 == 1))
        log_weight = np.where(possible, log_weight, -np.inf)[..., None]
        size = np.where(possible, size, 1.0)
        if last % 2:
            return (np.sign(power) * size)[:, :, None, None, None], log_weight
        candidates = np.stack([size, -size], axis=2)[..., None, None]
        return candidates, np.repeat(log_weight, 2, axis=2)


def phase_retrieval() -> Monomial:
    """y = h^2, real phase retrieval: h = +-sqrt(y)."""
    return Monomial((2,))


def product(rows: int = 2) -> Monomial:
    """y = h_1 h_2 ... h_P with P = `rows`; ValueError unless P >= 1."""
    _require_rows(rows)
    return Monomial((1,) * rows)


@dataclass(frozen=True)
class SignProduct(Link):
    """y = sign(h_1 h_2 ... h_P): the parity of the signs.

    Attributes
    ----------
    rows : int
        P >= 1.

    Raises
    ------
    ValueError
        If P < 1.
    """

    rows: int = 2

    tokens = 1

    def __post_init__(self):
        _require_rows(self.rows)

    @property
    def posterior_methods(self):
        """Exact for one row; see `Link`."""
        return (HALF_LINE, SAMPLING) if self.rows == 1 else (SAMPLING,)

    @property
    def sign_symmetry(self):
        """all for even P, else none."""
        return "none" if self.rows % 2 else "all"

    def forward(self, h):
        """Output y = 1 or -1, array (...), of fields h (..., P, 1); h = 0 counts as positive."""
        return np.prod(np.where(require_shape(h, self.rows, 1)[..., 0] < 0, -1.0, 1.0), axis=-1)

    def log_likelihood(self, observed, h):
        """0 where the fields explain the output, -inf elsewhere; array (n, S)."""
        return np.where(self.forward(h) == observed[:, None], 0.0, -np.inf)


@dataclass(frozen=True)
class SumOfSquares(Link):
    """y = h_1^2 + ... + h_P^2: h is a point of a sphere.

    With x standard normal, h = sqrt(y) x / |x| with the weight pi^(P/2) / Gamma(P/2) y^(P/2 - 1), the surface over 2 |h|.

    Attributes
    ----------
    rows : int
        P >= 2; `phase_retrieval` is P = 1.

    Raises
    ------
    ValueError
        If P < 2.
    """

    rows: int = 2

    tokens = 1
    sign_symmetry = "rows"
    isotropic_method = LENGTH

    def __post_init__(self):
        _require_rows(self.rows, 2)

    @property
    def rotations(self):
        """P: the output is the length of h."""
        return self.rows

    @property
    def student(self):
        """The sum of squares; see `Link`."""
        return "polynomial", (0,) * self.rows

    @property
    def angles(self):
        """P, the direction."""
        return self.rows

    def forward(self, h):
        """Output y, array (...), of fields h (..., P, 1)."""
        return np.sum(require_shape(h, self.rows, 1)[..., 0] ** 2, axis=-1)

    def fibre(self, observed, free, angles):
        """The point of the sphere; see `Link` and the class."""
        direction = angles / np.linalg.norm(angles, axis=1, keepdims=True)
        candidates = np.sqrt(observed)[:, None, None] * direction
        half = 0.5 * self.rows
        log_weight = half * log(pi) - lgamma(half) + (half - 1.0) * np.log(observed)
        shape = (len(observed), len(angles), 1)
        return candidates[:, :, None, :, None], np.broadcast_to(log_weight[:, None, None], shape)


@dataclass(frozen=True)
class Committee(Link):
    """y = sign(h_1) + ... + sign(h_P), the committee machine.

    Attributes
    ----------
    rows : int
        P >= 1.

    Raises
    ------
    ValueError
        If P < 1.
    """

    rows: int = 2

    tokens = 1
    sign_symmetry = "none"

    def __post_init__(self):
        _require_rows(self.rows)

    def forward(self, h):
        """Output y, array (...), of fields h (..., P, 1); h = 0 counts as positive."""
        return np.sum(np.where(require_shape(h, self.rows, 1)[..., 0] < 0, -1.0, 1.0), axis=-1)

    def log_likelihood(self, observed, h):
        """0 where the fields explain the output, -inf elsewhere; array (n, S)."""
        return np.where(self.forward(h) == observed[:, None], 0.0, -np.inf)
