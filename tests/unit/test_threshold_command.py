"""`attention-limits threshold`: the answer of the staircase, and clear errors."""

import re

import pytest

from attention_limits.__main__ import main


def test_phase_retrieval(capsys):
    assert main(["threshold", "--link", "phase_retrieval", "--nodes", "1024"]) == 0
    printed = capsys.readouterr().out
    alpha, error = map(float, re.search(r"1\. alpha = (\S+) ± (\S+), learnt: row 1", printed).groups())
    # The exact value is 1/2; the printed error has four replicas, hence the wide margin: Student's t with 3 degrees of
    # freedom exceeds 12.9 with probability 1e-3; rounding to four digits comes on top.
    assert abs(alpha - 0.5) < 12.9 * error + 1e-4
    assert "finite sum" in printed


def test_two_layers_in_order(capsys):
    assert main(["threshold", "--skip", "1", "--depth", "2", "--nodes", "128", "--replicas", "2"]) == 0
    printed = capsys.readouterr().out
    first, second = (line for line in printed.splitlines() if re.match(r"\d\.", line))
    assert "learnt: row 2" in first
    assert "learnt: row 1; before: Q_22" in second


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--link", "nothing"], "no link 'nothing'"),
        (["--skp", "1"], "skp: not a parameter"),
        (["--skip", "-1"], "skip must be"),
        (["--nodes", "1000"], "power of two"),
        (["--link", "mine.py:Mine"], "does not exist"),
    ],
)
def test_wrong_input(arguments, words, capsys):
    assert main(["threshold", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_unknown_options_elsewhere_are_refused():
    with pytest.raises(SystemExit):
        main(["check", "--foo", "1"])
