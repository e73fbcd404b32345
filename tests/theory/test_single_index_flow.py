"""The limit of large d: drift against quadrature, SGD against the flow, escape-time laws, linearised attention."""

import warnings

import numpy as np
import pytest
from scipy import stats

from attention_limits.numerics.gaussian_nodes import gaussian_nodes
from attention_limits.sequence_single_index import attention_exit, attention_flow, flow, reduced_sgd
from attention_limits.sequence_single_index.attention_tables import attention_derivatives
from attention_limits.sequence_single_index.geometry import fixed_attention
from attention_limits.sequence_single_index.reduced_sgd import Schedule
from attention_limits.sequence_single_index.sgd_kernels import HALF_SQUARE, attention_moments
from theory.tools import assert_mean


def rng(seed):
    return np.random.Generator(np.random.SFC64(seed))


def attention_nodes(seed, count=2**15):
    return gaussian_nodes(4, count, np.random.default_rng(seed))


def one_step(simulate, start, dimension, runs):
    """Mean change of the state per step times d, over single steps from the same state; array (runs, n)."""
    schedule = Schedule(1, threshold=2.0)
    return dimension * np.array([simulate(schedule, rng(seed)).state - start for seed in range(runs)])


@pytest.mark.parametrize("tokens", [1, 4])
def test_tied_drift_is_the_mean_step(tokens):
    """dm/dtau in closed form against 10 000 steps at d = 1e5 (bias of order 1/d); false alarm 1e-4."""
    m, rate, d = 0.4, 0.2, 100_000
    steps = one_step(lambda s, g: reduced_sgd.tied(tokens, d, rate, m, s, g), [m], d, 10_000)
    assert_mean(steps[:, 0], flow.tied_drift(m, rate, tokens), allowance=1e-3)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_hermite_drift_is_the_mean_step(order):
    m, rate, d = 0.5, 0.05, 100_000
    steps = one_step(lambda s, g: reduced_sgd.matched_hermite(order, 2, d, rate, m, s, g), [m], d, 10_000)
    assert_mean(steps[:, 0], flow.hermite_drift(m, order, rate, 2), allowance=1e-3)


@pytest.mark.parametrize("loss", ["frobenius", "half_square"])
def test_attention_drift_is_the_mean_step(loss):
    e, m, rate, d = 0.3, 0.4, 0.5, 100_000
    steps = one_step(lambda s, g: reduced_sgd.attention(1.0, 0.6, loss, d, rate, (e, m), s, g), [e, m], d, 10_000)
    nodes = gaussian_nodes(4, 2**13, np.random.default_rng(0))
    assert_mean(steps, attention_flow.attention_drift((e, m), 1.0, 0.6, loss, rate, nodes), allowance=1e-3)


def test_attention_gradient_is_that_of_the_population_loss():
    """E[D . epsilon] = R_e and E[D . a] - m E[D . zeta] / sqrt(1 - m^2) = R_m for half the square; false alarm 1e-4."""
    e, m, omega, a = 0.3, 0.4, 0.6, 0.9
    gradient, _ = attention_derivatives(a, omega, e, m)
    found = []
    for child in np.random.default_rng(3).spawn(8):
        nodes = gaussian_nodes(4, 2**12, child)
        x = attention_moments(nodes.points, nodes.weights, e, m, omega, float(fixed_attention(a)), HALF_SQUARE)
        found.append([x[1], x[0] - m * x[2] / np.sqrt(1 - m**2)])
    assert_mean(np.array(found), gradient)


def test_linear_theory_has_the_curvatures_of_the_population_loss():
    """Stein's lemma against the tables; false alarm 1e-4."""
    found = [
        attention_flow.linear_theory(1.0, 0.6, "half_square", attention_nodes(seed, 2**12)).curvature
        for seed in range(8)
    ]
    assert_mean(np.array(found), np.diag(attention_derivatives(1.0, 0.6, 0.0, 0.0)[1]))


