"""Promises of untied attention: theory from the roots of its quartic, information by integration and sampling, AMP."""

import numpy as np
import pytest
from attention_indexed_promises import FAMILY, computed, with_output
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import log_ndtr
from slow_attention_indexed_untied import quartic_mmse, row_information
from specifications import section

from attention_limits.attention_indexed.priors.denoisers.rectangular import RectangularLaw

pytestmark = pytest.mark.slow

EQUATIONS = {"linear": lambda M: M * M, "softmax": lambda M: M * (M - 1)}


def sign_information(V):
    """(2 / V) E phi(k)^2 / (Phi(k) Phi(-k)), k of variance (1 - V) / V, by adaptive integration on both scales."""
    width = np.sqrt(max(1.0 - V, 0.0) / V)

    def density(z, k):
        return np.exp(-0.5 * z * z - k * k - log_ndtr(k) - log_ndtr(-k)) / (2.0 * np.pi) ** 1.5

    if width < 1:
        total = quad(lambda z: density(z, width * z), -12.0, 12.0, epsabs=1e-13, limit=200)[0]
    else:
        total = quad(lambda k: density(k / width, k), -38.0, 38.0, epsabs=1e-13, limit=200)[0] / width
    return 2.0 * total / V


def information(channel, tokens, V):
    return EQUATIONS[channel](tokens) / V if channel in EQUATIONS else sign_information(V)


def assert_curve(channel, tokens, ratio, alpha, error):
    """V = mmse(D) at 1/D = alpha information(V); zero from exact recovery on, at V < 1e-10."""
    assert 0.0 <= error <= 1.0
    if error < 1e-10 and channel in EQUATIONS:
        assert alpha * EQUATIONS[channel](tokens) >= (2.0 * ratio - ratio**2 if ratio < 1 else 1.0) * (1.0 - 1e-4)
    elif alpha * information(channel, tokens, 1.0) < 1e-9:
        assert error == pytest.approx(1.0, abs=1e-8)
    else:
        noise = 1.0 / (alpha * information(channel, tokens, error))
        first, expected = (quartic_mmse(ratio, noise, step) for step in (0.12, 0.09))
        assert error == pytest.approx(expected, rel=1e-5, abs=3.0 * abs(expected - first))


MODELS = section(
    FAMILY, "state_evolution", "model", "tokens", "ratio", "beta",
    channel=st.sampled_from(["linear", "softmax"]), untied=True,
).map(with_output)  # fmt: skip
SIGNS = section(FAMILY, "state_evolution", "model", "ratio", tokens=2, channel="hardmax", untied=True)


@settings(max_examples=2)
@given(
    model=st.one_of(MODELS, MODELS, SIGNS),
    grid=section(FAMILY, "state_evolution", "grid", "alpha"),
    share=st.floats(-3.0, 0.02).map(lambda x: 10.0**x),
)
@example(model={"channel": "softmax", "tokens": 2, "ratio": 1e-8, "untied": True}, grid={"alpha": 6e-9}, share=0.5)
@example(model={"channel": "hardmax", "tokens": 2, "ratio": 1e-9, "untied": True}, grid={"alpha": 1e-6}, share=1e-8)
@example(model={"channel": "hardmax", "tokens": 2, "ratio": 100.0, "untied": True}, grid={"alpha": 1000.0}, share=1.0)
@example(model={"channel": "linear", "tokens": 2, "ratio": 1.0, "untied": True}, grid={"alpha": 0.2}, share=0.45)
def test_state_evolution_solves_its_equations(model, grid, share):
    """At an alpha of the whole range, and at a share of exact recovery, which the former rarely meets."""
    K = EQUATIONS[model["channel"]](model["tokens"]) if model["channel"] in EQUATIONS else 2.0 * model["ratio"]
    place = share * 2.0 * model["ratio"] / K
    alphas = sorted({float(f"{value:.12g}") for value in (grid["alpha"], place, 1.01 * place)})
    errors = computed("state_evolution", model, {"alpha": alphas}).mmse.values[:, 0]
    assert np.all(np.diff(errors) <= 1e-12)
    for alpha, error in zip(alphas[:2], errors[:2], strict=False):
        if alpha > 0:
            assert_curve(model["channel"], model["tokens"], model["ratio"], alpha, error)


SIDES = st.floats(np.log(1.05), np.log(1000.0)).map(lambda x: float(f"{np.exp(x):.12g}"))


