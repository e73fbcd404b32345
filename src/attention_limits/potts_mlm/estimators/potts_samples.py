"""Samples of a Potts model at the temperature of a given mean Hamming distance: data that learners share.

Training and test sequences are two independent tempered runs, whose agreement is the proof of equilibrium.
"""

import numpy as np

from attention_limits.pipeline.errors import SpecError
from attention_limits.potts_mlm.estimators.instances import make_model
from attention_limits.potts_mlm.estimators.points import collect
from attention_limits.potts_mlm.factored_attention import losses
from attention_limits.potts_mlm.gibbs import Ladder, Sampled, color_counts, compare
from attention_limits.potts_mlm.tuning import UnreachableError, tune

# Standard errors of the sampled distance that are allowed beyond the tolerance.
DEVIATIONS = 3.0
_SITES, _COLORS = ("site", "site_other"), ("color", "color_other")
DIMS = {
    "training_states": ("sample", "site"),
    "test_states": ("test_sample", "site"),
    "frequency": ("site", "color"),
    "couplings": _SITES,
    "color_couplings": _COLORS,
    "hamming": ("run",),
    "hamming_error": ("run",),
    "autocorrelation": ("run",),
}


def run(spec, streams):
    """States, couplings and diagnostics per distance and replica (see `variables`).

    All replicas share couplings and temperature. Raises SpecError when the instance does not reach the distance.
    """
    model = make_model(spec["model"], spec["project"], streams.root_seed, spec["family"])
    solver = spec["solver"]

    def compute(replica, distance):
        try:
            tuned = tune(
                model, distance, streams.generator("tuning", 0, distance=distance),
                samples=solver["tuning_samples"], gap=solver["tuning_gap"], rounds=solver["tuning_rounds"],
                **{key: solver[key] for key in ("tolerance", "swap_rate", "beta_max")},
            )  # fmt: skip
        except UnreachableError as error:
            where = f"{spec['family']}/{spec['experiment']}: model.instance: {spec['model']['instance']}"
            raise SpecError([f"{where}: {error}; take another instance, or raise solver.beta_max"]) from None
        runs = []
        for rng in streams.generator("samples", replica, distance=distance).spawn(2):
            ladder = Ladder(model, tuned.betas, rng, random_sites=solver["sweep"] == "random")
            ladder.sample(solver["warm_up"], solver["gap"])
            runs.append(
                ladder.sample(max(solver["samples"], solver["test_samples"]), solver["gap"], f"run {len(runs) + 1}")
            )
        # Only the top of the ladder is data.
        tops = [Sampled(item.states[:, -1:], item.energies[:, -1:], item.swap_rate) for item in runs]
        agreement = compare(*tops, model.colors)
        beta = tuned.betas[-1]
        missed = abs(agreement.distance[0].mean() - distance)
        allowed = solver["tolerance"] + DEVIATIONS * np.hypot(*agreement.distance_error[0]) / 2.0
        training = tops[0].states[: solver["samples"], 0]
        test = tops[1].states[: solver["test_samples"], 0]
        return {
            "training_states": training,
            "test_states": test,
            "frequency": color_counts(training, model.colors) / len(training),
            "couplings": model.J,
            "color_couplings": model.U,
            "beta": beta,
            "beta_error": tuned.error,
            "rungs": len(tuned.betas),
            "swap_rate": min(item.swap_rate.min() for item in runs),
            "optimal_loss": losses(beta * model.J, model.U, test).mean(),
            "distance_converged": missed <= allowed,
            "sample_converged": agreement.converged(solver["largest_r_hat"])[0],
            "hamming_cross": agreement.cross[0],
            **{name: getattr(agreement, name)[0] for name in ("autocorrelation", "r_hat")},
            "hamming": agreement.distance[0],
            "hamming_error": agreement.distance_error[0],
        }

    return collect(spec, compute, DIMS, {"run": np.array([1, 2])})
