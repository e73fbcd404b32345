"""Links whose tokens have means along the weights: mixtures of normal clusters, and single-location regression."""

import numpy as np
import pytest
from scipy.integrate import quad

import attention_limits as al
from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.sequence_multi_index.channels.averages import node_dimension
from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.gamp import gamp
from attention_limits.sequence_multi_index.links.declarations import problems_of
from attention_limits.sequence_multi_index.links.link import NORMAL_TOKENS, Link, require, spike_moment
from attention_limits.sequence_multi_index.links.loading import load_link
from attention_limits.sequence_multi_index.links.wrappers import CorrelatedTokens, OutputNoise
from attention_limits.sequence_multi_index.reports.channel_checks import channel_checks
from attention_limits.sequence_multi_index.schema.bayes import GampSolver, StateEvolutionSolver
from attention_limits.sequence_multi_index.state_evolution.fixed_point import solve
from toy import REPOSITORY

MODELS = REPOSITORY / "docs" / "models"


def model(name, **parameters):
    return load_link({"link": f"{MODELS}/{name}", **parameters}, REPOSITORY)


def overlap(link, alpha, nodes=4096):
    channel = Channel(link, 1.0, np.random.default_rng(0))
    points = gaussian_nodes(node_dimension(link), nodes, np.random.default_rng(1))
    return solve(channel, alpha, points, 0.001, StateEvolutionSolver(nodes=nodes, tolerance=1e-4))


def hidden_labels(alpha, signal):
    """Overlap of two clusters without labels: Q_hat = alpha s^2 E tanh(s^2 Q + s sqrt(Q) z), Q = Q_hat / (1 + Q_hat)."""
    q = 0.5
    for _ in range(500):
        mean = quad(lambda z, q=q: np.exp(-z * z / 2) * np.tanh(signal**2 * q + signal * np.sqrt(q) * z), -12, 12)[0]
        precision = alpha * signal**2 * mean / np.sqrt(2 * np.pi)
        q = precision / (1 + precision)
    return q


@pytest.mark.parametrize(("alpha", "signal"), [(2.0, 1.0), (3.0, 1.0), (0.5, 2.0)])
def test_labelled_clusters_have_a_closed_form(alpha, signal):
    found = overlap(model("mixture.py:Labelled", signal=signal), alpha)
    assert found.value[0, 0] == pytest.approx(alpha * signal**2 / (1 + alpha * signal**2), abs=2e-3)


@pytest.mark.parametrize(("alpha", "signal"), [(2.0, 1.0), (3.0, 1.0), (1.0, 1.5)])
def test_hidden_labels_follow_the_scalar_equation(alpha, signal):
    found = overlap(model("mixture.py:Clusters", signal=signal), alpha)
    assert found.value[0, 0] == pytest.approx(hidden_labels(alpha, signal), abs=4 * found.node_error[0, 0] + 1e-3)


def test_clusters_are_found_from_alpha_signal_to_the_minus_four_on():
    """Lesieur et al. 2016 (arXiv:1610.02918), two clusters: message passing finds them from alpha s^4 = 1 on."""
    for signal in (0.8, 1.0, 1.5):
        found = al.thresholds({"link": f"{MODELS}/mixture.py:Clusters", "parameters": {"signal": signal}})
        assert found.value.iloc[0] == pytest.approx(signal**-4, rel=1e-3)


def test_the_second_moment_of_the_spikes():
    assert spike_moment(
        model("single_location.py:SingleLocation", tokens=4, parameters={"spike": 1.5})
    ) == pytest.approx(np.diag([1.5**2, 0.0]), abs=1e-12)
    assert np.array_equal(spike_moment(load_link({"link": "product"}, REPOSITORY)), np.zeros((2, 2)))


@pytest.mark.parametrize("name", ["mixture.py:Labelled", "mixture.py:Clusters", "single_location.py:SingleLocation"])
def test_the_channels_pass_their_checks(name):
    """Each check has its false-alarm rate (`pipeline.checks`)."""
    channel = Channel(model(name), 1.0, np.random.default_rng(0))
    assert [check for check in channel_checks(channel, 4096, np.random.default_rng(3)) if not check.passed] == []


