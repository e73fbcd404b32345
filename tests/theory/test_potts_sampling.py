"""Gibbs sampling and tempering of the generalised Potts model against enumeration of all states.

Tests of distributions are Pearson's chi-squared at a false-alarm rate of FALSE_ALARM = 1e-4 for a random seed, on configurations
so many sweeps apart that their autocorrelation (below 1e-3 here) does not matter.
"""

import numpy as np
import pytest
from scipy import stats

from attention_limits.numerics.chains import autocorrelation_time, split_r_hat
from attention_limits.potts_mlm import gibbs_kernels
from attention_limits.potts_mlm.gibbs import Ladder, color_counts, compare, cross_distance, hamming_distance
from attention_limits.potts_mlm.potts import Potts, color_couplings, site_couplings
from attention_limits.potts_mlm.tuning import UnreachableError, spaced, tune
from theory.tools import FALSE_ALARM, assert_mean


def random_model(sites, colors, seed, kind="gaussian"):
    rng = np.random.default_rng(seed)
    return Potts(site_couplings(kind, sites, rng), color_couplings("gaussian", colors, rng))


def assert_distribution(model, beta, states):
    """Chi-squared of sampled against enumerated states; rare states are pooled to an expectation of at least 5."""
    _, probability = model.enumerate(beta)
    index = states.astype(int) @ model.colors ** np.arange(model.sites)[::-1]
    order = np.argsort(probability)
    expected = probability[order] * len(states)
    pool = np.minimum(np.cumsum(expected) // 5.0, np.floor(expected.sum() / 5.0) - 1).astype(int)
    observed = np.bincount(pool, np.bincount(index, minlength=len(probability))[order])
    expected = np.bincount(pool, expected)
    observed, expected = observed[expected > 0], expected[expected > 0]
    assert stats.chisquare(observed, expected).pvalue > FALSE_ALARM


@pytest.mark.parametrize("random_sites", [False, True])
def test_gibbs_sweeps_sample_the_enumerated_distribution(random_sites):
    model = random_model(4, 3, seed=1)
    ladder = Ladder(model, [0.6], np.random.default_rng(2), random_sites)
    ladder.sample(10, 10)
    assert_distribution(model, 0.6, ladder.sample(20_000, 15).states[:, 0])


def test_tempering_samples_every_temperature():
    """At beta = 4 nearly all weight is on a few states far apart, where single chains stay: the ladder finds their weights."""
    model = random_model(4, 3, seed=3)
    betas = [0.0, 0.5, 1.0, 2.0, 4.0]
    ladder = Ladder(model, betas, np.random.default_rng(4))
    ladder.sample(100, 40)
    sampled = ladder.sample(10_000, 60)
    assert np.all(sampled.swap_rate > 0.1)
    for k, beta in enumerate(betas):
        assert_distribution(model, beta, sampled.states[:, k])
    np.testing.assert_allclose(sampled.energies[:, 3], model.energy(sampled.states[:, 3]), atol=1e-10)


def test_local_fields_stay_exact_between_refreshes():
    """The increments of 1000 sweeps leave the energy of the last configuration right to rounding."""
    model = random_model(6, 5, seed=5)
    sampled = Ladder(model, [0.3, 0.6], np.random.default_rng(6)).sample(2, 1000)
    for k in range(2):
        np.testing.assert_allclose(sampled.energies[:, k], model.energy(sampled.states[:, k]), atol=1e-9)


@pytest.mark.parametrize(("energy", "other"), [(-3.0, 1.0), (1.0, -3.0), (2.0, 2.0)])
def test_exchanges_are_in_detailed_balance(energy, other):
    """pi(E, E') p(swap) = pi(E', E) p(swap back), with p read off the rule by bisection in its uniform number."""
    beta, other_beta = 0.4, 1.1

    def probability(first, second):
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = 0.5 * (low + high)
            accepted = gibbs_kernels.swap_accepted(beta, other_beta, first, second, middle)
            low, high = (middle, high) if accepted else (low, middle)
        return low

    before = np.exp(-beta * energy - other_beta * other)
    after = np.exp(-beta * other - other_beta * energy)
    assert before * probability(energy, other) == pytest.approx(after * probability(other, energy), rel=1e-12)


def test_conditionals_are_those_of_the_enumerated_distribution():
    model, beta = random_model(3, 3, seed=7), 0.8
    states, probability = model.enumerate(beta)
    table = probability.reshape(3, 3, 3)
    conditionals = model.conditionals(states, beta)
    for site in range(3):
        exact = np.moveaxis(table / table.sum(axis=site, keepdims=True), site, -1)
        others = [states[:, j].astype(int) for j in range(3) if j != site]
        np.testing.assert_allclose(conditionals[:, site], exact[tuple(others)], rtol=1e-12)


def test_hamming_distance_is_the_mean_over_pairs():
    states = np.random.default_rng(8).integers(0, 4, (60, 5)).astype(np.int8)
    first, second = np.triu_indices(60, 1)
    value, _ = hamming_distance(states, 4)
    assert value == pytest.approx(np.mean(states[first] != states[second]), rel=1e-12)
    parts = color_counts(states[:25], 4), color_counts(states[25:], 4)
    between = np.mean(states[:25, None] != states[None, 25:])
    assert cross_distance(*parts) == pytest.approx(between, rel=1e-12)


def test_error_of_the_hamming_distance_is_its_spread():
    """Independent data: variance over 400 data sets against the mean jackknife variance, F-test at FALSE_ALARM."""
    rng = np.random.default_rng(9)
    data = (rng.random((400, 100, 6, 1)) < 0.3).sum(axis=-1).astype(np.int8)
    value, error = np.array([hamming_distance(states, 2) for states in data]).T
    ratio = value.var(ddof=1) / np.mean(error**2)
    # The jackknife over 20 blocks is unbiased to leading order in 1/n; 5 % is allowed for the next.
    low, high = stats.chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], 399) / 399
    assert 0.95 * low < ratio < 1.05 * high


