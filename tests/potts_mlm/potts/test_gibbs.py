"""Gibbs sampling and tempering of the generalised Potts model against enumeration of all states.

Tests of distributions are Pearson's chi-squared at a false-alarm rate of FALSE_ALARM = 1e-4 for a random seed, on configurations
so many sweeps apart that their autocorrelation (below 1e-3 here) does not matter.
"""

import numpy as np
import pytest
from potts_tools import random_model
from scipy import stats

from agreement import FALSE_ALARM
from attention_limits.potts_mlm.potts import gibbs_kernels
from attention_limits.potts_mlm.potts.gibbs import Ladder, color_counts, compare, cross_distance, hamming_distance

pytestmark = pytest.mark.slow


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
    ladder = Ladder(model, [0.6], np.random.default_rng(2), random_sites=random_sites)
    ladder.sample(10, 10)
    assert_distribution(model, 0.6, ladder.sample(20_000, 15)[0].states[:, 0])


def test_tempering_samples_every_temperature():
    """At beta = 4 nearly all weight is on a few states far apart, where single chains stay: the ladder finds their weights."""
    model = random_model(4, 3, seed=3)
    betas = [0.0, 0.5, 1.0, 2.0, 4.0]
    ladder = Ladder(model, betas, np.random.default_rng(4))
    ladder.sample(100, 40)
    (sampled,) = ladder.sample(10_000, 60)
    assert np.all(sampled.swap_rate > 0.1)
    for k, beta in enumerate(betas):
        assert_distribution(model, beta, sampled.states[:, k])
    np.testing.assert_allclose(sampled.energies[:, 3], model.energy(sampled.states[:, 3]), atol=1e-10)


def test_local_fields_stay_exact_between_refreshes():
    """The increments of 1000 sweeps leave the energy of the last configuration right to rounding."""
    model = random_model(6, 5, seed=5)
    (sampled,) = Ladder(model, [0.3, 0.6], np.random.default_rng(6)).sample(2, 1000)
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


def test_two_runs_that_stay_apart_are_not_called_converged():
    """Single chains at low temperature keep their first state; the ladder does not."""
    model = random_model(20, 20, seed=11)
    runs = {}
    for name, betas in (("single", [1.2]), ("ladder", np.linspace(0.0, 0.5, 10))):
        ladder = Ladder(model, betas, np.random.default_rng(12), runs=2)
        ladder.sample(50, 20)
        runs[name] = compare(*ladder.sample(200, 20), model.colors)
    assert not runs["single"].converged(1.05).any()
    assert runs["single"].cross[0] > runs["single"].distance.max() + 0.1
    assert runs["ladder"].converged(1.05).all()


@pytest.mark.parametrize("betas", [[0.5, 0.5], [1.0, 0.5], [-0.1, 0.2]])
def test_a_ladder_increases_from_zero_or_above(betas):
    with pytest.raises(ValueError, match="must be at least 0 and increase"):
        Ladder(random_model(3, 2, seed=17), betas, np.random.default_rng(0))


def test_sampling_does_not_depend_on_the_batches(monkeypatch):
    def sampled(batch):
        monkeypatch.setattr("attention_limits.potts_mlm.potts.gibbs.BATCH", batch)
        return Ladder(random_model(3, 2, seed=18), [0.1, 0.4], np.random.default_rng(3)).sample(12, 3)[0]

    np.testing.assert_array_equal(sampled(4).states, sampled(50).states)


def test_runs_side_by_side_are_independent_and_fill_several_blocks():
    """Three runs of six temperatures are 18 replicas, more than one block holds. At beta = 0 all colours are equally likely, so
    two runs agree at 1/3 of the sites; 5000 configurations of 4 sites, 5 standard errors (false alarm 1e-6)."""
    model = random_model(4, 3, seed=1)
    ladder = Ladder(model, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0], np.random.default_rng(21), runs=3)
    ladder.sample(20, 10)
    runs = ladder.sample(5000, 10)
    for first, second in ((0, 1), (0, 2), (1, 2)):
        agreed = np.mean(runs[first].states[:, 0] == runs[second].states[:, 0])
        assert agreed == pytest.approx(1 / 3, abs=5 * np.sqrt(2 / 9 / 20_000))
    for run in runs:
        assert_distribution(model, 1.0, run.states[:, 5])
        np.testing.assert_allclose(run.energies[:, 3], model.energy(run.states[:, 3]), atol=1e-10)
