"""Conventions of GAMP that do not need an average over data sets."""

import numpy as np
import pytest
from smi_tools import channel_of, gamp_settings

from attention_limits.sequence_multi_index.gamp import gamp
from attention_limits.sequence_multi_index.gamp.messages import informed
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.links.one_token import phase_retrieval
from attention_limits.sequence_multi_index.links.wrappers import OutputNoise
from attention_limits.sequence_multi_index.priors.gaussian import standard_normal
from attention_limits.sequence_multi_index.priors.mixture import binary
from attention_limits.sequence_multi_index.schema.bayes import GampSolver

pytestmark = pytest.mark.slow

MODEL = DeepAttention(1.0)
CHANNEL = channel_of(MODEL)


@pytest.fixture(scope="module")
def data():
    return gamp.gaussian_dataset(MODEL, 80, 60, np.random.default_rng(91))


def run(data, seed=92, **options):
    return gamp.run(CHANNEL, data, np.random.default_rng(seed), gamp_settings(**{"max_iterations": 5, **options}))


def in_the_hard_phase(seed, iterations, informed_start):
    """GAMP on noiseless phase retrieval of 1000 dimensions at alpha = 1.1, and its data."""
    link, generator = phase_retrieval(), np.random.default_rng(seed)
    data = gamp.gaussian_dataset(link, 1000, 1100, generator)
    settings = gamp_settings(max_iterations=iterations, informed_start=informed_start)
    return gamp.run(channel_of(link), data, generator, settings), data


def test_data_set_is_the_model_applied_to_its_sequences(data):
    assert data.sequences.shape == (60, 2, 80)
    assert data.teacher.shape == (2, 80)
    for sequence, root in zip(data.sequences, data.observed, strict=True):
        h = data.teacher @ sequence.T / np.sqrt(80)
        np.testing.assert_allclose(MODEL.preactivation(h), root, atol=1e-12)


def test_order_parameters_are_those_of_the_weights(data):
    found = run(data)
    np.testing.assert_allclose(found.overlap[-1], found.weights @ data.teacher.T / 80, atol=1e-12)
    np.testing.assert_allclose(found.norm[-1], found.weights @ found.weights.T / 80, atol=1e-12)
    cosine = [w @ t / np.linalg.norm(w) / np.linalg.norm(t) for w, t in zip(found.weights, data.teacher, strict=True)]
    np.testing.assert_allclose(found.cosine[-1], cosine, atol=1e-12)


def test_variance_stays_a_covariance_below_the_prior(data):
    for options in ({}, {"damping": 0.4}, {"side_information": 0.5}, {"regularization": 0.01}):
        found = run(data, max_iterations=15, **options)
        values = np.linalg.eigvalsh(found.variance)
        assert values.min() > 0
        assert values.max() <= 1.0 + 1e-12
        np.testing.assert_array_equal(found.variance, found.variance.transpose(0, 2, 1))


def test_same_seed_gives_the_same_run(data):
    np.testing.assert_array_equal(run(data).weights, run(data).weights)
    assert not np.array_equal(run(data).weights, run(data, seed=93).weights)


def test_order_of_the_samples_is_irrelevant(data):
    """Up to rounding, amplified over five iterations of an expanding map."""
    order = np.random.default_rng(94).permutation(60)
    shuffled = gamp.Dataset(data.sequences[order], data.teacher, data.observed[order])
    np.testing.assert_allclose(run(shuffled).weights, run(data).weights, atol=1e-8)


def test_sign_of_the_roots_is_irrelevant(data):
    signs = np.where(np.arange(60) % 3 == 0, -1.0, 1.0)[:, None]
    np.testing.assert_allclose(
        run(gamp.Dataset(data.sequences, data.teacher, signs * data.observed)).weights, run(data).weights, atol=1e-8
    )


def test_teacher_enters_only_through_the_outputs_and_the_hint(data):
    """The estimate must not see the truth: another teacher with the same roots gives the same run without a hint."""
    other = gamp.Dataset(data.sequences, np.ones((2, 80)), data.observed)
    np.testing.assert_array_equal(run(other).weights, run(data).weights)


