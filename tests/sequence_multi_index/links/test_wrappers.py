"""Correlated tokens: the link of whitened tokens, and the keys `prior` and `token_covariance` of an experiment."""

import json
from pathlib import Path

import numpy as np
import pytest
from smi_tools import channel_of, draw_channels

from agreement import assert_mean
from attention_limits.pipeline.base.errors import SpecError
from attention_limits.pipeline.experiments.experiment import load_experiment
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.links.declarations import problems_of
from attention_limits.sequence_multi_index.links.linear import LargestRow, Linear
from attention_limits.sequence_multi_index.links.loading import load_link
from attention_limits.sequence_multi_index.links.wrappers import CorrelatedTokens

T = np.array([[1.0, 0.5], [0.5, 1.0]])
LINKS = {"attention": DeepAttention(1.0, 1.0, 1), "two layers": DeepAttention(1.0), "classes": LargestRow(2, 2)}


@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
def test_output_reads_tokens_of_the_covariance(link):
    """The fields that the inner link reads have the covariance T over tokens; false-alarm rate 1e-4."""
    mapped = CorrelatedTokens(link, T)
    h = np.random.default_rng(1).standard_normal((20000, link.rows, 2))
    fields = h @ mapped.root
    np.testing.assert_array_equal(mapped.forward(h), link.forward(fields))
    assert_mean(fields[:, 0, :, None] * fields[:, 0, None, :], T)


@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
def test_the_mapped_link_is_sound(link):
    """Candidates reproduce the output, symmetries hold: the quick check of a user's link."""
    assert problems_of(CorrelatedTokens(link, T)) == []


def test_density_of_a_linear_output_is_gaussian_with_the_covariance_of_the_tokens():
    """y = h of one row: log Z = log N(y; omega T^(1/2), V T), which holds the volume of the map."""
    link = CorrelatedTokens(Linear(1, 2), T)
    V = np.array([[0.7]])
    observed, omega, _ = draw_channels(link, V, 5, seed=2)
    found = channel_of(link).posterior(observed, omega, V)
    difference = (observed - omega @ link.root)[:, 0]
    covariance = V[0, 0] * T
    exponent = -0.5 * np.einsum("na,ab,nb->n", difference, np.linalg.inv(covariance), difference)
    wanted = exponent - 0.5 * np.log(np.linalg.det(2 * np.pi * covariance))
    np.testing.assert_allclose(found.log_z, wanted, rtol=1e-10)
    np.testing.assert_allclose(found.mean + omega, observed @ np.linalg.inv(link.root), atol=1e-10)


def test_independent_tokens_are_the_link_itself():
    """T = I: the same posterior as without the map."""
    plain = DeepAttention(1.0, 1.0, 1)
    mapped = CorrelatedTokens(plain, np.eye(2))
    V = np.array([[0.6]])
    observed, omega, _ = draw_channels(plain, V, 20, seed=3)
    one, other = channel_of(plain).posterior(observed, omega, V), channel_of(mapped).posterior(observed, omega, V)
    np.testing.assert_allclose(other.log_z, one.log_z, rtol=1e-12)
    np.testing.assert_allclose(other.mean, one.mean, atol=1e-12)


@pytest.mark.parametrize(
    ("covariance", "text"),
    [
        ([[1.0]], "2 rows of 2 numbers"),
        ([[1.0, 0.2], [0.2]], "2 rows of 2 numbers"),
        ([[1.0, 0.2], [0.3, 1.0]], "symmetric"),
        ([[1.0, 0.9999], [0.9999, 1.0]], "smallest eigenvalue"),
    ],
)
def test_wrong_covariances_are_refused(covariance, text):
    with pytest.raises(ValueError, match=text):
        load_link({"link": "deep_attention", "token_covariance": covariance}, Path())


ALPHA = {"alpha": {"values": [0.5]}}


@pytest.fixture
def problems(tmp_path):
    """The problems of an experiment of one estimator, without the path of its file."""
    path = tmp_path / "config" / "sequence_multi_index" / "experiments" / "trial.yaml"
    path.parent.mkdir(parents=True)

    def found(name, model, part):
        path.write_text(
            json.dumps({"title": "Trial", "description": "Trial.", "model": model, "estimators": {name: part}})
        )
        try:
            load_experiment(path)
        except SpecError as error:
            return [line.removeprefix(f"{path}: ") for line in error.problems]
        return []

    return found


def test_priors_that_fit_are_accepted(problems):
    for prior in ({"name": "binary"}, {"name": "bernoulli_gauss", "density": 0.1}, {"name": "gaussian"}):
        assert problems("state_evolution", {"depth": 2, "prior": prior}, {"grid": ALPHA}) == []
    assert problems("gamp", {"token_covariance": T.tolist()}, {"grid": ALPHA, "solver": {"dimension": 20}}) == []


TERNARY = {"name": "mixture", "shares": [0.125, 0.75, 0.125], "means": [2.0, 0.0, -2.0], "deviations": [0.0, 0.0, 0.0]}


@pytest.mark.parametrize(
    ("name", "model", "part", "text"),
    [
        ("state_evolution", {"prior": {"name": "cauchy"}}, {"grid": ALPHA},
         'prior.name: "cauchy": allowed: bernoulli_gauss, binary, blocks, correlated, file, gaussian, mixture'),
        ("state_evolution", {"prior": {"name": "bernoulli_gauss", "density": 2.0}}, {"grid": ALPHA}, "prior.density: 2.0"),
        ("state_evolution", {"prior": {"name": "correlated", "covariance": [[1.0]]}}, {"grid": ALPHA}, "2 rows of 2 numbers"),
        ("state_evolution", {"link": "committee", "rows": 6, "prior": TERNARY}, {"grid": ALPHA}, "at most 5"),
        ("gamp", {"link": "sum_of_squares", "prior": {"name": "correlated", "covariance": T.tolist()}},
         {"grid": ALPHA, "solver": {"dimension": 20}}, "does not see rotations"),
        ("held_overlap", {"prior": {"name": "binary"}}, {"grid": {**ALPHA, "held": {"values": [0.5]}}}, "unknown key"),
    ],
)  # fmt: skip
def test_priors_that_do_not_fit_are_refused(problems, name, model, part, text):
    found = problems(name, model, part)
    assert any("prior" in line and text in line for line in found), found