def test_own_moments_are_those_of_the_sampled_likelihood():
    link = model("single_location.py:SingleLocation")

    class Sampled(type(link)):
        moments = property()  # hides the exact posterior: hasattr is false

    sampled = Sampled()
    assert not hasattr(sampled, "moments")
    rng = np.random.default_rng(2)
    omega, V = rng.standard_normal((16, 2, 3)) * 0.6, np.array([[0.6, 0.1], [0.1, 0.5]])
    observed = rng.standard_normal(16)
    exact = Channel(link, 1.0, rng).posterior(observed, omega, V)
    found = Channel(sampled, 4.0, rng).posterior(observed, omega, V)
    assert found.log_z == pytest.approx(exact.log_z, abs=0.05)
    assert found.mean == pytest.approx(exact.mean, abs=0.05)


@pytest.mark.slow
def test_message_passing_agrees_with_state_evolution():
    """Twelve data sets of D = 200: each mean is within four of its standard errors, plus 1 / D."""
    link = model("single_location.py:SingleLocation")
    theory = np.diag(overlap(link, 2.0).value)
    channel, settings = Channel(link, 1.0, np.random.default_rng(0)), GampSolver(damping=0.7)
    runs = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        data = gamp.gaussian_dataset(link, 200, 400, rng)
        run = gamp.run(channel, data, rng, settings)
        assert run.converged
        # Of the cosine the length of the teacher, which fluctuates, is no part.
        runs.append(run.cosine[-1] ** 2)
    mean, error = np.mean(runs, axis=0), np.std(runs, axis=0, ddof=1) / np.sqrt(12)
    assert np.all(np.abs(mean - theory) < 4 * error + 1 / 200)


def test_a_likelihood_of_other_spikes_is_refused():
    class Other(type(model("mixture.py:Clusters"))):
        moments = property()

        def log_likelihood(self, observed, h):
            return np.log(np.cosh(0.3 * h[..., 0, 0])) - 0.5 * 0.3**2

    (problem,) = problems_of(Other())
    assert problem.startswith("log_likelihood contradicts spikes: ")
    assert "must contain log of E exp(sum_a s_a . h_a - |s_a|^2 / 2)" in problem


def test_spikes_of_a_wrong_shape_are_refused():
    class Flat(type(model("mixture.py:Clusters"))):
        def spikes(self, noise):
            return noise

    (problem,) = problems_of(Flat())
    assert "spikes must return finite numbers (n, P, M) = (64, 1, 1)" in problem


def test_wrappers_and_solvers_of_standard_normal_tokens_refuse_spikes():
    link = model("mixture.py:Labelled")
    for refused in (lambda: OutputNoise(link, 0.1), lambda: CorrelatedTokens(link, [[1.0]])):
        with pytest.raises(ValueError, match="has spikes"):
            refused()
    with pytest.raises(ValueError, match="has spikes"):
        require(link, {NORMAL_TOKENS})
    require(Link(), {NORMAL_TOKENS})
    name = f"{MODELS}/single_location.py:SingleLocation"
    with pytest.raises(ValueError, match="has spikes"):
        al.compute("sequence_multi_index.erm_state_evolution", {"link": name, "ridge": 1.0}, {"alpha": [1.0]})
    prior = {"name": "correlated", "covariance": [[1.0, 0.5], [0.5, 1.0]]}
    with pytest.raises(ValueError, match="has spikes; allowed: weights whose rows are not correlated"):
        al.compute("sequence_multi_index.state_evolution", {"link": name, "prior": prior}, {"alpha": [1.0]})
    with pytest.raises(ValueError, match="has spikes; allowed: weights whose rows are not correlated"):
        al.thresholds({"link": name, "prior": prior})


def test_errors_of_the_output_are_missing():
    cube = al.compute(
        "sequence_multi_index.state_evolution", {"link": f"{MODELS}/mixture.py:Labelled"}, {"alpha": [1.0]},
        solver={"nodes": 64},
    )  # fmt: skip
    for name in ("error_plug_in", "error_bayes", "entropy", "mutual_information"):
        assert np.isnan(cube[name]).all(), name
