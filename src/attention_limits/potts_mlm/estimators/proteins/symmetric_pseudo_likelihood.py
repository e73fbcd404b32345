"""Symmetric pseudo-likelihood of an alignment, and the contacts that it finds; one replica is one split."""

import numpy as np

from attention_limits.pipeline.cubes.points import collect
from attention_limits.potts_mlm.attention.pair import losses
from attention_limits.potts_mlm.attention.training_sets import sites_from_one, training_set
from attention_limits.potts_mlm.potts.contacts import contact_scores, found_precision, zero_sum
from attention_limits.potts_mlm.proteins.alignment import Alphabet
from attention_limits.potts_mlm.proteins.fits import ridge_of
from attention_limits.potts_mlm.proteins.statistics import sequence_weights, unseen_weights, weighted
from attention_limits.potts_mlm.proteins.symmetric import fit_symmetric

_DIMS = {"symmetric_contact_score": ("site", "site_other"), "symmetric_precision": ("rank",)}


def run(spec, streams):
    """Losses, convergence, contact scores and precision of the joint fit (see `variables`)."""
    solver = spec["solver"]
    gap = Alphabet(spec["reads"]["model"]["alphabet"]).gap

    def compute(at, replica):
        data = spec["data"](replica, **at)
        sequences = training_set(streams, data, replica, at, int(at["samples"]))
        weights = sequence_weights(sequences, solver.identity)
        ridge = ridge_of(sequences.shape[1], solver)
        found = fit_symmetric(sequences, weights, data.sizes["color"], ridge, solver)
        test = data.test_states.values
        unseen = unseen_weights(test, data.training_states.values, solver.identity)
        scores = contact_scores(zero_sum(found.fields, found.couplings)[1], gap)
        return {
            "symmetric_objective": found.descent.objective,
            "symmetric_training_loss": found.loss,
            "symmetric_test_loss": weighted(losses(found.fields, found.couplings, test), unseen),
            "symmetric_gradient_norm": found.descent.gradient_norm,
            "symmetric_converged": found.descent.converged,
            "symmetric_contact_score": scores,
            "symmetric_precision": found_precision(spec, data, scores),
        }

    return sites_from_one(collect(spec, compute, _DIMS, {"rank": np.arange(1, solver.ranks + 1)}))
