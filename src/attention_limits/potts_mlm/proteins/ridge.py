"""Ridge regression of one masked site of an alignment on all others: population, training sets, and exact errors.

The setting is derived in this module from that of Rende et al. 2024 (arXiv:2304.07235).

The alignment itself is the population: its distinct sequences have probabilities p_n proportional to their weights, so that
covariance, teacher and generalisation error are exact. Inputs x are the one-hot vectors of the other sites and outputs y those of
the masked site, both without their means. A training set holds M distinct sequences, each with the probability M p_n. The theory
supposes Gaussian inputs and independent noise; all else of the data enters through two spectra.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from attention_limits.potts_mlm.replica.theory import Spectrum

# Eigenvalues below this fraction of the largest are zero: a one-hot vector adds up to one.
ZERO = 1e-10
# Relative rounding of M max p_n at the largest training set.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Population:
    """One masked site of an alignment.

    Attributes
    ----------
    inputs : array (n, p), p = (L - 1) C
    outputs : array (n, C)
    probabilities : array (n,)
    covariance : array (p, p)
        Sigma = sum_n p_n x_n x_n^T.
    teacher : array (p, C)
        Theta, the best linear prediction of y in the population, of smallest norm.
    noise : float
        D, the mean of |y - Theta^T x|^2.
    spectrum : Spectrum
        Of Sigma, with the teachers of all outputs together.
    """

    inputs: np.ndarray
    outputs: np.ndarray
    probabilities: np.ndarray
    covariance: np.ndarray
    teacher: np.ndarray
    noise: float
    spectrum: Spectrum


def population(states, weights, colors: int, masked: int) -> Population:
    """The population of `states` (n, L) with `weights` (n,) and C = `colors`, masked at the site number `masked` from 0."""
    onehot = (states[:, :, None] == np.arange(colors)).astype(float)
    probabilities = np.asarray(weights, dtype=float) / np.sum(weights)
    outputs = onehot[:, masked]
    inputs = np.delete(onehot, masked, axis=1).reshape(len(states), -1)
    inputs, outputs = inputs - probabilities @ inputs, outputs - probabilities @ outputs
    covariance = (inputs * probabilities[:, None]).T @ inputs
    values, vectors = np.linalg.eigh(covariance)
    positive = values > ZERO * values[-1]
    values = np.where(positive, values, 0.0)
    moments = vectors.T @ ((inputs * probabilities[:, None]).T @ outputs)
    # In the basis of the eigenvectors.
    rotated = np.where(positive, 1.0 / np.where(positive, values, 1.0), 0.0)[:, None] * moments
    power = np.sum(rotated**2, axis=1)
    noise = float(probabilities @ np.sum(outputs**2, axis=1) - values @ power)
    spectrum = Spectrum(values, np.full(len(values), 1.0 / len(values)), values, power, noise)
    return Population(inputs, outputs, probabilities, covariance, vectors @ rotated, noise, spectrum)


def largest_training_set(probabilities) -> int:
    """Most distinct sequences that can be drawn with the `probabilities` (n,): the largest M with M max p_n <= 1."""
    return int(np.floor((1.0 + _ROUNDING) / np.max(probabilities)))


def draw_distinct(probabilities, samples: int, rng: np.random.Generator) -> np.ndarray:
    """Numbers of `samples` distinct sequences, drawn by `rng`: array (samples,); n is among them with probability samples p_n.

    Systematic sampling in random order (Madow 1949, Ann. Math. Stat. 20, 333): in the unit interval sequence n has a piece of
    length p_n, and equidistant points with a common random shift choose the sequences.

    Raises
    ------
    ValueError
        If `samples` exceeds `largest_training_set`: a sequence would have to be drawn twice.
    """
    probabilities = np.asarray(probabilities)
    most = largest_training_set(probabilities)
    if samples > most:
        raise ValueError(f"{samples} distinct sequences; allowed: at most {most}, one over the largest probability")
    order = rng.permutation(len(probabilities))
    ends = np.cumsum(probabilities[order])
    # Rounding must not move the last point beyond the last piece.
    points = (rng.random() + np.arange(samples)) / samples * ends[-1]
    return order[np.minimum(np.searchsorted(ends, points, side="right"), len(order) - 1)]


def errors(found: Population, X, Y, ridges) -> tuple[np.ndarray, np.ndarray]:
    """Generalisation and training error of W = (X^T X + ridge p)^-1 X^T Y for every ridge.

    The generalisation error D + tr (W - Theta)^T Sigma (W - Theta) is exact in the population; both are summed over the outputs.

    Parameters
    ----------
    found : Population
        With p inputs and C outputs.
    X, Y : arrays (M, p), (M, C)
        Inputs and outputs of the training sequences.
    ridges : sequence of float > 0

    Returns
    -------
    generalization, training : arrays (ridges,)
    """
    samples, inputs = X.shape
    wide = samples < inputs
    gram = X @ X.T if wide else X.T @ X
    generalization, training = np.empty(len(ridges)), np.empty(len(ridges))
    for k, ridge in enumerate(ridges):
        factor = cho_factor(gram + ridge * inputs * np.eye(len(gram)), lower=True)
        W = X.T @ cho_solve(factor, Y) if wide else cho_solve(factor, X.T @ Y)
        difference = W - found.teacher
        generalization[k] = found.noise + np.vdot(difference, found.covariance @ difference)
        training[k] = np.mean(np.sum((Y - X @ W) ** 2, axis=1))
    return generalization, training
