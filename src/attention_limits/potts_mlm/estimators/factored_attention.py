"""Factored attention fitted to shared sequences, from several random starts."""

import numpy as np

from attention_limits.potts_mlm.descent import agreeing
from attention_limits.potts_mlm.estimators.points import collect, training_set
from attention_limits.potts_mlm.factored_attention import fit, full_error, independent_losses, losses, site_error

_PER_START = (
    "objective",
    "training_loss",
    "test_loss",
    "site_error",
    "full_error",
    "gradient_norm",
    "iterations",
    "converged",
)
_DIMS = {
    **dict.fromkeys(_PER_START, ("attention", "start")),
    **dict.fromkeys(("chosen", "agreeing_starts", "excess_loss", "excess_error"), ("attention",)),
    "attention_map": ("attention", "site", "site_other"),
    "value_map": ("attention", "color", "color_other"),
}


def run(spec, streams):
    """Losses and errors of every start, and the map of the one with the smallest objective (see `variables`).

    What needs the true couplings is missing where the data have none, as alignments do.
    """
    solver = spec["solver"]

    def compute(replica, *, samples, ridge, **point):
        data = spec["data"](replica, **point)
        sequences = training_set(streams, data, replica, point, int(samples))
        rng = streams.generator("start", replica)
        variants = [_variant(kind, sequences, data, ridge, solver, rng) for kind in solver["attentions"]]
        found = {name: np.array([variant[name] for variant in variants]) for name in variants[0]}
        independent = independent_losses(sequences, data.test_states.values, data.sizes["color"])
        return {**found, "independent_loss": independent.mean()}

    return collect(spec, compute, _DIMS, {"attention": np.array(solver["attentions"])})


def _variant(kind, sequences, data, ridge, solver, rng):
    """All starts of one kind of attention: {variable: array}."""
    test = data.test_states.values
    fits = [
        fit(
            sequences, data.sizes["color"], child, attention=kind, ridge=ridge, max_iterations=solver["max_iterations"],
            tolerance=solver["tolerance"],
        )
        for child in rng.spawn(solver["starts"])
    ]  # fmt: skip
    tested = [losses(item.attention, item.values, test).mean(axis=1) for item in fits]
    errors, excess = np.full((2, len(fits)), np.nan), np.full(len(test), np.nan)
    chosen = int(np.argmin([item.objective for item in fits]))
    if "couplings" in data:
        J, U, beta = data.couplings.values, data.color_couplings.values, float(data.beta)
        errors = np.array(
            [[site_error(item.attention, J), full_error(item.attention, item.values, J, U, beta)] for item in fits]
        ).T
        excess = tested[chosen] - losses(beta * J, U, test).mean(axis=1)
    return {
        "objective": [item.objective for item in fits],
        "training_loss": [item.loss for item in fits],
        "test_loss": [loss.mean() for loss in tested],
        "site_error": errors[0],
        "full_error": errors[1],
        "gradient_norm": [item.gradient_norm for item in fits],
        "iterations": [item.iterations for item in fits],
        "converged": [item.converged for item in fits],
        "chosen": chosen,
        "agreeing_starts": agreeing([item.objective for item in fits], [item.converged for item in fits]),
        "excess_loss": excess.mean(),
        "excess_error": excess.std(ddof=1) / np.sqrt(len(excess)),
        "attention_map": fits[chosen].attention,
        "value_map": fits[chosen].values,
    }
