"""Minima for positional vectors in several directions: exact code at two tokens, brute force on the sphere, the loss itself."""

import functools

import numpy as np
import pytest
from ssi_tools import token_loss

from agreement import assert_mean
from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.sequence_single_index.positional_semantic import many_tokens, phase_diagram
from attention_limits.sequence_single_index.positional_semantic.several_positions import chart_point, falls, sphere_loss

pytestmark = pytest.mark.slow

ALTERNATING = np.array([[1.0], [-1.0]])
STAR = np.array([[1.0, 0.0], [-0.5, np.sqrt(0.75)], [-0.5, -np.sqrt(0.75)]])
GENERAL = np.array([[1.0, 0.0], [-0.4, 0.8], [0.3, -0.5]])


@functools.cache
def tables(name, seed=0):
    places = {"alternating": ALTERNATING, "star": STAR, "general": GENERAL}[name]
    nodes = gaussian_nodes(2 * len(places), 2**12 if len(places) == 2 else 2**9, np.random.default_rng(seed), 1.0)
    return nodes, places, sphere_loss(nodes, places, 20 if len(places) == 2 else 14)


@pytest.mark.parametrize("a", [0.5, 0.7, 1.0, 4.0])
def test_two_tokens_have_the_minima_of_the_tables(a):
    """In the middle between the exact lines: numbers of minima, positions, losses (six scramblings, false alarm 1e-4).

    At a = 0.7 neither corner is a minimum in one of the intervals.
    """
    lines = phase_diagram.phase_lines(a)
    edges = np.sort([0.0, *(float(omega) for omega in lines.values() if np.isfinite(omega)), 0.999])
    for omega in 0.5 * (edges[1:] + edges[:-1]):
        exact, losses = phase_diagram.minima(a, omega), []
        for seed in range(6):
            found = tables("alternating", seed)[2].minima(omega, a)
            assert found.undecided == 0
            assert [each.m**2 for each in found.minima] == pytest.approx([each.m**2 for each in exact], abs=0.05)
            losses.append([each.value for each in found.minima])
        assert_mean(losses, [each.value for each in exact], allowance=1e-6)


@pytest.mark.parametrize("name", ["star", "general"])
def test_all_minima_are_those_of_brute_force_on_the_sphere(name):
    """The loss of the same nodes, point by point on a grid of 0.12 rad, has its lower-than-neighbours points at our minima.

    Strengths and weights with one, two and turned minima; the polynomials have an error of 1e-4 at this number of nodes, the
    minima depths of 1e-3 or more.
    """
    nodes, places, loss = tables(name)
    angles = np.linspace(0.0, 0.5 * np.pi, 14)
    azimuths = np.linspace(0.0, 2.0 * np.pi, 53)[:-1]
    grid = np.array([[[np.sin(t) * np.cos(f), np.sin(t) * np.sin(f), np.cos(t)] for f in azimuths] for t in angles])
    parts = [[many_tokens.loss_parts(nodes, places @ u[:2], u[2]) for u in row] for row in grid]
    q, overlap, mu = (np.array([[each[i] for each in row] for row in parts]) for i in range(3))
    for a, omega in ((0.5, 0.5), (1.5, 0.9), (2.0, 0.85), (2.0, 0.95), (5.0, 0.8), (5.0, 0.99)):
        fixed = many_tokens.softmax_attention(a * places[None, :, 0])[0]
        R = 0.5 * q - (1 - omega) * overlap - omega * np.einsum("tfij,ij->tf", mu, fixed)
        # The first row is the pole; beyond the equator, m < 0, the loss is even, and e -> -e as well.
        beyond = np.vstack([R[1:2, :].min() + 0 * R[:1], R, R[-2:-1]])
        lower = np.ones(R.shape, dtype=bool)
        for up in (-1, 0, 1):
            for left in (-1, 0, 1):
                if (up, left) != (0, 0):
                    lower &= np.roll(beyond[1 + up : len(R) + 1 + up], left, axis=1) >= R
        lower[0] = np.ptp(R[0]) < 1e-9 and np.min(R[1] - R[0]) >= 0.0
        brute = grid[lower]
        found = loss.minima(omega, a)
        assert found.undecided == 0
        ours = np.array([np.append(each.e, each.m) for each in found.minima])
        images = np.concatenate([ours, ours * [-1, -1, 1]])
        distance = np.linalg.norm(brute[:, None] - images[None], axis=2)
        assert np.all(distance.min(axis=1) < 0.13), (a, omega, brute, ours)
        assert np.all(distance.min(axis=0) < 0.13), (a, omega, brute, ours)


def test_values_are_those_of_the_loss():
    """Minima of general vectors at a = 2, omega = 0.85 by `token_loss`, six scramblings; false alarm 1e-4."""
    gaps = []
    for seed in range(6):
        nodes, places, loss = tables("general", seed)
        found = loss.minima(0.85, 2.0).minima
        gaps.append([x.value - token_loss(0.85, 2.0, nodes, places, x.e, x.m) for x in found])
    assert_mean(gaps)


def test_no_point_of_the_ball_is_lower():
    """200 random overlaps, at the same nodes."""
    nodes, places, loss = tables("general")
    fixed = many_tokens.softmax_attention(2.0 * places[None, :, 0])[0]

    def relative(e, m):
        q, overlap, mu = many_tokens.loss_parts(nodes, places @ e, m)
        return 0.5 * q - 0.15 * overlap - 0.85 * np.sum(fixed * mu)

    found = loss.minima(0.85, 2.0)
    lowest = relative(found.minima[0].e, found.minima[0].m)
    generator = np.random.default_rng(3)
    for u in generator.standard_normal((200, 3)):
        u *= generator.random() ** (1 / 3) / np.linalg.norm(u)
        assert relative(u[:2], abs(u[2])) > lowest - 5 * found.truncation


def test_loss_falls_with_the_semantic_overlap_where_that_is_proven():
    """For general vectors, and directly at three e."""
    nodes, places, _ = tables("general")
    assert falls(nodes, places)
    for e in ((0.0, 0.0), (0.6, -0.3), (0.0, 0.9)):
        m = np.linspace(0.0, np.sqrt(1 - np.dot(e, e)), 6)
        overlaps = [many_tokens.loss_parts(nodes, places @ np.array(e), at)[1] for at in m]
        assert np.all(np.diff(overlaps) > 0)


def test_loss_of_long_vectors_can_rise_with_the_semantic_overlap():
    """At |p| = 2 and e = 0.9, C falls with m^2: it is not proven to grow."""
    nodes, places, _ = tables("alternating")
    assert falls(nodes, places)
    at = [many_tokens.loss_parts(nodes, 0.9 * 2.0 * places[:, 0], m)[1] for m in (0.0, 0.3)]
    assert at[1] < at[0]
    assert not falls(nodes, 2.0 * places)


def test_charts_cover_the_sphere():
    """Each of 300 random unit vectors, up to signs, is the point of its chart with angles within the box."""
    for u in np.random.default_rng(0).standard_normal((300, 4)):
        u /= np.linalg.norm(u)
        chart = int(np.argmax(np.abs(u)))
        u *= np.sign(u[chart])
        x = 4 / np.pi * np.arctan(np.delete(u, chart) / u[chart])
        assert np.abs(x).max() <= 1
        np.testing.assert_allclose(chart_point(chart, x), u, atol=1e-12)


def test_the_weight_one_is_refused():
    with pytest.raises(ValueError, match=r"omega = 1 .* does not depend on m"):
        tables("alternating")[2].minima(1.0, 1.0)
