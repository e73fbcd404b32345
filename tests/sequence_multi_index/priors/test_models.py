"""Solvers with other priors: identities, published thresholds of the binary perceptron and of phase retrieval, GAMP."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq, minimize_scalar
from scipy.special import log_ndtr
from smi_tools import channel_of, gamp_settings, node_sets, path_settings, search_settings

from agreement import assert_mean
from attention_limits.numerics.probability.hermite import gauss_hermite
from attention_limits.sequence_multi_index.estimators.at_point import completed
from attention_limits.sequence_multi_index.gamp import gamp
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.links.linear import Linear
from attention_limits.sequence_multi_index.links.link import Link
from attention_limits.sequence_multi_index.links.one_token import SignProduct, phase_retrieval
from attention_limits.sequence_multi_index.priors.gaussian import GaussianRows, standard_normal
from attention_limits.sequence_multi_index.priors.mixture import bernoulli_gauss, binary
from attention_limits.sequence_multi_index.priors.prior import Prior
from attention_limits.sequence_multi_index.state_evolution.fixed_point import solve
from attention_limits.sequence_multi_index.state_evolution.phases import branches
from attention_limits.sequence_multi_index.state_evolution.trajectory import trajectory
from attention_limits.sequence_multi_index.weak_recovery.first_threshold import first_threshold
from attention_limits.sequence_multi_index.weak_recovery.staircase import staircase

pytestmark = pytest.mark.slow

C = np.array([[1.0, 0.6], [0.6, 1.0]])


@dataclass(frozen=True)
class Squares(Link):
    """y_p = (R h)_p^2 for p = 1, 2, with the fields h of one token: four candidates."""

    root: np.ndarray

    rows = 2
    tokens = 1

    @property
    def sign_symmetry(self):
        return "rows" if np.array_equal(self.root, np.eye(2)) else "all"

    def forward(self, h):
        return (self.root @ h)[..., 0] ** 2

    def fibre(self, observed, free, angles):
        signs = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
        fields = np.sqrt(observed)[:, None, :] * signs
        candidates = fields @ np.linalg.inv(self.root).T
        weight = -np.sum(np.log(2 * np.sqrt(observed)), axis=1) - np.log(abs(np.linalg.det(self.root)))
        shape = (*free.shape[:2], 4)
        return (
            np.broadcast_to(candidates[:, None, :, :, None], (*shape, 2, 1)),
            np.broadcast_to(weight[:, None, None], shape),
        )


def test_correlated_rows_are_a_linear_map_of_the_link_for_gamp():
    """W = R W', C = R R^T: GAMP with the prior C gives R times the estimate of the link g(R h) with standard normal weights."""
    R = np.linalg.cholesky(C)
    settings = gamp_settings(max_iterations=6, tolerance=0.0, start_overlap=0.2, damping=0.1)

    def found(link, prior):
        data = gamp.gaussian_dataset(link, 150, 300, np.random.default_rng(3), prior)
        return data, gamp.run(channel_of(link), data, np.random.default_rng(4), settings, prior)

    (data, run), (plain, other) = found(Squares(np.eye(2)), GaussianRows(C)), found(Squares(R), None)
    np.testing.assert_allclose(data.teacher, R @ plain.teacher, atol=1e-12)
    np.testing.assert_allclose(run.weights, R @ other.weights, atol=1e-6)
    np.testing.assert_allclose(run.variance, R @ other.variance @ R.T, atol=1e-8)
    np.testing.assert_allclose(run.overlap, R @ other.overlap @ R.T, atol=1e-8)


def test_correlated_rows_are_a_linear_map_of_the_link_for_the_first_threshold():
    """On the same nodes to rounding: the fields at zero overlap are the same."""
    R = np.linalg.cholesky(C)
    nodes = node_sets(Squares(R), 1024, 1, seed=5)[0]
    prior = first_threshold(channel_of(Squares(np.eye(2))), nodes, GaussianRows(C))
    mapped = first_threshold(channel_of(Squares(R)), nodes)
    assert prior.alpha == pytest.approx(mapped.alpha, rel=1e-9)
    np.testing.assert_allclose(prior.direction, mapped.direction, atol=1e-7)


