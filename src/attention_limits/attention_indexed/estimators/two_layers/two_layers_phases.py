"""Thresholds of two layers at each width; one replica is one scrambling of the nodes.

All widths of a replica share one table of the information: thresholds are smooth in the width, and replicas spread like their
errors.
"""

import numpy as np

from attention_limits.attention_indexed.two_layers.phases.branches import curve, phases
from attention_limits.attention_indexed.two_layers.phases.information import tabulate
from attention_limits.attention_indexed.two_layers.state_evolution import model_of, recovery_threshold
from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.numerics.probability.statistics import node_error
from attention_limits.pipeline.cubes.points import collect

# Places of the curve of fixed points that a cube holds.
_PLACES = 161
_DIMS = {"alpha_by_place": ("place",), "mmse_by_place": ("place", "layer")}


def run(spec, streams):
    """The thresholds with their errors, and the curve of fixed points (see `variables`)."""
    solver, tables = spec["solver"], {}

    def table_of(model, replica):
        if (model, replica) not in tables:
            # As for the state evolution: weights of widened nodes would scatter more than the averages.
            nodes = gaussian_nodes(
                model.node_dimension, solver.nodes, streams.generator("nodes", replica), widening=1.0
            )
            tables[model, replica] = tabulate(model, nodes, solver.degree, solver.smallest_error)
        return tables[model, replica]

    def compute(at, replica):
        point = {**spec["model"], **at}
        model = model_of(point, int(streams.generator("posterior", replica).integers(2**32)))
        ratio, recovery = point["ratio"], recovery_threshold(model, point["ratio"])
        whole, parts = table_of(model, replica)
        curves = [(table, curve(table, ratio)) for table in (whole, whole.coarser(), *parts)]
        found = [phases(*pair, ratio, recovery) for pair in curves]
        thresholds = np.array([(one.begin, one.end, one.equal) for one in found])
        errors = np.hypot(node_error(thresholds[0], thresholds[2:]), thresholds[1] - thresholds[0])
        names = ("informed_begin", "uninformed_end", "information_theoretic_threshold")
        fixed_points = curves[0][1]
        alpha, V = fixed_points.places(_PLACES)
        return {
            **dict(zip(names, thresholds[0], strict=True)),
            **{f"{name}_node_error": error for name, error in zip(names, errors, strict=True)},
            "unique": all(one.unique for one in found),
            "followed": found[0].followed,
            "resolved": whole.resolved_along(*fixed_points.V.T),
            "recovery_threshold": recovery,
            "alpha_by_place": alpha,
            "mmse_by_place": V,
        }

    return collect(spec, compute, _DIMS, {"layer": [1, 2]})
