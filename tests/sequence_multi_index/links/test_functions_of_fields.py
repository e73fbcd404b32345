"""A function of the fields is the link that a class with the same output is, and its sign symmetry is that of its outputs."""

import numpy as np
import pytest

import attention_limits as al
from attention_limits.pipeline.base.errors import SpecError
from attention_limits.sequence_multi_index.links.loading import load_link
from attention_limits.sequence_multi_index.links.wrappers import OutputNoise

STATE_EVOLUTION = "sequence_multi_index.state_evolution"


def square(h):
    return h[..., 0, 0] ** 2


def gate(h, steepness=1.0):
    return np.tanh(steepness * h[..., 0, 0]) * h[..., 1, 0]


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
        ({"link": lambda h: h.sum(), "noise": 0.1}, "forward must return"),
    ],
)
def test_what_is_refused(model, said):
    with pytest.raises(SpecError, match=said):
        al.thresholds(model, solver={"nodes": 64}, replicas=2)


def test_the_name_that_a_file_defines(tmp_path):
    (tmp_path / "mine.py").write_text("def square(h):\n    return h[..., 0, 0] ** 2\n")
    with pytest.raises(SpecError, match=r"defines no class or function 'squre'; did you mean square\?"):
        al.thresholds({"link": "mine.py:squre", "noise": 0.1}, project=tmp_path)


def test_its_parameters_reach_it(tmp_path):
    (tmp_path / "mine.py").write_text("def scaled(h, scale=1.0):\n    return scale * h[..., 0, 0] ** 2\n")
    link = load_link({"link": "mine.py:scaled", "parameters": {"scale": 3.0}}, tmp_path)
    assert link.forward(np.full((1, 1, 1), 2.0)).tolist() == [12.0]
