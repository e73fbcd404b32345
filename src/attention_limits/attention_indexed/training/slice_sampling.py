"""Samples of the exact posterior of a hardmax layer of small dimension, by elliptical slice sampling of the weights W.

The posterior is the normal prior of W on the set of weights with the outputs of the data. The chains start at the teacher, which
is itself a sample of the posterior, so that they are in equilibrium at once; a burn-in makes them independent of it. With S* the
teacher and S_1, S_2 the means of two chains, both numbers have the expectation of the Bayes-optimal error at this dimension:

    variance = E ||S - S*||_F^2 / (2 d),    error = tr (S_1 - S*)(S_2 - S*) / d.

The second needs no correction for the length of the chains. Derived for the model of Boncoraglio, Troiani, Erba, Zdeborova 2025
(arXiv:2506.01582); elliptical slices are those of Murray, Adams, MacKay 2010.
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.attention_indexed.model.scores import attention_matrix, draw_sequences, draw_weights, scores
from attention_limits.attention_indexed.model.sizes import Sizes
from attention_limits.attention_indexed.training.slice_sampling_kernels import chain
from attention_limits.numerics.probability.chain_diagnostics import autocorrelation_time, split_r_hat

# Largest split R-hat, and smallest number of independent samples, of chains that have mixed.
MIXED, INDEPENDENT = 1.05, 100.0


@dataclass(frozen=True)
class PosteriorSamples:
    """Results for one data set.

    Attributes
    ----------
    variance, error : float
        Of the module.
    autocorrelation : float
        Integrated autocorrelation time of the distance to the teacher, in steps, mean over the chains.
    r_hat : float
        Split R-hat of this distance over the halves of both chains.
    variance_error : float
        Standard error of `variance` from the finite length of the chains.
    converged : bool
        Whether the chains have mixed: R-hat at most `MIXED`, and `INDEPENDENT` autocorrelation times in both together.
    """

    variance: float
    error: float
    autocorrelation: float
    r_hat: float
    variance_error: float
    converged: bool


def sample_posterior(
    size: Sizes, tokens: int, burn_in: int, steps: int, record_every: int, data, generators
) -> PosteriorSamples:
    """Sample the posterior of one data set with one chain for each of two `generators` (numpy.random.Generator).

    Parameters
    ----------
    size : Sizes
    tokens : int
        M.
    burn_in, steps, record_every : int
        Steps before and after the burn-in, and steps between two samples, which divides `steps`.
    data : numpy.random.Generator
        Of teacher and sequences, in the order of `matrix_amp.draw_dataset`.

    Raises
    ------
    ValueError
        If `record_every` does not divide `steps`, or leaves fewer than four samples.
    """
    if steps % record_every or steps < 4 * record_every:
        raise ValueError(
            f"need steps that are a multiple of record_every, four or more, got {steps} and {record_every}"
        )
    teacher, S = draw_weights(size.dimension, size.rank, data)
    sequences = draw_sequences(size.count, tokens, size.dimension, data)
    best = np.argmax(scores(sequences, S), axis=2)
    scale = np.sqrt(size.rank * size.dimension)
    means, distances = [], np.empty((2, steps // record_every))
    for generator, recorded in zip(generators, distances, strict=True):
        means.append(chain(sequences, best, teacher.copy(), burn_in, steps, record_every, generator, recorded) / scale)
    errors = [mean - attention_matrix(teacher) for mean in means]
    times = [record_every * autocorrelation_time(series) for series in distances]
    time, r_hat, unit = float(np.mean(times)), split_r_hat(distances), 2.0 * scale**2 * size.dimension
    samples = 2.0 * steps / time
    return PosteriorSamples(
        float(distances.mean() / unit),
        float(np.sum(errors[0] * errors[1]) / size.dimension),
        time,
        r_hat,
        float(distances.std() / unit / np.sqrt(samples)),
        bool(r_hat <= MIXED and samples >= INDEPENDENT),
    )
