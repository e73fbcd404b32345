"""Full pseudo-likelihood with site fields, fitted to shared sequences: the largest model of the family, and convex."""

from types import SimpleNamespace

import numpy as np

from attention_limits.pipeline.cubes.points import collect
from attention_limits.potts_mlm.attention.pair import fit, losses
from attention_limits.potts_mlm.attention.pair_parameters import Ridge, Shape
from attention_limits.potts_mlm.attention.training_sets import training_set, true_couplings
from attention_limits.potts_mlm.potts.contacts import contact_scores, joint_model
from attention_limits.potts_mlm.potts.recovery import contact_precision

# Sequences that are added to the site frequencies of the start; the fit is convex.
PSEUDO_COUNT = 1.0


def run(spec, streams):
    """Test loss, precision of the contacts and convergence (see `variables`)."""
    solver = spec["solver"]
    ridge = Ridge(solver.field_ridge, solver.coupling_ridge)
    settings = SimpleNamespace(**dict(solver), pseudo_count=PSEUDO_COUNT)

    def compute(at, replica):
        data = spec["data"](replica, **at)
        sequences = training_set(streams, data, replica, at, at["samples"])
        shape = Shape(sequences.shape[1], data.sizes["color"], 0, full=True)
        found = fit(sequences, np.ones(len(sequences)), shape, ridge, streams.generator("start", replica), settings)
        scores = contact_scores(joint_model(found.fields, found.couplings)[1], None)
        return {
            "pseudo_likelihood_loss": losses(found.fields, found.couplings, data.test_states.values).mean(),
            "pseudo_likelihood_precision": contact_precision(np.maximum(scores, 0.0), true_couplings(data)),
            "pseudo_likelihood_converged": found.descent.converged,
        }

    return collect(spec, compute, {})