def test_correlated_rows_have_the_first_threshold_alone():
    """No symmetry separates the direction that is learned first from the other; standard normal rows have two thresholds."""
    link = Squares(np.eye(2))
    nodes = node_sets(link, 256, 1, seed=18)[0]
    (only,) = staircase(channel_of(link), nodes, nodes, 1e-3, prior=GaussianRows(C))
    assert only.alpha < 0.5
    assert only.direction[0, 1] > 0.3


def test_correlated_rows_are_a_linear_map_of_the_link_for_fixed_points():
    """Q = R Q' R^T, over sixteen scramblings; false-alarm rate 1e-4. The allowance is the tolerance of the fixed points."""
    R = np.linalg.cholesky(C)
    settings = search_settings(tolerance=1e-4, max_iterations=400)
    links, priors = (Squares(np.eye(2)), Squares(R)), (GaussianRows(C), None)
    overlaps = [
        [
            solve(channel_of(link), 0.8, nodes, 0.01, settings, prior=prior).value
            for nodes in node_sets(link, 1024, 16, seed)
        ]
        for seed, link, prior in zip((6, 7), links, priors, strict=True)
    ]
    mapped = R @ np.array(overlaps[1]) @ R.T
    assert_mean(np.array(overlaps[0]) - mapped, allowance=1e-3)


@pytest.mark.parametrize("alpha", [0.3, 0.8])
def test_linear_outputs_show_the_share_alpha_of_correlated_rows(alpha):
    """y = h without noise: Q_hat = alpha V^-1, so V = (C^-1 + alpha V^-1)^-1 = (1 - alpha) C for every C.

    The importance weights of 4096 nodes have the mean one up to 1e-3.
    """
    link = Linear(rows=2)
    nodes = node_sets(link, 4096, 1, seed=8)[0]
    settings = search_settings(tolerance=1e-5, max_iterations=500)
    found = solve(channel_of(link), alpha, nodes, 0.01, settings, prior=GaussianRows(C))
    assert found.converged
    np.testing.assert_allclose(found.value, alpha * C, atol=2e-3)


@pytest.mark.parametrize("prior", [binary(1), bernoulli_gauss(1, 0.3)], ids=["binary", "sparse"])
def test_weak_recovery_of_phase_retrieval_is_at_one_half(prior):
    """Real phase retrieval: alpha = 1/2 (Mondelli and Montanari 2019, Found. Comput. Math. 19, 703) for every law of mean zero
    and variance one. The state evolution itself falls to zero at 0.45 and grows at 0.55, although it is not linear."""
    link = phase_retrieval()
    channel, nodes = channel_of(link), node_sets(link, 2048, 1, seed=9)[0]
    assert first_threshold(channel, nodes, prior).alpha == pytest.approx(0.5, abs=0.02)
    settings = search_settings(max_iterations=2000)
    assert solve(channel, 0.45, nodes, 1e-2, settings, prior=prior).value[0, 0] == 0.0
    assert solve(channel, 0.55, nodes, 1e-3, settings, prior=prior).value[0, 0] > 0.01


def test_weights_with_a_mean_are_learned_from_any_alpha_on():
    """Phase retrieval of binary weights of mean 0.5: threshold 0, and Q exceeds the square of the mean at alpha = 0.1."""
    link, prior = phase_retrieval(), binary(1, 0.5)
    channel, nodes = channel_of(link), node_sets(link, 512, 1, seed=10)[0]
    (step,) = staircase(channel, nodes, nodes, 1e-3, prior=prior)
    assert step.alpha == 0.0
    np.testing.assert_allclose(step.overlap, [[0.25]])
    found = solve(channel, 0.1, nodes, 1e-3, search_settings(), prior=prior)
    assert found.converged
    assert 0.26 < found.value[0, 0] < 0.5
    assert solve(channel, 0.0, nodes, 1e-3, search_settings(), prior=prior).value[0, 0] == pytest.approx(0.25, abs=1e-6)


