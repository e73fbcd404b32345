"""`attention-limits thresholds`: the answer of the staircase, and clear errors."""

import re

import numpy as np
import pytest

from attention_limits.__main__ import main

pytestmark = pytest.mark.slow


def test_phase_retrieval(capsys):
    assert main(["thresholds", "--link", "phase_retrieval", "--nodes", "1024"]) == 0
    printed = capsys.readouterr().out
    alpha, error = map(float, re.search(r"1\. alpha = (\S+) ± (\S+), learned: row 1", printed).groups())
    # The exact value is 1/2; the printed error has four replicas, hence the wide margin: Student's t with 3 degrees of
    # freedom exceeds 12.9 with probability 1e-3; rounding to four digits comes on top.
    assert abs(alpha - 0.5) < 12.9 * error + 1e-4
    assert "finite sum" in printed
    # Recovery is optimal from 1 on, and message passing reaches it from 1.128 on (`test_phases`). A bracket has the width 0.01
    # alpha, and its half is part of the error; the scatter of four replicas of 1024 nodes is below it. Three errors, fixed seed.
    for words, wanted in (("exact recovery is Bayes-optimal", 1.0), ("AMP recovers exactly", 1.128)):
        alpha, error = map(float, re.search(rf"{words} from alpha = (\S+) ± (\S+) on", printed).groups())
        assert error < 0.02
        assert abs(alpha - wanted) < 3 * error


def test_sparse_weights_are_recovered_from_their_density_on(capsys):
    """Noiseless linear outputs: the information dimension of the weights (Wu and Verdu 2010), three errors, fixed seed.

    `docs/models/phase_retrieval.md` has another density.
    """
    density = 0.1
    prior = f'{{"name": "bernoulli_gauss", "density": {density}}}'
    assert main(["thresholds", "--link", "linear", "--prior", prior, "--nodes", "64"]) == 0
    printed = capsys.readouterr().out
    alpha, error = map(float, re.search(r"recovery is Bayes-optimal from alpha = (\S+) ± (\S+) on", printed).groups())
    assert error < 0.02 * density
    assert abs(alpha - density) < 3 * error


def test_recovery_below_the_range_of_the_search_is_said(capsys):
    prior = '{"name": "bernoulli_gauss", "density": 0.01}'
    assert main(["thresholds", "--link", "linear", "--prior", prior, "--nodes", "64", "--replicas", "2"]) == 0
    assert "exact recovery is Bayes-optimal at the smallest alpha that was tried, 0.04" in capsys.readouterr().out


def test_two_layers_in_order(capsys):
    assert main(["thresholds", "--skip", "1", "--depth", "2", "--nodes", "128", "--replicas", "2"]) == 0
    printed = capsys.readouterr().out
    first, second = (line for line in printed.splitlines() if re.match(r"\d\.", line))
    assert "learned: row 2" in first
    assert "learned: row 1; before: Q_22" in second


def test_a_parity_of_three_has_no_threshold(capsys):
    """F vanishes: the text says so with the generative exponent, and a line per replica on the way."""
    assert main(["thresholds", "--link", "sign_product", "--rows", "3", "--nodes", "64", "--replicas", "3"]) == 0
    printed, progress = capsys.readouterr()
    assert "1. none: one iteration multiplies a small overlap by alpha F, and F = 0 to 1e-16" in printed
    assert "the next order with information is 3 (generative exponent)" in printed
    assert len(re.findall(r"replica \d of 3, step 1: no further threshold", progress)) == 3


def test_a_parity_of_two_is_one_step_of_two_directions(capsys):
    """Exact: pi^2 / 4; four times an error that random nodes exceed with probability below 1e-3 (test_weak_recovery_errors)."""
    assert main(["thresholds", "--link", "sign_product", "--nodes", "32", "--resolution", "0.5"]) == 0
    printed = capsys.readouterr().out
    alpha, error = map(float, re.search(r"1\. alpha = (\S+) ± (\S+), learned: row 1 and row 2\n", printed).groups())
    assert abs(alpha - 0.25 * np.pi**2) < 4 * error + 1e-4
    assert "2. " not in printed
    assert "exact recovery: at no alpha, because the outputs are discrete and the weights are not" in printed


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--link", "product", "--rows", "2"], "not computed, because the channel is sampled"),
        (["--link", "phase_retrieval", "--noise", "0.1"], "at no alpha, because the output has noise"),
        (["--depth", "1", "--tokens", "5"], "not computed for more than 4 fields"),
    ],
)
def test_what_is_not_computed_of_exact_recovery_is_said(arguments, words, capsys):
    assert main(["thresholds", *arguments, "--nodes", "16", "--replicas", "2", "--resolution", "0.25"]) == 0
    assert f"exact recovery: {words}" in capsys.readouterr().out


NOT_BROADCAST = """\
from attention_limits.sequence_multi_index.links.one_token import SumOfSquares


class Mine(SumOfSquares):
    def fibre(self, observed, free, angles):
        candidates, log_weight = super().fibre(observed, free, angles)
        return candidates, log_weight[:, :2]
"""


def test_a_link_that_check_link_refuses_is_refused(tmp_path, capsys):
    (tmp_path / "mine.py").write_text(NOT_BROADCAST)
    link = f"{tmp_path / 'mine.py'}:Mine"
    assert main(["check-link", link]) == 2
    refusal = capsys.readouterr().err
    assert "fibre must return candidates and log_weight of shapes" in refusal
    assert main(["thresholds", "--link", link, "--nodes", "16"]) == 2
    assert capsys.readouterr().err == refusal


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--link", "nothing"], "no link 'nothing'"),
        (["--skp", "1"], "model.skp: unknown key"),
        (["--skip", "-1"], "model.skip: -1: allowed: a number ≥ 0"),
        (["--nodes", "1000"], "power of two"),
        (["--link", "mine.py:Mine"], "does not exist"),
    ],
)
def test_wrong_input(arguments, words, capsys):
    assert main(["thresholds", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_unknown_options_elsewhere_are_refused():
    with pytest.raises(SystemExit):
        main(["check", "--foo", "1"])
