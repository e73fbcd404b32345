"""Promises of `posterior`: accuracy by resolution, independence of batch and threads, refusal of impossible input."""

import os
import subprocess
import sys

import numpy as np
import pytest
from smi_tools import channel_of

from attention_limits.sequence_multi_index.channels.channel import SAMPLING_NODES, Channel
from attention_limits.sequence_multi_index.channels.posterior import SMALLEST_SAMPLE
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.links.link import Link
from attention_limits.sequence_multi_index.links.wrappers import OutputNoise

pytestmark = pytest.mark.slow

MODEL = DeepAttention(1.0)
CHANNEL = channel_of(MODEL)


def typical(model, overlap, count, seed):
    """Outputs of the model at a diagonal overlap, with their priors."""
    rng = np.random.default_rng(seed)
    q = np.asarray(overlap)[:, None]
    omega = np.sqrt(q) * rng.standard_normal((count, 2, 2))
    h = omega + np.sqrt(1.0 - q) * rng.standard_normal((count, 2, 2))
    return model.preactivation(h), omega, np.diag(1.0 - q[:, 0])


def errors(model, case, resolution, reference):
    """Largest error of each output: of log Z, and of the moments in units of the prior standard deviations."""
    u, omega, V = case
    found = channel_of(model, resolution).posterior(u, omega, V)
    deviations = np.sqrt(np.diag(V))[:, None] * np.ones(2)
    mean = np.abs((found.mean - reference.mean) / deviations)
    covariance = np.abs((found.covariance - reference.covariance) / (deviations[:, :, None, None] * deviations))
    return np.maximum.reduce(
        [np.abs(found.log_z - reference.log_z), mean.max(axis=(1, 2)), covariance.max(axis=(1, 2, 3, 4))]
    )


@pytest.mark.parametrize("overlap", [(0.0, 0.0), (0.3, 0.6), (0.1, 0.97), (0.95, 0.99)])
@pytest.mark.parametrize(
    ("skip", "largest"),
    [(0.0, {1.0: 4e-4, 0.75: 1e-3}), (0.5, {1.0: 4e-6, 0.75: 3e-4}), (1.0, {1.0: 4e-6, 0.75: 3e-4}),
     (4.0, {1.0: 4e-6, 0.75: 3e-4})],
)  # fmt: skip
def test_documented_accuracy(skip, largest, overlap):
    """The figures of the docstring, against three times the resolution, over 200 prior-typical outputs. They are the largest
    errors met in one sample; rare outputs dominate them, so that another sample's may be larger, by a factor 3 here."""
    model = DeepAttention(skip)
    case = typical(model, overlap, 200, 101)
    reference = channel_of(model, 3.0).posterior(*case)
    for resolution, bound in largest.items():
        found = errors(model, case, resolution, reference)
        assert found.max() < 3 * bound
        if resolution == 1.0:
            assert np.median(found) < 1e-5


def test_quadrature_reports_that_it_met_its_check():
    for skip in (0.0, 0.5, 4.0):
        model = DeepAttention(skip)
        assert np.all(channel_of(model).posterior(*typical(model, (0.3, 0.9), 100, 102)).resolved)


def test_a_coarse_rule_is_refined_or_reported():
    """At a tenth of the resolution the check must trigger refinement: errors stay far below those of the first step."""
    case = typical(MODEL, (0.3, 0.6), 100, 103)
    reference = channel_of(MODEL, 2.0).posterior(*case)
    found = channel_of(MODEL, 0.2).posterior(*case)
    error = np.abs(found.log_z - reference.log_z)
    assert np.all((error < 1e-2) | ~found.resolved)


def fields_of(result):
    return result.log_z, result.mean, result.covariance, result.resolved


def test_result_of_a_sample_does_not_depend_on_its_batch():
    """Bitwise; blocks of 64 share work space, so the batch spans several of them."""
    u, omega, V = typical(MODEL, (0.3, 0.6), 150, 104)
    whole = CHANNEL.posterior(u, omega, V)
    order = np.random.default_rng(105).permutation(150)
    shuffled = CHANNEL.posterior(u[order], omega[order], V)
    for all_of_them, some in zip(fields_of(whole), fields_of(shuffled), strict=True):
        np.testing.assert_array_equal(all_of_them[order], some)
    for k in (0, 63, 64, 149):
        single = CHANNEL.posterior(u[k : k + 1], omega[k : k + 1], V)
        for all_of_them, one in zip(fields_of(whole), fields_of(single), strict=True):
            np.testing.assert_array_equal(all_of_them[k : k + 1], one)


PROGRAM = """
import hashlib, numba, numpy as np
from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
for threads in (1, 2):
    numba.set_num_threads(threads)
    digest = hashlib.sha256()
    for depth in (2, 3):
        rng = np.random.default_rng(106)
        link = DeepAttention(depth=depth)
        h = rng.standard_normal((300, depth, 2))
        found = Channel(link, 0.5, rng).posterior(link.preactivation(h), np.zeros((300, depth, 2)), np.eye(depth))
        for values in (found.log_z, found.means, found.covariances, found.effective):
            digest.update(values.tobytes())
    print(digest.hexdigest())
"""


def test_result_does_not_depend_on_the_number_of_threads():
    """Bitwise, quadrature and importance sampling; in a separate process, as this one may have a single thread."""
    environment = {**os.environ, "NUMBA_NUM_THREADS": "2"}
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
    )
    one, two = result.stdout.split()
    assert one == two


def test_covariance_is_symmetric_and_positive():
    found = CHANNEL.posterior(*typical(MODEL, (0.3, 0.9), 100, 107))
    matrices = found.covariance.reshape(-1, 4, 4)
    np.testing.assert_array_equal(matrices, matrices.transpose(0, 2, 1))
    assert np.linalg.eigvalsh(matrices).min() > 0


