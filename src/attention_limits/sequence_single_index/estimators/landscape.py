"""Population loss of a student of two tokens over the overlaps (e, m), with the Hessian at the uninformed start."""

import numpy as np
import xarray as xr

from attention_limits.pipeline.progress import progress
from attention_limits.sequence_single_index.estimators.links import links
from attention_limits.sequence_single_index.population_loss import PopulationLoss


def run(spec, streams):
    """Loss on a grid with its errors, and the Hessian at (0, 0) (see `variables`)."""
    degrees, solver = spec["grid"]["degree"], spec["solver"]
    e = np.linspace(0.0, 1.0, solver["points"])
    m = np.linspace(-1.0, 1.0, 2 * solver["points"] - 1)
    surface = np.empty((len(degrees), 1, len(e), len(m)))
    numbers = {name: np.empty((len(degrees), 1)) for name in ("hessian_ee", "hessian_mm", "hessian_em", "loss_error")}
    tail = np.empty((len(degrees), 1))
    for i, degree in enumerate(progress(degrees, len(degrees), spec["estimator"])):
        target, student = links({**spec["model"], "degree": degree, "tokens": 2}, spec["project"])
        loss = PopulationLoss(target, student, degree=solver["degree"])
        start = loss.at(0.0, 0.0)
        surface[i, 0] = loss.surface(e, m)
        numbers["hessian_ee"][i], numbers["hessian_mm"][i] = np.diag(start.hessian)
        numbers["hessian_em"][i] = start.hessian[0, 1]
        worst = [loss.at(x, np.sqrt(1.0 - x**2)) for x in e]
        numbers["loss_error"][i] = max(point.error for point in worst)
        tail[i] = max(point.tail for point in worst)
    dims = ("degree", "replica")
    variables = {name: (dims, values) for name, values in numbers.items()}
    return xr.Dataset(
        {"loss": ((*dims, "e", "m"), surface), "loss_tail": (dims, tail), **variables},
        {"degree": degrees, "replica": spec["replicas"], "e": e, "m": m},
    )
