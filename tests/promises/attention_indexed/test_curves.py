"""Promises of the curves of the attention-indexed family: theory in decimal arithmetic, direct integration and sampling."""

from pathlib import Path

import numpy as np
import pytest
from attention_indexed_promises import EQUATIONS, FAMILY, computed, information, slow_mmse, with_output
from hypothesis import example, given, settings
from hypothesis import strategies as st
from slow_attention_indexed import sampled_information
from slow_attention_indexed_untied import quartic_mmse
from specifications import section

from attention_limits.attention_indexed.channels import sampled
from attention_limits.attention_indexed.channels.loading import load_channel
from attention_limits.attention_indexed.state_evolution.curve import trajectory
from toy import REPOSITORY

pytestmark = pytest.mark.slow


def assert_curve(channel, tokens, ratio, alpha, error):
    """V = mmse(D) at 1/D = alpha information(V), in decimal arithmetic; zero from exact recovery on, at V < 1e-10."""
    assert 0.0 <= error <= 1.0
    if error < 1e-10 and channel in EQUATIONS:
        nu = ratio - ratio**2 / 2 if ratio < 1 else 0.5
        assert alpha * EQUATIONS[channel](tokens) >= 2.0 * nu * (1.0 - 1e-4)
    elif alpha * information(channel, tokens, 1.0, 1.0 + ratio) < 1e-9:
        assert error == pytest.approx(1.0, abs=1e-8)
    else:
        expected, accuracy = slow_mmse(ratio, 1.0 / (alpha * information(channel, tokens, error, 1.0 + ratio)))
        assert error == pytest.approx(expected, rel=1e-5, abs=3.0 * accuracy)


MODELS = section(
    FAMILY, "state_evolution", "model", "tokens", "ratio", "beta", channel=st.sampled_from(["linear", "softmax"])
).map(with_output)
SIGNS = section(
    FAMILY, "state_evolution", "model", "ratio", tokens=2, channel=st.sampled_from(["hardmax", "hardmax_published"])
)


@settings(max_examples=10)
@given(
    model=st.one_of(MODELS, MODELS, SIGNS),
    grid=section(FAMILY, "state_evolution", "grid", "alpha"),
    share=st.floats(-3.0, 0.02).map(lambda x: 10.0**x),
)
@example(model={"channel": "linear", "tokens": 1, "ratio": 0.5}, grid={"alpha": 0.3}, share=0.5)
@example(model={"channel": "softmax", "tokens": 2, "ratio": 1e-8}, grid={"alpha": 4e-9}, share=0.5)
@example(model={"channel": "hardmax", "tokens": 2, "ratio": 1e-9}, grid={"alpha": 1000.0}, share=1.0)
@example(model={"channel": "hardmax", "tokens": 2, "ratio": 100.0}, grid={"alpha": 1000.0}, share=1.0)
def test_state_evolution_solves_its_equations(model, grid, share):
    """At an alpha of the whole range, and at a share of exact recovery, which the former rarely meets."""
    place = share * (
        2.0 * model["ratio"] / EQUATIONS[model["channel"]](model["tokens"]) if model["channel"] in EQUATIONS else 1.0
    )
    alphas = sorted({float(f"{value:.12g}") for value in (grid["alpha"], place, 1.01 * place)})
    found = computed("state_evolution", model, {"alpha": alphas})
    errors = found.mmse.values[:, 0]
    assert np.all(np.diff(errors) <= 1e-12)
    for alpha, error in zip(alphas[:2], errors[:2], strict=False):
        if alpha > 0:
            assert_curve(model["channel"], model["tokens"], model["ratio"], alpha, error)


@settings(max_examples=6)
@given(
    model=st.one_of(MODELS, SIGNS),
    small=st.booleans(),
    rescaled=st.floats(-3.0, 0.3).map(lambda x: 10.0**x),
)
@example(model={"channel": "softmax", "tokens": 2, "ratio": 1.0}, small=True, rescaled=0.3)
@example(model={"channel": "hardmax", "tokens": 2, "ratio": 1.0}, small=True, rescaled=0.6)
@example(model={"channel": "hardmax", "tokens": 2, "ratio": 1e-9}, small=False, rescaled=1000.0)
def test_small_width_limit_solves_its_equations(model, small, rescaled):
    """In the limit V = 1 - max(1 - t, 0)^2 at 1/t = (alpha / rho) information(V, 1), else as the state evolution."""
    channel, tokens = model["channel"], model["tokens"]
    ratio = 0.0 if small else model["ratio"]
    found = computed("small_width_limit", {**model, "ratio": ratio}, {"rescaled_alpha": rescaled})
    error = float(found.mmse.item())
    if not small:
        assert_curve(channel, tokens, ratio, ratio * rescaled, error)
        return
    assert float(found.weak_threshold.item()) * information(channel, tokens, 1.0, 1.0) == pytest.approx(1.0, rel=1e-6)
    t = 1.0 / (rescaled * information(channel, tokens, max(error, 1e-12), 1.0))
    assert error == pytest.approx(1.0 - max(1.0 - t, 0.0) ** 2, rel=1e-5, abs=1e-9)