@pytest.mark.parametrize("alpha", [0.24, 0.36])
def test_exact_recovery_of_sparse_weights_is_stable_beyond_their_density(alpha):
    """Phase retrieval near V = 0 is linear: Q_hat = alpha / V and V = density / Q_hat shrinks for alpha > density = 0.3, which is
    the information-theoretic threshold (Barbier et al. 2019, Proc. Natl. Acad. Sci. 116, 5451)."""
    link = phase_retrieval()
    nodes = node_sets(link, 256, 1, seed=11)[0]
    found = solve(
        channel_of(link), alpha, nodes, 1.0 - 1e-6, search_settings(max_iterations=3000), prior=bernoulli_gauss(1, 0.3)
    )
    assert (found.value[0, 0] > 1.0 - 1e-5) == (alpha > 0.3)


X, WEIGHTS = gauss_hermite(201)


def perceptron_information(overlap):
    """E g^2 of y = sign(h) at an overlap: E[phi(x)^2 / Phi(x) + phi(x)^2 / Phi(-x)] / V with x = omega / sqrt(V)."""
    V = 1.0 - overlap
    x = np.sqrt(overlap / V) * X
    squared = -(x**2) - np.log(2 * np.pi)
    return WEIGHTS @ (np.exp(squared - log_ndtr(x)) + np.exp(squared - log_ndtr(-x))) / V


def perceptron_free_entropy(prior, precision, alpha):
    """Phi at the overlap of a precision: prior part and alpha E sum_y Phi(y x) log Phi(y x)."""
    matrix = np.array([[precision]])
    overlap = prior.overlap(matrix)
    x = np.sqrt(overlap[0, 0] / (1.0 - overlap[0, 0])) * X
    logs = [log_ndtr(x), log_ndtr(-x)]
    return prior.free_entropy(overlap, matrix) + alpha * WEIGHTS @ sum(np.exp(log) * log for log in logs)


def test_binary_perceptron_has_the_published_thresholds():
    """Weights +-1 and y = sign(h): GAMP recovers the weights from alpha = 1.493 on (Barbier et al. 2019, Proc. Natl. Acad. Sci.
    116, 5451). Perfect generalisation is optimal from alpha = 1.245 on (Gyorgyi 1990, Phys. Rev. A 41, 7097).

    A branch has alpha = Q_hat / E g^2: its maximum is the spinodal. At the other threshold Phi of the branch falls to that of
    perfect generalisation, -log 2.
    """
    prior = binary(1)

    def alpha_at(precision):
        return precision / perceptron_information(prior.overlap(np.array([[precision]]))[0, 0])

    spinodal = -minimize_scalar(lambda value: -alpha_at(value), bounds=(0.5, 6.0), method="bounded").fun
    assert spinodal == pytest.approx(1.493, abs=1e-3)

    def excess(precision):
        return perceptron_free_entropy(prior, precision, alpha_at(precision)) + np.log(2.0)

    optimal = alpha_at(brentq(excess, 0.5, 2.5))
    assert optimal == pytest.approx(1.245, abs=1e-3)


