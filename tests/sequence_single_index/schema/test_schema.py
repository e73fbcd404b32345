"""Specifications: the classes refuse more than single values out of range, and name the files that belong to the code."""

import pytest
from ssi_tools import write_experiment

from attention_limits.pipeline.base.errors import SpecError
from attention_limits.pipeline.experiments.experiment import load_experiment
from attention_limits.sequence_single_index.schema import checks

LINKS = {"target": "cube.py:cube", "student": "relu_sum", "tokens": 1, "weights": [1.0]}
ATTENTION = {"a": 1.0, "loss": "frobenius", "dimension": 100, "learning_rate": 0.1}
DEGREE, OMEGA = {"degree": [2]}, {"omega": [0.5]}
WITHOUT_TOKENS = {"student": "relu_sum", "weights": [1.0, 2.0]}


@pytest.mark.parametrize(
    ("estimator", "model", "grid", "part", "message"),
    [
        ("information_exponent", {**LINKS, "target": "absent.py:f"}, DEGREE, {}, r"model\.target: 'absent\.py:f': no file"),
        ("information_exponent", {**LINKS, "student": "mlp"}, DEGREE, {}, r"student: no link 'mlp'; allowed: linear_sum, relu"),
        ("information_exponent", {**LINKS, "student": "hermite"}, DEGREE, {}, r"model\.student: no link 'hermite'"),
        ("landscape", {"student": "full_attention"}, DEGREE, {}, r"student: 'full_attention': 4 outputs of 2 tokens, .* has 1"),
        ("information_exponent", {**LINKS, "weights": [1, 2, 3]}, DEGREE, {}, r"weights: 3 weights; .* per token \(1\)"),
        ("information_exponent", {**WITHOUT_TOKENS, "degree": 2}, {"tokens": [1, 2]}, {}, r"2 weights; .* \(1, 2\)"),
        ("information_exponent", LINKS, DEGREE, {"replicas": 2}, r"exponent\.replicas: 2: allowed: exactly 1"),
        ("information_exponent", {**LINKS, "degree": 2}, {}, {}, r"grid: 0 keys; allowed: one, degree or tokens"),
        ("information_exponent", WITHOUT_TOKENS, {**DEGREE, "tokens": [2]}, {}, r"grid: 2 keys; allowed: one"),
        ("landscape", {"student": "relu_sum", "weights": [1, 1, 1]}, DEGREE, {}, r"3 weights; .* per token \(2\)"),
        ("linear_theory", ATTENTION, OMEGA, {"solver": {"nodes": 1000}}, r"solver\.nodes: 1000: allowed: one of 256"),
        ("attention_sgd", ATTENTION, OMEGA, {"solver": {"steps": 9, "records": 11}}, r"records: 11 of a run of 9 steps"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_before_any_job(tmp_path, estimator, model, grid, part, message):
    with pytest.raises(SpecError, match=message):
        load_experiment(write_experiment(tmp_path, estimator, model, grid, **part))


@pytest.mark.parametrize("estimator", ["link_sgd", "escape_diffusion", "information_exponent"])
def test_a_target_without_second_moment_is_refused_before_any_job(tmp_path, estimator):
    (tmp_path / "wide.py").write_text("import math\n\ndef wide(z):\n    return math.exp(0.3 * z[0] ** 2)\n")
    model = {"target": "wide.py:wide", "student": "trace_attention", "tokens": 2}
    runs = estimator != "information_exponent"
    grid = {"dimension": [100]} if runs else DEGREE
    part = {"solver": {"steps": 10}} if estimator == "link_sgd" else {}
    path = write_experiment(tmp_path, estimator, {**model, "learning_rate": 0.1} if runs else model, grid, **part)
    with pytest.raises(
        SpecError, match=r"model\.target: with 2 tokens: wide\.py:wide: the second moment .*\|F\(-10, 0\)\| ="
    ):
        load_experiment(path)


def test_a_link_is_checked_once_and_again_after_an_edit(tmp_path, monkeypatch):
    """All scales and a second load share the check; another file with the same content has its own."""
    checked = []
    monkeypatch.setattr(checks, "decay_problem", lambda link: checked.append(link.tokens))
    path = write_experiment(tmp_path, "information_exponent", {**LINKS, "tokens": 3}, DEGREE)
    link = tmp_path / "cube.py"
    for _ in range(2):
        load_experiment(path)
    assert checked == [3]
    link.write_text(f"{link.read_text()}\n")
    load_experiment(path)
    assert checked == [3, 3]
    other = tmp_path / "other"
    other.mkdir()
    load_experiment(write_experiment(other, "information_exponent", {**LINKS, "tokens": 3}, DEGREE))
    assert checked == [3, 3, 3]
    link.write_text("def cube(z):\n    raise KeyError('nothing')\n")
    with pytest.raises(SpecError, match="KeyError: 'nothing'"):
        load_experiment(path)
    link.unlink()
    with pytest.raises(SpecError, match="no file"):
        load_experiment(path)


def test_too_many_coefficients_are_refused_before_any_job(tmp_path):
    """At 10 tokens and order 10 there are 184 756; the same file at order 6 has 8008."""
    model = {**LINKS, "tokens": 10}
    load_experiment(write_experiment(tmp_path, "information_exponent", model, DEGREE))
    with pytest.raises(SpecError, match=r"solver\.order: 10: 184756 Hermite coefficients of 10 tokens.*allowed: 10000"):
        load_experiment(write_experiment(tmp_path, "information_exponent", model, DEGREE, solver={"order": 10}))


def test_files_of_links_belong_to_the_code(tmp_path):
    (part,) = load_experiment(write_experiment(tmp_path, "information_exponent", LINKS, DEGREE)).estimators.values()
    assert part.specification.code_files(part) == [tmp_path / "cube.py"]
    built_in = {**LINKS, "target": "hermite"}
    (part,) = load_experiment(write_experiment(tmp_path, "information_exponent", built_in, DEGREE)).estimators.values()
    assert part.specification.code_files(part) == []
