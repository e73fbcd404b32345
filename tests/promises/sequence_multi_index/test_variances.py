"""Promises of GAMP with the variance of every sample and of relaxed belief propagation: right, flagged, or refused."""

import numpy as np
import pytest
import slow_sequence_multi_index as slow
from drawn_sequence_multi_index import FAMILY, KEYS, computed, models
from hypothesis import given, settings
from hypothesis import strategies as st
from specifications import section

from attention_limits.pipeline.base.streams import Streams

pytestmark = pytest.mark.slow

# Links of one row: the output leaves the fields of the teacher and, if the link is even, their negatives.
ONE_ROW = st.one_of(
    models("deep_attention", "rescaled_attention", "sequence_output", "large_depth", "phase_retrieval",
           sizes={"depth": (1, 1), "tokens": (2, 4)}),
    st.integers(1, 6).map(lambda power: {"link": "monomial", "exponents": [power]}),
).map(lambda model: {key: value for key, value in model.items() if key != "noise"})  # fmt: skip
# The streams of a run take the alpha of the grid, which is rounded.
ALPHA = st.integers(1, 15).map(lambda tenth: tenth / 10)
STEPS = 3
# A smaller variance is clipped, or ends the run.
SMALLEST = 1e-6


def solvers(estimator):
    drawn = ("damping", "side_information", "start_overlap", "regularization")
    fixed = {"dimension": st.integers(10, 14), "max_iterations": STEPS, "tolerance": 1e-9}
    return section(FAMILY, estimator, "solver", *drawn, **fixed)


def assert_loops(estimator, model, alpha, solver):
    """The estimates of a run, from its own data, start and side information."""
    found = computed(estimator, model, {"alpha": alpha}, solver)
    if found is None:
        return None
    found, dimension, tokens = found.isel(replica=0), solver["dimension"], model.get("tokens", 1)
    streams, count = Streams(0, FAMILY, "promise"), max(1, round(alpha * solver["dimension"]))
    rng = streams.generator("data", 0, alpha=alpha)
    teacher, x = rng.standard_normal(dimension), rng.standard_normal((count, tokens, dimension))
    h = x @ teacher / np.sqrt(dimension)
    even = model.get("exponents", [2])[0] % 2 == 0
    candidates = np.stack([h, -h] if even else [h], axis=1)
    rng, known = streams.generator("start", 0, alpha=alpha), solver["side_information"]
    start = np.sqrt(solver["start_overlap"]) * rng.standard_normal(dimension)
    side = np.sqrt(known) * teacher + np.sqrt(1.0 - known) * rng.standard_normal(dimension)
    hint = known / (1.0 - known), np.sqrt(known) / (1.0 - known) * side
    messages = estimator == "relaxed_belief_propagation"
    estimates = slow.gamp_by_samples(x, candidates, start, hint, solver, STEPS, messages)
    done = int(found.iterations)
    smallest = min(1.0 - solver["start_overlap"], found.variance_trajectory.values.ravel()[:done].min())
    if found.resolved < 1.0 or not np.isfinite(found.residual) or smallest < SMALLEST:
        return None
    assert done == STEPS or found.converged
    size = np.sqrt((estimates[:done] ** 2).mean(axis=1))
    np.testing.assert_allclose(np.sqrt(found.norm_trajectory.values.ravel()[:done]), size, rtol=1e-5, atol=1e-12)
    overlap = estimates[:done] @ teacher / dimension
    apart = np.abs(found.overlap_trajectory.values.ravel()[:done] - overlap)
    assert np.all(apart <= 1e-5 * size + 1e-12), (apart, size)
    return done


ONE_LAYER = {"link": "deep_attention", "skip": 1.0, "beta": 1.0, "depth": 1, "tokens": 3}
USUAL = {
    "dimension": 12, "max_iterations": STEPS, "tolerance": 1e-9, "damping": 0.2, "side_information": 0.1,
    "start_overlap": 0.3, "regularization": 0.05,
}  # fmt: skip


@settings(max_examples=6)
@given(model=ONE_ROW, alpha=ALPHA, solver=solvers("gamp_sample_variance"))
def test_gamp_sample_variance_is_loops_over_samples(model, alpha, solver):
    assert_loops("gamp_sample_variance", model, alpha, solver)


@settings(max_examples=4)
@given(model=ONE_ROW, alpha=ALPHA, solver=solvers("relaxed_belief_propagation"))
def test_relaxed_belief_propagation_is_loops_over_messages(model, alpha, solver):
    assert_loops("relaxed_belief_propagation", model, alpha, solver)


def test_usual_specifications_are_compared():
    """The comparison of the two promises leaves out unresolved and missing runs; this one has neither."""
    for estimator in ("gamp_sample_variance", "relaxed_belief_propagation"):
        assert assert_loops(estimator, ONE_LAYER, 1.0, USUAL) == STEPS
        assert assert_loops(estimator, {"link": "phase_retrieval"}, 1.0, USUAL) == STEPS


@settings(max_examples=3)
@given(model=models(*KEYS), alpha=st.floats(1e-2, 1.0))
def test_gamp_sample_variance_is_finite_or_flagged(model, alpha):
    solver = {"dimension": 10, "max_iterations": 2, "resolution": 0.25}
    found = computed("gamp_sample_variance", model, {"alpha": alpha}, solver)
    if found is None:
        return
    point = found.isel(replica=0)
    done = int(point.iterations)
    if not np.all(np.isfinite(point.overlap.values)):
        assert not point.converged
        return
    for V in point.variance_trajectory.values[:done]:
        spectrum = np.linalg.eigvalsh(V)
        # A precision of one dimension is at least minus half of that of the prior.
        assert spectrum[0] >= 0
        assert spectrum[-1] <= 2.0 + 1e-9
