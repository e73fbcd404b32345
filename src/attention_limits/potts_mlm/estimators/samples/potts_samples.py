"""Samples of a Potts model at the temperature of a given mean Hamming distance, shared by all learners.

Training and test sequences come from two independent tempered runs. Their agreement is the evidence for equilibrium.
"""

import numpy as np

from attention_limits.pipeline.base.errors import SpecError
from attention_limits.pipeline.cubes.points import collect
from attention_limits.potts_mlm.attention.factored import losses
from attention_limits.potts_mlm.attention.training_sets import sites_from_one
from attention_limits.potts_mlm.potts.gibbs import Ladder, Sampled, color_counts, compare
from attention_limits.potts_mlm.potts.model import make_model
from attention_limits.potts_mlm.potts.tuning import Tuning, UnreachableError, tune

# The sampled distance may deviate from the target by the tolerance plus this number of standard errors.
DEVIATIONS = 3.0
RUNS = {"run": np.array([1, 2])}
DIMS = {
    "training_states": ("sample", "site"),
    "test_states": ("test_sample", "site"),
    "frequency": ("site", "color"),
    "couplings": ("site", "site_other"),
    "color_couplings": ("color", "color_other"),
    "hamming": ("run",),
    "hamming_error": ("run",),
    "autocorrelation": ("run",),
}


def run(spec, streams):
    """States, couplings and diagnostics per distance and replica (see `variables`).

    All replicas share couplings and temperature, except where the model lists an instance for each. Raises SpecError when the
    model does not reach the distance, unless `solver.unreachable` keeps the largest inverse temperature.
    """
    instance = spec["model"]["instance"]

    def compute(at, replica):
        model = make_model(spec["model"], spec["project"], streams.root_seed, spec["family"], replica)
        own = replica if isinstance(instance, list) else 0
        tuned = _tuned(spec, model, at["distance"], streams.generator("tuning", own, **at), own)
        runs = _two_runs(model, tuned.betas, streams.generator("samples", replica, **at), spec["solver"])
        return {
            "couplings": model.J,
            "color_couplings": model.U,
            "beta": tuned.betas[-1],
            "beta_error": tuned.error,
            "rungs": len(tuned.betas),
            "swap_rate": min(item.swap_rate.min() for item in runs),
            **_described(model, tuned, runs, at["distance"], spec["solver"]),
        }

    return sites_from_one(collect(spec, compute, DIMS, RUNS))


def _tuned(spec, model, distance, rng, own) -> Tuning:
    try:
        return tune(model, distance, rng, spec["solver"])
    except UnreachableError as error:
        if spec["solver"].unreachable == "keep" and error.nearest is not None:
            return error.nearest
        instance = spec["model"]["instance"]
        number = instance[own] if isinstance(instance, list) else instance
        where = f"{spec['family']}/{spec['experiment']}: model.instance: {number}"
        raise SpecError(
            [f"{where}: {error}; take another instance, raise solver.beta_max, or keep it with solver.unreachable"]
        ) from None


def _two_runs(model, betas, rng, solver) -> list[Sampled]:
    """Two independent runs of the same length, after their warm-up."""
    ladder = Ladder(model, betas, rng, runs=2, random_sites=solver.sweep == "random")
    ladder.sample(solver.warm_up, solver.gap)
    return ladder.sample(max(solver.samples, solver.test_samples), solver.gap, "two runs")


def _described(model, tuned, runs, distance, solver) -> dict:
    """Sequences at the top of the ladder, and the diagnostics of its two runs: {variable: array}."""
    tops = [Sampled(item.states[:, -1:], item.energies[:, -1:], item.swap_rate) for item in runs]
    agreement = compare(*tops, model.colors)
    missed = abs(agreement.distance[0].mean() - distance)
    allowed = solver.tolerance + DEVIATIONS * np.hypot(*agreement.distance_error[0]) / 2.0
    training = tops[0].states[: solver.samples, 0]
    test = tops[1].states[: solver.test_samples, 0]
    return {
        "training_states": training,
        "test_states": test,
        "frequency": color_counts(training, model.colors) / len(training),
        "optimal_loss": losses(tuned.betas[-1] * model.J, model.U, test).mean(),
        "hamming": agreement.distance[0],
        "hamming_error": agreement.distance_error[0],
        "hamming_cross": agreement.cross[0],
        "autocorrelation": agreement.autocorrelation[0],
        "r_hat": agreement.r_hat[0],
        "distance_converged": missed <= allowed,
        "sample_converged": agreement.converged(solver.largest_r_hat)[0],
    }
