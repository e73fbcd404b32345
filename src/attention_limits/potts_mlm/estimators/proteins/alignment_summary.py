"""Counts of the reader of an alignment, its effective number of sequences, and the known distances of its columns."""

import numpy as np

from attention_limits.pipeline.cubes.points import collect
from attention_limits.potts_mlm.attention.training_sets import sites_from_one
from attention_limits.potts_mlm.estimators.proteins.alignment import COUNTS
from attention_limits.potts_mlm.potts.contacts import kept_distances
from attention_limits.potts_mlm.proteins.alignment import Alphabet
from attention_limits.potts_mlm.proteins.statistics import sequence_weights

_DIMS = {"column": ("site",), "weighted_frequency": ("site", "color"), "pair_distance": ("site", "site_other")}


def run(spec, streams):
    """Sequences and columns that were read, dropped and kept, frequencies, distances (see `variables`).

    Distances are missing where the experiment has no file of them.
    """
    colors = len(Alphabet(spec["reads"]["model"]["alphabet"]).letters)

    def compute(at, replica):
        data = spec["data"](replica, **at)
        states = np.concatenate([data.training_states.values, data.test_states.values])
        weights = sequence_weights(states, spec["solver"].identity)
        gap = Alphabet(spec["reads"]["model"]["alphabet"]).gap
        return {
            **{name: data[name].values for name in (*COUNTS, "column")},
            "sequences_kept": len(states),
            "columns_kept": states.shape[1],
            "gap_fraction": np.mean(states == gap),
            "effective_sequences": weights.sum(),
            "weighted_frequency": np.stack([weights @ (states == a) for a in range(colors)], axis=1) / weights.sum(),
            "pair_distance": kept_distances(spec, data),
        }

    return sites_from_one(collect(spec, compute, _DIMS))
