"""A prior that a function in a Python file lists as parts of a mixture."""

import numpy as np
import pytest

import attention_limits as al
from attention_limits.pipeline.base.errors import SpecError
from attention_limits.sequence_multi_index.priors.loading import load_prior, mixture_of_file, prior_file

FILE = """\
def ternary(zero=0.5):
    size = (1 - zero) ** -0.5
    return [((1 - zero) / 2, size, 0.0), (zero, 0.0, 0.0), ((1 - zero) / 2, -size, 0.0)]


def wide():
    return [(1.0, 0.0, 2.0)]


def short():
    return [(1.0, 0.0)]


def narrow():
    return [(1.0, 0.0, -1.0)]


def zero():
    return [(1.0, 0.0, 0.0)]


def many():
    return [(0.001, 0.0, 1.0)] * 1000


def drawn_anew():
    import random

    return [(1.0, random.random(), 1.0)]


def fails():
    raise RuntimeError("no law")
"""
REFUSED = {
    "own.py:wide": "the second moment of a weight, .*, is 4; allowed: 1; divide means and deviations by 2",
    "own.py:short": r"must return a list of numbers \(share, mean, deviation\), returns \[\(1.0, 0.0\)\]",
    "own.py:narrow": "deviations: allowed: numbers >= 0, got -1",
    "own.py:zero": "the weights are zero",
    "own.py:many": "a law of 1000 parts; allowed: at most 128",
    "own.py:drawn_anew": "the prior own.py:drawn_anew is random: two calls differ",
    "own.py:fails": "the prior own.py:fails: RuntimeError: no law",
    "own.py:absent": "defines no function 'absent'",
    "other.py:ternary": "needs the file .*other.py, which does not exist",
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "own.py").write_text(FILE)
    return tmp_path


def test_the_file_is_the_mixture_that_it_lists(folder):
    root = 0.75**-0.5
    section = {"name": "file", "path": "own.py:ternary", "parameters": {"zero": 0.25}}
    assert np.allclose(mixture_of_file(section, folder), [[0.375, 0.25, 0.375], [root, 0.0, -root], [0.0, 0.0, 0.0]])
    assert load_prior({"prior": section}, 2, folder).sign_symmetry == "rows"
    assert prior_file({"prior": section}, folder) == folder / "own.py"
    assert prior_file({"prior": {"name": "gaussian"}}, folder) is prior_file({}, folder) is None


def test_state_evolution_takes_the_name_and_the_parts_alike(folder):
    ternary = {
        "name": "mixture",
        "shares": [0.25, 0.5, 0.25],
        "means": [2**0.5, 0.0, -(2**0.5)],
        "deviations": [0.0] * 3,
    }
    named = {"name": "file", "path": "own.py:ternary"}
    found = [
        al.compute(
            "sequence_multi_index.state_evolution",
            {"link": "linear", "rows": 1, "tokens": 1, "noise": 0.5, "prior": prior},
            {"alpha": [0.7]},
            solver={"nodes": 32},
            project=folder,
        ).overlap.item()
        for prior in ("own.py:ternary", named, ternary)
    ]
    assert found[0] == found[1] == pytest.approx(found[2], rel=1e-9)


@pytest.mark.parametrize("prior", REFUSED)
def test_a_wrong_list_is_refused_before_any_compute(prior, folder):
    with pytest.raises(SpecError, match=f"model.prior: .*{REFUSED[prior]}"):
        al.compute(
            "sequence_multi_index.state_evolution",
            {"link": "phase_retrieval", "prior": prior},
            {"alpha": [0.7]},
            project=folder,
        )
