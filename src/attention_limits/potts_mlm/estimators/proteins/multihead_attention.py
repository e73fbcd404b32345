"""Fits of attention with fields and heads to an alignment, and the contacts that they find; one replica is one split."""

import numpy as np

from attention_limits.pipeline.cubes.points import collect
from attention_limits.potts_mlm.attention.pair import losses, site_frequencies
from attention_limits.potts_mlm.attention.training_sets import sites_from_one
from attention_limits.potts_mlm.potts.contacts import contact_scores, found_precision, joint_model
from attention_limits.potts_mlm.proteins.alignment import Alphabet
from attention_limits.potts_mlm.proteins.fits import fit_point
from attention_limits.potts_mlm.proteins.statistics import unseen_weights, weighted

_PER_START = ("objective", "training_loss", "test_loss", "gradient_norm", "iterations", "converged")
_DIMS = {
    **dict.fromkeys((f"pair_{name}" for name in _PER_START), ("start",)),
    "contact_score": ("site", "site_other"),
    "precision": ("rank",),
}


def run(spec, streams):
    """Losses of every start; contact scores and precision of the start with the smallest objective (see `variables`)."""
    solver = spec["solver"]
    gap = Alphabet(spec["reads"]["model"]["alphabet"]).gap
    full_fits = {}

    def compute(at, replica):
        data = spec["data"](replica, **at)
        found = fit_point(spec, streams, data, at, replica, full_fits)
        test = data.test_states.values
        weights = unseen_weights(test, data.training_states.values, solver.identity)
        starts = found.described("pair_")
        best = found.starts[starts["pair_chosen"]]
        scores = contact_scores(joint_model(best.fields, best.couplings)[1], gap)
        frequency = site_frequencies(found.sequences, found.weights, data.sizes["color"], solver.pseudo_count)
        independent = -np.log(frequency[np.arange(test.shape[1]), test])
        return {
            **starts,
            "pair_test_loss": [weighted(losses(item.fields, item.couplings, test), weights) for item in found.starts],
            "pair_parameters": found.shape.size,
            "independent_test_loss": weighted(independent, weights),
            "effective_samples": found.weights.sum(),
            "effective_test_samples": weights.sum(),
            "contact_score": scores,
            "precision": found_precision(spec, data, scores),
        }

    return sites_from_one(collect(spec, compute, _DIMS, {"rank": np.arange(1, solver.ranks + 1)}))
