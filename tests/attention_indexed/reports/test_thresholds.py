"""`attention-limits thresholds` of a channel: limits in closed form, and clear errors."""

import re
from pathlib import Path

import numpy as np
import pytest

from attention_limits.__main__ import main
from attention_limits.attention_indexed.channels.loading import make_channel
from attention_limits.attention_indexed.state_evolution.curve import solve
from attention_limits.interface.thresholds import thresholds


def printed(capsys, *arguments):
    assert main(["thresholds", *arguments]) == 0
    return capsys.readouterr().out


def number(text, words):
    return float(re.search(re.escape(words) + r" (\S+?),?\s", text)[1])


def test_softmax_counts_its_equations(capsys):
    """K = M^2 + M - 2 = 10 equations: alpha_w = rho / K in the limit of small width, alpha_rec = 2 nu / K = 0.075 at rho =
    0.5."""
    text = printed(capsys, "--channel", "softmax", "--tokens", "3", "--ratio", "0.5")
    assert number(text, "n / (d r) =") == pytest.approx(0.1)
    assert number(text, "exact recovery: n / d^2 =") == pytest.approx(0.075)
    half = number(text, "half of the error: n / d^2 =")
    assert solve(make_channel("softmax", 3), 0.5, [half]).mmse[0] == pytest.approx(0.5, abs=1e-4)


def test_hardmax_has_no_exact_recovery(capsys):
    """1 / (2 f(0)) = 0.40341 and (1 + rho) pi nu^2 / (2 J^2) with J = 1.80639457, nu = 0.375, in closed form."""
    text = printed(capsys, "--channel", "hardmax", "--tokens", "2", "--ratio", "0.5")
    assert number(text, "n / (d r) =") == pytest.approx(0.40341, abs=1e-5)
    tail = 1.5 * np.pi * 0.375**2 / (2 * 1.80639457**2)
    assert number(text, "error (n / d^2)^2 =") == pytest.approx(tail, rel=1e-5)
    assert number(text, "exact recovery: n / d^2 =") == np.inf


@pytest.mark.parametrize("ratio", ["1e-9", "100"])
def test_the_error_passes_one_half_at_the_ends_of_the_range(capsys, ratio):
    half = number(
        printed(capsys, "--channel", "linear", "--tokens", "2", "--ratio", ratio), "half of the error: n / d^2 ="
    )
    assert solve(make_channel("linear", 2), float(ratio), [half]).mmse[0] == pytest.approx(0.5, abs=1e-4)


def recovery(name, **parameters):
    """Row of exact recovery of a channel of `channels_of_files`, two tokens, rho = 0.5."""
    model = {"channel": f"channels_of_files.py:{name}", "tokens": 2, "ratio": 0.5, "parameters": parameters}
    return thresholds(model, project=Path(__file__).parents[1]).loc["exact recovery"]


def test_a_channel_of_a_file_counts_its_equations_by_its_information():
    """y = h_11 has the information K / V with K = 2: alpha_rec = 2 nu / K = 0.375, within the stated bound."""
    row = recovery("FirstScore")
    assert row.value == pytest.approx(0.375, abs=row.error)
    assert 0 < row.error < 0.1


@pytest.mark.slow
def test_a_random_output_never_recovers_and_an_undecided_law_is_unknown():
    """Noise of variance 1e-4 beside V from 3e-4: the information 4 / (2V + noise) is not yet flat at the smallest V."""
    assert recovery("NextToken").value == np.inf
    row = recovery("NoisyFirstScore", spread=1e-4, claimed=1e-4)
    assert np.isnan(row.value)
    assert "exact recovery: unknown" in row.text
