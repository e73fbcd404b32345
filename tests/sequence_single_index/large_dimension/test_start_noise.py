"""Mean escape step of the feed-forward students: noise of the first steps, mean logarithm, and SGD at a finite dimension."""

import itertools

import numpy as np
import pytest
from scipy.integrate import quad
from ssi_tools import one_step, rngs

from agreement import assert_mean
from attention_limits.sequence_single_index.large_dimension import fixed_students_flow
from attention_limits.sequence_single_index.large_dimension.start_noise import (
    first_passage,
    mean_log,
    noisy_escape_step,
    start_noise,
)
from attention_limits.sequence_single_index.sgd import fixed_students
from attention_limits.sequence_single_index.sgd.fixed_students import Schedule, overlapped_start

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("tokens", [1, 2, 8])
def test_noise_of_the_start_is_the_variance_of_a_step(tokens):
    """d^2 E dm^2 at m = 0 against 20 000 steps at d = 1e5; false alarm 1e-4."""
    rate, d = 0.1, 100_000
    steps = one_step(lambda s, g: fixed_students.tied(tokens, d, rate, 0.0, s, g), [0.0], d, 20_000)
    assert_mean(steps[:, 0] ** 2, start_noise(tokens, rate), allowance=1e-3 * start_noise(tokens, rate))


@pytest.mark.parametrize("spread", [1e-5, 1e-3, 0.3, 1.1, 30.0])
def test_mean_log_of_one_component_is_the_integral(spread):
    """E log|1 + s Z| by quadrature on both sides of the zero of its argument."""
    zero = -1.0 / spread

    def density(z):
        return np.log(abs(1.0 + spread * z)) * np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)

    ends = sorted({-40.0, max(zero, -40.0), 0.0, 40.0})
    expected = sum(quad(density, *pair, epsabs=1e-13, limit=400)[0] for pair in itertools.pairwise(ends))
    assert mean_log(spread, 1) == pytest.approx(expected, rel=1e-6, abs=1e-8)


def test_mean_log_of_many_components_is_that_of_draws():
    """400 000 draws, 5 standard errors."""
    Z = np.random.default_rng(0).standard_normal((400_000, 8))
    values = 0.5 * np.log(np.mean((1.0 + 0.9 * Z) ** 2, axis=1))
    assert_mean(values, mean_log(0.9, 8))


@pytest.mark.parametrize(
    ("tokens", "rate", "untied"), [(2, 0.0627, False), (8, 0.08, False), (4, 0.1128, True), (8, 0.0627, True)]
)
def test_mean_escape_step_is_that_of_sgd(tokens, rate, untied):
    """256 runs at d = 1000, five standard errors and 1 %, a false-alarm rate below 1e-5. The flow alone fails where untied."""
    d, threshold = 1000, 0.5
    start = overlapped_start(d)
    student = fixed_students.untied if untied else fixed_students.tied
    runs = student(tokens, d, rate, start, Schedule(10**7, threshold), rngs(256))
    steps = np.array([run.escape_step for run in runs], dtype=float)
    expected = noisy_escape_step(tokens, rate, d, start, threshold, untied)
    assert_mean(steps, expected, allowance=0.01 * expected)
    tau = fixed_students_flow.feed_forward_escape(tokens, rate, start, threshold, untied)
    if untied:
        assert steps.mean() < d * tau - 5.0 * steps.std(ddof=1) / 16.0


def test_first_passage_without_noise_is_the_logarithm_and_with_much_noise_that_of_brownian_motion():
    """Brownian motion in k dimensions leaves the sphere of radius r sqrt(k) from 1 sqrt(k) after (r^2 - 1) / v."""
    for components in (1, 8):
        assert first_passage(1e-4, 2.0, components) == pytest.approx(np.log(2.0), rel=1e-6)
        assert first_passage(1e3, 2.0, components) == pytest.approx(3.0 / (2.0 * 1e6), rel=1e-4)


@pytest.mark.parametrize(("tokens", "rate", "untied"), [(10, 0.01, False), (4, 0.01, True)])
def test_mean_step_of_a_threshold_within_the_noise_is_that_of_sgd(tokens, rate, untied):
    """Runs as in ssi_fig3_right, from 1/sqrt(d) to 2/sqrt(d): 256 of them, five standard errors and 1 %, false alarm 1e-5."""
    d, start = 1000, overlapped_start(1000)
    threshold = 2.0 / np.sqrt(d)
    student = fixed_students.untied if untied else fixed_students.tied
    runs = student(tokens, d, rate, start, Schedule(10**8, threshold), rngs(256))
    steps = np.array([run.escape_step for run in runs], dtype=float)
    expected = noisy_escape_step(tokens, rate, d, start, threshold, untied)
    assert_mean(steps, expected, allowance=0.01 * expected)


def test_the_ratio_to_the_flow_tends_to_one_like_one_over_log_d():
    """(ratio - 1) log(d) tends to a constant; where the noise decides more than the start the step is missing."""
    products = []
    for d in (1e8, 1e16):
        start = overlapped_start(d)
        step = noisy_escape_step(8, 0.0627, d, start, 0.5, untied=True)
        ratio = step / (d * fixed_students_flow.feed_forward_escape(8, 0.0627, start, 0.5, untied=True))
        assert ratio < 1.0
        products.append((1.0 - ratio) * np.log(d))
    assert products[1] == pytest.approx(products[0], rel=0.15)
    assert np.isnan(noisy_escape_step(2, 0.01, 1000, overlapped_start(1000), 0.12))
    assert np.isinf(noisy_escape_step(2, 0.5, 1000, overlapped_start(1000), 0.5))
    assert noisy_escape_step(2, 100.0, 5, overlapped_start(5), 0.01) == 0.0
