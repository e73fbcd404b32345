"""Minima of the positional-semantic model for positional vectors in several directions; one replica is one scrambling."""

import functools

import numpy as np

from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.pipeline.cubes.points import collect
from attention_limits.sequence_single_index.links.link import softmax_attention
from attention_limits.sequence_single_index.positional_semantic.many_tokens import start_hessian
from attention_limits.sequence_single_index.positional_semantic.phase_diagram import (
    GLOBAL_POSITIONAL,
    SEVERAL_MINIMA,
    STEEPEST_POSITIONAL,
)
from attention_limits.sequence_single_index.positional_semantic.several_positions import falls, sphere_loss
from attention_limits.sequence_single_index.sgd.any_student import position_components

# The cube stores this many minima, the lowest ones.
STORED = 6


def run(spec, streams):
    """All local minima, the lowest first, the curvatures at the start, and the region (see `variables`)."""
    solver = spec["solver"]
    gram = spec["model"]["position"]
    places = position_components(gram, len(gram))

    @functools.cache
    def tables(replica):
        generator = streams.generator("nodes", replica)
        nodes = gaussian_nodes(2 * len(gram), solver.nodes, generator, 1.0)
        loss = sphere_loss(nodes, places, solver.degree + 1)
        return loss, start_hessian(nodes, places), falls(nodes, places)

    def compute(at, replica):
        loss, hessian, on_sphere = tables(replica)
        point = {**spec["model"], **at}
        found = loss.minima(point["omega"], point["a"])
        curvature, semantic = hessian.at(point["omega"], softmax_attention(point["a"] * places[None, :, 0])[0])
        curvatures, directions = np.linalg.eigh(curvature)
        steepest = directions[:, 0]
        lowest = found.minima[: min(STORED, len(found.minima))]
        positional = bool(lowest) and lowest[0].m ** 2 < 0.5
        region = GLOBAL_POSITIONAL * positional + STEEPEST_POSITIONAL * bool(curvatures[0] < semantic)
        return {
            "region": region + SEVERAL_MINIMA * (len(found.minima) > 1),
            "minima_found": len(found.minima),
            "minima_undecided": found.undecided,
            "minima_on_sphere": on_sphere,
            "truncation": found.truncation,
            "minimum_loss": _padded([each.value for each in lowest]),
            "minimum_semantic": _padded([each.m for each in lowest]),
            "minimum_positional": _padded([each.e for each in lowest], places.shape[1]),
            "hessian_ee": curvatures[0],
            "hessian_mm": semantic,
            "steepest_direction": steepest * np.sign(steepest[np.argmax(np.abs(steepest))]),
        }

    dims = dict.fromkeys(("minimum_loss", "minimum_semantic"), ("rank",))
    dims |= {"minimum_positional": ("rank", "direction"), "steepest_direction": ("direction",)}
    return collect(spec, compute, dims, {"direction": np.arange(1, places.shape[1] + 1)})


def _padded(values, *shape):
    """The values of the stored minima (STORED, *shape), NaN where there is none."""
    found = np.full((STORED, *shape), np.nan)
    found[: len(values)] = np.reshape(values, (len(values), *shape))
    return found
