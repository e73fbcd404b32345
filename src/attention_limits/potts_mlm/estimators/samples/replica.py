"""Replica theory of masked Gaussian sequences, and the best ridge at each number of samples per input."""

from attention_limits.pipeline.cubes.points import collect
from attention_limits.potts_mlm.replica.theory import closed_form, optimal_ridge


def run(spec, streams):
    """Errors and order parameters in closed form (see `variables`); nothing is random."""

    def compute(at, replica):
        gamma, ridge, alpha = at["gamma"], at["ridge"], at["alpha"]
        found = closed_form(gamma, ridge, alpha)
        best = optimal_ridge(gamma, alpha)
        return {
            "generalization_error": found.generalization,
            "training_error": found.training,
            "overlap": found.overlap,
            "norm": found.norm,
            "variance": found.variance,
            "optimal_ridge": best,
            "optimal_error": closed_form(gamma, best, alpha).generalization,
        }

    return collect(spec, compute, {})
