"""Channels, nodes and outputs that several tests of this family share."""

import numpy as np

from attention_limits.numerics.differences import FIRST, OFFSETS, SECOND
from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.sequence_multi_index.channels.averages import channel_averages, node_dimension
from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.channels.sampling.importance import Proposals
from attention_limits.sequence_multi_index.gamp import gamp
from attention_limits.sequence_multi_index.links.link import Link
from attention_limits.sequence_multi_index.schema.bayes import GampSolver, StateEvolutionSolver, TrajectorySolver
from attention_limits.sequence_multi_index.schema.training import OnlineSolver


def search_settings(**changes):
    """Settings of a fixed point, closer to it than those of the specification; values may leave their ranges."""
    return StateEvolutionSolver(tolerance=1e-4, max_iterations=500, warm_up=1).model_copy(update=changes)


def path_settings(start, max_iterations, **changes):
    """Settings of a trajectory; values may leave their ranges."""
    return TrajectorySolver().model_copy(update={"start": start, "max_iterations": max_iterations, **changes})


def gamp_settings(**changes):
    """Settings of GAMP; values may leave their ranges."""
    return GampSolver().model_copy(update=changes)


def descent_settings(learning_rate, weight_decay=0.0, reuse=1):
    """Settings of gradient descent; values may leave their ranges. The weight decay is in units of 1 / D."""
    given = {"learning_rate": learning_rate, "weight_decay": weight_decay, "reuse": reuse}
    return OnlineSolver(batch=1, batches=1, learning_rate=1.0).model_copy(update=given)


def channel_of(link, resolution=1.0, seed=0):
    """The channel of a link; the seed scrambles the nodes of the methods that have any."""
    return Channel(link, resolution, np.random.default_rng(seed))


class Generic(Link):
    """Another link's fibre without its type: no special channel takes it."""

    def __init__(self, link):
        self.rows, self.tokens, self.sign_symmetry = link.rows, link.tokens, link.sign_symmetry
        self.free_rows, self.angles = link.free_rows, link.angles
        self.forward, self.observe, self.fibre = link.forward, link.observe, link.fibre


def node_sets(link, count, replicas, seed, dimension=None):
    """Independent scramblings of the Gaussian nodes of state evolution."""
    size = node_dimension(link) if dimension is None else dimension
    return [gaussian_nodes(size, count, child) for child in np.random.default_rng(seed).spawn(replicas)]


def informed_paths(channel, prior, alpha, start, iterations, sets):
    """Overlaps (sets, iterations, P, P) of state evolution from the precision start / (1 - start) I, on `sets` of nodes."""
    paths, first = [], prior.overlap(start / (1.0 - start) * np.eye(channel.link.rows))
    for nodes in sets:
        path, overlap = [], first
        for _ in range(iterations):
            overlap = prior.overlap(alpha * channel_averages(channel, overlap, nodes, prior=prior).information)
            path.append(overlap)
        paths.append(path)
    return np.array(paths)


def informed_runs(channel, prior, alpha, start, iterations, dimension, generators):
    """Runs of GAMP from the overlap `start` with the teacher at D = `dimension`, one data set for each of the `generators`."""
    settings = gamp_settings(max_iterations=iterations, informed_start=start, tolerance=0.0)
    runs = []
    for generator in generators:
        data = gamp.gaussian_dataset(channel.link, dimension, int(alpha * dimension), generator, prior)
        runs.append(gamp.run(channel, data, generator, settings, prior))
    return runs


def symmetric_overlaps(runs):
    """Overlaps (runs, iterations, P, P) of runs of GAMP, without their antisymmetric part."""
    return np.array([run.overlap + run.overlap.transpose(0, 2, 1) for run in runs]) / 2.0