def test_linear_theory_predicts_the_spread_of_short_runs():
    """Variances of (e, m) after 20 000 steps at d = 1000 from 400 runs: squares averaged, false alarm 1e-4.

    The allowance of 5 % covers the nonlinearity at overlaps of 0.1 and the 1/d corrections.
    """
    steps, d, rate = 20_000, 1000, 0.05
    theory = attention_flow.linear_theory(1.0, 0.6, "frobenius", attention_nodes(0))
    schedule = Schedule(steps, threshold=2.0)
    ends = [
        reduced_sgd.attention(1.0, 0.6, "frobenius", d, rate, (0, 0), schedule, rng(seed)).state for seed in range(400)
    ]
    expected = theory.variance(rate, d, steps)
    assert_mean(np.square(ends), expected, allowance=0.05 * expected)


def semantic_theory(omega, loss, rate, d, threshold=0.5, a=1.0, seeds=4):
    """P(semantic) of the exit and the flow, and its standard error over scramblings."""
    found = []
    for seed in range(seeds):
        theory = attention_flow.linear_theory(a, omega, loss, attention_nodes(seed))
        field = attention_exit.flow_field(theory, a, omega, loss, rate, threshold, attention_nodes(seed, 2**12))
        found.append(attention_exit.semantic_probability(theory, field, rate, d, threshold))
    return np.mean(found), np.std(found, ddof=1) / np.sqrt(seeds)


@pytest.mark.parametrize(
    ("omega", "loss", "rate", "d", "runs", "linearised"),
    [
        (0.54, "frobenius", 0.2, 100, 200, 0.765),
        (0.56, "frobenius", 0.2, 100, 200, 0.713),
        (0.62, "half_square", 0.1, 100, 64, 0.569),
    ],
)
def test_what_is_learnt_is_the_exit_continued_by_the_flow(omega, loss, rate, d, runs, linearised):
    """Seeded runs to e^2 + m^2 > 1/2 against P(semantic): binomial test at 1e-4, the theory within four of its errors.

    At omega = .54 and .56 the linearised theory fails this test.
    """
    expected, error = semantic_theory(omega, loss, rate, d)
    schedule = Schedule(10**8, threshold=0.5)
    ends = [reduced_sgd.attention(1.0, omega, loss, d, rate, (0, 0), schedule, rng(seed)) for seed in range(runs)]
    wins = sum(abs(run.state[1]) > abs(run.state[0]) for run in ends)
    closest = np.clip(wins / runs, expected - 4 * error, min(1.0, expected + 4 * error))
    assert stats.binomtest(wins, runs, closest).pvalue > 1e-4
    if linearised > 0.6:
        assert stats.binomtest(wins, runs, linearised).pvalue < 1e-4


def test_flow_field_is_the_flow():
    """The least-squares field, over eight scramblings, at points that it was not fitted to: tables and noise; allowance 1 %."""
    fields = [
        attention_exit.flow_field(
            attention_flow.linear_theory(1.0, 0.6, "half_square", attention_nodes(seed)),
            1.0, 0.6, "half_square", 0.05, 0.5, attention_nodes(seed, 2**12),
        )
        for seed in range(8)
    ]  # fmt: skip
    nodes, abar = attention_nodes(9), float(fixed_attention(1.0))
    for e, m in ((0.1, 0.2), (0.4, 0.3), (0.65, 0.2)):
        gradient, _ = attention_derivatives(1.0, 0.6, e, m)
        V = attention_moments(nodes.points, nodes.weights, e, m, 0.6, abar, HALF_SQUARE)[4]
        at = np.array([e, m])
        drift = -0.05 * (gradient - (gradient @ at) * at) - 0.5 * 0.05**2 * V * at
        assert_mean(np.array([field.rates(e, m) * at for field in fields]), drift, allowance=0.01 * np.abs(drift))


def test_theory_is_missing_where_noise_decides():
    theory = attention_flow.linear_theory(1.0, 0.62, "frobenius", attention_nodes(0, 2**12))
    field = attention_exit.flow_field(theory, 1.0, 0.62, "frobenius", 1.0, 0.5, attention_nodes(0, 256))
    assert np.isnan(attention_exit.semantic_probability(theory, field, 1.0, 100, 0.5))
    assert theory.escape_step(1.0, 5, 1e-6) == 1.0


