"""Sequence information exponents of a target for a student, by quadrature with errors."""

import numpy as np

from attention_limits.pipeline.cubes.points import collect
from attention_limits.sequence_single_index.links.link import target_and_student
from attention_limits.sequence_single_index.population_loss.information_exponent import information_exponents

NAMES = ("target", "semantic", "positional")


def run(spec, streams):
    """Exponents, whether the loss descends along them, coefficients with errors (see `variables`)."""
    order, tolerance = spec["solver"].order, spec["solver"].tolerance

    def compute(at, replica):
        point = {**spec["model"], **at}
        target, student = target_and_student(point, spec["project"])
        signs = np.where(np.arange(target.tokens) % 2, -1.0, 1.0)
        exponents = information_exponents(target, student, signs, order, point["untied"], tolerance)
        found = {}
        for name, exponent in zip(NAMES, exponents, strict=True):
            found |= {
                f"exponent_{name}": np.nan if exponent.order is None else float(exponent.order),
                f"decided_{name}": exponent.decided,
                f"descends_{name}": exponent.descends,
                f"coefficient_{name}": exponent.coefficients,
                f"coefficient_error_{name}": exponent.errors,
            }
        return found

    dims = {f"{variable}_{name}": ("order",) for variable in ("coefficient", "coefficient_error") for name in NAMES}
    return collect(spec, compute, dims)