def test_state_evolution_of_the_binary_perceptron():
    """The fixed point at alpha = 1.3 against the branch of the last test, on eight scramblings (false-alarm rate 1e-4); hard
    there, and recovered at 1.6."""
    prior, link = binary(1), SignProduct(1)

    def branch(precision):
        overlap = prior.overlap(np.array([[precision]]))[0, 0]
        return precision / perceptron_information(overlap) - 1.3

    wanted = prior.overlap(np.array([[brentq(branch, 0.5, 3.0)]]))[0, 0]
    sets = node_sets(link, 1024, 8, seed=12)
    channel, settings = channel_of(link), search_settings(tolerance=1e-3, max_iterations=400)
    found = [solve(channel, 1.3, nodes, 1e-3, settings, prior=prior).value[0, 0] for nodes in sets]
    assert_mean(found, wanted, allowance=2e-3)
    both = branches(channel, 1.3, sets[0], completed(settings, gap=0.01), prior=prior)
    assert both.free_entropy[1] == pytest.approx(-np.log(2.0), abs=1e-3)
    # The gain at 1.3 is 0.021, its error on 1024 nodes 0.003.
    assert both.free_entropy[1] - both.free_entropy[0] == pytest.approx(0.021, abs=5 * 0.003)
    assert solve(channel, 1.6, sets[0], 1e-3, settings, prior=prior).value[0, 0] > 1.0 - 1e-5


SEEDS, ITERATIONS, DIMENSION = 24, 4, 1000


@dataclass(frozen=True)
class Case:
    """A link, a prior, and a setting; the hint starts all rows, so that the trajectory is defined."""

    link: Link
    prior: Prior
    alpha: float
    side_information: float


