"""Priors of the weights: the law of the P weights w of one dimension, the same and independent for all D dimensions.

State evolution and GAMP observe b = Lambda w + Lambda^(1/2) z, z standard normal, Lambda the precision (P x P), with

    Z(b, Lambda) = E_w exp(b . w - w^T Lambda w / 2),    E[w | b] = d log Z / db,    Cov(w | b) = d^2 log Z / db^2,
    Q = E_b E[w | b] E[w | b]^T = E w w^T - E_b Cov(w | b),    Psi_w(Lambda) = E_b log Z,    dPsi_w / dLambda = Q / 2

(Barbier et al. 2019, Proc. Natl. Acad. Sci. 116, 5451, for P = 1; Troiani et al. 2025, arXiv:2502.00901). The weights of a row
have second moment one. `mixture` holds the laws that are not Gaussian.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from attention_limits.sequence_multi_index.links.link import Link
from attention_limits.sequence_multi_index.priors.overlaps import LARGEST_OVERLAP, clip_spectrum

_SYMMETRIES = ("none", "all", "rows")


@dataclass(frozen=True)
class WeightPosterior:
    """Posterior of the weights given n vectors b.

    Attributes
    ----------
    log_normaliser : array (n,)
        log Z(b, Lambda).
    mean : array (n, P)
    covariance : array (n, P, P)
    """

    log_normaliser: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray


class Prior(ABC):
    """The law of the weights w of one dimension.

    Attributes
    ----------
    rows : int
        P.
    mean : array (P,)
        E w.
    second_moment : array (P, P)
        E w w^T, the covariance of the teacher's fields; its diagonal is one.
    sign_symmetry : str
        Which changes of sign leave the law unchanged, as in `Link`: "rows", "all" or "none".
    rotations : bool
        Whether every rotation of the rows leaves the law unchanged.
    gaussian : bool
        Whether the weights are jointly Gaussian, of mean zero.
    isotropic : bool
        Whether all dimensions have the same law; if not, a method that gets or returns D dimensions knows that of each.
    response : float
        Factor of the overlap at a small precision, Q = response Cov(w) Lambda Cov(w) + E w E w^T; one if isotropic. `within`
        removes what no overlap has.
    entropy : float
        Entropy of w in nats; infinite if w is not discrete.
    most_coupled_rows : float
        Largest P whose averages over b are computed at a precision that is not diagonal.
    accuracy : float
        Largest error of an average over b.
    """

    rows: int
    sign_symmetry: str
    rotations = False
    gaussian = False
    isotropic = True
    response = 1.0
    entropy = np.inf
    most_coupled_rows = math.inf
    accuracy = 1e-5

    def __init__(self, mean, second_moment):
        self.mean, self.second_moment = mean, second_moment
        self.covariance = second_moment - np.outer(mean, mean)
        self.root = np.linalg.cholesky(second_moment)

    @abstractmethod
    def posterior(self, b, precision) -> WeightPosterior:
        """Posterior given b (n, P) at a precision Lambda (P, P)."""

    @abstractmethod
    def overlap(self, precision, largest=LARGEST_OVERLAP):
        """Q (P, P) at a precision Lambda (P, P), positive semi-definite; `largest` as in `clipped`."""

    @abstractmethod
    def confined(self, subspace, precision, largest=LARGEST_OVERLAP):
        """Q (P, P) at a precision (k, k) of a subspace (P, k) of the whitened rows R^-1 W, orthonormal columns.

        `largest` is as in `clipped`.
        """

    @abstractmethod
    def free_entropy(self, overlap, precision) -> float:
        """Extremum over Lambda of Psi_w(Lambda) - tr(Q Lambda) / 2, at an overlap (P, P) and its precision (P, P)."""

    @abstractmethod
    def draw(self, dimension: int, generator):
        """Weights (P, D) of D = `dimension` dimensions, drawn with `generator`, a numpy.random.Generator."""

    @abstractmethod
    def subset(self, rows) -> "Prior":
        """The law of some rows, an integer array."""

    def denoise(self, b, precision, hint=0.0, weight=1.0):
        """The step of GAMP on the weights.

        Parameters
        ----------
        b : array (P, D)
        precision : array (P, P)
            Of the data.
        hint : float
            Precision of side information on every weight.
        weight : float
            Factor of the mean, the weight of a new iterate in damped message passing.

        Returns
        -------
        mean : array (P, D)
            weight E[w | b].
        covariance : array (P, P)
            Mean of Cov(w | b) over the dimensions, which is the mean of dE[w | b] / db.
        """
        found = self.posterior(b.T, precision + hint * np.eye(len(precision)))
        return weight * found.mean.T, found.covariance.mean(axis=0)

    def start(self, overlap, dimension, generator):
        """A random estimate (P, D): the mean, and Gaussian noise with the share `overlap` of the covariance.

        D is `dimension`; `generator` is a numpy.random.Generator.
        """
        noise = np.linalg.cholesky(self.covariance) @ generator.standard_normal((self.rows, dimension))
        return self.mean[:, None] + np.sqrt(overlap) * noise

    def check_dimension(self, dimension: int) -> None:
        """ValueError if D = `dimension` has no whole number of dimensions of each law; any D by default."""
        return

    def within(self, matrix):
        """The part of a symmetric matrix (P, P) of the whitened rows that an overlap may have: by default all of it."""
        return matrix

    def uninformed(self, start):
        """Q = E w E w^T + start Cov(w), array (P, P)."""
        return np.outer(self.mean, self.mean) + start * self.covariance

    def whitened(self, overlap):
        """R^-1 Q R^-T of an overlap Q (P, P), with E w w^T = R R^T: its eigenvalues are at most one."""
        return np.linalg.solve(self.root, np.linalg.solve(self.root, overlap).T)

    def clipped(self, overlap, largest=LARGEST_OVERLAP):
        """An overlap (P, P) whose whitened eigenvalues are clipped to [0, largest]."""
        found = self.root @ clip_spectrum(self.whitened(overlap), 0.0, largest) @ self.root.T
        return 0.5 * (found + found.T)

    def recovered(self, overlap) -> bool:
        """Whether a direction of an overlap (P, P) is recovered exactly."""
        return bool(np.linalg.eigvalsh(self.whitened(overlap))[-1] >= LARGEST_OVERLAP - 1e-12)

    def symmetry(self, link: Link) -> str:
        """Which changes of sign leave link and prior unchanged."""
        return min(link.sign_symmetry, self.sign_symmetry, key=_SYMMETRIES.index)
