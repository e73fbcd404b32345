"""Promises of data sets and GAMP of the sequence multi-index family: right, flagged, or refused.

Statistical comparisons are seeded, with limits at five standard errors: a correct program fails one of them with a probability
of 6e-7, and there are some thousand.
"""

import numpy as np
import pytest
import slow_sequence_multi_index as slow
from drawn_sequence_multi_index import FAMILY, KEYS, SIGMAS, computed, models
from hypothesis import example, given, settings
from hypothesis import strategies as st
from specifications import node, section, whole_range

from attention_limits.pipeline.base.streams import Streams

pytestmark = pytest.mark.slow


@settings(max_examples=8)
@given(
    model=models(*KEYS),
    alpha=whole_range(node(FAMILY, "gaussian_sequences", "grid", "alpha")),
    dimension=st.integers(10, 40),
)
@example(model={"link": "phase_retrieval"}, alpha=1.8e-4, dimension=100)
@example(
    model={"link": "deep_attention", "skip": 1.0, "beta": 1.0, "depth": 2, "tokens": 64}, alpha=100.0, dimension=10
)
def test_gaussian_sequences_have_their_law(model, alpha, dimension):
    found = computed("gaussian_sequences", model, {"alpha": alpha}, {"dimension": dimension})
    if found is None:
        return
    data = found.isel(replica=0)
    x, teacher = data.sequences.values, data.teacher.values
    assert x.shape == (max(1, round(alpha * dimension)), model.get("tokens", 1), dimension)
    assert data.realised_alpha.item() == len(x) / dimension
    for values in (x, teacher):
        count = values.size
        for power, mean, variance in ((1, 0.0, 1.0), (2, 1.0, 2.0), (4, 3.0, 96.0)):
            assert (
                abs((values.astype(float) ** power).mean() - mean)
                <= 7.0 * np.sqrt(variance / count) + (power == 4) * 20.0 / count
            )
    lagged = (x[..., 1:].astype(float) * x[..., :-1]).mean()
    assert abs(lagged) <= 7.0 / np.sqrt(x[..., 1:].size)


def test_gaussian_sequences_of_two_points_are_independent():
    first = computed("gaussian_sequences", {"link": "phase_retrieval"}, {"alpha": 2.0}, {"dimension": 200})
    second = computed("gaussian_sequences", {"link": "phase_retrieval"}, {"alpha": 2.0}, {"dimension": 200}, seed=1)
    product = (first.sequences.values * second.sequences.values).mean()
    assert abs(product) <= 7.0 / np.sqrt(first.sequences.size)


@settings(max_examples=4)
@given(
    model=models(*KEYS),
    alpha=st.floats(1e-3, 3.0),
    solver=section(
        FAMILY,
        "gamp",
        "solver",
        "damping",
        "side_information",
        "start_overlap",
        dimension=20,
        max_iterations=5,
        resolution=0.25,
    ),
)
@example(model={"link": "phase_retrieval"}, alpha=100.0, solver={"dimension": 10, "max_iterations": 5})
@example(model={"link": "large_depth", "ratio": 20.0, "beta": 10.0, "tokens": 4}, alpha=1e-3, solver={"dimension": 10})
def test_gamp_is_finite_or_flagged(model, alpha, solver):
    found = computed("gamp", model, {"alpha": alpha}, solver)
    if found is None:
        return
    point = found.isel(replica=0)
    dimension = solver["dimension"]
    assert point.realised_alpha.item() == max(1, round(alpha * dimension)) / dimension
    done = int(point.iterations)
    cosine = point.cosine_trajectory.values[:done]
    if np.all(np.isfinite(point.overlap.values)):
        # An estimate that is zero has no direction.
        missing = np.isnan(cosine)
        assert np.all(np.einsum("tpp->tp", point.norm_trajectory.values[:done])[missing] < 1e-300)
        assert np.all(np.abs(cosine[~missing]) <= 1.0 + 1e-9)
        for V in point.variance_trajectory.values[:done]:
            spectrum = np.linalg.eigvalsh(V)
            assert spectrum[0] > 0
            assert spectrum[-1] <= 1.0 + 1e-9
    else:
        assert not point.converged
    assert np.all(np.isnan(point.cosine_trajectory.values[done:]))


@settings(max_examples=3)
@given(
    model=models("deep_attention", "phase_retrieval", "sum_of_squares"),
    held=whole_range(node(FAMILY, "held_gamp", "grid", "held")),
    alpha=st.floats(1e-3, 3.0),
)
@example(model={"link": "phase_retrieval"}, held=1.0, alpha=1.0)
@example(model={"link": "deep_attention", "skip": 1.0, "beta": 1.0, "depth": 2, "tokens": 2}, held=1.0, alpha=1.0)
def test_held_gamp_holds_its_layer(model, held, alpha):
    """The overlap of the held layer is the given one within five standard deviations; the others are finite or flagged."""
    solver = {"dimension": 30, "max_iterations": 4, "resolution": 0.25}
    found = computed("held_gamp", model, {"alpha": alpha, "held": held}, solver)
    if found is None:
        return
    point = found.isel(replica=0)
    kept = np.diag(point.layer_overlap.values)
    # |q |W|^2 + sqrt(q (1 - q)) N . W| / |W|^2, and |W|^2 / D is above 0.2.
    q = min(held, 1.0 - 1e-6)
    spread = SIGMAS * np.sqrt(q * (1.0 - q) / (0.2 * 30))
    assert np.all(np.abs(kept - q) <= spread + 1e-9), kept
    finite = np.isfinite(point.layer_overlap.values).all(axis=1)
    assert not np.any(point.held_converged.values & ~finite)


def test_gamp_is_message_passing_written_out():
    """Phase retrieval, iteration by iteration, from the data and the start of the run itself."""
    dimension, alpha, steps = 60, 1.5, 6
    solver = {"dimension": dimension, "max_iterations": steps, "tolerance": 1e-9, "start_overlap": 0.3}
    found = computed("gamp", {"link": "phase_retrieval"}, {"alpha": alpha}, solver).isel(replica=0)
    streams = Streams(0, FAMILY, "promise")
    rng = streams.generator("data", 0, alpha=alpha)
    teacher, x = rng.standard_normal(dimension), rng.standard_normal((round(alpha * dimension), dimension))
    y = (x @ teacher) ** 2 / dimension
    start = np.sqrt(0.3) * streams.generator("start", 0, alpha=alpha).standard_normal(dimension)
    estimates, variances = slow.gamp_of_phase_retrieval(x, y, start, 0.3, steps)
    np.testing.assert_allclose(found.norm_trajectory.values.ravel(), (estimates**2).mean(axis=1), rtol=1e-8)
    np.testing.assert_allclose(
        found.overlap_trajectory.values.ravel(), estimates @ teacher / dimension, rtol=1e-7, atol=1e-10
    )
    np.testing.assert_allclose(found.variance_trajectory.values.ravel(), variances, rtol=1e-8)


@pytest.mark.parametrize("alpha", [0.8])
def test_gamp_follows_the_state_evolution_of_gauss_hermite(alpha):
    """Sixteen data sets at D = 400: mean within five errors and 0.03, of the order of 10 / D."""
    solver = {"dimension": 400, "max_iterations": 200, "start_overlap": 0.1}
    found = computed("gamp", {"link": "phase_retrieval"}, {"alpha": alpha}, solver, replicas=16)
    overlap = found.overlap.values.reshape(-1)
    assert abs(overlap.mean() - slow.sign_overlap(alpha)) <= SIGMAS * overlap.std(ddof=1) / 4.0 + 0.03, overlap
