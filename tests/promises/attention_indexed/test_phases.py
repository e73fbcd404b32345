"""Promises of the phases of one layer: outputs of a user that turn, and the whole range of the provided channels."""

import numpy as np
import pytest
from attention_indexed_promises import FAMILY, computed, with_output
from hypothesis import example, given, settings
from hypothesis import strategies as st
from slow_attention_indexed_phases import Phases
from specifications import section

from attention_limits.attention_indexed.priors.wishart import Wishart
from toy import REPOSITORY

pytestmark = pytest.mark.slow

FILE = REPOSITORY / "tests/attention_indexed/channels_of_files.py"
SHAPES = {"size": np.abs, "square": np.square, "sign": np.sign}
# Accuracy of the dense grids, and the relative length of a hard range that one of both programs may miss.
GRID, NARROW = 2e-3, 0.05


@settings(max_examples=2)
@given(
    shape=st.sampled_from(["size", "square", "sign"]),
    shift=st.floats(0.0, 0.5),
    noise=st.floats(-2.0, 0.5).map(lambda x: 10.0**x),
    ratio=st.floats(-2.0, -0.3).map(lambda x: 10.0**x),
)
@example(shape="size", shift=0.3, noise=0.01, ratio=0.05)
@example(shape="square", shift=0.0, noise=1.0, ratio=0.02)
@example(shape="sign", shift=0.4, noise=0.1, ratio=0.2)
def test_phase_comparison_of_outputs_that_turn(shape, shift, noise, ratio):
    """Thresholds, the best error and the mutual information of y = f(h_12 + shift) + noise, from entropies on dense grids. The
    bounds are deterministic: no false alarms."""
    shift, noise, ratio = (float(f"{value:.4g}") for value in (shift, noise, ratio))
    slow = Phases(lambda h: SHAPES[shape](h + shift), noise, Wishart(ratio).mmse, 1.0 + ratio)
    model = {
        "channel": f"{FILE}:NoiselessShape", "tokens": 2, "ratio": ratio, "output_noise": noise,
        "parameters": {"shape": shape, "shift": shift},
    }  # fmt: skip
    alphas = [float(f"{share * ratio:.6g}") for share in (0.5, 1.0, 1.5, 3.0, 10.0)]
    found = computed("phase_comparison", model, {"alpha": alphas}).isel(replica=0)
    names = ("information_theoretic_threshold", "algorithmic_threshold")
    ends = [float(found[name][0]) for name in names]
    expected = slow.thresholds(1e-2 * ratio, 60.0 * ratio)
    hard = [pair for pair in (ends, expected) if pair is not None and np.all(np.isfinite(pair))]
    if len(hard) == 2:
        errors = [float(found[f"{name}_error"][0]) for name in names]
        for value, error, dense in zip(ends, errors, expected, strict=True):
            assert abs(value - dense) <= 2.0 * error + GRID * dense
            assert error < 0.1 * value
    for begin, end in hard if len(hard) == 1 else ():
        assert end <= (1.0 + NARROW) * begin
    for place, alpha in enumerate(alphas):
        at = found.isel(alpha=place)
        whole = float(np.max(alpha * slow.A - slow.B))
        mutual = alpha * slow.information(1.0) - whole
        assert abs(at.mutual_information - mutual) <= 2.0 * at.mutual_information_error + GRID * mutual
        assert abs(at.free_entropy - whole) <= 2.0 * at.free_entropy_error + GRID * alpha * slow.information(1.0)
        if at.decided:
            best = slow.best(alpha)
            assert abs(at.mmse_bayes - best) <= 2.0 * at.mmse_bayes_error + 0.01 * best


MODELS = st.one_of(
    section(FAMILY, "phase_comparison", "model", "tokens", "ratio", "output_noise", channel=st.just("linear")),
    section(FAMILY, "phase_comparison", "model", "tokens", "ratio", "beta", channel=st.just("softmax")).map(
        with_output
    ),
    section(FAMILY, "phase_comparison", "model", "ratio", "untied", tokens=st.just(2), channel=st.just("hardmax")),
)


@settings(max_examples=6)
@given(model=MODELS, grid=section(FAMILY, "phase_comparison", "grid", "alpha"))
@example(model={"channel": "linear", "tokens": 64, "ratio": 1e-9, "output_noise": 1e-9}, grid={"alpha": 1000.0})
@example(model={"channel": "hardmax", "tokens": 2, "ratio": 100.0}, grid={"alpha": 1e-9})
@example(model={"channel": "softmax", "tokens": 2, "ratio": 0.5}, grid={"alpha": 0.1875})
def test_phase_comparison_over_the_whole_range(model, grid):
    """Provided channels are unique at every alpha. I is the integral of its derivative: concave in alpha, between 0 and alpha
    times that of one sample, which F and I add up to."""
    alphas = sorted({0.0, *(float(f"{grid['alpha'] * share:.12g}") for share in (0.25, 0.5, 1.0))})
    found = computed("phase_comparison", model, {"alpha": alphas})
    assert (found is None) == (0 < model.get("output_noise", 0.0) < 1e-9)
    if found is None:
        return
    found = found.isel(replica=0)
    assert np.all(found.certificate == 2)
    assert np.all(found.unique == 1)
    assert np.all(found.decided == 1)
    assert np.all(found.solutions == 1)
    assert np.all(np.isin(found.phase, (0, 2)))
    np.testing.assert_allclose(found.mmse_bayes, found.mmse, rtol=1e-7, atol=1e-12)
    assert np.all(np.isnan(found.algorithmic_threshold))
    F, mutual = found.free_entropy.values, found.mutual_information.values
    finite = F[np.isfinite(F)]
    assert np.all(finite > -1e-9)
    assert np.all(np.diff(finite) > -1e-9)
    # Exact recovery stays.
    assert np.all(np.isposinf(F[len(finite) :]))
    if np.all(np.isfinite(mutual)):
        assert np.all(np.diff(mutual) > -1e-9)
        slopes = np.diff(mutual) / np.diff(alphas)
        assert np.all(np.diff(slopes) <= 1e-6 * np.maximum(slopes[1:], slopes[:-1]) + 1e-9)
    else:
        assert model["channel"] != "hardmax"
        assert np.all(np.isposinf(mutual[1:]))
