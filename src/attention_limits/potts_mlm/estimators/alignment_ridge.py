"""Ridge regression of a masked site of an alignment on the others; one replica is one training set.

The population of all replicas is the whole alignment.
"""

import functools

import numpy as np

from attention_limits.pipeline.points import collect
from attention_limits.potts_mlm.alignment_ridge import errors, population
from attention_limits.potts_mlm.families import sequence_weights
from attention_limits.potts_mlm.replica import saddle_point


def run(spec, streams):
    """Errors by replica theory for the spectrum of the alignment, and simulated ones (see `variables`).

    All ridges of a point (masked, samples, replica) share the training sequences.
    """
    ridges = spec["grid"]["ridge"]

    @functools.lru_cache(maxsize=1)
    def masked_population(masked):
        data = spec["data"](spec["replicas"][0])
        states = np.concatenate([data.training_states.values, data.test_states.values])
        # In one order for every split: the population is the same for all replicas.
        states = states[np.lexsort(states.T)]
        return population(states, sequence_weights(states, spec["solver"]["identity"]), data.sizes["color"], masked - 1)

    @functools.cache
    def simulated(masked, samples, replica):
        found = masked_population(masked)
        rng = streams.generator("ridge", replica, masked=masked, samples=samples)
        return errors(found, samples, ridges, rng)

    def compute(at, replica):
        masked, samples = int(at["masked"]), int(at["samples"])
        found = masked_population(masked)
        inputs = found.inputs.shape[1]
        theory = saddle_point(found.spectrum, at["ridge"], samples / inputs)
        generalization, training = simulated(masked, samples, replica)
        place = ridges.index(at["ridge"])
        return {
            "spectrum_generalization_error": theory.generalization,
            "spectrum_training_error": theory.training,
            "alignment_generalization_error": generalization[place],
            "alignment_training_error": training[place],
            "masked_noise": found.noise,
            "masked_variance": found.probabilities @ np.sum(found.outputs**2, axis=1),
            "inputs": inputs,
            "directions": np.count_nonzero(found.spectrum.values),
        }

    return collect(spec, compute, {})
