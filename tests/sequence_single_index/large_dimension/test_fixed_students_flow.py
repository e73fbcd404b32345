"""The limit of large d: drift against quadrature, SGD against the flow, escape-time laws, linearised attention."""

import warnings

import numpy as np
import pytest
from ssi_tools import one_step, rngs

from agreement import assert_mean
from attention_limits.sequence_single_index.large_dimension import fixed_students_flow
from attention_limits.sequence_single_index.sgd import fixed_students
from attention_limits.sequence_single_index.sgd.fixed_students import Schedule

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("tokens", [1, 4])
def test_tied_drift_is_the_mean_step(tokens):
    """dm/dtau in closed form against 10 000 steps at d = 1e5 (bias of order 1/d); false alarm 1e-4."""
    m, rate, d = 0.4, 0.2, 100_000
    steps = one_step(lambda s, g: fixed_students.tied(tokens, d, rate, m, s, g), [m], d, 10_000)
    assert_mean(steps[:, 0], fixed_students_flow.tied_drift(m, rate, tokens), allowance=1e-3)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_hermite_drift_is_the_mean_step(order):
    m, rate, d = 0.5, 0.05, 100_000
    steps = one_step(lambda s, g: fixed_students.matched_hermite(order, 2, d, rate, m, s, g), [m], d, 10_000)
    assert_mean(steps[:, 0], fixed_students_flow.hermite_drift(m, order, rate, 2), allowance=1e-3)


def test_runs_approach_the_flow_as_d_grows():
    """Tied student from m = 0.3 for tau = 5: deviations from the flow shrink like d^(-1/2), means like 1/d.

    The spread over 64 runs is known to 9 %: from d = 250 to 4000 it falls by 4, and 5 standard deviations are 4 (1 +- 0.63).
    """
    rate, tau, spreads = 0.2, 5.0, []
    (end,) = fixed_students_flow.integrate(lambda m: fixed_students_flow.tied_drift(m, rate, 2), 0.3, np.array([tau]))[
        -1
    ]
    for d in (250, 4000):
        schedule = Schedule(int(tau * d), threshold=2.0)
        runs = np.array([run.state[0] for run in fixed_students.tied(2, d, rate, 0.3, schedule, rngs(64))])
        # The second-order term of the expansion in 1/d has coefficients of order one times tau.
        assert_mean(runs, end, allowance=tau / d)
        spreads.append(runs.std(ddof=1))
    assert 4 / 1.63 < spreads[0] / spreads[1] < 4 * 1.63


def test_untied_student_follows_the_tied_flow_slowed_by_the_tokens():
    rate, tokens, d = 0.1, 4, 2000
    times = np.array([10.0])
    (end,) = fixed_students_flow.integrate(
        lambda m: fixed_students_flow.tied_drift(m, rate, tokens) / tokens, 0.3, times
    )[-1]
    schedule = Schedule(int(times[-1] * d), threshold=2.0)
    runs = [run.state[:tokens].mean() for run in fixed_students.untied(tokens, d, rate, 0.3, schedule, rngs(48))]
    assert_mean(np.array(runs), end, allowance=times[-1] / d)


@pytest.mark.parametrize(("order", "exponent"), [(1, 1.0), (3, 2.0), (4, 3.0)])
def test_escape_time_of_the_flow_has_its_exponent(order, exponent):
    """t = d tau between d = 1e6 and 1e8 with rates of order d^(-(k-2)/2) (constant for k = 1): d, d^2, d^3."""
    times = []
    for d in (1e6, 1e8):
        rate = 0.2 * d ** (-0.5 * max(0, order - 2)) / fixed_students_flow.hermite_noise(order, 2, 0.0)
        times.append(
            d
            * fixed_students_flow.escape_time(
                lambda m, rate=rate: fixed_students_flow.hermite_drift(m, order, rate, 2), d**-0.5, 0.5
            )
        )
    assert np.log(times[1] / times[0]) / np.log(100) == pytest.approx(exponent, abs=0.01)


def test_escape_time_at_exponent_two_is_d_log_squared():
    """Rate c / log d: dm/dtau = (2 c / log d) m (1 - O(1 / log d)) gives tau = log^2 d / (4 c) (1 + O(1 / log d))."""
    for d in (1e20, 1e40, 1e80):
        rate = 0.4 / np.log(d)
        tau = fixed_students_flow.escape_time(
            lambda m, rate=rate: fixed_students_flow.hermite_drift(m, 2, rate, 2), d**-0.5, 0.5
        )
        # c V / 4 = 0.8 from the noise, 2 log(1/2) from the threshold.
        assert abs(tau / (np.log(d) ** 2 / 1.6) - 1) < 3 / np.log(d)


def test_escape_time_of_a_linear_flow():
    assert fixed_students_flow.escape_time(lambda m: 0.3 * m, 1e-4, 0.5) == pytest.approx(np.log(5e3) / 0.3)
    assert fixed_students_flow.escape_time(lambda m: 0.3 * m * (m - 0.1), 1e-4, 0.5) == np.inf