def test_empty_batch():
    found = CHANNEL.posterior(np.empty((0, 2)), np.empty((0, 2, 2)), np.eye(2))
    assert found.mean.shape == (0, 2, 2)


GOOD = {"observed": np.ones((3, 2)), "omega": np.zeros((3, 2, 2)), "V": np.eye(2)}
BAD = {
    "another number of samples": {"omega": np.zeros((4, 2, 2))},
    "one layer": {"V": np.eye(1)},
    "not a number": {"observed": np.full((3, 2), np.nan)},
    "infinite mean": {"omega": np.full((3, 2, 2), np.inf)},
    "asymmetric": {"V": np.array([[1.0, 0.1], [0.2, 1.0]])},
    "singular": {"V": np.ones((2, 2))},
    "indefinite": {"V": np.array([[1.0, 2.0], [2.0, 1.0]])},
    "negative": {"V": -np.eye(2)},
    "zero": {"V": np.zeros((2, 2))},
    "not finite": {"V": np.diag([1.0, np.nan])},
}


@pytest.mark.parametrize("wrong", BAD.values(), ids=BAD)
def test_impossible_input_is_refused(wrong):
    with pytest.raises(ValueError):
        CHANNEL.posterior(**{**GOOD, **wrong})


def test_small_effective_samples_are_flagged():
    """Three layers; the first is hardly known and the others nearly are: few nodes meet the output."""
    link, V = DeepAttention(1.0, 1.0, 3), np.diag([1.0, 0.5, 1e-4])
    u, omega, _ = typical_of(link, V, 60, 108)
    few, many = (channel_of(link, resolution).posterior(u, omega, V) for resolution in (0.25, 8.0))
    np.testing.assert_array_equal(few.resolved, few.effective >= SMALLEST_SAMPLE)
    assert 0 < few.resolved.sum() < 60
    assert np.all(few.effective < 2 * SAMPLING_NODES / 16)
    # The flags mark the wrong means: these are further from the means of a thousand times the nodes.
    error = np.abs((few.mean - many.mean)[:, :2]).max(axis=(1, 2))
    assert np.median(error[~few.resolved]) > 2 * np.median(error[few.resolved])


def typical_of(link, V, count, seed):
    """Outputs of any link at the overlap I - V, with their priors."""
    rng = np.random.default_rng(seed)
    omega = np.sqrt(1.0 - np.diag(V))[:, None] * rng.standard_normal((count, link.rows, link.tokens))
    h = omega + np.sqrt(np.diag(V))[:, None] * rng.standard_normal(omega.shape)
    return link.observe(h, rng.standard_normal((count, link.noise_dimension))), omega, V


class Impossible(Link):
    """An output that no field explains."""

    rows, tokens = 1, 1

    def forward(self, h):
        return h[..., 0, 0]

    def log_likelihood(self, observed, h):
        return np.full(h.shape[:2], -np.inf)


def test_an_output_that_nothing_explains_is_not_resolved():
    found = channel_of(Impossible()).posterior(np.ones(3), np.zeros((3, 1, 1)), np.eye(1))
    assert not np.any(found.resolved)
    assert np.all(found.log_z == -np.inf)
    assert np.all(found.effective == 0)


@pytest.mark.parametrize(
    ("link", "method"),
    [(DeepAttention(1.0), "trapezoid"), (DeepAttention(1.0, 1.0, 1), "finite sum"),
     (DeepAttention(1.0, 1.0, 3), "importance sampling over two tokens"), (DeepAttention(1.0, 1.0, 2, 3), "importance sampling"),
     (DeepAttention(1.0, activation="linear"), "importance sampling"),
     (OutputNoise(DeepAttention(1.0), 0.1), "importance sampling")],
)  # fmt: skip
def test_the_link_decides_the_method(link, method):
    assert channel_of(link).method == method


def test_generator_matters_to_sampling_alone():
    for link, equal in ((MODEL, True), (DeepAttention(1.0, 1.0, 3), False)):
        case = typical_of(link, 0.5 * np.eye(link.rows), 5, 109)
        first, second = (channel_of(link, seed=seed).posterior(*case).mean for seed in (1, 2))
        assert np.array_equal(first, second) == equal
        np.testing.assert_array_equal(channel_of(link, seed=1).posterior(*case).mean, first)


def test_batches_of_sampling_are_bitwise_those_of_its_outputs():
    """Blocks of 16 outputs share work space; the general path takes as many as fit."""
    link, V = DeepAttention(1.0, 1.0, 3), np.diag([1.0, 0.5, 0.3])
    u, omega, _ = typical_of(link, V, 40, 110)
    channel = channel_of(link, 0.25)
    whole = channel.posterior(u, omega, V)
    for k in (0, 15, 16, 39):
        one = channel.posterior(u[k : k + 1], omega[k : k + 1], V)
        np.testing.assert_array_equal(one.means, whole.means[:, k : k + 1])
        np.testing.assert_array_equal(one.covariances, whole.covariances[:, k : k + 1])


def test_exact_methods_give_one_estimate_twice():
    found = CHANNEL.posterior(*typical(MODEL, (0.3, 0.6), 5, 111))
    np.testing.assert_array_equal(found.means[0], found.means[1])
    np.testing.assert_array_equal(found.mean, found.means[0])
    assert np.all(np.isinf(found.effective))


@pytest.mark.parametrize("link", [Link(), DeepAttention(0.0, activation="linear")], ids=["nothing", "rank one"])
def test_links_without_a_channel_are_refused(link):
    with pytest.raises(ValueError, match="no channel to infer from"):
        Channel(link, 1.0, np.random.default_rng(0))
