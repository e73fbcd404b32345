"""Promises of matrix AMP in the attention-indexed family, and of sizes that its simulations refuse."""

import numpy as np
import pytest
from attention_indexed_promises import EQUATIONS, FAMILY, computed, with_output
from hypothesis import example, given, settings
from hypothesis import strategies as st
from slow_attention_indexed_simulations import plain_amp
from specifications import section

from attention_limits.attention_indexed.amp.matrix_amp import RECOVERED, draw_dataset
from attention_limits.attention_indexed.channels.loading import make_channel
from attention_limits.attention_indexed.model.scores import scores
from attention_limits.attention_indexed.model.sizes import Sizes
from attention_limits.attention_indexed.priors.product import Product
from attention_limits.attention_indexed.state_evolution.curve import solve
from attention_limits.pipeline.base.streams import Streams

pytestmark = pytest.mark.slow

# Plain AMP at fixed damping settles there; over the whole range the theory is the judge.
PLAIN = [("softmax", 1000.0, 0.5, 0.5), ("softmax", 0.001, 1.0, 0.4), ("linear", 1.0, 0.7, 0.5)]


@pytest.mark.parametrize(("name", "beta", "ratio", "share"), PLAIN)
def test_matrix_amp_ends_where_a_plain_one_does(name, beta, ratio, share):
    """Same data at a share of exact recovery, d = 10: the tensor of all products, cubics by their roots, damping 0.8. Both end
    within 2e-3 and 1 % of the same error: the plain one moves by less than 1e-3 in its last step."""
    K, d = EQUATIONS[name](2), 10
    alpha = float(f"{share * min(1.0, 2.0 * ratio) / K:.12g}")
    found = computed(
        "matrix_amp",
        {"channel": name, "tokens": 2, "ratio": ratio, "beta": beta},
        {"alpha": alpha},
        solver={"dimension": d, "max_iterations": 3000, "tolerance": 1e-4},
    )
    assert found.converged.item()
    channel = make_channel(name, 2, beta)
    rank, count = int(found.width.item()), round(found.realised_alpha.item() * d * d)
    generator = Streams(0, FAMILY, "promise").generator("data", 0, alpha=alpha)
    data = draw_dataset(channel, Sizes(count, d, rank), generator)
    h = scores(data.sequences, data.teacher)

    def score(omega):
        off = h - omega
        return off - off.mean(axis=(1, 2), keepdims=True) if name == "softmax" else off

    plain = plain_amp(data.sequences, K, score, data.teacher, rank / d)
    assert plain is not None
    assert found.mmse.item() == pytest.approx(plain, abs=2e-3 + 0.01 * plain)


SIZES = {"ratio": st.floats(-1.3, 2.0).map(lambda x: 10.0**x)}


@settings(max_examples=3)
@given(
    model=st.one_of(
        section(
            FAMILY, "matrix_amp", "model", "tokens", "beta", channel=st.sampled_from(["linear", "softmax"]), **SIZES
        ).map(with_output),
        section(FAMILY, "matrix_amp", "model", channel="hardmax", tokens=st.integers(2, 3), **SIZES),
    ),
    share=st.floats(-2.0, 0.5).map(lambda x: 10.0**x),
    settles=st.just(False),
)
@example(model={"channel": "softmax", "tokens": 2, "ratio": 0.5, "beta": 1000.0}, share=0.48, settles=True)
@example(model={"channel": "linear", "tokens": 3, "ratio": 1.0, "beta": 1.0}, share=0.3, settles=True)
@example(model={"channel": "softmax", "tokens": 64, "ratio": 0.5, "beta": 1.0}, share=1.0, settles=False)
@example(model={"channel": "hardmax", "tokens": 2, "ratio": 0.5}, share=0.5, settles=True)
@example(model={"channel": "hardmax", "tokens": 3, "ratio": 0.5}, share=0.2, settles=True)
def test_matrix_amp_meets_the_theory_at_its_realised_sizes(model, share, settles):
    """At a share of the samples of exact recovery (hardmax: of d^2), up to three times as many. The mean error of four data sets
    within five standard errors, and the corrections of the finite size: 2/d + 2/r + d / (4 n M^2) of an error of one.
    False-alarm rate 0.008 per example, Student's t of three degrees; the seeds are fixed.

    The dimension is 8 / ratio, between 32 and 160. What has not converged is flagged, and its residual or its divergence shows
    it; where `settles`, all have converged.
    """
    channel = make_channel(model["channel"], model["tokens"], model.get("beta", 1.0))
    ratio, tolerance = model["ratio"], 1e-2
    d = int(np.clip(8.0 / ratio, 32, 160))
    recovery = 1.0 if channel.equations is None else (1.0 if ratio >= 1 else ratio * (2.0 - ratio)) / channel.equations
    wanted = float(f"{max(share * recovery, 0.6 / d**2):.12g}")
    # With many tokens an iteration is slow, and one sequence is a part of the samples of recovery: no run converges.
    iterations = 200 if model["tokens"] <= 16 else 50
    solver = {"dimension": d, "max_iterations": iterations, "tolerance": tolerance}
    found = computed("matrix_amp", model, {"alpha": wanted}, solver=solver, replicas=4)
    alpha, ratio = float(found.realised_alpha.max()), float(found.realised_ratio.max())
    count, rank = alpha * d**2, ratio * d
    assert count == pytest.approx(max(1, round(wanted * d**2)))
    assert rank == pytest.approx(round(model["ratio"] * d))
    converged, errors = found.converged.values.ravel(), found.mmse.values.ravel()
    assert converged.all() or not settles
    settled = (found.residual.values.ravel() <= tolerance) | (found.mmse_predicted.values.ravel() <= RECOVERED)
    np.testing.assert_array_equal(settled, converged)
    if not converged.all():
        return
    expected = solve(channel, ratio, [alpha]).mmse[0]
    allowed = 2.0 / d + 2.0 / rank + d / (4.0 * count * channel.tokens**2)
    spread = 5.0 * errors.std(ddof=1) / 2.0
    assert abs(errors.mean() - expected) < spread + allowed
    assert abs(errors.mean() - found.mmse_predicted.mean()) < spread + allowed


