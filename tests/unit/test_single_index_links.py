"""Links by name and from files, and the checks of specifications that hang on them."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from attention_limits.pipeline.errors import SpecError
from attention_limits.pipeline.experiment import load_experiment
from attention_limits.pipeline.streams import Streams
from attention_limits.sequence_single_index.checks import code_files
from attention_limits.sequence_single_index.estimators import information_exponent
from attention_limits.sequence_single_index.link_names import BUILT_IN, link_file
from attention_limits.sequence_single_index.links import Link, hermite_sum, named_link, softmax_attention
from toy import REPOSITORY

OWN = "def odd(z):\n    return z[:, 0] ** 3 - 3 * z[:, 0]\n"


@pytest.fixture
def project(tmp_path):
    """A project with the schemas of the family and one experiment that names a file of one's own."""
    (tmp_path / "config/experiments/sequence_single_index").mkdir(parents=True)
    (tmp_path / "config/schemas").symlink_to(REPOSITORY / "config/schemas")
    (tmp_path / "own.py").write_text(OWN)

    def write(model, **part):
        path = tmp_path / "config/experiments/sequence_single_index/own.yaml"
        part = {"grid": {"degree": {"values": [2]}}, "solver": {"order": 3, "tolerance": 1e-6}, **part}
        document = {"title": "t", "description": "d", "model": model, "estimators": {"information_exponent": part}}
        path.write_text(yaml.safe_dump(document))
        return path

    return write


def model(**more):
    return {"target": "own.py:odd", "student": "relu_sum", "tokens": 1, "weights": [1.0], **more}


def test_a_target_of_ones_own_from_the_file_to_the_exponent(project):
    """He_3 of a file has exponent 3, which a feed-forward student cannot see: relu has no third coefficient."""
    (estimator,) = load_experiment(project(model())).estimators.values()
    assert [path.name for path in code_files(estimator)] == ["own.py"]
    (chunk,) = estimator.chunks
    spec = {**estimator.effective(chunk), "project": str(estimator.project)}
    found = information_exponent.run(spec, Streams(0, "sequence_single_index", "own")).isel(degree=0, replica=0)
    assert found.exponent_target == 3
    assert np.isnan(found.exponent_semantic)
    assert found.coefficient_target[3] == pytest.approx(np.sqrt(6), abs=1e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target": "absent.py:odd"}, r"model\.target: 'absent\.py:odd': no file .*absent\.py"),
        ({"student": "transformer"}, r"model\.student: no link 'transformer'; allowed: relu_sum, full_attention"),
        (
            {"target": "hermite", "weights": [1, 2, 3]},
            r"model\.weights: 3 weights; allowed: one, or one per token \(1\)",
        ),
        ({"tokens": 0}, r"model\.tokens: 0: allowed"),
    ],
)
def test_bad_input_is_refused_before_any_job(project, change, message):
    with pytest.raises(SpecError, match=message):
        load_experiment(project(model(**change)))


def test_too_many_coefficients_are_refused_before_any_job(project):
    """At 10 tokens and order 10 there are 184 756; the same file at order 3 has 286."""
    load_experiment(project(model(tokens=10)))
    with pytest.raises(SpecError, match=r"solver\.order: 10: 184756 Hermite coefficients of 10 tokens.*allowed: 10000"):
        load_experiment(project(model(tokens=10), solver={"order": 10}))
    with pytest.raises(SpecError, match=r"model\.tokens: 1000: allowed"):
        load_experiment(project(model(tokens=1000)))


@pytest.mark.parametrize("tokens", [4, 5])
def test_experiments_of_four_and_five_tokens_are_decided(project, tokens):
    """The trace of attention on a sum of He_2: orders 2, 2 and 2, where a cubature on a box gave none."""
    part = {"solver": {"order": 2}}
    named = {"target": "hermite", "student": "trace_attention", "tokens": tokens, "weights": [1.0]}
    (estimator,) = load_experiment(project(named, **part)).estimators.values()
    (chunk,) = estimator.chunks
    spec = {**estimator.effective(chunk), "project": str(estimator.project)}
    found = information_exponent.run(spec, Streams(0, "sequence_single_index", "own")).isel(degree=0, replica=0)
    for name in ("target", "semantic", "positional"):
        assert (found[f"exponent_{name}"], found[f"decided_{name}"]) == (2, True), name
    assert found.descends_semantic


def test_repetitions_of_what_is_deterministic_are_refused(project):
    with pytest.raises(SpecError, match=r"information_exponent\.replicas: 2: allowed: 1"):
        load_experiment(project(model(), replicas=2))


def test_every_built_in_name_has_a_link():
    for name in BUILT_IN:
        assert named_link(name, 2)(np.zeros((3, 2))).shape[0] == 3
        assert link_file(name) is None
    assert link_file("a/b.py:f", "root") == Path("root/a/b.py")


def test_missing_function_is_named(tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    with pytest.raises(ValueError, match="no function 'even'"):
        named_link("own.py:even", 1, tmp_path)


@pytest.mark.parametrize("function", [lambda z: z.T, lambda z: z[:, :, None], lambda z: 1.0])
def test_links_of_the_wrong_shape_are_refused(function):
    with pytest.raises(ValueError, match="must map"):
        Link(2, function)(np.zeros((3, 2)))


def test_links_without_finite_values_are_refused():
    with pytest.raises(ValueError, match="second moment"):
        Link(1, lambda z: np.where(z[:, 0] > 0, np.inf, 0.0))(np.ones((1, 1)))
    with pytest.raises(ValueError, match="at least one token"):
        Link(0, lambda z: z[:, 0])


def test_built_in_links_are_what_their_names_say():
    z = np.array([[0.3, -1.2], [2.0, 0.5]])
    attention = softmax_attention(z)
    np.testing.assert_allclose(attention.sum(axis=2), 1.0)
    assert attention[0, 0, 1] == pytest.approx(1 / (1 + np.exp(0.3 * 0.3 + 0.3 * 1.2)))
    np.testing.assert_allclose(
        named_link("trace_attention", 2)(z)[:, 0], np.trace(attention, axis1=1, axis2=2) / np.sqrt(2)
    )
    np.testing.assert_allclose(named_link("relu_sum", 2)(z)[:, 0], [0.0, 2.5 / np.sqrt(2)])
    target = hermite_sum(2, {2: [1, 0.5], 3: 2}, 0.7)
    expected = 0.7 + (z**2 - 1) @ [1, 0.5] + 2 * (z**3 - 3 * z).sum(axis=1)
    np.testing.assert_allclose(target(z)[:, 0], expected)