def test_variance_is_smooth_through_zero_growth():
    theory = attention_flow.LinearTheory(np.array([0.0, -1e-9]), np.array([0.4, 0.4]), 0.0)
    np.testing.assert_allclose(theory.variance(0.05, 1000, 1e5), (0.05 / 1000) ** 2 * 0.4 * 1e5, rtol=1e-6)
    assert theory.semantic_probability(0.05, 1000, 1e5) == pytest.approx(0.5, abs=1e-6)


def test_runs_approach_the_flow_as_d_grows():
    """Tied student from m = 0.3 for tau = 5: deviations from the flow shrink like d^(-1/2), means like 1/d.

    The spread over 64 runs is known to 9 %: from d = 250 to 4000 it falls by 4, and 5 standard deviations are 4 (1 +- 0.63).
    """
    rate, tau, spreads = 0.2, 5.0, []
    (end,) = flow.integrate(lambda m: flow.tied_drift(m, rate, 2), 0.3, np.array([tau]))[-1]
    for d in (250, 4000):
        schedule = Schedule(int(tau * d), threshold=2.0)
        runs = np.array([reduced_sgd.tied(2, d, rate, 0.3, schedule, rng(seed)).state[0] for seed in range(64)])
        # The second-order term of the expansion in 1/d has coefficients of order one times tau.
        assert_mean(runs, end, allowance=tau / d)
        spreads.append(runs.std(ddof=1))
    assert 4 / 1.63 < spreads[0] / spreads[1] < 4 * 1.63


def test_untied_student_follows_the_tied_flow_slowed_by_the_tokens():
    rate, tokens, d = 0.1, 4, 2000
    times = np.array([10.0])
    (end,) = flow.integrate(lambda m: flow.tied_drift(m, rate, tokens) / tokens, 0.3, times)[-1]
    schedule = Schedule(int(times[-1] * d), threshold=2.0)
    runs = [reduced_sgd.untied(tokens, d, rate, 0.3, schedule, rng(seed)).state[:tokens].mean() for seed in range(48)]
    assert_mean(np.array(runs), end, allowance=times[-1] / d)


@pytest.mark.parametrize(("order", "exponent"), [(1, 1.0), (3, 2.0), (4, 3.0)])
def test_escape_time_of_the_flow_has_its_exponent(order, exponent):
    """t = d tau between d = 1e6 and 1e8 with rates of order d^(-(k-2)/2) (constant for k = 1): d, d^2, d^3."""
    times = []
    for d in (1e6, 1e8):
        rate = 0.2 * d ** (-0.5 * max(0, order - 2)) / flow.hermite_noise(order, 2, 0.0)
        times.append(d * flow.escape_time(lambda m, rate=rate: flow.hermite_drift(m, order, rate, 2), d**-0.5, 0.5))
    assert np.log(times[1] / times[0]) / np.log(100) == pytest.approx(exponent, abs=0.01)


def test_escape_time_at_exponent_two_is_d_log_squared():
    """Rate c / log d: dm/dtau = (2 c / log d) m (1 - O(1 / log d)) gives tau = log^2 d / (4 c) (1 + O(1 / log d))."""
    for d in (1e20, 1e40, 1e80):
        rate = 0.4 / np.log(d)
        tau = flow.escape_time(lambda m, rate=rate: flow.hermite_drift(m, 2, rate, 2), d**-0.5, 0.5)
        # c V / 4 = 0.8 from the noise, 2 log(1/2) from the threshold.
        assert abs(tau / (np.log(d) ** 2 / 1.6) - 1) < 3 / np.log(d)


def test_escape_time_of_a_linear_flow():
    assert flow.escape_time(lambda m: 0.3 * m, 1e-4, 0.5) == pytest.approx(np.log(5e3) / 0.3)
    assert flow.escape_time(lambda m: 0.3 * m * (m - 0.1), 1e-4, 0.5) == np.inf


