"""State evolution of extensive-width attention: its equations, exact limits, and numbers computed independently or published."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_limits.attention_indexed.channels.loading import make_channel
from attention_limits.attention_indexed.priors.denoisers.wishart import effective_dimension, mmse
from attention_limits.attention_indexed.state_evolution.curve import (
    curve,
    exact_recovery,
    small_width,
    solve,
    tail,
    trajectory,
    weak_recovery,
)

HARDMAX, PUBLISHED = make_channel("hardmax", 2), make_channel("hardmax_published", 2)


@settings(max_examples=20)
@given(
    st.sampled_from(["linear", "softmax", "hardmax", "hardmax_published"]), st.floats(0.01, 5.0), st.floats(0.02, 0.98)
)
def test_solution_is_a_fixed_point(name, ratio, fraction):
    """V = mmse(D) and 1/D = alpha information(V, Q), at a fraction of exact recovery or of alpha = 5; and it is stable, the one
    that an iteration from V = 1 reaches: the error decreases with alpha."""
    channel = make_channel(name, 2)
    largest = exact_recovery(channel, ratio) if channel.equations else 5.0
    alpha = fraction * largest * np.array([1.0, 1.001])
    found = solve(channel, ratio, alpha)
    np.testing.assert_allclose(found.mmse, mmse(ratio, found.noise), rtol=1e-12)
    np.testing.assert_allclose(alpha * channel.information(found.mmse, 1.0 + ratio) * found.noise, 1.0, rtol=1e-8)
    assert 0 < found.mmse[1] < found.mmse[0] < 1


@pytest.mark.parametrize("name", ["linear", "softmax", "hardmax", "hardmax_published"])
def test_points_of_a_curve_do_not_depend_on_each_other(name):
    """Bit for bit: chunks and workers change no digit."""
    channel, alpha = make_channel(name, 2), np.linspace(0.0, 1.5, 40)
    together = solve(channel, 0.5, alpha)
    for part in (slice(0, 1), slice(3, 31, 3), slice(20, 40)):
        alone = solve(channel, 0.5, alpha[part])
        for field in ("mmse", "noise", "informed", "informed_noise", "unique"):
            np.testing.assert_array_equal(getattr(alone, field), getattr(together, field)[part])


@pytest.mark.parametrize("name", ["linear", "softmax", "hardmax"])
def test_iteration_from_no_information_arrives_there(name):
    channel, ratio, V = make_channel(name, 2), 0.5, 1.0
    alpha = 0.5 if name == "hardmax" else 0.7 * exact_recovery(channel, ratio)
    for _ in range(200):
        V = float(mmse(ratio, 1.0 / (alpha * channel.information(V, 1.0 + ratio))))
    assert solve(channel, ratio, [alpha]).mmse[0] == pytest.approx(V, rel=1e-8)


@pytest.mark.parametrize("ratio", [0.01, 0.1, 0.5, 0.9, 1.1, 2.0, 10.0])
@pytest.mark.parametrize(("name", "tokens", "equations"), [("linear", 2, 6), ("softmax", 2, 4), ("softmax", 5, 28)])
def test_exact_recovery_is_where_equations_meet_parameters(name, tokens, equations, ratio):
    """alpha(D) -> 2 nu / K for D -> 0 with a correction linear in D (rho != 1): extrapolated to 1e-8; beyond, the error is
    zero."""
    channel = make_channel(name, tokens)
    expected = 2.0 * float(effective_dimension(ratio)) / equations
    assert exact_recovery(channel, ratio) == pytest.approx(expected, rel=1e-14)
    first, second = curve(channel, ratio, np.array([1e-7, 2e-7])).alpha
    assert 2.0 * first - second == pytest.approx(expected, rel=1e-8)
    below, above = solve(channel, ratio, expected * np.array([0.999, 1.001])).mmse
    assert above == 0 < below < 2e-2


def test_hardmax_has_no_exact_recovery():
    assert exact_recovery(HARDMAX, 0.5) == np.inf
    assert solve(HARDMAX, 0.5, [1000.0]).mmse[0] > 0


def test_large_alpha_law():
    """The relative correction is of order V^(1/2), that is of 1/alpha."""
    for ratio in (0.1, 0.5, 1.5):
        for alpha in (30.0, 300.0):
            assert solve(HARDMAX, ratio, [alpha]).mmse[0] == pytest.approx(
                tail(HARDMAX, ratio, [alpha])[0], rel=1.0 / alpha
            )


def test_law_of_large_alpha_is_that_of_ties():
    """Channels without it, and no samples, have none."""
    assert np.isnan(tail(PUBLISHED, 0.5, [1.0])[0])
    assert np.isnan(tail(make_channel("softmax", 2), 0.5, [1.0])[0])
    assert np.isnan(tail(HARDMAX, 0.5, [0.0])[0])


def test_published_hardmax_decays_more_slowly():
    """Like 1/alpha: the exponent over a decade."""
    errors = solve(PUBLISHED, 0.5, [30.0, 300.0]).mmse
    assert np.log10(errors[0] / errors[1]) == pytest.approx(1.0, abs=0.02)


def test_weak_recovery_thresholds():
    """1/K where outputs give equations; 0.40341 for the hardmax, against 0.56327 of the published channel (computed
    independently)."""
    assert weak_recovery(make_channel("softmax", 2)) == 0.25
    assert weak_recovery(make_channel("linear", 3)) == pytest.approx(1 / 12)
    assert weak_recovery(HARDMAX) == pytest.approx(0.40341, abs=5e-6)
    assert weak_recovery(PUBLISHED) == pytest.approx(0.56327, abs=5e-6)


@pytest.mark.parametrize("name", ["softmax", "hardmax", "linear"])
def test_small_width_is_the_limit_of_small_ratios(name):
    """A finite width rounds the threshold off over a range of sqrt(rho). The difference shrinks with rho, at the threshold and
    away from it."""
    channel = make_channel(name, 2)
    rescaled = weak_recovery(channel) * np.array([0.5, 1.4, 1.8])
    limit = small_width(channel, rescaled).mmse
    assert limit[0] == 1
    differences = [np.abs(solve(channel, ratio, ratio * rescaled).mmse - limit) for ratio in (0.04, 0.02, 0.01)]
    assert (differences[2] < 0.8 * differences[1]).all()
    assert (differences[1] < 0.8 * differences[0]).all()
    assert (differences[2] < 0.08).all()


@pytest.mark.parametrize("name", ["softmax", "hardmax", "linear"])
@pytest.mark.parametrize("ratio", [1e-4, 1e-6, 1e-8, 1e-9])
def test_smallest_ratios_meet_the_limit(name, ratio):
    """Away from the threshold the limit is approached like rho (the coefficient is 28 and 10 at alpha = 1.1 and 2 thresholds),
    at the threshold like rho^(2/3)."""
    channel = make_channel(name, 2)
    rescaled = weak_recovery(channel) * np.array([0.5, 1.0, 1.5, 1.99, 30.0])
    found = solve(channel, ratio, ratio * rescaled).mmse
    allowed = 100.0 * ratio + 1e-12
    assert np.all((found >= 0) & (found <= 1))
    np.testing.assert_allclose(found[[0, 2, 3, 4]], small_width(channel, rescaled).mmse[[0, 2, 3, 4]], atol=allowed)
    assert 1.0 - found[1] < 3.0 * ratio ** (2.0 / 3.0)


def test_the_largest_and_smallest_alpha_of_any_ratio_are_followed():
    """Error 1 - alpha information to rounding at alpha = 1e-300, and the large-alpha law where alpha / rho is up to 1e12; the
    information of the hardmax is interpolated with a relative error of 1e-4 there."""
    found = solve(HARDMAX, 1e-9, [1e-300, 1000.0])
    assert found.mmse[0] == 1
    assert found.mmse[1] == pytest.approx(tail(HARDMAX, 1e-9, [1000.0])[0], rel=3e-4)
    assert solve(make_channel("softmax", 2), 100.0, [5e-324]).mmse[0] == 1


def test_small_width_of_the_softmax_in_closed_form():
    rescaled = np.array([0.0, 0.2, 0.25, 0.3, 0.5, 0.6])
    np.testing.assert_allclose(
        small_width(make_channel("softmax", 2), rescaled).mmse, [1, 1, 1, 0.96, 0, 0], atol=1e-12
    )


def test_without_data_the_error_is_one():
    found = solve(HARDMAX, 0.5, [0.0, 1e-9])
    np.testing.assert_allclose(found.mmse, 1.0, atol=1e-8)
    assert found.noise[0] == np.inf


# Computed for this project by another program from the same equations: rho, alpha, error. For rho < 1 its quadrature is good to
# 5e-4 only, near the merging of the bulks (see the high-precision values of the denoiser); for rho >= 1 to 1e-6.
INDEPENDENT = {
    "hardmax": [
        (0.1, 0.05080137841, 0.6929341967), (0.1, 1.024183241, 0.004571342084), (0.2, 0.2955178131, 0.1823809061),
        (0.5, 0.1048951311, 0.7324315295), (0.5, 10.0, 0.001015092053), (1.0, 0.4960184504, 0.316590469),
        (1.0, 10.0, 0.002314061533), (2.0, 1.024183241, 0.1941064657), (5.0, 49.339642745, 0.0002965786584),
    ],
    "hardmax_published": [
        (0.1, 0.05080137841, 0.8363220031), (0.5, 0.1048951311, 0.8535330767), (0.5, 10.0, 0.04646768764),
        (1.0, 0.4960184504, 0.6092624799), (1.0, 10.0, 0.07333656935), (2.0, 1.024183241, 0.5474302479),
    ],
    "softmax": [
        (0.1, 0.01995, 0.8085237355), (0.1, 0.045125, 0.1372582306), (0.3, 0.09945, 0.2349723727),
        (0.5, 0.050625, 0.7195277748), (0.5, 0.15, 0.1281308963), (1.0, 0.1, 0.4999217178), (1.0, 0.2, 0.08426493812),
        (2.0, 0.05, 0.7832298764), (2.0, 0.2, 0.1390890803),
    ],
    "linear": [(0.2, 0.0198, 0.7895313469), (1.0, 0.08, 0.3990360636), (2.0, 0.12, 0.2104196792)],
}  # fmt: skip


@pytest.mark.parametrize("name", INDEPENDENT)
def test_numbers_computed_independently(name):
    channel = make_channel(name, 2)
    for ratio, alpha, expected in INDEPENDENT[name]:
        tolerance = {"rel": 1e-6} if ratio >= 1 else {"abs": 5e-4}
        assert solve(channel, ratio, [alpha]).mmse[0] == pytest.approx(expected, **tolerance)


def test_numbers_of_the_small_width_limit_computed_independently():
    rescaled = np.array([0.4901274189, 0.9933744787, 9.867928549])
    np.testing.assert_allclose(
        small_width(HARDMAX, rescaled).mmse, [0.9610609707, 0.4343474287, 0.004966808345], rtol=1e-4
    )
    np.testing.assert_allclose(small_width(PUBLISHED, rescaled).mmse, [1.0, 0.7862973603, 0.0899743497], rtol=1e-4)


def test_published_softmax_curves():
    """SE_softmax_T=2_rho=*.csv of the public code of Boncoraglio et al. 2025, at alpha where both have converged: within 2e-3."""
    published = [
        (0.1, 0.029998, 0.6140), (0.5, 0.050007, 0.7237), (0.5, 0.100005, 0.3922), (0.5, 0.150002, 0.1283),
        (1.0, 0.050008, 0.7649), (1.0, 0.150004, 0.2615), (2.0, 0.100006, 0.5509), (2.0, 0.200002, 0.1392),
    ]  # fmt: skip
    channel = make_channel("softmax", 2)
    for ratio, alpha, expected in published:
        assert solve(channel, ratio, [alpha]).mmse[0] == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize(("alpha", "message"), [([-1.0], "alpha >= 0, got -1"), ([np.nan], "alpha >= 0")])
def test_bad_alphas_are_named(alpha, message):
    with pytest.raises(ValueError, match=message):
        solve(HARDMAX, 0.5, alpha)


def test_samples_beyond_the_smallest_noise_have_no_solution_and_no_other_point_suffers():
    found = solve(HARDMAX, 0.5, [1.0, 1e16])
    assert np.isnan(found.mmse[1])
    assert not found.unique[1]
    assert found.mmse[0] == pytest.approx(solve(HARDMAX, 0.5, [1.0]).mmse[0], rel=1e-9)


def test_negative_rescaled_alpha_is_named():
    with pytest.raises(ValueError, match="alpha / rho >= 0"):
        small_width(HARDMAX, [-0.1])


@pytest.mark.parametrize(("name", "alpha"), [("softmax", 0.1), ("hardmax", 0.3), ("linear", 0.05)])
def test_the_trajectory_ends_at_the_fixed_point(name, alpha):
    """From V = 1 downwards to the solution of the curve, and its first step sees no data in the channel."""
    channel = make_channel(name, 2)
    errors = trajectory(channel, 0.5, alpha, 300)
    assert errors[0] == pytest.approx(mmse(0.5, 1.0 / (alpha * channel.information(1.0, 1.5))), rel=1e-12)
    assert np.all(np.diff(errors) <= 1e-15)
    assert errors[-1] == pytest.approx(solve(channel, 0.5, [alpha]).mmse[0], rel=1e-6)


def test_the_trajectory_reaches_exact_recovery():
    assert trajectory(make_channel("linear", 2), 0.5, 0.5, 200)[-1] == 0.0