def test_small_width_limit_refuses_what_its_limit_covers():
    assert (
        computed("small_width_limit", {"channel": "softmax", "tokens": 2, "ratio": 1e-10}, {"rescaled_alpha": 0.3})
        is None
    )


@settings(max_examples=3)
@given(
    tokens=st.integers(3, 6),
    model=section(FAMILY, "state_evolution", "model", "ratio"),
    grid=section(FAMILY, "state_evolution", "grid", "alpha"),
    share=st.floats(-1.5, 0.3).map(lambda x: 10.0**x),
)
@example(tokens=3, model={"ratio": 0.5}, grid={"alpha": 1000.0}, share=0.3)
@example(tokens=4, model={"ratio": 1.0}, grid={"alpha": 1e-9}, share=0.1)
@example(tokens=5, model={"ratio": 1e-9}, grid={"alpha": 1000.0}, share=1.0)
@example(tokens=3, model={"ratio": 100.0}, grid={"alpha": 1000.0}, share=2.0)
def test_state_evolution_bounds_its_error_of_many_tokens(tokens, model, grid, share):
    """Hardmax of more than two tokens: the error falls from 1 at no samples, and its bound is at most as large. For three and
    four tokens mmse(1 / (alpha I)) - V changes its sign within V +- `mmse_error`, I = E 4 sum G^2 sampled at both ends by
    rejection, within five standard errors. False-alarm rate 6e-7 per end.

    The sampling has a standard error of some percent: it sees a wrong information, and tests/theory sees 1e-3. Eight tokens take
    20 s; they are the same code.
    """
    place = float(f"{share * min(model['ratio'], 1.0):.12g}")
    alphas = sorted({0.0, 1e-3 * place, place, 1.001 * place, grid["alpha"], 1000.0})
    found = computed("state_evolution", {"channel": "hardmax", "tokens": tokens, **model}, {"alpha": alphas})
    errors, bounds = found.mmse.values[:, 0], found.mmse_error.values[:, 0]
    assert errors[0] == 1.0
    assert np.all(np.diff(errors) <= 1e-12)
    assert np.all(errors > 0.0)
    assert np.all((bounds >= 0.0) & (bounds <= errors))
    if tokens > 4:
        return
    at = alphas.index(place)
    Q, rng = 1.0 + model["ratio"], np.random.default_rng(0)
    for sign in (-1.0, 1.0):
        V = min(errors[at] + sign * bounds[at], 1.0)
        # Outputs near a tie are a part sqrt(V / Q) of all.
        count = int(min(20_000 / np.sqrt(V / Q), 400_000))
        mean, error, missing = sampled_information(tokens, V, Q, count, rng)
        assert 5.0 * error + missing < 0.5 * mean
        # Less information below, more above: the noise at which the sign could just be the other one.
        most = mean - 5.0 * error if sign < 0 else mean + 5.0 * error + missing
        expected, accuracy = slow_mmse(model["ratio"], 1.0 / (place * most))
        assert sign * (expected - V) <= 3.0 * accuracy + 1e-9