@pytest.mark.parametrize(("order", "d", "rate"), [(1, 2000, 0.2), (2, 1000, 0.05), (3, 200, 0.05 * 200**-0.5)])
def test_runs_escape_when_the_flow_does(order, d, rate):
    """Mean escape time of SGD over that of the flow, false alarm 1e-4.

    Fluctuations of the early phase, of the size of the start itself, bias it: a factor within 0.5 and 2 is asked for.
    """
    expected = d * flow.escape_time(lambda m: flow.hermite_drift(m, order, rate, 2), d**-0.5, 0.5)
    schedule = Schedule(int(50 * expected), threshold=0.5)
    runs = [reduced_sgd.matched_hermite(order, 2, d, rate, d**-0.5, schedule, rng(seed)) for seed in range(16)]
    assert all(run.escaped for run in runs)
    steps = np.log([run.escape_step / expected for run in runs])
    assert_mean(steps, 0.0, allowance=np.log(2))


def test_unescaped_runs_are_censored_at_their_length():
    run = reduced_sgd.tied(2, 1000, 1e-3, 0.03, Schedule(500, threshold=0.9, records=[0, 250, 500]), rng(0))
    assert (run.escaped, run.escape_step) == (False, 500)
    assert run.trajectory[0, 0] == 0.03
    assert run.trajectory[-1, 0] == run.state[0]
    stopped = reduced_sgd.tied(2, 100, 0.1, 0.3, Schedule(10**6, threshold=0.5, records=[0, 10**6]), rng(0))
    assert stopped.escaped
    assert np.isnan(stopped.trajectory[1, 0])


def test_learning_rate_above_the_bound_keeps_the_start_stable_and_warns():
    """a / (L + 1) for the feed-forward students, 2 k / V for exponent two: the linear drift changes its sign there."""
    for tokens in (1, 5):
        bound = flow.feed_forward_bound(tokens)
        assert flow.tied_drift(1e-6, 0.99 * bound, tokens) > 0 > flow.tied_drift(1e-6, 1.01 * bound, tokens)
        with pytest.warns(UserWarning, match=f"stability bound {bound:g}"):
            reduced_sgd.warn_unstable(1.01 * bound, bound, "tied")
    bound = flow.hermite_bound(2, 2, 1e6)
    assert flow.hermite_drift(1e-3, 2, 0.99 * bound, 2) > 0 > flow.hermite_drift(1e-3, 2, 1.01 * bound, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reduced_sgd.warn_unstable(0.99 * bound, bound, "hermite")


def test_gain_of_the_three_readings():
    """L at equal rates and at the best rate of each, about L^(3/2) and L^2 for small rates."""
    assert flow.gain(8, 1e-9, 1e-9) == pytest.approx(8)
    best = 0.5 * flow.feed_forward_bound(8)
    assert flow.gain(8, best, best) == pytest.approx(8)
    assert flow.gain(8, 1e-9 * 8**0.5, 1e-9) == pytest.approx(8**1.5, rel=1e-6)
    assert flow.gain(8, 8e-9, 1e-9) == pytest.approx(64, rel=1e-6)


def test_gain_of_the_figure_is_no_pure_power():
    """Independent numbers, gamma_u = 1e-3, gamma_t = L gamma_u; 96 tied runs at L = 8, 4 744 192 +- 67 800 untied steps.

    The flow is the limit of large d: an allowance of 5 % for fluctuations at the start. False alarm 1e-4.
    """
    tokens = np.array([2.0, 4.0, 8.0, 10.0])
    np.testing.assert_allclose(
        flow.gain(tokens, 1e-3 * tokens, 1e-3),
        [3.9893369271878636, 15.78635886526139, 60.39800335889583, 91.13998158231836],
    )
    schedule = Schedule(10**7, threshold=2 / np.sqrt(1000))
    start = reduced_sgd.overlapped_start(1000)
    runs = [reduced_sgd.tied(8, 1000, 8e-3, start, schedule, rng(seed)) for seed in range(96)]
    steps, slow = np.array([run.escape_step for run in runs], dtype=float), 4_744_192.0
    expected = slow / 60.398
    assert_mean(steps, expected, allowance=0.05 * expected, error=67_800 / slow * expected)
