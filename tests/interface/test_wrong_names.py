"""Wrong names of estimators, links, channels, priors, keys, variables and commands: the message names the one that is meant."""

import re

import pytest

import attention_limits as al
from attention_limits.__main__ import _parser, main
from attention_limits.pipeline.base.errors import SpecError
from attention_limits.pipeline.experiments.project import load_project
from toy import REPOSITORY

EXACT = "attention_indexed.state_evolution"
MODEL = {"channel": "linear", "tokens": 2, "ratio": 0.5}
GAMP, EXPONENT = "sequence_multi_index.gamp", "sequence_single_index.information_exponent"


@pytest.mark.parametrize(
    ("call", "meant"),
    [
        (lambda: al.compute("state_evolution"), f"{EXACT} or sequence_multi_index.state_evolution"),
        (lambda: al.describe("sequence_multindex.gamp"), GAMP),
        (lambda: al.compute("sequence_multi_index.gmap"), GAMP),
        (lambda: al.compute(EXACT, {**MODEL, "channel": "linaer"}, {"alpha": [0.1]}), "linear"),
        (lambda: al.compute(EXACT, {**MODEL, "toknes": 2}, {"alpha": [0.1]}), "tokens"),
        (lambda: al.compute(EXACT, {**MODEL, "alhpa": 0.1}, {"ratio": [0.1]}), "grid.alpha"),
        (lambda: al.compute(EXACT, MODEL, {"alhpa": [0.1]}), "alpha"),
        (
            lambda: al.compute(GAMP.replace("gamp", "staircase"), {"link": "phase_retreival"}, {"skip": [1]}),
            "phase_retrieval",
        ),
        (lambda: al.thresholds("deep_atention"), "deep_attention"),
        (lambda: al.thresholds({"chanel": "softmax"}), "channel"),
        (lambda: al.thresholds({"link": "product", "prior": {"name": "binry"}}), "binary"),
        (
            lambda: al.compute(
                EXPONENT, {"target": "hermite", "student": "trace_atention", "tokens": 2}, {"degree": [2]}
            ),
            "trace_attention",
        ),
    ],
)
def test_the_name_that_is_meant(call, meant):
    with pytest.raises(SpecError, match=re.escape(f"did you mean {meant}?")):
        call()


def test_a_variable_that_is_meant():
    cube = al.compute(EXACT, MODEL, {"alpha": [0.1, 0.2]})
    with pytest.raises(SpecError, match=r"did you mean mmse\?"):
        al.table(cube, "mmes")
    with pytest.raises(SpecError, match=r"did you mean alpha\?"):
        al.plot(cube, x="alhpa")


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["threshold-tabel"], "threshold-table"),
        (["list", "--scale", "papre"], "paper"),
        (["summary", "--scael", "paper"], "--scale"),
    ],
)
def test_a_command_that_is_meant(words, meant, capsys):
    with pytest.raises(SystemExit):
        main(words)
    assert capsys.readouterr().err.endswith(f"; did you mean {meant}?\n")


def test_a_figure_that_is_meant(tmp_path, capsys):
    assert main(["draw", "sequence_multi_index/fig1_lfet", "cube.nc", "--output", str(tmp_path / "a.pdf")]) == 2
    # A line of the compiler may follow.
    assert "did you mean sequence_multi_index/fig1_left?\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("grid", "said"),
    [
        ([0.1], 'grid: [0.1]: allowed: a mapping of values by key: {"alpha": [0.1, 0.2]} or {"alpha": {"start": '),
        ({"alpha": "0:1:3"}, "grid.alpha: '0:1:3': allowed: a number, a list of numbers, or {start, stop, num}, "),
        ({"alpha": [0.1, "b"]}, 'grid.alpha[1]: "b": allowed: a number'),
        ({"alpha": []}, "grid.alpha: []: allowed: a list of at least 1 items"),
    ],
)
def test_a_grid_of_the_wrong_form(grid, said):
    with pytest.raises(SpecError) as caught:
        al.compute(EXACT, MODEL, grid)
    (problem,) = caught.value.problems
    assert problem.startswith(said)


@pytest.mark.parametrize("name", _parser()[1])
def test_the_help_of_a_command_ends_with_an_example_that_parses(name):
    parser, commands = _parser()
    last = commands[name].format_help().splitlines()[-2:]
    assert last[0] == "example:"
    program, *words = last[1].split()
    assert (program, words[0]) == ("attention-limits", name)
    known, rest = parser.parse_known_args(words)
    assert "parameters" in vars(known) or not rest


LINEAR = {"channel": "linear", "tokens": 2}


@pytest.mark.parametrize(
    ("model", "grid", "said"),
    [
        (
            {"ratio": 0.5},
            {"alpha": "0:0.2:3"},
            "grid.alpha: '0:0.2:3': allowed: a number, a list of numbers, or {start, stop, num}",
        ),
        ({"ratio": 0.5}, {"alpha": ["big"]}, 'grid.alpha[0]: "big": allowed: a number'),
        ({}, {"alpha": [0.1], "ratio": {0.5}}, "grid.ratio: {0.5}: allowed: a list, because a set has no order"),
    ],
)
def test_axes_in_other_forms(model, grid, said):
    with pytest.raises(SpecError) as caught:
        al.compute("attention_indexed.state_evolution", {**LINEAR, **model}, grid)
    (line,) = caught.value.problems
    assert line.startswith(said)
    assert "One value" not in line


def test_what_a_name_or_a_path_most_likely_means():
    with pytest.raises(SpecError, match=r"^model: 'softmax': is a channel; write {.channel.: 'softmax', "):
        al.thresholds("softmax")
    with pytest.raises(
        SpecError, match=r"^the link links/swing\.py needs the name of its function or class: links/swing\.py:name$"
    ):
        al.thresholds("links/swing.py")
    for call in (al.table, al.plot):
        with pytest.raises(SpecError, match=r"write al\.open\('x\.nc'\)$"):
            call("x.nc")


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        (
            {"two_layers": {"skip": 0.5}},
            ['--config: set: two_layers: the family is missing; allowed: {family: {two_layers: {"skip": 0.5}}}'],
        ),
        (
            {"attention_indexed": {"skip": 0.5}},
            [
                '--config: set: attention_indexed: the model is missing; allowed: {attention_indexed: {model: {"skip": 0.5}}}'
            ],
        ),
        ({"attention_indexed": {"softmax_two_tokens": {"tokns": 3}}}, ["did you mean tokens?"]),
    ],
)
def test_wrong_changes_have_one_line(changes, lines):
    with pytest.raises(SpecError) as caught:
        load_project(REPOSITORY, {"set": changes})
    assert len(caught.value.problems) == len(lines)
    assert all(found.endswith(line) for found, line in zip(caught.value.problems, lines, strict=True))
