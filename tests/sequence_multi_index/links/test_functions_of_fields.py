"""A function of the fields is the link that a class with the same output is, and its sign symmetry is that of its outputs."""

import re

import numpy as np
import pytest

import attention_limits as al
from attention_limits.__main__ import main
from attention_limits.pipeline.base.errors import SpecError
from attention_limits.sequence_multi_index.links.declarations import problems_of
from attention_limits.sequence_multi_index.links.link import Link
from attention_limits.sequence_multi_index.links.loading import load_link
from attention_limits.sequence_multi_index.links.wrappers import OutputNoise

STATE_EVOLUTION = "sequence_multi_index.state_evolution"


def square(h):
    return h[..., 0, 0] ** 2


def gate(h, steepness=1.0):
    return np.tanh(steepness * h[..., 0, 0]) * h[..., 1, 0]


def first_sequence(h):
    """Takes the first index of h for that of a row."""
    return np.tanh(h[0]) * h[1]


class Broken(Link):
    rows, tokens = 1, 1

    def forward(self, h):
        return h[1]


class Silent(Link):
    rows, tokens = 1, 1

    def forward(self, h):
        pass


def test_the_same_numbers_as_a_provided_link(tmp_path):
    call = {"grid": {"alpha": [0.4, 0.8]}, "solver": {"nodes": 64}}
    provided = al.compute(STATE_EVOLUTION, {"link": "phase_retrieval", "noise": 0.1}, **call)
    (tmp_path / "mine.py").write_text("def square(h):\n    return h[..., 0, 0] ** 2\n")
    for link, project in ((square, "."), ("mine.py:square", tmp_path)):
        own = al.compute(STATE_EVOLUTION, {"link": link, "noise": 0.1}, project=project, **call)
        np.testing.assert_allclose(own.overlap, provided.overlap, rtol=1e-9)


@pytest.mark.parametrize(
    ("output", "rows", "tokens", "symmetry"),
    [
        ("h[..., 0, 0] ** 2 + h[..., 1, 0] ** 2", 2, 1, "rows"),
        ("h[..., 0, 0] * h[..., 1, 0]", 2, 1, "all"),
        ("h[..., 0, 0] * h[..., 1, 0] + h[..., 0, 0]", 2, 1, "none"),
        ("h[..., 0, :] ** 2", 1, 3, "rows"),
    ],
)
def test_the_sign_symmetry_is_found(output, rows, tokens, symmetry, tmp_path):
    (tmp_path / "mine.py").write_text(f"def f(h):\n    return {output}\n")
    link = load_link({"link": "mine.py:f", "rows": rows, "tokens": tokens, "noise": 0.1}, tmp_path)
    assert isinstance(link, OutputNoise)
    assert (link.rows, link.tokens, link.sign_symmetry) == (rows, tokens, symmetry)
    assert link.noise_dimension == tokens


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (
            {"link": gate, "noise": 0.1},
            r"gate\(h\) fails for h of shape .*IndexError.*; the keys rows and tokens of the model",
        ),
        ({"link": gate, "rows": 2}, "give it output noise"),
        (
            {"link": gate, "rows": 2, "noise": 0.1, "parameters": {"steepnes": 2.0}},
            r"steepnes: not a parameter of the link gate; .*did you mean steepness\?",
        ),
        ({"link": gate, "rows": 2, "noise": 0.1, "parameters": {"h": 2.0}}, "h: not a parameter of the link"),
        ({"link": lambda h: h.sum(), "noise": 0.1}, r"lambda\(h\) must return \(n, ...\), .*gave \(\); h\[..., 0, 0\]"),
        ({"link": first_sequence, "rows": 2, "noise": 0.1}, r"first_sequence\(h\) must return .*gave \(2, 1\)"),
        (
            {"link": lambda h: h[..., 0, 0] * h[1, 0, 0], "noise": 0.1},
            r"lambda\(h\) fails for .*\(1, 1, 1\): IndexError",
        ),
        ({"link": lambda h: None, "noise": 0.1}, r"lambda\(h\) returned None; is `return` missing\?"),
        ({"link": lambda h: 1 / 0, "noise": 0.1}, "ZeroDivisionError: division by zero$"),
        ({"link": square}, "square has no channel to infer from"),
        (
            {"link": lambda x: x, "rows": 2},
            "the fields calls its first argument h, not x; .*: rows: not a parameter of the link",
        ),
        (
            {"link": lambda x: x, "noise": 0.1},
            "the fields calls its first argument h, not x; .*the link lambda needs x",
        ),
        ({"link": Broken, "noise": 0.1}, r"Broken: forward\(h\) fails for h of shape .*IndexError"),
        ({"link": Silent, "noise": 0.1}, r"Silent: forward\(h\) returned None; is `return` missing\?"),
    ],
)
def test_what_is_refused(model, said):
    with pytest.raises(SpecError, match=said):
        al.thresholds(model, solver={"nodes": 64}, replicas=2)


@pytest.mark.parametrize("command", ["thresholds --link", "check-link"])
def test_a_wrong_function_of_a_file_is_refused_in_one_line(command, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("def naive(h):\n    return h[0] * h[1]\n")
    assert main([*command.split(), "mine.py:naive", "--rows", "2", "--noise", "0.1"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "naive(h) must return (n, ...), an output for each of n sequences" in line


def test_the_name_that_a_file_defines(tmp_path):
    (tmp_path / "mine.py").write_text("def square(h):\n    return h[..., 0, 0] ** 2\n")
    with pytest.raises(SpecError, match=r"defines no class or function 'squre'; did you mean square\?"):
        al.thresholds({"link": "mine.py:squre", "noise": 0.1}, project=tmp_path)


def test_its_parameters_reach_it(tmp_path):
    (tmp_path / "mine.py").write_text("def scaled(h, scale=1.0):\n    return scale * h[..., 0, 0] ** 2\n")
    link = load_link({"link": "mine.py:scaled", "parameters": {"scale": 3.0}}, tmp_path)
    assert link.forward(np.full((1, 1, 1), 2.0)).tolist() == [12.0]


_BODIES = {
    "list": ("return h[..., 0, 0].tolist()", None),
    "number": ("return 1.0", r"must return \(n, \.\.\.\), .* gave \(\)"),
    "exit": ("raise SystemExit(3)", "SystemExit: 3"),
    "mean": ("return h[..., 0, 0] - h.mean()", "the outputs of some fields depend on the other fields"),
}


@pytest.mark.parametrize("name", _BODIES)
def test_what_a_function_may_return(name, tmp_path):
    body, problem = _BODIES[name]
    (tmp_path / "own.py").write_text(f"def f(h):\n    {body}\n", encoding="utf-8")
    model = {"link": "own.py:f", "noise": 0.1}
    try:
        found = problems_of(load_link(model, tmp_path))
    except ValueError as error:
        found = [str(error)]
    assert bool(found) == (problem is not None)
    assert problem is None or re.search(problem, found[0])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("f = 3", "defines no class or function 'f': it is of the type int"),
        (
            "def f(x):\n    return x",
            "^a function of the fields calls its first argument h, not x; .*: rows: not a parameter",
        ),
        ("import numpy as np\nf = np.vectorize(abs)", "own.py:f cannot be made: TypeError: "),
        (
            "class f:\n    def __init__(self, rows):\n        raise KeyError(rows)",
            "own.py:f cannot be made: KeyError: 1",
        ),
    ],
)
def test_what_is_no_link(text, problem, tmp_path):
    (tmp_path / "own.py").write_text(f"{text}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=problem):
        load_link({"link": "own.py:f", "rows": 1, "noise": 0.1}, tmp_path)
