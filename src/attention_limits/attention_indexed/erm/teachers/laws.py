"""Teachers of weight decay: tied S* >= 0, S* of a file, and untied S*, square or not.

The penalty is lambda d tr S over S >= 0, or lambda d ||S||_* (nuclear norm) where S has no symmetry: for S = Q K^T / sqrt(p d) it
is the least lambda sqrt(d / p) (|Q|^2 + |K|^2) / 2. With K = M^2 equations and singular values the state evolution is that of
`linear` and `softmax` (derived in this module: the scores have the variance q, not q (1 + delta_ab), and all sums run over the
entries of matrices).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from attention_limits.attention_indexed.erm import semicircle
from attention_limits.attention_indexed.erm.spectral import Law
from attention_limits.attention_indexed.erm.teachers import unsymmetric
from attention_limits.attention_indexed.erm.teachers.table import TableLaw
from attention_limits.attention_indexed.priors.denoisers import product
from attention_limits.attention_indexed.priors.denoisers.rectangular import RectangularLaw
from attention_limits.attention_indexed.priors.pieces import Pieces
from attention_limits.attention_indexed.priors.wishart import Wishart

_X = np.polynomial.legendre.leggauss(96)[0]
_ANGLE = 0.5 * np.pi * (_X + 1.0)
# Where the trace norm of S* is read: delta of a law in closed form, and of the others.
_CLOSED, _OTHERS = 1e-6, 1e-4


@dataclass(frozen=True)
class Tied:
    """S* = W W^T / sqrt(r d), rho = r / d = `ratio`: eigenvalues in closed form."""

    ratio: float
    symmetric = True
    smallest = 1e-8

    @property
    def Q(self) -> float:
        """tr S*^2 / d."""
        return 1.0 + self.ratio

    @property
    def rank(self) -> float:
        """Rank of S* per d."""
        return min(self.ratio, 1.0)

    @property
    def trace(self) -> float:
        """Sum of the eigenvalues, or singular values, per d."""
        return float(np.sqrt(self.ratio))

    @property
    def gap(self) -> float:
        """Size of the gap of the spectrum above zero, in units of delta^2."""
        return abs(self.ratio ** (-1.0 / 3.0) - 1.0) ** 3

    @property
    def top(self) -> float:
        """Largest kappa at which a zero eigenvalue of S* stays above eps."""
        return 2.0 * np.sqrt(max(1.0 - self.ratio, 0.0))

    @property
    def prior(self) -> Wishart:
        """The law of S*."""
        return Wishart(self.ratio)

    def law(self, delta) -> Law:
        """The law of S* + delta Z at `delta` (n,)."""
        return Law(self.ratio, delta)

    def limit(self, kappa) -> semicircle.Limit:
        """The limit of vanishing noise at `kappa` (...)."""
        return semicircle.limit(self.ratio, kappa)


@dataclass(frozen=True)
class OfSpectrum:
    """Symmetric S* with a law of its eigenvalues. The student is positive, S* need not be.

    Attributes
    ----------
    prior : invariant.Invariant
    """

    prior: object
    symmetric = True
    smallest = _OTHERS

    @property
    def Q(self) -> float:
        """tr S*^2 / d."""
        return self.prior.Q

    @property
    def _positive(self) -> bool:
        return float(self.prior.law.support[0, 0]) >= 0.0

    @cached_property
    def rank(self) -> float:
        """1 minus the mass of the eigenvalue zero."""
        law = self.prior.law
        return 1.0 - float(np.sum(law.point_masses[np.abs(law.points) < 1e-12]))

    @property
    def trace(self) -> float:
        """tr S* / d."""
        return self.prior.mean

    @property
    def gap(self) -> float:
        """Square of the smallest eigenvalue that is not zero."""
        ends = np.abs(self.prior.law.support.ravel())
        return float(np.min(ends[ends > 1e-12], initial=1.0)) ** 2

    @property
    def top(self) -> float:
        """As of `Tied`."""
        return 2.0 * np.sqrt(max(1.0 - self.rank, 0.0))

    def law(self, delta) -> TableLaw:
        """The law of S* + delta Z at `delta` (n,)."""
        return TableLaw(lambda one: self.prior.pieces(one**2), delta, True)

    def limit(self, kappa) -> semicircle.Limit:
        """The limit of vanishing noise at `kappa` (...); the error is infinite where S* has negative eigenvalues."""
        found = semicircle.limit(self.rank, kappa)
        if self._positive:
            return found
        return semicircle.Limit(np.full_like(found.error, np.inf), found.theta, found.rank, found.slope)


@dataclass(frozen=True)
class Untied:
    """S* = Q K^T / sqrt(r d), square or not.

    Attributes
    ----------
    prior : product.Product or rectangular.RectangularProduct
    """

    prior: object
    symmetric = False
    Q = 1.0

    @property
    def _sides(self):
        root = np.sqrt(getattr(self.prior, "aspect", 1.0))
        return 1.0 / root, root

    @property
    def smallest(self) -> float:
        """Smallest delta at which the spectrum is integrated."""
        return _CLOSED if self._sides[0] == 1.0 else _OTHERS

    @property
    def rank(self) -> float:
        """As of `Tied`."""
        return min(self.prior.ratio, *self._sides)

    @cached_property
    def trace(self) -> float:
        """||S*||_* / d."""
        return float(self.law([self.smallest]).moments([0.0]).A[0])

    @property
    def gap(self) -> float:
        """As of `Tied`, for the width at which the rank is full."""
        return abs(min(self._sides) / self.prior.ratio - 1.0) ** 3

    @property
    def top(self) -> float:
        """As of `Tied`."""
        left, right = (max(side - self.prior.ratio, 0.0) for side in self._sides)
        return unsymmetric.top(left, right) if left * right else 0.0

    def law(self, delta) -> TableLaw:
        """The law of S* + delta Z at `delta` (n,)."""
        first, second = self._sides
        pieces = self._square if first == second else self._rectangular
        return TableLaw(pieces, delta, False, abs(second - first))

    def limit(self, kappa) -> semicircle.Limit:
        """The limit of vanishing noise at `kappa` (...)."""
        return unsymmetric.limit(self.rank, *self._sides, kappa)

    def _square(self, delta):
        low, high, _ = product.panels(self.prior.ratio, delta**2)
        keep = high - low > 1e-12
        low, high = low[keep], high[keep]
        half = 0.5 * (high - low)[:, None]
        at = product.spectrum(low[:, None] + half * (1.0 - np.cos(_ANGLE)), self.prior.ratio, delta**2)
        ends = [product.spectrum(end, self.prior.ratio, delta**2).value for end in (low, high)]
        mass = 2.0 / np.pi * at.height * at.change * half * np.sin(_ANGLE)
        return Pieces(_ANGLE, at.value, mass, at.transform, *ends)

    def _rectangular(self, delta):
        law = RectangularLaw(self.prior.ratio, self.prior.excess, delta**2)
        low, high = law.pieces.T
        half = 0.5 * np.log(high / low)[:, None]
        values = low[:, None] * np.exp(half * (1.0 - np.cos(_ANGLE)))
        xi, _, density = law.denoised(values.ravel())
        xi, density = (part.reshape(values.shape) for part in (xi, density))
        mass = density * values * half * np.sin(_ANGLE)
        return Pieces(_ANGLE, values, mass, (values - xi) / (2.0 * delta**2), low, high)


def as_teacher(teacher) -> "Tied | OfSpectrum | Untied":
    """A `teacher`; a number is rho of tied S*."""
    return Tied(float(teacher)) if isinstance(teacher, int | float) else teacher


def teacher_of(prior) -> "Tied | OfSpectrum | Untied":
    """The teacher whose S* has the law `prior` (`priors.loading.load_prior`)."""
    if isinstance(prior, Wishart):
        return Tied(prior.ratio)
    return OfSpectrum(prior) if prior.symmetric else Untied(prior)
