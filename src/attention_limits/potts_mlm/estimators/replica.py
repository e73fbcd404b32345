"""Replica theory of masked Gaussian sequences, and the ridge that is best at each sample ratio."""

from attention_limits.potts_mlm.estimators.points import collect
from attention_limits.potts_mlm.replica import closed_form, optimal_ridge


def run(spec, streams):
    """Errors and order parameters in closed form (see `variables`); nothing here is random."""

    def compute(replica, *, gamma, ridge, alpha):
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