def test_autocorrelation_time_of_an_autoregressive_series():
    """x_t = 0.8 x_t-1 + noise has tau = 1.8 / 0.2 = 9; 24 series, false-alarm rate 1e-4. The window's bias is below 3 %."""
    rng = np.random.default_rng(10)
    series = np.zeros((24, 20_000))
    noise = rng.standard_normal(series.shape)
    for t in range(1, series.shape[1]):
        series[:, t] = 0.8 * series[:, t - 1] + noise[:, t]
    assert_mean(np.array([autocorrelation_time(row) for row in series]), 9.0, allowance=0.27)
    assert split_r_hat(series) == pytest.approx(1.0, abs=2e-3)
    assert split_r_hat(series + np.arange(24)[:, None]) > 1.5


def test_two_runs_that_stay_apart_are_not_called_converged():
    """Single chains at low temperature keep their first state; the ladder does not."""
    model = random_model(20, 20, seed=11)
    runs = {}
    for name, betas in (("single", [1.2]), ("ladder", np.linspace(0.0, 0.5, 10))):
        pair = [Ladder(model, betas, stream) for stream in np.random.default_rng(12).spawn(2)]
        for ladder in pair:
            ladder.sample(50, 20)
        runs[name] = compare(*(ladder.sample(200, 20) for ladder in pair), model.colors)
    assert not runs["single"].converged(1.05).any()
    assert runs["single"].cross[0] > runs["single"].distance.max() + 0.1
    assert runs["ladder"].converged(1.05).all()


def test_ladder_is_cut_evenly_in_the_barrier():
    """Rejection 0.2 per step below beta = 0.5 and 0.1 above add up to 1.5: a swap rate of 0.625 cuts it into four."""
    betas = spaced(np.linspace(0.0, 1.0, 11), np.repeat([0.2, 0.1], 5), 1.0, 0.625)
    np.testing.assert_allclose(betas, [0.0, 0.1875, 0.375, 0.625, 1.0])


@pytest.mark.parametrize("target", [0.6, 0.3])
def test_tuned_temperature_has_the_wanted_distance_exactly(target):
    """By enumeration: d_H = 1 - mean_i sum_a p_ia^2 at the beta found. The search promises tolerance plus one standard error of
    its own estimate, which is off by its error again: 5 errors are allowed (false-alarm rate below 1e-4)."""
    model = random_model(5, 4, seed=13)
    found = tune(
        model,
        target,
        np.random.default_rng(14),
        tolerance=0.005,
        swap_rate=0.4,
        beta_max=20.0,
        samples=1000,
        gap=10,
        rounds=3,
    )
    states, probability = model.enumerate(found.betas[-1])
    frequency = np.stack([(states == color).T @ probability for color in range(model.colors)])
    exact = np.mean(1.0 - np.sum(frequency**2, axis=0))
    assert exact == pytest.approx(target, abs=0.005 + 5 * found.distance_error)


def test_a_distance_that_symmetry_forbids_is_named():
    """Identity U: all colours are equivalent, so d_H >= 1 - 1/C at any temperature."""
    model = Potts(site_couplings("contact", 4, np.random.default_rng(15)), np.eye(3))
    with pytest.raises(UnreachableError, match=r"largest allowed; the target is 0\.3"):
        tune(
            model,
            0.3,
            np.random.default_rng(16),
            tolerance=0.01,
            swap_rate=0.4,
            beta_max=2.0,
            samples=200,
            gap=5,
            rounds=2,
        )
