"""Minimisation of the empirical risk by L-BFGS; one replica is one data set."""

import numpy as np

from attention_limits.sequence_multi_index.erm.minimisation import FLAT, minimise, objective_rise
from attention_limits.sequence_multi_index.erm.task import collect_fits


def run(spec, streams):
    """Overlaps, training objective and test errors of the minimum (see `variables`)."""
    solver = spec["solver"]

    def fit(training):
        loss, data, ridge = training.task.loss, training.data, training.ridge
        minima = [minimise(loss, data.outputs, data.sequences, ridge, start, solver) for start in training.starts]
        more = _by_start(minima, data) if solver.further_starts else {}
        if solver.profile:
            rise = objective_rise(minima[0], loss, data.outputs, data.sequences, ridge, data.teacher, solver)
            more |= {"objective_rise": rise, "determined": bool(np.all(rise >= FLAT))}
        return minima[0], more

    return collect_fits(spec, streams, fit, solver.further_starts)


def _by_start(minima, data):
    """The minima from all starts."""
    return {
        "objective_by_start": np.array([found.objective for found in minima]),
        "overlap_by_start": np.array([found.weights @ data.teacher.T / data.dimension for found in minima]),
        "student_norm_by_start": np.array([found.weights @ found.weights.T / data.dimension for found in minima]),
        "converged_by_start": np.array([found.converged for found in minima]),
    }