@settings(max_examples=8)
@given(
    model=section(FAMILY, "state_evolution", "model", "tokens", "ratio", "output_noise", channel=st.just("linear")),
    alpha=st.floats(-2.0, 3.0).map(lambda x: 10.0**x),
)
@example(model={"channel": "linear", "tokens": 2, "ratio": 1e-9, "output_noise": 1e-9}, alpha=1.0)
@example(model={"channel": "linear", "tokens": 64, "ratio": 100.0, "output_noise": 1000.0}, alpha=1000.0)
def test_state_evolution_of_linear_scores_with_noise(model, alpha):
    """V = mmse(D) at 1/D = alpha M (M + 1) / (V + noise / 2), in decimal arithmetic: never zero with noise."""
    alpha, noise, tokens = float(f"{alpha:.12g}"), model["output_noise"], model["tokens"]
    found = computed("state_evolution", model, {"alpha": [alpha]})
    assert (found is None) == (0 < noise < 1e-9)
    if found is None:
        return
    error = float(found.mmse.squeeze())
    if noise == 0.0:
        assert_curve("linear", tokens, model["ratio"], alpha, error)
        return
    assert 0.0 < error <= 1.0
    D = (error + 0.5 * noise) / (alpha * tokens * (tokens + 1))
    expected, accuracy = slow_mmse(model["ratio"], D)
    assert error == pytest.approx(expected, rel=1e-5, abs=3.0 * accuracy)


FILE = REPOSITORY / "tests/attention_indexed/channels_of_files.py"


@settings(max_examples=3)
@given(
    shift=st.floats(0.0, 1.0),
    spread=st.one_of(st.just(0.0), st.floats(-3.0, 0.0).map(lambda x: 10.0**x)),
    ratio=st.floats(-1.5, 0.0).map(lambda x: 10.0**x),
    share=st.floats(0.2, 3.0),
)
@example(shift=0.0, spread=0.0, ratio=0.05, share=1.0)
@example(shift=0.15, spread=0.0, ratio=0.05, share=0.82)
@example(shift=0.3, spread=0.01, ratio=0.05, share=1.54)
def test_curves_that_turn_stay_with_four_times_the_outputs(shift, spread, ratio, share):
    """|h_12 + shift| with noise at shares of as many equations as parameters: errors that are not missing agree with those of
    four times the outputs within twice the sum of both bounds: five standard errors of eight groups, a false-alarm rate of 0.002
    for each error. Points that are unique have one solution there too, or an open one; the uninformed error is the end of message
    passing, and the informed one is not larger."""
    nu = ratio - ratio**2 / 2
    parameters = {"shift": float(f"{shift:.6g}"), "spread": float(f"{spread:.6g}")}
    model = {"channel": f"{FILE}:Size", "tokens": 2, "ratio": float(f"{ratio:.6g}"), "parameters": parameters}
    grid = {"alpha": [float(f"{factor * share * nu:.8g}") for factor in (0.5, 1.0, 1.5)]}
    found = computed("state_evolution", model, grid).isel(replica=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampled, "_OUTPUTS", 4 * sampled._OUTPUTS)
        more = computed("state_evolution", model, grid).isel(replica=0)
    unique = found.unique == 1
    for name in ("mmse", "mmse_informed"):
        allowed = 2.0 * (found[f"{name}_error"] + more[f"{name}_error"]) + 1e-6
        # On points that are not unique, one program may have passed the end of a branch.
        assert np.all((np.abs(found[name] - more[name]) <= allowed) | ~unique | np.isnan(found[name]))
    assert np.all((found.mmse_informed <= found.mmse + 1e-9) | np.isnan(found.mmse) | np.isnan(found.mmse_informed))
    np.testing.assert_allclose(found.mmse[unique], found.mmse_informed[unique], atol=1e-6)
    channel = load_channel(model, Path())
    for alpha, error, bound in zip(grid["alpha"], found.mmse.values, found.mmse_error.values, strict=True):
        if np.isfinite(error):
            end = trajectory(channel, model["ratio"], alpha, 4000)[-1]
            assert abs(end - error) <= 2.0 * bound + 1e-6


@settings(max_examples=4)
@given(
    model=section(FAMILY, "denoising", "model", "ratio", "untied"),
    noise=st.floats(-5.0, 3.0).map(lambda x: float(f"{10.0**x:.12g}")),
)
@example(model={"ratio": 1e-9, "untied": False}, noise=1000.0)
@example(model={"ratio": 100.0, "untied": True}, noise=1e-5)
def test_denoising_is_the_error_of_its_law(model, noise):
    """Against decimal arithmetic, or the roots of the quartic of untied weights, over the whole range."""
    found = float(computed("denoising", model, {"denoising_noise": noise}).mmse.item())
    if model["untied"]:
        first, expected = (quartic_mmse(model["ratio"], noise, step) for step in (0.12, 0.09))
        accuracy = abs(expected - first)
    else:
        expected, accuracy = slow_mmse(model["ratio"], noise)
    assert found == pytest.approx(expected, rel=1e-5, abs=3.0 * accuracy)
