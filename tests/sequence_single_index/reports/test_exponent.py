"""The command exponent, the law of the escape time, and the checks of functions: answers and refusals with an example."""

import re

import numpy as np
import pytest
from ssi_tools import write_experiment

from attention_limits.__main__ import main
from attention_limits.sequence_single_index.large_dimension.fixed_students_flow import escape_time
from attention_limits.sequence_single_index.links.checks import problems_of
from attention_limits.sequence_single_index.links.link import Link, named_link
from attention_limits.sequence_single_index.population_loss.escape_law import escape_law
from attention_limits.sequence_single_index.population_loss.information_exponent import (
    InformationExponent,
    target_exponent,
)

FUNCTIONS = """\
import numpy as np

def cube(z):
    return z[:, 0] ** 3 - 3 * z[:, 0]
cube.symmetry = "odd"

def broken(z):
    return z[:, 0] ** 3
broken.symmetry = "even"

def ordered(z):
    return z[:, 0] - z[:, 1]
ordered.symmetry = "permutation"

def wide(z):
    return np.exp(0.3 * z[:, 0] ** 2)

def undefined(z):
    return np.log(z[:, 0])

def mixed(z):
    return z[:, 0] - z[:, 0].mean()

def noisy(z):
    return z[:, 0] + np.random.standard_normal(len(z))

def scalar(z):
    return z.sum()

def deep(z):
    return z[:, :, None]

def complex_(z):
    return 1j * z[:, 0]

def greedy(z):
    return z[:, 7]

def changes(z):
    z[:, 0] = 0.0
    return z[:, 1]

def wrong_word(z):
    return z[:, 0]
wrong_word.symmetry = "none"

def constant(z):
    return np.ones(len(z))

def huge(z):
    return 1e300 * z[:, 0]

def tiny(z):
    return 1e-300 * z[:, 0]
"""
REFUSED = {
    "broken": r"declares the symmetry 'even' and breaks it: F\(.+\) = .+, F\(-",
    "ordered": "declares the symmetry 'permutation' and breaks it: F",
    "wide": r"mine\.py:wide: the second moment .*\|F\(-?10, ",
    "undefined": r"finite: F\(-.+\) = nan",
    "mixed": r"fields of that row alone.*F\(.+\) = .+ among 64 rows, 0 alone",
    "noisy": "without random numbers",
    "scalar": r"fields \(64, 2\) gave \(\)",
    "deep": r"fields \(64, 2\) gave \(64, 2, 1\)",
    "complex_": "real numbers, returns complex128",
    "greedy": r"fails on fields of shape \(64, 2\): IndexError",
    "changes": "changes the fields",
    "wrong_word": "symmetry must be one of even, odd, permutation, is 'none'",
    "absent": "no function 'absent'",
    "constant": r"does not depend on the fields: F\(.+\) = 1, and all of 64",
    "huge": r"square is infinite or zero by rounding: F\(.+\) = -?\S+e\+300",
    "tiny": r"square is infinite or zero by rounding: F\(.+\) = -?\S+e-\d+; allowed: sizes of 1e-100",
}


