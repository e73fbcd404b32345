"""Denoising of S: the error of the posterior mean of S given S + sqrt(D) Z against D."""

import numpy as np

from attention_limits.attention_indexed.estimators.one_layer.curves import collect_curves, priors_of


def run(spec, streams):
    """The error at each D (see `variables`). Nothing is random."""
    noise, prior_of = np.array(spec["grid"]["denoising_noise"], dtype=float), priors_of(spec)
    return collect_curves(spec, "denoising_noise", ("mmse",), lambda point: {"mmse": prior_of(point).mmse(noise)})
