"""Population loss of a student of few tokens over the overlaps (e, m), with the Hessian at the uninformed start."""

import numpy as np

from attention_limits.pipeline.cubes.points import collect
from attention_limits.sequence_single_index.links.link import target_and_student
from attention_limits.sequence_single_index.population_loss.series import PopulationLoss


def run(spec, streams):
    """Loss on a grid with its errors, and the Hessian at (0, 0) (see `variables`)."""
    points, degree = spec["solver"].points, spec["solver"].degree
    e = np.linspace(0.0, 1.0, points)
    m = np.linspace(-1.0, 1.0, 2 * points - 1)

    def compute(at, replica):
        target, student = target_and_student({**spec["model"], **at}, spec["project"])
        loss = PopulationLoss(target, student, degree=degree)
        hessian = loss.at(0.0, 0.0).hessian
        rim = [loss.at(x, np.sqrt(1.0 - x**2)) for x in e]
        return {
            "loss": loss.surface(e, m),
            "loss_tail": max(point.tail for point in rim),
            "loss_error": max(point.error for point in rim),
            "hessian_ee": hessian[0, 0],
            "hessian_mm": hessian[1, 1],
            "hessian_em": hessian[0, 1],
        }

    return collect(spec, compute, {"loss": ("e", "m")}, {"e": e, "m": m})
