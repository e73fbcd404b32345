"""Samples of the exact posterior of a hardmax layer; one replica is one teacher with its data, those of `matrix_amp_sizes`."""

from attention_limits.attention_indexed.model.sizes import sizes
from attention_limits.attention_indexed.training.slice_sampling import sample_posterior
from attention_limits.pipeline.cubes.points import collect


def run(spec, streams):
    """Variance of the posterior and error of its mean, with the mixing of the chains (see `variables`)."""
    solver = spec["solver"]

    def compute(at, replica):
        point = {**spec["model"], **at}
        size = sizes(point["alpha"], point["ratio"], int(at["dimension"]))
        chains = [streams.generator(name, replica, **at) for name in ("first chain", "second chain")]
        found = sample_posterior(
            size, point["tokens"], solver.burn_in, solver.steps, solver.record_every,
            streams.generator("data", replica, **at), chains,
        )  # fmt: skip
        return {
            "posterior_variance": found.variance,
            "posterior_variance_node_error": found.variance_error,
            "mmse": found.error,
            "autocorrelation": found.autocorrelation,
            "r_hat": found.r_hat,
            "converged": found.converged,
            **size.realised(),
        }

    return collect(spec, compute, {})
