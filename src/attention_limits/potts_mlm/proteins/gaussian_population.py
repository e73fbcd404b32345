"""Gaussian sequences with covariance, teacher and noise of an alignment, for the control of its ridge regression.

Unlimited Gaussian sequences meet all suppositions of the replica theory. A finite population of as many Gaussian sequences as the
alignment has, with the same probabilities, differs from the alignment only in that its sequences are Gaussian. The construction
is derived in this module.
"""

import numpy as np
from scipy.linalg import eigh, qr

from attention_limits.potts_mlm.proteins.ridge import ZERO, Population


class GaussianSequences:
    """Inputs x of covariance Sigma, and outputs y = Theta^T x + noise with the covariance of the residuals, of a population.

    Parameters
    ----------
    population : alignment_ridge.Population
    """

    def __init__(self, population: Population):
        self._population = population
        residuals = population.outputs - population.inputs @ population.teacher
        weighted = residuals * population.probabilities[:, None]
        self._inputs = _root(population.covariance)
        self._noise = _root(weighted.T @ residuals)

    def draw(self, samples: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Inputs (samples, p) and outputs (samples, C) of independent sequences, drawn by `rng`."""
        return self._from(rng.standard_normal((samples, self._inputs.shape[1] + self._noise.shape[1])))

    def finite(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Inputs (n, p) and outputs (n, C) of as many sequences as the population has, drawn by `rng`.

        With the probabilities of the population their means vanish, and their covariance, teacher and noise are exactly those of
        the population, so its generalisation error is theirs.
        """
        probabilities = self._population.probabilities
        drawn = rng.standard_normal((len(probabilities), self._inputs.shape[1] + self._noise.shape[1]))
        root = np.sqrt(probabilities)[:, None]
        # Orthonormal columns under the probabilities. Inputs and residuals of n sequences without their means span at most n - 1
        # directions, so there are enough rows.
        columns, _ = qr(root * (drawn - probabilities @ drawn), mode="economic", overwrite_a=True, check_finite=False)
        return self._from(columns / root)

    def _from(self, normal):
        directions = self._inputs.shape[1]
        X = normal[:, :directions] @ self._inputs.T
        return X, X @ self._population.teacher + normal[:, directions:] @ self._noise.T


def _root(covariance):
    """A matrix R (n, k) with R R^T = `covariance` (n, n), k the number of directions that vary."""
    values, vectors = eigh(covariance)
    varies = values > ZERO * max(values[-1], 0.0)
    return vectors[:, varies] * np.sqrt(values[varies])
