"""Gaussian expectations on scrambled Sobol nodes."""

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc


def gaussian_nodes(dimension, count, generator):
    """Owen-scrambled Sobol nodes mapped to the standard normal distribution.

    Parameters
    ----------
    dimension : int
    count : int
        Number of nodes, a power of two (the balance of the Sobol sequence is lost otherwise).
    generator : numpy.random.Generator
        Source of the scrambling: independent scramblings give independent, unbiased estimates of an expectation, whose
        spread is its error.

    Returns
    -------
    array (count, dimension)

    Raises
    ------
    ValueError
        If count is not a power of two.
    """
    if count < 1 or count & (count - 1):
        raise ValueError(f"the number of Sobol nodes must be a power of two, got {count}")
    uniform = qmc.Sobol(dimension, scramble=True, rng=generator).random(count)
    # Scrambled nodes have 30 bits: zero can occur, and would map to -infinity.
    return ndtri(np.clip(uniform, 2.0**-31, 1.0 - 2.0**-31))
