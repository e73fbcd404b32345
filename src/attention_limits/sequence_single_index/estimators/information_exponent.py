"""Sequence information exponents of a target for a student, by quadrature with errors."""

import numpy as np
import xarray as xr

from attention_limits.pipeline.progress import progress
from attention_limits.sequence_single_index.estimators.links import links
from attention_limits.sequence_single_index.information_exponent import (
    positional_exponent,
    sequence_exponent,
    target_exponent,
)


def run(spec, streams):
    """Exponents, whether the loss descends along them, coefficients with errors (see `variables`)."""
    (key, values), solver = next(iter(spec["grid"].items())), spec["solver"]
    orders = np.arange(solver["order"] + 1)
    names = ("target", "semantic", "positional")
    shape = (len(values), 1)
    exponent, decided, descends = np.full((3, *shape), np.nan), np.zeros((3, *shape), bool), np.zeros((3, *shape), bool)
    coefficients, errors = np.empty((2, 3, *shape, len(orders)))
    for i, value in enumerate(progress(values, len(values), spec["estimator"])):
        point = {**spec["model"], key: value}
        target, student = links(point, spec["project"])
        signs = np.where(np.arange(target.tokens) % 2, -1.0, 1.0)
        found = (
            target_exponent(target, solver["order"], solver["tolerance"]),
            sequence_exponent(target, student, solver["order"], point["untied"], solver["tolerance"]),
            positional_exponent(target, student, signs, solver["order"], solver["tolerance"]),
        )
        for k, item in enumerate(found):
            exponent[k, i] = np.nan if item.order is None else item.order
            decided[k, i], descends[k, i] = item.decided, item.descends
            coefficients[k, i, 0], errors[k, i, 0] = item.coefficients, item.errors
    dims = (key, "replica")
    variables = {}
    for k, name in enumerate(names):
        variables |= {
            f"exponent_{name}": (dims, exponent[k]),
            f"decided_{name}": (dims, decided[k]),
            f"descends_{name}": (dims, descends[k]),
            f"coefficient_{name}": ((*dims, "order"), coefficients[k]),
            f"coefficient_error_{name}": ((*dims, "order"), errors[k]),
        }
    return xr.Dataset(variables, {key: values, "replica": spec["replicas"], "order": orders})