CASES = {
    "binary": Case(phase_retrieval(), binary(1), 0.7, 0.2),
    "binary with a mean": Case(phase_retrieval(), binary(1, 0.6), 0.5, 0.0),
    "sparse": Case(Linear(), bernoulli_gauss(1, 0.2), 0.35, 0.0),
    "two sparse rows": Case(Linear(rows=2), bernoulli_gauss(2, 0.2), 0.35, 0.0),
    "correlated rows": Case(Squares(np.eye(2)), GaussianRows(C), 0.6, 0.2),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_gamp_follows_state_evolution(case):
    """Overlap, norm and variance in iterations 2 to 4, over 24 data sets of dimension 1000; false-alarm rate 1e-4 each.

    Averages over data sets deviate from the limit by O(1 / D), with coefficients of the order of the number of iterations.
    """
    channel, prior = channel_of(case.link), case.prior
    settings = gamp_settings(
        max_iterations=ITERATIONS, start_overlap=1e-8, side_information=case.side_information, tolerance=0.0
    )
    runs = []
    for generator in np.random.default_rng(13).spawn(SEEDS):
        data = gamp.gaussian_dataset(case.link, DIMENSION, int(case.alpha * DIMENSION), generator, prior)
        runs.append(gamp.run(channel, data, generator, settings, prior))
    paths = [
        trajectory(
            channel, case.alpha, nodes, path_settings(0.0, ITERATIONS, side_information=case.side_information), prior
        ).overlap[1:]
        for nodes in node_sets(case.link, 1024, 4, seed=14)
    ]
    predicted, error = np.mean(paths, axis=0), np.std(paths, axis=0, ddof=1) / 2.0
    allowance = ITERATIONS / DIMENSION
    overlap = np.array([run.overlap + run.overlap.transpose(0, 2, 1) for run in runs])[:, 1:] / 2.0
    assert_mean(overlap, predicted, allowance, error)
    assert_mean([run.norm[1:] for run in runs], predicted, allowance, error)
    assert_mean([run.variance[1:] + run.norm[1:] for run in runs], prior.second_moment, allowance)


def test_trajectory_of_the_binary_perceptron_stays_at_exact_recovery():
    """alpha = 2: no node has a field within 1e-3 of zero, and the overlap stays all the same."""
    link = SignProduct(1)
    nodes = node_sets(link, 1024, 1, seed=16)[0]
    path = trajectory(channel_of(link), 2.0, nodes, path_settings(0.9, 12), binary(1)).overlap[:, 0, 0]
    assert np.all(path[-4:] > 1.0 - 1e-5)


@pytest.mark.parametrize("V", [2.0, 1e-3])
def test_channel_of_a_sign_is_a_cut_normal_law(V):
    """Moments by adaptive quadrature over the half line, from s = -8 to 8, and their limit far from the step."""
    s = np.array([-8.0, -1.0, 0.0, 0.7, 8.0])
    omega, observed = np.sqrt(V) * s[:, None, None], np.array([1.0, -1.0, 1.0, 1.0, 1.0])
    found = channel_of(SignProduct(1)).posterior(observed, observed[:, None, None] * omega, np.array([[V]]))
    for k, centre in enumerate(s):
        # In units of sqrt(V), for the output 1: h > 0.
        weights = [
            quad(lambda h, p=p, c=centre: (h - c) ** p * np.exp(-0.5 * (h - c) ** 2 + 0.5 * min(c, 0) ** 2), 0, 40)[0]
            for p in range(3)
        ]
        mean = weights[1] / weights[0]
        assert observed[k] * found.mean[k, 0, 0] == pytest.approx(np.sqrt(V) * mean, abs=1e-7 * np.sqrt(V))
        variance = V * (weights[2] / weights[0] - mean**2)
        assert found.covariance[k, 0, 0, 0, 0] == pytest.approx(variance, rel=1e-6)
    far = channel_of(SignProduct(1)).posterior(np.ones(1), np.full((1, 1, 1), -1e4), np.array([[1.0]]))
    assert far.mean.item() == pytest.approx(1e4 + 1e-4, rel=1e-9)
    assert np.isfinite(far.log_z).all()


def test_gamp_goes_on_when_one_row_of_binary_weights_is_recovered():
    """Two attention layers at alpha = 0.8, D = 300: the state evolution recovers both, the last one first. Of 3 fixed data sets
    at least 2 must follow."""
    link, prior, found = DeepAttention(1.0), binary(2), 0
    channel, settings = channel_of(link, 0.75), gamp_settings(max_iterations=100, damping=0.1, tolerance=3e-3)
    for generator in np.random.default_rng(17).spawn(3):
        data = gamp.gaussian_dataset(link, 300, 240, generator, prior)
        run = gamp.run(channel, data, generator, settings, prior)
        found += bool(run.converged and np.all(np.abs(run.cosine[-1]) > 0.99))
    assert found >= 2


def test_gamp_recovers_binary_weights_exactly():
    """Perceptron at alpha = 2, D = 400: beyond 1.493 all weights are right in at least 2 of 3 fixed data sets."""
    link, prior = SignProduct(1), binary(1)
    channel, right = channel_of(link), 0
    for generator in np.random.default_rng(15).spawn(3):
        data = gamp.gaussian_dataset(link, 400, 800, generator, prior)
        run = gamp.run(channel, data, generator, gamp_settings(max_iterations=40), prior)
        right += bool(run.converged and np.array_equal(np.sign(run.weights), data.teacher))
    assert right >= 2


def test_a_prior_of_other_rows_is_refused():
    with pytest.raises(ValueError, match="2 rows; allowed: 1"):
        solve(
            channel_of(phase_retrieval()),
            1.0,
            node_sets(phase_retrieval(), 16, 1, seed=0)[0],
            0.1,
            search_settings(),
            prior=standard_normal(2),
        )


def test_overlaps_are_held_for_standard_normal_weights_only():
    link = phase_retrieval()
    nodes = node_sets(link, 16, 1, seed=0)[0]
    with pytest.raises(ValueError, match="standard normal weights only"):
        solve(channel_of(link), 1.0, nodes, 0.1, search_settings(), held=[0.5], prior=binary(1))


def test_rows_are_held_for_independent_rows_only():
    link, prior = Squares(np.eye(2)), GaussianRows(C)
    data = gamp.gaussian_dataset(link, 20, 20, np.random.default_rng(0), prior)
    with pytest.raises(ValueError, match="independent rows"):
        gamp.run(channel_of(link), data, np.random.default_rng(1), gamp_settings(), prior, held=(0.5, np.nan))
