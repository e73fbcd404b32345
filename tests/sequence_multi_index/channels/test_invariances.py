"""Exact symmetries of the channel, and exact rescalings of its parameters."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from smi_tools import channel_of, draw_channels

from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention

pytestmark = pytest.mark.slow

# Symmetries move the nodes onto each other, except at the ends of the range of 6.5 prior standard deviations, where the
# density is exp(-21) = 7e-10 of its maximum; second moments weigh it by up to 6.5^2.
RESOLUTION = 1.5
TOLERANCE = 1e-7

numbers = st.floats(-2.0, 2.0).filter(lambda x: x == 0 or abs(x) > 1e-3)
few = settings(max_examples=25)


@st.composite
def channels(draw):
    """(model, u (1, 2), omega (1, 2, 2), V): skips and overlaps of every kind, outputs of prior-typical size."""
    model = DeepAttention(draw(st.sampled_from([0.1, 0.5, 1.0, 4.0])), draw(st.sampled_from([0.5, 1.0, 2.0])))
    deviations = np.array([draw(st.floats(0.1, 1.0)), draw(st.floats(0.1, 1.0))])
    correlation = draw(st.floats(-0.8, 0.8))
    V = np.outer(deviations, deviations) * np.array([[1.0, correlation], [correlation, 1.0]])
    V[1, 0] = V[0, 1]
    omega = np.array(draw(st.lists(numbers, min_size=4, max_size=4))).reshape(1, 2, 2)
    noise = np.array(draw(st.lists(numbers, min_size=4, max_size=4))).reshape(1, 2, 2)
    h = omega + np.linalg.cholesky(V) @ noise
    return model, model.preactivation(h), omega, V


def moments_of(model, u, omega, V):
    found = channel_of(model, RESOLUTION).posterior(u, omega, V)
    return found.log_z, found.mean, found.covariance


def assert_same(first, second, V):
    """Agreement in units of the prior standard deviations of h."""
    deviations = np.sqrt(np.diag(V))[:, None] * np.ones(2)
    units = (1.0, deviations, deviations[:, :, None, None] * deviations)
    for left, right, unit in zip(first, second, units, strict=True):
        np.testing.assert_allclose(left / unit, right / unit, atol=TOLERANCE)


@given(channels())
@few
def test_sign_of_the_output_root_is_irrelevant(channel):
    model, u, omega, V = channel
    assert_same(moments_of(model, u, omega, V), moments_of(model, -u, omega, V), V)


@given(channels())
@few
def test_exchanging_the_tokens_exchanges_the_moments(channel):
    model, u, omega, V = channel
    log_z, mean, covariance = moments_of(model, u[:, ::-1], omega[:, :, ::-1], V)
    exchanged = log_z, mean[:, :, ::-1], covariance[:, :, ::-1, :, ::-1]
    assert_same(moments_of(model, u, omega, V), exchanged, V)


def flipped(channel, layer):
    """Moments with one layer's omega and its correlation with the other layer reversed, then that layer's sign undone."""
    model, u, omega, V = channel
    sign = np.ones(2)
    sign[layer] = -1.0
    log_z, mean, covariance = moments_of(model, u, sign[:, None] * omega, V * np.outer(sign, sign))
    return log_z, sign[:, None] * mean, sign[:, None, None, None] * covariance * sign[:, None]


@given(channels())
@few
def test_sign_of_the_first_layer_is_a_gauge(channel):
    """The attention matrix is even in z_1."""
    assert_same(moments_of(*channel), flipped(channel, 0), channel[-1])


@given(channels())
@few
def test_sign_of_the_second_layer_is_a_gauge(channel):
    """u is odd in z_2, and known only up to its sign."""
    assert_same(moments_of(*channel), flipped(channel, 1), channel[-1])


def rescaled(channel, factors, model, roots):
    """Moments of the channel with h_p replaced by factors_p h_p, brought back to the units of h."""
    _, _, omega, V = channel
    log_z, mean, covariance = moments_of(model, roots, factors[:, None] * omega, V * np.outer(factors, factors))
    return log_z, mean / factors[:, None], covariance / (factors[:, None, None, None] * factors[:, None])


@given(channels())
@few
def test_temperature_is_a_scale_of_the_first_layer(channel):
    """At fixed u, beta enters only through beta z_1 z_1^T."""
    model, u, _, _ = channel
    factors = np.array([np.sqrt(model.beta), 1.0])
    assert_same(moments_of(*channel), rescaled(channel, factors, DeepAttention(model.skip, 1.0), u), channel[-1])


@given(channels(), st.floats(0.3, 3.0))
@few
def test_second_layer_is_linear(channel, factor):
    """Scaling z_2 scales u, and the density of its two components by factor^-2."""
    model, u, _, _ = channel
    log_z, mean, covariance = rescaled(channel, np.array([1.0, factor]), model, factor * u)
    assert_same(moments_of(*channel), (log_z + 2.0 * np.log(factor), mean, covariance), channel[-1])


# Importance sampling keeps the symmetries on its nodes, a set closed under the signs of the rows: to rounding, in single
# precision (`test_smi_fibre_sampling`).
DEEP = DeepAttention(0.7, 1.3, 3)
ROUNDING = 2e-5
# Variances above and below the limit 0.8 under which the nodes of a row move with omega.
DEEP_V = {
    "unknown": np.array([[1.0, 0.1, -0.1], [0.1, 0.9, 0.1], [-0.1, 0.1, 0.3]]),
    "mixed": np.array([[0.3, 0.1, 0.05], [0.1, 0.9, -0.2], [0.05, -0.2, 0.4]]),
    "known": np.array([[0.5, 0.1, 0.05], [0.1, 0.3, 0.05], [0.05, 0.05, 0.2]]),
}


def deep_moments_of(model, u, omega, V):
    found = channel_of(model, 0.25, seed=1).posterior(u, omega, V)
    return found.log_z, found.means, found.covariances


def deep_case(V):
    u, omega, _ = draw_channels(DEEP, V, 10, seed=221, overlap=0.5 * np.eye(3))
    return u, omega, V


def assert_equal(first, second):
    for left, right in zip(first, second, strict=True):
        np.testing.assert_allclose(left, right, rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize("V", DEEP_V.values(), ids=DEEP_V)
def test_sign_of_the_output_root_is_irrelevant_to_sampling(V):
    u, omega, V = deep_case(V)
    assert_equal(deep_moments_of(DEEP, u, omega, V), deep_moments_of(DEEP, -u, omega, V))


@pytest.mark.parametrize("layer", [0, 1, 2])
@pytest.mark.parametrize("V", DEEP_V.values(), ids=DEEP_V)
def test_sign_of_every_layer_is_a_gauge_of_sampling(V, layer):
    u, omega, V = deep_case(V)
    sign = np.ones(3)
    sign[layer] = -1.0
    log_z, means, covariances = deep_moments_of(DEEP, u, sign[:, None] * omega, V * np.outer(sign, sign))
    covariances = sign[:, None, None, None] * covariances * sign[:, None]
    assert_equal(deep_moments_of(DEEP, u, omega, V), (log_z, sign[:, None] * means, covariances))


def test_temperature_is_a_scale_of_all_but_the_last_layer():
    """At fixed u; exact where all nodes move with the prior. 1.3 times the variances are still below 0.8."""
    u, omega, V = deep_case(DEEP_V["known"])
    factors = np.sqrt([DEEP.beta, DEEP.beta, 1.0])
    warm = DeepAttention(DEEP.skip, 1.0, 3)
    log_z, means, covariances = deep_moments_of(warm, u, factors[:, None] * omega, V * np.outer(factors, factors))
    covariances = covariances / (factors[:, None, None, None] * factors[:, None])
    assert_equal(deep_moments_of(DEEP, u, omega, V), (log_z, means / factors[:, None], covariances))


@pytest.mark.parametrize("V", DEEP_V.values(), ids=DEEP_V)
def test_last_of_three_layers_is_linear(V):
    u, omega, V = deep_case(V)
    factors = np.array([1.0, 1.0, 1.7])
    log_z, means, covariances = deep_moments_of(DEEP, 1.7 * u, factors[:, None] * omega, V * np.outer(factors, factors))
    covariances = covariances / (factors[:, None, None, None] * factors[:, None])
    assert_equal(deep_moments_of(DEEP, u, omega, V), (log_z + 2.0 * np.log(1.7), means / factors[:, None], covariances))


@pytest.mark.parametrize("unknown", [[0], [1], [2], [0, 2], [0, 1, 2]])
def test_layers_of_unknown_sign_have_mean_zero(unknown):
    """In each estimate, for any knowledge of the other layers."""
    V = np.diag([0.3, 0.5, 0.4])
    V[unknown, unknown] = 1.0
    u, omega, _ = draw_channels(DEEP, V, 10, seed=222)
    _, means, _ = deep_moments_of(DEEP, u, omega, V)
    np.testing.assert_allclose(means[:, :, unknown], 0.0, atol=ROUNDING)