def test_hint_alone_is_the_posterior_mean_of_the_side_observation():
    """E[W | S] = sqrt(kappa) S, V = 1 - kappa, cosine near sqrt(kappa) (D = 4000: 5 sigma = 0.06). The single sample moves
    V by a few times 1/D."""
    data = gamp.gaussian_dataset(MODEL, 4000, 1, np.random.default_rng(95))
    found = run(data, max_iterations=2, side_information=0.36)
    np.testing.assert_allclose(found.variance[-1], 0.64 * np.eye(2), atol=5e-3)
    np.testing.assert_allclose(found.cosine[-1], 0.6, atol=0.06)


def test_iteration_stops_at_the_tolerance(data):
    found = run(data, max_iterations=200, tolerance=0.5)
    assert found.converged
    assert found.residual <= 0.5
    assert len(found.overlap) < 200
    assert not run(data, max_iterations=1, tolerance=0.0).converged


def test_an_estimate_that_runs_away_is_not_converged():
    """On this data set the estimate runs away near exact recovery while V shrinks to its smallest value."""
    found, _ = in_the_hard_phase(0, 300, 0.999)
    assert found.variance[-1, 0, 0] < 1e-6
    assert abs(found.overlap[-1, 0, 0]) > 10.0
    assert not found.converged


def test_an_informed_start_is_the_posterior_mean_of_its_observation():
    """q W + sqrt(q (1 - q)) N and V = 1 - q for normal weights; without data and side information GAMP then forgets it. For signs
    E tanh(r + sqrt(r) z) at r = q / (1 - q). D = 40000: five standard deviations are 0.015."""
    generator = np.random.default_rng(96)
    for prior, overlap in ((standard_normal(1), 0.7), (binary(1, 0.0), 0.8128)):
        teacher = prior.draw(40000, generator)
        mean, variance = informed(prior, teacher, 0.7, generator)
        for found in (np.mean(mean * teacher), np.mean(mean**2), 1.0 - variance.item()):
            assert found == pytest.approx(overlap, abs=0.015)


@pytest.mark.parametrize(("informed_start", "least", "most"), [(0.999, 0.995, 1.005), (None, 0.1, 0.9)])
def test_gamp_stays_at_the_fixed_point_of_its_start_in_a_hard_phase(informed_start, least, most):
    """Fixed points at Q = 0.69 (uninformed) and Q = 1 (informed). Of 40 data sets all informed runs but one ended at 1, this one
    flagged, and all others between 0.19 and 0.85: of three other data sets one in ten triples would fail. The seeds are fixed."""
    for seed in (1, 2, 3):
        found, data = in_the_hard_phase(seed, 100, informed_start)
        assert least < abs(found.overlap[-1, 0, 0]) / np.mean(data.teacher**2) < most


@pytest.mark.parametrize(
    "options",
    [
        {"damping": 1.0}, {"damping": -0.1}, {"start_overlap": 0.0}, {"start_overlap": 1.0}, {"side_information": 1.0},
        {"side_information": -0.1}, {"regularization": -1e-3}, {"damping": np.nan},
        {"informed_start": 0.0}, {"informed_start": 1.0},
    ],
)  # fmt: skip
def test_parameters_out_of_range_are_refused(options):
    (key,) = options
    with pytest.raises(ValueError, match=key):
        GampSolver(**options)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [1e-12, 1e-9])
def test_an_end_without_most_of_the_outputs_is_no_convergence(noise):
    """Far above the threshold: a noise that the sampled channel does not resolve gives a large overlap, or no convergence."""
    link = OutputNoise(DeepAttention(depth=1), noise)
    data = gamp.gaussian_dataset(link, 60, 180, np.random.default_rng(0))
    found = gamp.run(channel_of(link), data, np.random.default_rng(1), gamp_settings(max_iterations=40))
    assert not found.converged or abs(found.overlap[-1].item()) > 0.5
