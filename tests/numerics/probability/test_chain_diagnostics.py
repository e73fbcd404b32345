"""Autocorrelation time and split R-hat of series with known ones."""

import numpy as np
import pytest

from agreement import assert_mean
from attention_limits.numerics.probability.chain_diagnostics import autocorrelation_time, split_r_hat


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
