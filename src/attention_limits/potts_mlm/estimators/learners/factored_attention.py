"""Fits of factored attention to shared sequences, from random starts."""

import numpy as np

from attention_limits.pipeline.cubes.points import collect
from attention_limits.potts_mlm.attention.factored import fit, independent_losses, losses
from attention_limits.potts_mlm.attention.training_sets import sites_from_one, training_set
from attention_limits.potts_mlm.descent.lbfgs import stacked
from attention_limits.potts_mlm.descent.minima import of_starts
from attention_limits.potts_mlm.potts.recovery import contact_precision, full_error, site_error

_PER_START = (
    "objective",
    "training_loss",
    "test_loss",
    "site_error",
    "full_error",
    "site_precision",
    "gradient_norm",
    "iterations",
    "converged",
)
_DIMS = {
    **dict.fromkeys(_PER_START, ("attention", "start")),
    **dict.fromkeys(("chosen", "agreeing_starts", "confirmed", "excess_loss", "excess_error"), ("attention",)),
    "attention_map": ("attention", "site", "site_other"),
    "value_map": ("attention", "color", "color_other"),
}


def run(spec, streams):
    """Losses and errors of every start, and the map of the start with the smallest objective (see `variables`).

    Errors and excess loss are missing where the data have no true couplings, as an alignment.
    """
    solver = spec["solver"]

    def compute(at, replica):
        data = spec["data"](replica, **at)
        sequences = training_set(streams, data, replica, at, at["samples"])
        rng = streams.generator("start", replica)
        found = [_all_starts(kind, sequences, data, at["ridge"], solver, rng) for kind in solver.attentions]
        independent = independent_losses(sequences, data.test_states.values, data.sizes["color"])
        return {**stacked(found), "independent_loss": independent.mean()}

    return sites_from_one(collect(spec, compute, _DIMS, {"attention": np.array(solver.attentions)}))


def _all_starts(attention, sequences, data, ridge, solver, rng):
    """All starts of one kind of attention: {variable: array}."""
    test = data.test_states.values
    fits = [fit(sequences, data.sizes["color"], child, attention, ridge, solver) for child in rng.spawn(solver.starts)]
    found = of_starts(fits)
    chosen = found["chosen"]
    tested = [losses(item.attention, item.values, test).mean(axis=1) for item in fits]
    return {
        **found,
        "test_loss": [loss.mean() for loss in tested],
        "attention_map": fits[chosen].attention,
        "value_map": fits[chosen].values,
        **_against_the_truth(fits, tested[chosen], data),
    }


def _against_the_truth(fits, chosen_loss, data):
    """Errors of the couplings per start; excess of the loss (n,) of the chosen start over that of the true conditionals."""
    if "couplings" not in data:
        missing = np.full(len(fits), np.nan)
        return {
            **dict.fromkeys(("site_error", "full_error", "site_precision"), missing),
            "excess_loss": np.nan,
            "excess_error": np.nan,
        }
    J, U, beta = data.couplings.values, data.color_couplings.values, float(data.beta)
    excess = chosen_loss - losses(beta * J, U, data.test_states.values).mean(axis=1)
    return {
        "site_error": [site_error(item.attention, J) for item in fits],
        "full_error": [full_error(item.attention, item.values, J, U, beta) for item in fits],
        "site_precision": [contact_precision(item.attention, J) for item in fits],
        "excess_loss": excess.mean(),
        "excess_error": excess.std(ddof=1) / np.sqrt(len(excess)),
    }