def draw_channels(link, V, count, seed, overlap=None):
    """(observed, omega, h) of `count` outputs of a link, omega_a ~ N(0, overlap) (default I - V), h_a ~ N(omega_a, V)."""
    rng = np.random.default_rng(seed)
    size = link.rows
    overlap = np.eye(size) - V if overlap is None else overlap
    # Adding a tiny multiple of the identity lets a singular overlap have a Cholesky factor.
    prior = np.linalg.cholesky(overlap + 1e-300 * np.eye(size)) if np.any(overlap) else overlap
    omega = np.einsum("pq,nqa->npa", prior, rng.standard_normal((count, size, link.tokens)))
    h = omega + np.einsum("pq,nqa->npa", np.linalg.cholesky(V), rng.standard_normal((count, size, link.tokens)))
    return link.observe(h, rng.standard_normal((count, link.noise_dimension))), omega, h


def assert_derivatives(channel, observed, omega, V, slope, curvature):
    """Mean and covariance of a channel are derivatives of its log Z, within `slope` and `curvature`.

    In units of the prior standard deviations, over n outputs: observed (n, ...), omega (n, P, M), V (P, P). The differences have
    steps of 0.02.
    """
    count, rows, tokens = omega.shape
    size, found = rows * tokens, channel.posterior(observed, omega, V)
    gradient, hessian = gradient_and_hessian(
        lambda index, points: channel.posterior(observed[index], points, V).log_z, omega, V, np.full(count, 0.02)
    )
    deviations = np.repeat(np.sqrt(np.diag(V)), tokens)
    inverse = np.linalg.inv(np.kron(V, np.eye(tokens)))
    mean = found.mean.reshape(count, size) @ inverse * deviations
    square = inverse @ found.covariance.reshape(count, size, size) @ inverse - inverse
    np.testing.assert_allclose(mean, gradient, atol=slope)
    np.testing.assert_allclose(square * np.outer(deviations, deviations), hessian, atol=curvature)


def gradient_and_hessian(log_z, omega, V, steps):
    """Of log Z_out in the numbers omega_pa / sqrt(V_pp), by differences along axes and pairs of axes.

    Parameters
    ----------
    log_z : callable
        log_z(index, omega): values (m,) at prior means (m, P, M) of the outputs number index (m,).
    omega : array (n, P, M)
    V : array (P, P)
    steps : array (n,)
        In the same units.

    Returns
    -------
    arrays (n, d) and (n, d, d), d = P M
    """
    n, rows, tokens = omega.shape
    size = rows * tokens
    pairs = [(i, i) for i in range(size)] + [(i, j) for i in range(size) for j in range(i + 1, size)]
    directions = np.zeros((len(pairs), size))
    for k, (i, j) in enumerate(pairs):
        directions[k, [i, j]] = 1.0
    directions *= np.repeat(np.sqrt(np.diag(V)), tokens)
    shifts = OFFSETS[:, None, None, None] * steps[:, None] * directions[:, None, :]
    points = omega + shifts.reshape(9, len(pairs), n, rows, tokens)
    index = np.broadcast_to(np.arange(n), (9, len(pairs), n))
    values = log_z(index.ravel(), points.reshape(-1, rows, tokens)).reshape(index.shape)
    gradient = np.tensordot(FIRST, values[:, :size], axes=1).T / steps[:, None]
    second = np.tensordot(SECOND, values, axes=1) / steps**2
    hessian = np.empty((n, size, size))
    for k, (i, j) in enumerate(pairs):
        mixed = second[k] if i == j else 0.5 * (second[k] - second[i] - second[j])
        hessian[:, i, j] = hessian[:, j, i] = mixed
    return gradient, hessian


def sampling_problem(link, free, several, seed, n=3, count=4):
    """Arguments of `fibre_moments` after the link, at random: outputs, omega, V, nodes and K = `several` proposals."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((link.rows, link.rows))
    V = root @ root.T + 0.3 * np.eye(link.rows)
    d = free * link.tokens
    spread = np.tril(0.3 * rng.standard_normal((n, several, d, d)), -1) + np.eye(d) * rng.uniform(
        0.5, 1.5, (n, several, d, 1)
    )
    proposals = Proposals(rng.standard_normal((n, several, d)), spread)
    nodes = rng.standard_normal((count, d + link.angles))
    return rng.standard_normal(n), rng.standard_normal((n, link.rows, link.tokens)), V, nodes, proposals
