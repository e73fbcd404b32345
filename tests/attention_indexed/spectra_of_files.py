"""Laws of eigenvalues of a file, for the tests of priors."""

import numpy as np

from attention_limits.attention_indexed.priors.spectra import mixture, of_density, of_values


def semicircle(ratio):
    return of_density(lambda x: np.sqrt(4.0 - x**2), -2.0, 2.0)


def spiked(ratio):
    """A share `ratio` of eigenvalues at 3 beside a semicircle of radius one."""
    bulk = of_density(lambda x: np.sqrt(1.0 - x**2), -1.0, 1.0, pieces=100)
    return mixture([bulk, of_values([3.0])], [1.0 - ratio, ratio])


def constant(ratio):
    return of_values([2.0, 2.0])


def number(ratio):
    return 2.0


def drawn_anew(ratio):
    return of_values(np.random.default_rng().standard_normal(5))
