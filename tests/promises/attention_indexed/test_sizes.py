"""Promises of the finite sizes of the attention-indexed family: exact posterior by rejection, and matrix AMP by dimension."""

import numpy as np
import pytest
from attention_indexed_promises import EQUATIONS, FAMILY, computed, slow_mmse
from hypothesis import example, given, settings
from hypothesis import strategies as st
from specifications import section

from attention_limits.pipeline.base.streams import Streams

pytestmark = pytest.mark.slow


def accepted(point, found):
    """||S - S*||_F^2 / (2 d) of draws S of the prior with the outputs of the data of a point, einsum by einsum."""
    d, rank = point["dimension"], int(found.width.item())
    count = round(found.realised_alpha.item() * d * d)
    generator = Streams(0, FAMILY, "promise").generator(
        "data", 0, **{key: point[key] for key in ("alpha", "dimension")}
    )
    teacher = generator.standard_normal((d, rank))
    X = generator.standard_normal((count, point["tokens"], d))

    def places(weights):
        products = np.einsum("...ik,...jk->...ij", weights, weights)
        h = np.einsum("nai,...ij,nbj->...nab", X, products, X)
        h -= np.trace(products, axis1=-2, axis2=-1)[..., None, None, None] * np.eye(point["tokens"])
        return np.argmax(h, axis=-1), products / np.sqrt(rank * d)

    wanted, S = places(teacher)
    other = np.random.default_rng(1)
    kept = []
    for _ in range(40):
        best, matrices = places(other.standard_normal((2000, d, rank)))
        kept.append(matrices[np.all(best == wanted, axis=(1, 2))])
    return np.sum((np.concatenate(kept) - S) ** 2, axis=(1, 2)) / (2.0 * d)


@settings(max_examples=3)
@given(tokens=st.integers(2, 3), ratio=st.floats(0.3, 2.0), dimension=st.integers(2, 4), count=st.integers(1, 3))
@example(tokens=2, ratio=0.5, dimension=4, count=3)
@example(tokens=3, ratio=2.0, dimension=2, count=2)
def test_posterior_sampling_meets_rejection(tokens, ratio, dimension, count):
    """The variance of one data set, with at least 100 accepted draws of the prior: six standard errors of both, the chains
    counted by their autocorrelation time. False-alarm rate below 1e-6."""
    point = {"tokens": tokens, "alpha": count / dimension**2, "dimension": dimension}
    model = {"channel": "hardmax", "tokens": tokens, "ratio": ratio}
    solver = {"burn_in": 500, "steps": 20_000, "record_every": 5}
    found = computed("posterior_sampling", model, {"alpha": point["alpha"], "dimension": dimension}, solver=solver)
    assert found.r_hat.item() < 1.1
    samples = accepted(point, found)
    if len(samples) < 100:
        return
    effective = 2 * 20_000 / max(found.autocorrelation.item(), 5.0)
    error = samples.std() * np.sqrt(1.0 / len(samples) + 1.0 / effective)
    assert abs(found.posterior_variance.item() - samples.mean()) < 6.0 * error


@pytest.mark.parametrize(("every", "steps"), [(7, 20), (10, 30)])
def test_posterior_sampling_refuses_steps_without_whole_samples(every, steps):
    model, grid = {"channel": "hardmax", "tokens": 2, "ratio": 0.5}, {"alpha": 0.5, "dimension": 4}
    assert computed("posterior_sampling", model, grid, solver={"steps": steps, "record_every": every}) is None


@settings(max_examples=2)
@given(
    model=section(
        FAMILY, "matrix_amp_sizes", "model", "beta", tokens=2, channel=st.sampled_from(["linear", "softmax"])
    ),
    share=st.floats(0.1, 0.8),
    damping=st.sampled_from([0.0, 0.5]),
)
@example(model={"channel": "softmax", "tokens": 2, "beta": 1.0}, share=0.5, damping=0.0)
def test_matrix_amp_sizes_gives_the_limit_and_what_happened_at_each_dimension(model, share, damping):
    """mmse_limit solves V = mmse(1 / (alpha K / V)) in decimal arithmetic; the trajectory of the theory starts at mmse(1 /
    (alpha K)), and is missing with damping; the error is the last one along the iterations of a
    converged run and of one that diverged, and otherwise that of the smallest residual; the sizes are rounded."""
    model = {**model, "ratio": 0.5}
    K = EQUATIONS[model["channel"]](2)
    alpha = float(f"{share * 0.75 / K:.6g}")
    solver = {"max_iterations": 4, "damping": damping, "fresh_sequences": 50}
    found = computed("matrix_amp_sizes", model, {"alpha": alpha, "dimension": [10, 20]}, solver=solver)
    limit = float(found.mmse_limit[0, 0, 0])
    expected, accuracy = slow_mmse(0.5, limit / (alpha * K))
    assert limit == pytest.approx(expected, rel=1e-6, abs=3 * accuracy)
    np.testing.assert_array_equal(found.width[0, :, 0], [5, 10])
    np.testing.assert_allclose(found.realised_alpha[0, :, 0] * found.dimension**2, np.round(alpha * found.dimension**2))
    best = found.residual_by_iteration.fillna(np.inf).argmin("iteration")
    reported = found.mmse_by_iteration.isel(iteration=found.iterations - 1).where(
        (found.converged == 1) | (found.diverged == 1), found.mmse_by_iteration.isel(iteration=best)
    )
    np.testing.assert_array_equal(reported, found.mmse)
    if damping:
        assert np.isnan(found.limit_by_iteration).all()
    else:
        first, accuracy = slow_mmse(0.5, 1.0 / (alpha * K))
        assert float(found.limit_by_iteration[0, 0, 0, 0]) == pytest.approx(first, rel=1e-6, abs=3 * accuracy)
    plug_in = found.error_plug_in.values
    assert np.all(plug_in[found.diverged.values == 0] >= 0)


@settings(max_examples=2)
@given(ratio=st.floats(0.3, 1.5), dimension=st.integers(4, 8), share=st.floats(0.1, 0.5))
@example(ratio=0.5, dimension=8, share=0.3)
def test_chains_that_have_mixed_agree_with_four_times_their_length(ratio, dimension, share):
    """Of six data sets those on which both runs converged: the variances differ by less than five standard errors of both, a
    false-alarm rate of 6e-7 per data set if the errors are right. Short chains are flagged."""
    model = {"channel": "hardmax", "tokens": 2, "ratio": float(f"{ratio:.6g}")}
    grid = {"alpha": float(f"{max(share, 1.0 / dimension**2):.6g}"), "dimension": dimension}
    solver = {"burn_in": 2000, "steps": 10_000, "record_every": 5}
    found = computed("posterior_sampling", model, grid, solver=solver, replicas=6)
    longer = computed("posterior_sampling", model, grid, solver={**solver, "steps": 40_000}, replicas=6)
    both = (found.converged == 1) & (longer.converged == 1)
    assert both.sum() >= 3
    spread = np.hypot(found.posterior_variance_node_error, longer.posterior_variance_node_error)
    assert np.all((np.abs(found.posterior_variance - longer.posterior_variance) < 5.0 * spread) | ~both)
    short = computed(
        "posterior_sampling", model, grid, solver={"burn_in": 0, "steps": 40, "record_every": 5}, replicas=6
    )
    assert not np.any(short.converged)
