"""A low rank of strong eigenvalues beside a bulk."""

import numpy as np

from attention_limits.attention_indexed.priors.spectra import mixture, of_density, of_values


def law(ratio):
    """A share `ratio` of the eigenvalues of S is 3; the others follow a semicircle between -1 and 1."""
    bulk = of_density(lambda x: np.sqrt(1.0 - x**2), -1.0, 1.0, pieces=200)
    return mixture([bulk, of_values([3.0])], [1.0 - ratio, ratio])