@settings(max_examples=3)
@given(
    model=section(
        FAMILY, "state_evolution", "model", "tokens", channel=st.sampled_from(["linear", "softmax"]), untied=True,
        ratio=st.floats(-2.0, 1.0).map(lambda x: 10.0**x), aspect=st.one_of(SIDES, SIDES.map(lambda x: 1.0 / x)),
    ).map(with_output),
    share=st.floats(-3.0, 0.02).map(lambda x: 10.0**x),
)  # fmt: skip
@example(model={"channel": "linear", "tokens": 2, "ratio": 0.3, "aspect": 1.1, "untied": True}, share=0.2)
@example(model={"channel": "linear", "tokens": 2, "ratio": 0.01, "aspect": 16.0, "untied": True}, share=0.5)
@example(model={"channel": "softmax", "tokens": 3, "ratio": 10.0, "aspect": 0.0625, "untied": True}, share=0.9)
@example(model={"channel": "linear", "tokens": 1, "ratio": 0.05, "aspect": 0.01, "untied": True}, share=0.7)
def test_state_evolution_of_rectangular_weights_solves_its_equations(model, share):
    """V = mmse(D) at 1/D = alpha K/V, with D - int nu (lambda - xi)^2 = 1 - int nu xi^2 = mmse(D) of a law whose singular values
    have the mass and the second moment of Y; zero from exact recovery on."""
    ratio, aspect = model["ratio"], model["aspect"]
    K, side = EQUATIONS[model["channel"]](model["tokens"]), min(np.sqrt(aspect), 1.0 / np.sqrt(aspect))
    excess = side + 1.0 / side
    parameters = excess * ratio - ratio**2 if ratio < side else 1.0
    alpha = float(f"{share * parameters / K:.12g}")
    error = float(computed("state_evolution", model, {"alpha": alpha}).mmse.item())
    if share >= 1:
        assert error < 1e-5
        return
    law = RectangularLaw(ratio, excess, error / (alpha * K))
    assert law.integrate(lambda value, xi: 1.0) == pytest.approx(side, rel=1e-6)
    assert law.integrate(lambda value, xi: value**2) == pytest.approx(1.0 + law.noise, rel=1e-6)
    steps, squares = (law.integrate(f) for f in (lambda value, xi: (value - xi) ** 2, lambda value, xi: xi**2))
    assert error == pytest.approx(1.0 - squares, rel=5e-5, abs=1e-6)
    assert error == pytest.approx(law.noise - steps, rel=5e-5, abs=1e-6 * law.noise)


@settings(max_examples=5)
@given(model=st.one_of(MODELS, SIGNS), rescaled=st.floats(-3.0, 0.3).map(lambda x: 10.0**x))
@example(model={"channel": "softmax", "tokens": 2, "ratio": 1.0, "untied": True}, rescaled=0.8)
@example(model={"channel": "hardmax", "tokens": 2, "ratio": 1.0, "untied": True}, rescaled=1.2)
def test_small_width_limit_solves_its_equations(model, rescaled):
    """V = 1 - max(1 - t, 0)^2 at 1/t = (alpha / rho) information(V), without the width."""
    channel, tokens = model["channel"], model["tokens"]
    found = computed("small_width_limit", {**model, "ratio": 0.0}, {"rescaled_alpha": rescaled})
    error = float(found.mmse.item())
    assert float(found.weak_threshold.item()) * information(channel, tokens, 1.0) == pytest.approx(1.0, rel=1e-6)
    t = 1.0 / (rescaled * information(channel, tokens, max(error, 1e-12)))
    assert error == pytest.approx(1.0 - max(1.0 - t, 0.0) ** 2, rel=1e-5, abs=1e-9)


@settings(max_examples=3)
@given(tokens=st.integers(3, 8), share=st.floats(-1.5, 0.3).map(lambda x: 10.0**x))
@example(tokens=3, share=0.3)
def test_information_of_more_tokens_is_right_within_its_bound(tokens, share):
    """At the V of a point of the curve at rho = 0.5: the information behind it, 1 / (alpha D), against rejection sampling, within
    five standard errors, the missing pairs, and a bound of 2 per cent."""
    model = {"channel": "hardmax", "tokens": tokens, "ratio": 0.5, "untied": True}
    found = computed("state_evolution", model, {"alpha": float(f"{share:.12g}")})
    V, noise = float(found.mmse.item()), float(found.noise.item())
    mean, error, missing = row_information(tokens, V, 1.0, 20_000, np.random.default_rng(tokens))
    implied = 1.0 / (float(f"{share:.12g}") * noise)
    bound = 0.02 * implied
    assert mean - 5.0 * error - bound < implied < mean + missing + 5.0 * error + bound


@settings(max_examples=1)
@given(
    model=section(
        FAMILY, "matrix_amp", "model", "beta", tokens=st.integers(2, 4), channel=st.sampled_from(["linear", "softmax"]),
        ratio=st.floats(-0.8, 1.0).map(lambda x: 10.0**x), untied=True,
    ),
    share=st.floats(-1.5, 0.3).map(lambda x: 10.0**x),
)  # fmt: skip
@example(model={"channel": "softmax", "tokens": 3, "ratio": 0.5, "beta": 1000.0, "untied": True}, share=0.5)
def test_matrix_amp_meets_the_theory_at_its_realised_sizes(model, share):
    """At a share of the samples of exact recovery: the mean error of four data sets of d = 60, where all converged, within five
    standard errors and 3/d + 2/r + d / (4 n M^2). False-alarm rate 0.008 per example, Student's t of three degrees."""
    d = 60
    recovery = min(1.0, 2.0 * model["ratio"]) / EQUATIONS[model["channel"]](model["tokens"])
    alpha = float(f"{max(share * recovery, 0.6 / d**2):.12g}")
    solver = {"dimension": d, "max_iterations": 150, "tolerance": 1e-2, "fresh_sequences": 50}
    found = computed("matrix_amp", model, {"alpha": alpha}, solver=solver, replicas=4)
    if not found.converged.values.all():
        return
    realised = {**model, "ratio": float(found.realised_ratio.max())}
    theory = computed("state_evolution", realised, {"alpha": float(found.realised_alpha.max())})
    errors, expected = found.mmse.values.ravel(), float(theory.mmse.item())
    count = float(found.realised_alpha.max()) * d**2
    allowed = 3.0 / d + 2.0 / float(found.width.max()) + d / (4.0 * count * model["tokens"] ** 2)
    assert abs(errors.mean() - expected) < 2.5 * errors.std(ddof=1) + allowed
