"""Runs, flows, diffusions and minima of the sequence single-index family: four times the effort agrees within the error."""

from unittest.mock import patch

import numpy as np
import pytest
from specifications import compute, document, project

from attention_limits.sequence_single_index.large_dimension import any_student_flow, escape_diffusion

pytestmark = pytest.mark.slow

FAMILY = "sequence_single_index"
TANH = {
    "student": "mine.py:tanh",
    "target": "hermite",
    "degree": 3,
    "weights": [-0.4],
    "tokens": 1,
    "learning_rate": 0.8,
}


@pytest.mark.parametrize(
    ("estimator", "model", "grid"),
    [
        ("tied_sgd", {"learning_rate": 0.1}, {"tokens": 3, "learning_rate_exponent": 0.5}),
        ("untied_sgd", {"learning_rate": 0.1}, {"tokens": 3}),
        ("hermite_sgd", {"learning_rate": 0.1, "order": 2, "tokens": 2}, {"dimension": 50}),
    ],
)
def test_runs_of_four_times_the_steps_escape_at_the_same_step(estimator, model, grid):
    """A run that escaped keeps its step and its end, a censored one escapes later: the law of 40 runs, without an error."""
    model = {**model, "threshold": 0.4} | ({} if "dimension" in grid else {"dimension": 50})
    found, more = (
        compute(FAMILY, document(estimator, model, grid, {"steps": steps}, 40))[estimator] for steps in (700, 2800)
    )
    assert 0 < int(found.escaped.sum()) < 40
    assert np.array_equal(found.escaped, more.escape_step <= 700)
    assert np.array_equal(found.escape_step, np.minimum(more.escape_step, 700))
    escaped = found.escaped.values.astype(bool)
    assert np.array_equal(found.overlap.values[escaped], more.overlap.values[escaped])


@pytest.fixture(autouse=True)
def student():
    (project() / "mine.py").write_text("import math\n\n\ndef tanh(z):\n    return math.tanh(z[0])\n", encoding="utf-8")


@pytest.mark.parametrize("dimension", [300, 100_000])
def test_diffusion_of_four_times_the_mesh_and_nodes_agrees(dimension):
    """Mean and quantiles within the sum of both errors; the errors bound, nothing is random."""
    model = TANH | {"learning_rate_exponent": 0.5, "threshold": 0.25}

    def escape():
        return compute(FAMILY, document("escape_diffusion", model, {"dimension": dimension}))["escape_diffusion"]

    found, chebyshev = escape(), 4 * escape_diffusion._NODES
    with (
        patch.multiple(any_student_flow, AXIS=4 * any_student_flow.AXIS),
        patch.multiple(escape_diffusion, _NODES=chebyshev, MESH=4 * escape_diffusion.MESH),
    ):
        more = escape()
    for name in ("diffusion_step", "diffusion_quantile"):
        gap = np.abs(found[name] - more[name])
        assert np.all(gap <= found[f"{name}_error"] + more[f"{name}_error"]), name
        assert np.all(found[f"{name}_error"] < 0.05 * found[name])


def test_flow_of_four_times_the_nodes_agrees():
    """The escape step of the flow within the sum of both errors and the tolerance 1e-4 of its integration."""
    model = TANH | {"degree": 1, "weights": [0.5], "learning_rate": 0.2, "threshold": 0.25}

    def flow():
        return compute(FAMILY, document("link_sgd", model, {"dimension": 200}, {"steps": 1}))["link_sgd"]

    found = flow()
    with patch.multiple(any_student_flow, AXIS=4 * any_student_flow.AXIS):
        more = flow()
    gap = np.abs(found.flow_step - more.flow_step)
    assert np.isfinite(found.flow_step).all()
    assert np.all(gap <= found.flow_step_error + more.flow_step_error + 1e-4 * more.flow_step)


def test_regions_on_which_scramblings_agree_are_those_of_four_times_the_nodes():
    """Nine random points. A point within the noise of the nodes of a line, 1 % of the plane, is on the same wrong side for two
    scramblings with probability 1/4 at most: a false-alarm rate below 3 %, and the seed is fixed."""
    generator = np.random.default_rng(0)
    gram = [[1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 1.0, 1.0]]
    grid = {
        "a": sorted(generator.uniform(0.2, 2.0, 3).tolist()),
        "omega": sorted(generator.uniform(0.1, 0.9, 3).tolist()),
    }

    def minima(nodes, degree):
        written = document("position_minima", {"position": gram}, grid, {"nodes": nodes, "degree": degree}, 2)
        return compute(FAMILY, written)["position_minima"].transpose("replica", "a", "omega", ...)

    found, more = minima(1024, 9), minima(4096, 11)
    region, expected = found.region.values, more.region.values
    decided = (region[0] == region[1]) & np.all(found.minima_undecided == 0, axis=0).values
    assert decided.sum() >= 7
    assert np.array_equal(region[0][decided], expected[0][decided])


def test_lines_of_four_times_the_nodes_agree():
    """omega on each line, 8 scramblings, six standard errors (Student's t: 1e-3 per line)."""

    def lines(nodes):
        written = document("token_lines", {}, {"tokens": 3, "a": [0.6, 1.2]}, {"nodes": nodes}, 8)
        return compute(FAMILY, written)["token_lines"].transition.transpose("replica", ...).values[:, 0]

    found, more = lines(4096), lines(16384)
    assert np.array_equal(np.isfinite(found).all(axis=0), np.isfinite(more).all(axis=0))
    error = 6.0 * np.hypot(found.std(axis=0, ddof=1), more.std(axis=0, ddof=1)) / np.sqrt(8)
    gap = np.abs(found.mean(axis=0) - more.mean(axis=0))
    known = np.isfinite(gap)
    assert known.sum() >= 4
    assert np.all(gap[known] <= error[known] + 1e-9)
