"""Promises of the minima for general positional vectors and of the escape time of the diffusion: right, flagged or refused."""

import math

import numpy as np
import pytest
import slow_sequence_single_index as slow
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from numba import njit
from scipy.optimize import minimize
from specifications import compute, document, node

from agreement import assert_mean

pytestmark = pytest.mark.slow

FAMILY = "sequence_single_index"


@settings(max_examples=1)
@given(seed=st.integers(0, 100), tokens=st.integers(2, 4), a=st.floats(0, 5), omega=st.floats(0, 0.95))
@example(1, 3, 2.0, 0.9)
def test_position_minima_are_where_descent_ends(seed, tokens, a, omega):
    """Descents of a mean over plain samples from random starts on the sphere end at the minima, within their noise, 0.015."""
    generator = np.random.default_rng(seed)
    vectors = generator.standard_normal((tokens, 2)) / np.sqrt(2)
    gram = vectors @ vectors.T
    assume(np.abs(gram).max() <= 4 and gram[0, 0] > 0.05)
    solver = {"nodes": 1024, "degree": 11}
    written = document("position_minima", {"position": gram.tolist()}, {"a": a, "omega": omega}, solver)
    found = compute(FAMILY, written)["position_minima"].isel(a=0, omega=0, replica=0)
    assert found.minima_undecided == 0
    assert 1 <= found.minima_found <= 6
    first = vectors[0] / np.linalg.norm(vectors[0])
    basis = np.array([first, [-first[1], first[0]]])
    # The second direction is signed as in the orthonormal basis by Gram and Schmidt.
    second = vectors[1:] @ basis[1]
    basis[1] *= np.sign(second[np.abs(second) > 1e-6][0])
    places = vectors @ basis.T
    samples = generator.standard_normal((2, 1000, tokens))
    fixed = slow.attention(a * places[:, 0])

    def loss(w):
        u = w / np.linalg.norm(w)
        star = u[2] * samples[0] + np.sqrt(max(0.0, 1 - u[2] ** 2)) * samples[1]
        missed = (1 - omega) * slow.attention(star) + omega * fixed - slow.attention(samples[0] + places @ u[:2])
        return 0.5 * np.mean(np.sum(missed**2, axis=(-2, -1)))

    ours = np.column_stack([found.minimum_positional.values, found.minimum_semantic.values])[: int(found.minima_found)]
    images = np.concatenate([ours * [s, s, t] for s in (-1, 1) for t in (-1, 1)])
    ends = []
    for start in generator.standard_normal((3, 3)):
        end = minimize(loss, start / np.linalg.norm(start), tol=1e-4).x
        end /= np.linalg.norm(end)
        nearest = images[np.argmin(np.linalg.norm(images - end, axis=1))]
        assert abs(loss(end) - loss(nearest)) < 0.015
        ends.append(loss(end))
    assert min(ends) > loss(ours[0]) - 0.015


def test_position_minima_need_vectors_in_one_to_three_directions():
    grid = {"a": 1.0, "omega": 0.5}
    for gram, message in (
        (np.eye(4).tolist(), "span 4 directions; allowed: 1 to 3"),
        ([[0.0, 0.0], [0.0, 0.0]], "span 0 directions"),
        ([[1.0, 2.0], [2.0, 1.0]], "negative eigenvalue -1"),
        ([[1.0, 0.0] for _ in range(3)], "must be 3 by 3"),
    ):
        assert message in str(compute(FAMILY, document("position_minima", {"position": gram}, grid)).problems)
    refused = compute(FAMILY, document("position_minima", {"position": [[1, 0], [0, 1]]}, {"a": 1.0, "omega": 1.0}))
    assert "omega" in str(refused.problems)


@njit(error_model="numpy")
def _escape_times(edge, table, dimension, generator):
    """Times (600,) at which paths from D^-1/2 leave (-edge, edge); NaN from the first path that needs more than 20 000 steps.

    The drift and the noise of the rows of `table` (2, n) are linear between n equidistant places from -edge to edge.
    """
    times, start, cells = np.full(600, np.nan), dimension**-0.5, table.shape[1] - 1
    for path in range(600):
        m, clock = start, 0.0
        for _ in range(20_000):
            place = (m + edge) / (2.0 * edge) * cells
            cell = min(int(place), cells - 1)
            drift = table[0, cell] + (place - cell) * (table[0, cell + 1] - table[0, cell])
            noise = table[1, cell] + (place - cell) * (table[1, cell + 1] - table[1, cell])
            size = max(abs(m), start)
            step = min(0.02 * size / abs(drift), (0.1 * size) ** 2 * dimension / noise)
            m += drift * step + math.sqrt(noise * step / dimension) * generator.standard_normal()
            clock += step
            if abs(m) >= edge:
                times[path] = clock
                break
        if np.isnan(times[path]):
            break
    return times


@settings(max_examples=2)
@given(
    degree=st.integers(1, 3),
    rate=st.floats(0.01, 0.3),
    power=st.floats(0, 0.5),
    dimension=st.integers(100, node(FAMILY, "escape_diffusion", "grid", "dimension")["maximum"]),
    threshold=st.floats(0.05, 0.5),
)
@example(3, 0.05, 0.5, 10_000, 0.25)
@example(1, 0.2, 0.0, 300, 0.25)
def test_escape_diffusion_is_that_of_drawn_paths(degree, rate, power, dimension, threshold):
    """Paths of the Langevin equation with steps that its scales limit, drift and noise by another quadrature; false alarm 1e-4.

    The steps leave errors of a few per cent, 6 % are allowed; paths that need more than 20 000 steps are not compared.
    """
    model = {
        "student": "hermite", "target": "hermite", "degree": degree, "weights": [0.5], "tokens": 1, "learning_rate": rate,
        "learning_rate_exponent": power, "threshold": threshold,
    }  # fmt: skip
    written = document("escape_diffusion", model, {"dimension": dimension})
    found = compute(FAMILY, written)["escape_diffusion"].isel(dimension=0, replica=0)
    gamma, edge = rate * dimension**-power, np.sqrt(threshold)
    x, weights = np.polynomial.hermite_e.hermegauss(40)
    star, rest = np.meshgrid(x, x, indexing="ij")
    mass = np.outer(weights, weights) / np.sum(weights) ** 2
    factor = 0.5 * np.sqrt(np.prod(np.arange(1.0, degree + 1)))

    def moments(m):
        z = m * star + np.sqrt(1 - m**2) * rest
        h = factor * slow.he(degree, z)
        D = (h - factor * slow.he(degree, star)) * factor * np.sqrt(degree) * slow.he(degree - 1, z)
        pull = D * (star - m * z)
        change = gamma * pull + 0.5 * gamma**2 * D**2 * m
        drift = -np.sum(mass * change)
        return drift, np.sum(mass * change**2) - drift**2

    table = np.array([moments(m) for m in np.linspace(-edge, edge, 401)]).T
    clock = _escape_times(edge, table, dimension, np.random.default_rng(degree))
    if np.isnan(clock).any():
        return
    mean = float(found.diffusion_step)
    assert_mean(dimension * clock, mean, allowance=0.06 * mean + float(found.diffusion_step_error))
    median = float(found.diffusion_quantile.sel(quantile=0.5))
    # Half of the paths, within four errors, are earlier than a later time and later than an earlier one.
    limit = 0.5 + 4.0 * 0.5 / np.sqrt(600)
    assert np.mean(dimension * clock < 0.94 * median) < limit
    assert np.mean(dimension * clock > 1.06 * median) < limit