@pytest.mark.parametrize(
    ("estimator", "model", "alpha"),
    [
        ("matrix_amp", {"channel": "softmax", "tokens": 2, "ratio": 0.5}, 1e-12),
        ("matrix_amp", {"channel": "softmax", "tokens": 2, "ratio": 1e-9}, 0.1),
        ("gradient_descent", {"tokens": 64, "ratio": 0.5}, 1000.0),
        ("gradient_descent", {"tokens": 2, "ratio": 100.0}, 0.1),
        ("two_layers_amp", {"ratio": 0.5, "skip": 1.0}, 1000.0),
    ],
)
def test_sizes_that_make_no_sense_or_do_not_fit_are_refused(estimator, model, alpha):
    """No sequence, no column, more memory than a job has."""
    assert computed(estimator, model, {"alpha": alpha}, solver={"dimension": 400}) is None


@settings(max_examples=2)
@given(
    model=section(
        FAMILY,
        "matrix_amp",
        "model",
        tokens=2,
        channel=st.sampled_from(["linear", "softmax", "hardmax"]),
        beta=st.just(1.0),
    ),
    share=st.floats(0.2, 0.8),
)
@example(model={"channel": "softmax", "tokens": 2}, share=0.6)
@example(model={"channel": "hardmax", "tokens": 2}, share=0.5)
def test_converged_runs_stay_with_four_times_the_iterations(model, share):
    """d = 32, rho = 0.5, the default tolerance, and a quarter of it: the mean change over the data sets on which both runs
    converged is below the standard error of the mean, which is the error of a point. Nothing is random between both runs."""
    K = EQUATIONS[model["channel"]](2) if model["channel"] in EQUATIONS else 2
    grid = {"alpha": float(f"{share * 0.75 / K:.8g}")}
    model = {key: value for key, value in model.items() if key in ("channel", "tokens")} | {"ratio": 0.5}
    solver = {"dimension": 32, "fresh_sequences": 10}
    found = computed("matrix_amp", model, grid, solver=solver, replicas=8)
    longer = computed(
        "matrix_amp", model, grid, solver={**solver, "max_iterations": 6000, "tolerance": 5e-4}, replicas=8
    )
    both = ((found.converged == 1) & (longer.converged == 1)).values.ravel()
    assert both.sum() >= 4
    errors, later = found.mmse.values.ravel()[both], longer.mmse.values.ravel()[both]
    assert abs(np.mean(later - errors)) < errors.std(ddof=1) / np.sqrt(len(errors))


@settings(max_examples=2)
@given(
    model=section(
        FAMILY, "untied_amp", "model", "beta", "self_attention", tokens=st.integers(2, 3), ratio=st.floats(0.3, 1.5)
    ),
    share=st.floats(0.2, 0.7),
)
@example(model={"self_attention": False, "tokens": 2, "ratio": 0.5, "beta": 1.0}, share=0.5)
@example(model={"self_attention": True, "tokens": 2, "ratio": 0.5, "beta": 1.0}, share=0.5)
def test_untied_amp_meets_the_theory_of_separate_sequences_or_is_flagged(model, share):
    """Separate sequences: the mean error of four data sets lies within five standard errors, and 2/d + 2/r, of the theory
    (false-alarm rate 0.008, Student's t of three degrees; the seeds are fixed), and both parts add up to it. Self-attention has
    no promise but its flags: an error without a flag of convergence is missing or has a residual above the tolerance."""
    d, tolerance = 48, 1e-2
    channel = make_channel("softmax", model["tokens"], model["beta"], untied=True)
    ratio = model["ratio"]
    alpha = share * (1.0 if ratio >= 1 else ratio * (2.0 - ratio)) / channel.equations
    found = computed(
        "untied_amp", model, {"alpha": float(f"{alpha:.12g}")}, replicas=4,
        solver={"dimension": d, "max_iterations": 300, "tolerance": tolerance},
    )  # fmt: skip
    errors, converged = found.mmse.values.ravel(), found.converged.values.ravel()
    known = np.isfinite(errors)
    np.testing.assert_allclose(
        found.mmse_by_part.sum("part", skipna=False).values.ravel()[known], errors[known], rtol=1e-9
    )
    settled = (found.residual.values.ravel() <= tolerance) | (found.mmse_predicted.values.ravel() <= RECOVERED)
    np.testing.assert_array_equal(settled & known, converged)
    if model["self_attention"] or not converged.all():
        return
    realised = float(found.realised_ratio.max())
    expected = solve(channel, Product(realised), [float(found.realised_alpha.max())]).mmse[0]
    assert abs(errors.mean() - expected) < 2.5 * errors.std(ddof=1) + 2.0 / d + 2.0 / (realised * d)