@pytest.mark.parametrize(("order", "d", "rate"), [(1, 2000, 0.2), (2, 1000, 0.05), (3, 200, 0.05 * 200**-0.5)])
def test_runs_escape_when_the_flow_does(order, d, rate):
    """Mean escape time of SGD over that of the flow, false alarm 1e-4.

    Fluctuations of the early phase, of the size of the start itself, bias it: the factor must lie within 0.5 and 2.
    """
    expected = d * fixed_students_flow.escape_time(
        lambda m: fixed_students_flow.hermite_drift(m, order, rate, 2), d**-0.5, 0.5
    )
    schedule = Schedule(int(50 * expected), threshold=0.5)
    runs = fixed_students.matched_hermite(order, 2, d, rate, d**-0.5, schedule, rngs(16))
    assert all(run.escaped for run in runs)
    steps = np.log([run.escape_step / expected for run in runs])
    assert_mean(steps, 0.0, allowance=np.log(2))


def test_learning_rate_above_the_bound_keeps_the_start_stable_and_warns():
    """a / (M + 1) for the feed-forward students, 2 k / V for exponent two: the linear drift changes its sign there."""
    for tokens in (1, 5):
        bound = fixed_students_flow.feed_forward_bound(tokens)
        assert (
            fixed_students_flow.tied_drift(1e-6, 0.99 * bound, tokens)
            > 0
            > fixed_students_flow.tied_drift(1e-6, 1.01 * bound, tokens)
        )
        with pytest.warns(UserWarning, match=f"stability bound {bound:g}"):
            fixed_students.warn_unstable(1.01 * bound, bound, "tied")
    bound = fixed_students_flow.hermite_bound(2, 2, 1e6)
    assert (
        fixed_students_flow.hermite_drift(1e-3, 2, 0.99 * bound, 2)
        > 0
        > fixed_students_flow.hermite_drift(1e-3, 2, 1.01 * bound, 2)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fixed_students.warn_unstable(0.99 * bound, bound, "hermite")


def test_gain_of_the_three_readings():
    """M at equal rates and at the best rate of each, about M^(3/2) and M^2 for small rates."""
    assert fixed_students_flow.gain(8, 1e-9, 1e-9) == pytest.approx(8)
    best = 0.5 * fixed_students_flow.feed_forward_bound(8)
    assert fixed_students_flow.gain(8, best, best) == pytest.approx(8)
    assert fixed_students_flow.gain(8, 1e-9 * 8**0.5, 1e-9) == pytest.approx(8**1.5, rel=1e-6)
    assert fixed_students_flow.gain(8, 8e-9, 1e-9) == pytest.approx(64, rel=1e-6)


def test_gain_of_the_figure_is_no_pure_power():
    """Independent numbers, gamma_u = 1e-3, gamma_t = M gamma_u; 96 tied runs at M = 8, 4 744 192 +- 67 800 untied steps.

    The flow is the limit of large d: an allowance of 5 % for fluctuations at the start. False alarm 1e-4.
    """
    tokens = np.array([2.0, 4.0, 8.0, 10.0])
    np.testing.assert_allclose(
        fixed_students_flow.gain(tokens, 1e-3 * tokens, 1e-3),
        [3.9893369271878636, 15.78635886526139, 60.39800335889583, 91.13998158231836],
    )
    schedule = Schedule(10**7, threshold=2 / np.sqrt(1000))
    start = fixed_students.overlapped_start(1000)
    runs = fixed_students.tied(8, 1000, 8e-3, start, schedule, rngs(96))
    steps, slow = np.array([run.escape_step for run in runs], dtype=float), 4_744_192.0
    expected = slow / 60.398
    assert_mean(steps, expected, allowance=0.05 * expected, error=67_800 / slow * expected)


def test_escape_of_the_feed_forward_flow():
    """The integrated flow is at the threshold then; the untied one is slower by the tokens; none above the bound."""
    tokens, rate = 4, 0.1
    tau = fixed_students_flow.feed_forward_escape(tokens, rate, 0.03, 0.06)
    assert fixed_students_flow.integrate(
        lambda m: fixed_students_flow.tied_drift(m, rate, tokens), 0.03, np.array([tau])
    )[-1] == pytest.approx(0.06)
    assert fixed_students_flow.feed_forward_escape(tokens, rate, 0.03, 0.06, untied=True) == pytest.approx(tokens * tau)
    bound = fixed_students_flow.feed_forward_bound(tokens)
    assert fixed_students_flow.feed_forward_escape(tokens, 1.01 * bound, 0.03, 0.06) == np.inf
    # At small overlaps half of the bound is the fastest rate.
    times = [
        fixed_students_flow.feed_forward_escape(tokens, factor * bound, 1e-4, 2e-4) for factor in (0.45, 0.5, 0.55)
    ]
    assert np.argmin(times) == 1
