"""Flags, errors and missing values of the sequence single-index family are honest: four times the effort agrees."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given, settings
from specifications import compute, document, node, section, whole_range

from attention_limits.sequence_single_index.links.link import Link
from attention_limits.sequence_single_index.population_loss import expansion, quadrature
from attention_limits.sequence_single_index.population_loss.information_exponent import target_exponent
from attention_limits.sequence_single_index.positional_semantic import exit, phase_diagram

pytestmark = pytest.mark.slow

FAMILY = "sequence_single_index"
TARGETS = {
    "half space": lambda z: (z[:, 0] > 0.8886592325684699) * 1.0,
    "box": lambda z: np.all(np.abs(z) < 1.0, axis=1) * 1.0,
    "largest": lambda z: z.max(axis=1),
    "oscillating": lambda z: np.sin(3.0 * z.sum(axis=1)),
    "cancelling": lambda z: np.sum(z**2 * np.exp(-(z**2)), axis=1),
}
# A factor of four in all nodes or subdivisions.
MORE_IN_RULES = {
    "NODES": {1: 800, 2: 512, 3: 95, 4: 28, 5: 15, 6: 9},
    "_ADAPTIVE": {1: ("gk21", 4000), 2: ("gk15", 600)},
}
MORE_IN_NETS = {"_CHECK_NODES": 4 * expansion._CHECK_NODES, "_NET_NODES": 4 * expansion._NET_NODES}


@pytest.mark.parametrize(("name", "tokens"), [(name, 4 if name in ("box", "largest") else 1) for name in TARGETS])
def test_information_exponent_is_decided_only_where_more_nodes_agree(name, tokens):
    """Exponents where it is decided, norms within both errors everywhere."""
    link = Link(tokens, TARGETS[name])
    found = target_exponent(link, 4)
    with patch.multiple(quadrature, **MORE_IN_RULES), patch.multiple(expansion, **MORE_IN_NETS):
        more = target_exponent(link, 4)
    assert np.all(np.abs(found.coefficients - more.coefficients) <= found.errors + more.errors)
    assert not found.decided or (more.decided, more.order) == (True, found.order)
    assert found.decided


@settings(max_examples=2)
@given(degree=whole_range(node(FAMILY, "landscape", "grid", "degree")))
@example(4)
@example(1)
def test_landscape_of_four_times_the_orders_is_within_the_tail(degree):
    model = {"student": "trace_attention", "weights": [1.0, 0.5], "constant": 0.3}
    few, more = (
        compute(FAMILY, document("landscape", model, {"degree": degree}, {"points": 5, "degree": series}))["landscape"]
        for series in (3, 12)
    )
    gap = np.abs(few.loss - more.loss).max(("e", "m"))
    assert np.all(gap <= few.loss_tail + few.loss_error + more.loss_tail + more.loss_error)


def test_phase_diagram_is_that_of_four_times_the_cells():
    """Regions, kinds of minima and overlaps at random points over the whole range, denser towards omega = 1."""
    generator = np.random.default_rng(0)
    a = np.concatenate([generator.uniform(0.0, 5.0, 15), generator.uniform(0.4, 1.2, 25), [0.0, 5.0]])
    omega = np.concatenate([generator.uniform(0.0, 1.0, 60), 1.0 - 10.0 ** generator.uniform(-6, -1, 20), [0.0, 1.0]])
    found = phase_diagram.phase_grid(a, omega)
    try:
        with patch.multiple(phase_diagram, _CELLS=4 * phase_diagram._CELLS, _NODES=2 * phase_diagram._NODES):
            phase_diagram._arc.cache_clear()
            more = phase_diagram.phase_grid(a, omega)
    finally:
        phase_diagram._arc.cache_clear()
    assert np.array_equal(found.code, more.code)
    assert np.array_equal(found.kinds, more.kinds)
    # e^2 is known to 1e-9.
    np.testing.assert_allclose(found.e**2, more.e**2, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize(
    ("a", "omega", "loss", "dimension", "rate", "threshold"),
    [
        (1.54, 0.507, "frobenius", 71021, 0.019, 0.67),
        (2.26, 0.502, "half_square", 4115, 0.046, 0.56),
        (0.9, 0.72, "half_square", 1000, 0.1, 0.3),
    ],
)
def test_linear_theory_of_four_times_the_nodes_agrees(a, omega, loss, dimension, rate, threshold):
    """P(semantic), 8 scramblings, six standard errors (Student's t: at most 6e-4); more steps and points of the flow, too."""
    model = {"a": a, "loss": loss, "dimension": dimension, "learning_rate": rate, "threshold": threshold}

    def probability(nodes):
        written = document("linear_theory", model, {"omega": omega}, {"nodes": nodes}, 8)
        return compute(FAMILY, written)["linear_theory"].flow_semantic.values.ravel()

    found = probability(4096)
    radii, angles = (np.arange(10) + 1.0) / 10.0, (np.arange(10) + 0.5) * np.pi / 20.0
    with patch.multiple(exit, _STEP=0.025, _STEPS=800, _RADII=radii, _ANGLES=angles):
        more = probability(16384)
    assert np.all(np.isfinite(found) & np.isfinite(more))
    assert abs(found.mean() - more.mean()) <= 6.0 * np.hypot(found.std(ddof=1), more.std(ddof=1)) / np.sqrt(8)


@settings(max_examples=4)
@given(
    model=section(FAMILY, "attention_sgd", "model", "a", "loss"), grid=section(FAMILY, "attention_sgd", "grid", "omega")
)
@example({"a": 1.0, "loss": "frobenius"}, {"omega": 0.6})
def test_attention_sgd_of_four_times_the_steps_escapes_at_the_same_step(model, grid):
    """A run that escaped keeps its step, a censored one escapes later."""
    model = {**model, "dimension": 50, "learning_rate": 0.5, "threshold": 0.2}
    found, more = (
        compute(FAMILY, document("attention_sgd", model, grid, {"steps": steps}, 40))["attention_sgd"]
        for steps in (500, 2000)
    )
    assert np.array_equal(found.escaped, more.escape_step <= 500)
    assert np.array_equal(found.escape_step, np.minimum(more.escape_step, 500))
    assert np.array_equal(found.semantic_overlap.values[found.escaped], more.semantic_overlap.values[found.escaped])
