"""The map of the public program is a number in [0, 1) at every value that its class allows, or missing and flagged."""

import functools

import numpy as np
import pytest
from drawn_sequence_multi_index import FAMILY, SIGMAS, computed
from hypothesis import example, given, settings
from hypothesis import strategies as st
from specifications import node, whole_range

MAP = "published_map"
overlaps = st.floats(0.0, 0.9999)


def key(*path):
    return whole_range(node(FAMILY, MAP, *path))


@settings(max_examples=8)
@given(
    alpha=key("grid", "alpha"),
    depth=st.sampled_from([2, 3]),
    skip=key("model", "skip"),
    start=st.lists(overlaps, min_size=3, max_size=3),
    regularization=key("solver", "regularization"),
    damping=key("solver", "damping"),
    channel=st.sampled_from(["published", "exact"]),
)
@example(alpha=100.0, depth=2, skip=0.1, start=[0.9999] * 3, regularization=0.0, damping=0.0, channel="published")
@example(
    alpha=1.0, depth=3, skip=10.0, start=[0.9999, 0.0, 0.9999], regularization=0.0, damping=0.5, channel="published"
)
def test_published_map_gives_overlaps_or_nothing(alpha, depth, skip, start, regularization, damping, channel):
    solver = {
        "start": [[alpha, *start[:depth]]], "iterations": 2, "nodes": 16, "resolution": 0.25, "channel": channel,
        "regularization": regularization, "damping": damping,
    }  # fmt: skip
    found = computed(MAP, {"depth": depth, "skip": skip}, {"alpha": alpha}, solver)
    path = np.diagonal(found.overlap_trajectory.values[0], axis1=1, axis2=2)
    finite = np.isfinite(path)
    assert np.all((path[finite] >= 0) & (path[finite] <= 1))
    assert finite.all() or found.resolved.item() < 1.0
    assert 0 <= found.error_bayes.item() <= found.error_plug_in.item() * 1.05


@functools.cache
def boxes(skip):
    """Of the boxes [-5, 5]^2 and [-3, 3]^2: points z (S, 2) of Gauss and Legendre's rule, layer^-1, weights over |det|.

    64 nodes a side give the squares below to 3e-8: those of 160 nodes differ by less.
    """
    x, weight = np.polynomial.legendre.leggauss(64)
    found = []
    for reach in (5.0, 3.0):
        z = reach * np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1).reshape(-1, 2)
        scores = np.exp(z[:, :, None] * z[:, None, :])
        layer = scores / scores.sum(axis=2, keepdims=True) + skip * np.eye(2)
        weights = reach**2 * np.outer(weight, weight).ravel() / np.abs(np.linalg.det(layer))
        found.append((z, np.linalg.inv(layer), weights))
    return found


def boxed_gradient(u, omega, variance, skip):
    """int V^-1 (h - omega) w over [-5, 5]^2 over int w over [-3, 3]^2 for one output, by Gauss and Legendre's rule."""
    sums = []
    for z, inverse, weights in boxes(skip):
        total = np.zeros((3, 2))
        for sign in (1.0, -1.0):
            shift = np.stack([z, inverse @ (sign * u)], axis=1) - omega
            density = weights * np.exp(-0.5 * np.sum(shift**2 / variance[:, None], axis=(1, 2)))
            total[:2] += np.einsum("s,sla->la", density, shift / variance[:, None])
            total[2, 0] += density.sum()
        sums.append(total)
    return sums[0][:2] / sums[1][2, 0]


@pytest.mark.slow
@pytest.mark.parametrize(("skip", "start"), [(1.0, (0.2, 0.4)), (3.0, (0.05, 0.1))])
def test_published_map_is_that_of_its_boxes(skip, start):
    """One step against Gauss and Legendre's rule on plain random outputs: weights of order one wide, which no rule misses."""
    alpha, count, replicas = 0.8, 512, 8
    solver = {"start": [[alpha, *start]], "nodes": 128}
    found = computed(MAP, {"depth": 2, "skip": skip}, {"alpha": alpha}, solver, replicas=replicas)
    path = np.diagonal(found.overlap_trajectory.values[:, 0], axis1=1, axis2=2)
    rng, overlap = np.random.default_rng(151), np.array(start)
    variance = 1.0 - overlap + 1e-3
    omega = np.sqrt(overlap)[:, None] * rng.standard_normal((count, 2, 2))
    h = omega + np.sqrt(variance)[:, None] * rng.standard_normal((count, 2, 2))
    scores = np.exp(h[:, 0, :, None] * h[:, 0, None, :])
    layer = scores / scores.sum(axis=2, keepdims=True) + skip * np.eye(2)
    u = np.einsum("nab,nb->na", layer, h[:, 1])
    squares = [np.sum(boxed_gradient(*output, variance, skip) ** 2, axis=1) for output in zip(u, omega, strict=True)]
    information, error = np.mean(squares, axis=0), np.std(squares, axis=0) / np.sqrt(count)
    wanted = alpha * information / (1.0 + alpha * information)
    slope = alpha / (1.0 + alpha * information) ** 2
    spread = np.hypot(path.std(axis=0, ddof=1) / np.sqrt(replicas), slope * error)
    assert np.all(np.abs(path.mean(axis=0) - wanted) <= SIGMAS * spread + 1e-4), (path.mean(axis=0), wanted, spread)
