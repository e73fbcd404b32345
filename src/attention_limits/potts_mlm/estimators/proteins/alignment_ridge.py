"""Ridge regression of a masked site of an alignment on the others; one replica is one training set.

The population of all replicas is the whole alignment.
"""

import functools

import numpy as np

from attention_limits.pipeline.base.errors import SpecError
from attention_limits.pipeline.cubes.points import collect
from attention_limits.potts_mlm.proteins.gaussian_population import GaussianSequences
from attention_limits.potts_mlm.proteins.ridge import draw_distinct, errors, largest_training_set, population
from attention_limits.potts_mlm.proteins.statistics import sequence_weights
from attention_limits.potts_mlm.replica.theory import saddle_point

# Training sequences of the alignment, of a finite Gaussian population by the same draws, and of unlimited Gaussian ones.
_SOURCES = ("alignment", "finite_gaussian", "gaussian")


def run(spec, streams):
    """Errors by replica theory for the spectrum of the alignment, and simulated ones (see `variables`).

    All ridges of a point (masked, samples, replica) share the training sequences. Raises SpecError where the alignment has too
    few distinct sequences, by their weights, for a training set.
    """
    ridges, sizes = spec["grid"]["ridge"], [int(count) for count in spec["grid"]["samples"]]
    shape = (len(ridges), len(sizes))

    @functools.lru_cache(maxsize=1)
    def distinct_sequences():
        data = spec["data"](spec["replicas"][0])
        states = np.concatenate([data.training_states.values, data.test_states.values])
        weights = sequence_weights(states, spec["solver"].identity)
        # In one order for every split: the population is the same for all replicas.
        kept, group = np.unique(states, axis=0, return_inverse=True)
        return kept, np.bincount(group.ravel(), weights), data.sizes["color"]

    @functools.lru_cache(maxsize=1)
    def of_site(masked):
        states, weights, colors = distinct_sequences()
        found = population(states, weights, colors, masked - 1)
        _check_sizes(spec, largest_training_set(found.probabilities))
        inputs = found.inputs.shape[1]
        theory = [[saddle_point(found.spectrum, ridge, count / inputs) for count in sizes] for ridge in ridges]
        predicted = {
            "spectrum_generalization_error": [[float(item.generalization) for item in row] for row in theory],
            "spectrum_training_error": [[float(item.training) for item in row] for row in theory],
            "masked_noise": np.full(shape, found.noise),
            "masked_variance": np.full(shape, found.probabilities @ np.sum(found.outputs**2, axis=1)),
            "inputs": np.full(shape, inputs),
            "directions": np.full(shape, np.count_nonzero(found.spectrum.values)),
            "distinct_sequences": np.full(shape, len(states)),
        }
        return found, GaussianSequences(found), predicted

    def compute(at, replica):
        masked = int(at["masked"])
        found, gaussian, predicted = of_site(masked)
        X, Y = gaussian.finite(streams.generator("gaussian", replica, masked=masked))
        simulated = np.empty((len(_SOURCES), 2, *shape))
        for k, count in enumerate(sizes):
            rng = streams.generator("ridge", replica, masked=masked, samples=count)
            chosen = draw_distinct(found.probabilities, count, rng)
            pairs = (found.inputs[chosen], found.outputs[chosen]), (X[chosen], Y[chosen]), gaussian.draw(count, rng)
            for source, pair in zip(simulated, pairs, strict=True):
                source[:, :, k] = errors(found, *pair, ridges)
        named = {
            f"{name}_{kind}_error": values
            for name, source in zip(_SOURCES, simulated, strict=True)
            for kind, values in zip(("generalization", "training"), source, strict=True)
        }
        return {**predicted, **named}

    # One population serves all ridges and sizes: they are dimensions of a point in `masked`.
    per_site = {**spec, "grid": {"masked": spec["grid"]["masked"]}}
    dims = dict.fromkeys(_names(), ("ridge", "samples"))
    found = collect(per_site, compute, dims, {"ridge": ridges, "samples": spec["grid"]["samples"]})
    return found.transpose(*spec["grid"], "replica")


def _names():
    """All variables of the estimator."""
    errors_of = (f"{name}_{kind}_error" for name in ("spectrum", *_SOURCES) for kind in ("generalization", "training"))
    return *errors_of, "masked_noise", "masked_variance", "inputs", "directions", "distinct_sequences"


def _check_sizes(spec, most):
    """Refuse training sets of more than `most` distinct sequences."""
    large = [count for count in spec["grid"]["samples"] if count > most]
    if large:
        where = f"{spec['family']}/{spec['experiment']}: estimators.{spec['estimator']}: grid.samples"
        reason = "the distinct sequences of the alignment that can be drawn with its sequence weights"
        raise SpecError([f"{where}: {max(large):g}: allowed: ≤ {most}, {reason}"])