@pytest.fixture
def file(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(FUNCTIONS)
    monkeypatch.chdir(tmp_path)
    return "mine.py"


def test_a_cube_has_exponent_three_and_its_law(file, capsys):
    """C_3 = E[He_3^2] = 6: t = d^2 / (3 * 1 * 6 c)."""
    assert main(["exponent", "--target", "mine.py:cube", "--tokens", "1", "--order", "4"]) == 0
    printed = capsys.readouterr().out
    assert re.search(
        r"^semantic: 3\n    steps = 0\.055556\(1 ± \S+\) / c \* d\^2 at learning rate c d\^\(-0\.5\)$", printed, re.M
    )
    row = re.search(r"^ +3 +(\S+) ± \S+ +(\S+) ± (\S+) +(\S+) ± \S+$", printed, re.M)
    assert float(row[1]) == pytest.approx(np.sqrt(6), abs=1e-8)
    assert abs(float(row[2]) - 6.0) <= float(row[3]) + 1e-9
    assert float(row[4]) == pytest.approx(-6.0, abs=1e-8)


@pytest.mark.slow
def test_the_target_of_figure_2(capsys):
    """H_ee / 2 = (1.03800411 c^2 - c_0 c / sqrt 2) / 2 at c = 2^(-1/2) and c_0 = 4/3: an independent derivation."""
    words = (
        "--target hermite --degree 4 --weights 1 2 --constant 1.3333333333333333 --student trace_attention --tokens 2"
    )
    assert main(["exponent", *words.split(), "--order", "4", "--tolerance", "1e-9"]) == 0
    printed = capsys.readouterr().out
    assert "semantic: 4, and the loss rises along it: the start attracts\npositional: 2\n" in printed
    last = re.search(r"^ +2 .* (\S+) ± \S+$", printed, re.M)
    assert float(last[1]) == pytest.approx(0.5 * (0.5 * 1.03800411 - 2 / 3), abs=1e-8)


@pytest.mark.parametrize("name", REFUSED)
def test_a_bad_target_is_refused_with_the_example(name, file, capsys):
    assert main(["exponent", "--target", f"mine.py:{name}", "--tokens", "2", "--order", "2"]) == 2
    assert re.search(REFUSED[name], capsys.readouterr().err)


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("--target hermite --tokens 2", "needs --degree"),
        ("--target hermite --degree 2 --weights 1 2 --tokens 3", "2 weights; allowed: one, or one per token (3)"),
        ("--target hermite --degree 2 --tokens 2 --position 1", "--position: 1 numbers"),
        ("--target hermite --degree 2 --tokens 2 --student full_attention", "number of outputs, got 1 and 4"),
        ("--target nothing --tokens 2", "no link 'nothing'"),
        ("--target hermite --degree 2 --tokens 40", "Hermite coefficients of 40 tokens; allowed: 10000"),
    ],
)
def test_wrong_input(words, answer, capsys):
    assert main(["exponent", *words.split()]) == 2
    assert answer in capsys.readouterr().err


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_the_law_is_the_flow_without_noise(order):
    """dm/dtau = gamma k C m^(k-1) from d^(-1/2) to 1/2 at d = 1e40; beyond leading order log d for k = 2 and 2 d^(-(k-2)/2)."""
    d, C, c = 1e40, 0.7, 0.01
    exponent = InformationExponent(order, True, True, np.full(order + 1, C), np.full(order + 1, 0.07))
    law = escape_law(exponent)
    rate = c / np.log(d) if order == 2 else c * d**-law.rate_power
    steps = d * escape_time(lambda m: rate * order * C * m ** (order - 1), d**-0.5, 0.5)
    predicted = law.prefactor / c * d**law.power * np.log(d) ** law.logarithms
    expected = {1: 0.5, 2: 1.0 - 2.0 * np.log(2.0) / np.log(d)}.get(order, 1.0)
    assert steps / predicted == pytest.approx(expected, rel=1e-6)
    assert law.error == pytest.approx(0.1 * law.prefactor)


def test_there_is_no_law_where_the_start_attracts():
    none = InformationExponent(None, True, False, np.zeros(3), np.zeros(3))
    uphill = InformationExponent(2, True, False, np.array([0, 0, -1.0]), np.zeros(3))
    assert escape_law(none) is escape_law(uphill) is None


def test_a_declared_symmetry_makes_coefficients_vanish_exactly(file):
    """He_3 with a kink far away, which a quadrature cannot exclude from even orders to the last digit."""
    odd = named_link("mine.py:cube", 1)
    assert odd.symmetry == "odd"

    def function(z):
        x = z[:, 0]
        return x**3 - 3 * x + np.maximum(x - 1.234, 0) - np.maximum(-x - 1.234, 0)

    declared = target_exponent(Link(1, function, symmetry="odd"), 4)
    assert np.all(declared.coefficients[::2] == 0.0)
    assert np.all(declared.errors[::2] == 0.0)
    free = target_exponent(Link(1, function), 4)
    np.testing.assert_allclose(free.coefficients, declared.coefficients, atol=1e-9)


def test_sound_functions_pass():
    for function in (lambda z: z[:, 0] > 0, lambda z: (z[:, 0] * 3).astype(int), lambda z: z):
        assert problems_of(function, 3) == []


@pytest.mark.parametrize("estimator", ["information_exponent", "landscape"])
def test_the_workflow_refuses_it_before_any_job(estimator, tmp_path, capsys):
    model = {"target": "mine.py:broken", "student": "relu_sum"}
    model |= {"tokens": 2} if estimator == "information_exponent" else {}
    path = write_experiment(tmp_path, estimator, model, {"degree": [2]})
    (tmp_path / "mine.py").write_text(FUNCTIONS)
    assert main(["check", str(path)]) == 2
    assert re.search(r"model\.target: with 2 tokens: mine\.py:broken: it declares", capsys.readouterr().err)
