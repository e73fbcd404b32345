"""Weight decay with softmax outputs: the proximal operator, the fixed point, and the limit of vanishing decay."""

import numpy as np
import pytest
from scipy.optimize import minimize

from attention_limits.attention_indexed.erm import softmax_kernels as kernels
from attention_limits.attention_indexed.erm.estimate import Task, limit_points, linear_points, softmax_points
from attention_limits.attention_indexed.erm.simulations.minimisation import minimise
from attention_limits.attention_indexed.erm.simulations.objective import draw_data, loss_and_gradient
from attention_limits.attention_indexed.erm.softmax import score_basis, score_nodes
from attention_limits.attention_indexed.model.scores import attention
from attention_limits.attention_indexed.model.sizes import sizes
from attention_limits.attention_indexed.schema.erm import MinimisationSolver

pytestmark = pytest.mark.slow
RHO = 0.5


def proximal(omega, fits, outputs, basis, V):
    moved, results = np.empty_like(omega), np.empty((len(omega), kernels.COUNT))
    kernels.proximal(omega, fits, outputs, basis, 1.5, V, moved, results)
    return moved, results


def problem(tokens, count, seed):
    rng, basis = np.random.default_rng(seed), score_basis(tokens)
    omega, h = rng.standard_normal((2, count, len(basis)))
    return 1.2 * omega, 1.5 * h, attention(np.tensordot(1.5 * h, basis, axes=1), 1.5), basis


@pytest.mark.parametrize("tokens", [2, 3, 4])
def test_basis(tokens):
    basis = score_basis(tokens)
    assert len(basis) == tokens * (tokens + 1) // 2 - 1
    np.testing.assert_allclose(np.einsum("kab,lab->kl", basis, basis), np.eye(len(basis)), atol=1e-13)
    np.testing.assert_allclose(basis, basis.transpose(0, 2, 1), atol=1e-15)
    np.testing.assert_allclose(basis.sum(axis=(1, 2)), 0.0, atol=1e-13)


@pytest.mark.parametrize(("tokens", "V"), [(2, 0.5), (2, 20.0), (3, 2.0)])
def test_proximal_operator_is_the_global_minimum(tokens, V):
    """BFGS from twelve random starts and from omega finds no lower objective at any of 12 nodes, to 1e-7."""
    omega, h, outputs, basis = problem(tokens, 12, tokens)
    moved, results = proximal(omega, h, outputs, basis, V)
    assert not results[:, kernels.FAILED].any()
    rng = np.random.default_rng(9)
    for w, y, ours in zip(omega, outputs, moved, strict=True):

        def objective(z, w=w, y=y):
            P = attention(np.tensordot(z, basis, axes=1)[None], 1.5)[0]
            return np.sum((P - y) ** 2) + np.sum((z - w) ** 2) / (4.0 * V)

        best = min(minimize(objective, w + 3.0 * rng.standard_normal(len(w))).fun for _ in range(12))
        assert objective(w + ours) < min(best, minimize(objective, w).fun) + 1e-7


def test_derivatives_of_the_proximal_operator():
    """Divergence and squared norm of d(u - omega) / d omega against central differences of step 1e-5, to 1e-5."""
    omega, h, outputs, basis = problem(3, 6, 5)
    _, results = proximal(omega, h, outputs, basis, 1.0)
    jacobian = np.empty((6, len(basis), len(basis)))
    for m in range(len(basis)):
        shift = 1e-5 * np.eye(len(basis))[m]
        up, down = (proximal(omega + s * shift, h, outputs, basis, 1.0)[0] for s in (1, -1))
        jacobian[:, m] = (up - down) / 2e-5
    np.testing.assert_allclose(results[:, kernels.DIVERGENCE], np.einsum("nmm->n", jacobian), rtol=1e-5)
    np.testing.assert_allclose(results[:, kernels.SQUARES], np.einsum("nml,nml->n", jacobian, jacobian), rtol=1e-5)


# M, alpha, tau, lambda: mse, rank, loss in training and on fresh data of an independent prototype.
TABLE = [
    (2, 0.14, 0.0, 0.01, (0.44749, 0.41632, 0.0040865, 0.12070)),
    (2, 0.4, 0.0, 0.01, (0.02806, 0.55028, 0.0010265, 0.0046)),
    (2, 0.14, 0.25, 0.01, (0.62365, 0.42803, 0.0066137, 0.24874)),
    (2, 0.4, 0.25, 0.01, (0.25997, 0.62340, 0.0238117, 0.15424)),
    (2, 0.4, 0.0, 0.1, (0.34167, 0.41880, 0.0291261, 0.060289)),
    (3, 0.05, 0.0, 0.01, (0.58641, 0.36448, 0.0121989, 0.270503)),
    (3, 0.1, 0.25, 0.01, (0.37787, 0.52616, 0.0224763, 0.30941)),
]


@pytest.mark.parametrize(("tokens", "alpha", "score_noise", "decay", "expected"), TABLE)
def test_softmax_reference(tokens, alpha, score_noise, decay, expected):
    """Both theories average over Sobol nodes; the tolerance of 2 % is three times the spread of the noisy points."""
    nodes = score_nodes(tokens, 2048, np.random.default_rng(3))
    (row,) = softmax_points(Task(RHO, score_noise, tokens, 1.0), [alpha], decay, nodes, 1e-6, 100)
    assert row["converged"]
    found = [row[name] for name in ("mse", "learned_rank", "training_loss", "test_loss")]
    np.testing.assert_allclose(found, expected, rtol=0.02)
    assert row["free_energy"] == pytest.approx(row["objective"], rel=1e-4)
    assert 0 < row["replicon"] < 1


def test_six_tokens_agree_with_minima_of_the_objective():
    """K alpha = 2, tau = 0.1, lambda = 0.02: errors and training losses of four data sets of d = 80 within four standard errors
    and 0.5/d; a false-alarm rate of 0.03 each for Student's t of three degrees, if the correction is zero; the seeds are fixed.
    512 nodes are right to 1 %."""
    nodes = score_nodes(6, 512, np.random.default_rng(9))
    (row,) = softmax_points(Task(RHO, 0.1, 6, 1.0), [0.05], 0.02, nodes, 1e-5, 100)
    assert row["converged"]
    found = []
    for rng in np.random.default_rng(10).spawn(4):
        data = draw_data(sizes(0.05, RHO, 80), 6, 1.0, 0.1, rng)
        fit = minimise(data, 0.02, MinimisationSolver())
        assert fit.converged
        error = np.sum((fit.S - data.teacher) ** 2) / 80
        found.append((error, loss_and_gradient(data, fit.S)[0] / len(data.sequences)))
    for values, name in zip(np.transpose(found), ("mse", "training_loss"), strict=True):
        allowed = 4.0 * values.std(ddof=1) / 2.0 + 0.5 / 80 + 0.01 * row[name]
        assert abs(values.mean() - row[name]) < allowed


def test_vanishing_decay_of_a_softmax_is_linear():
    """With K = M^2 + M - 2 the errors are those of linear scores.

    The error grows like sqrt(lambda): lambda = 1e-3 and 1e-4 extrapolate to the limit, to 2 % at 2048 nodes.
    """
    task, nodes = Task(RHO, 0.0, 2, 1.0), score_nodes(2, 2048, np.random.default_rng(0))
    (limit,) = limit_points(task, [0.15], nodes)
    (scores,) = linear_points(Task(RHO, 0.0, 2, None), [0.1], [0.0])
    assert limit["mse"] == pytest.approx(scores["mse"], rel=1e-12)
    more, less = (softmax_points(task, [0.15], decay, nodes, 1e-5, 200)[0]["mse"] for decay in (1e-3, 1e-4))
    root = np.sqrt(10.0)
    assert (root * less - more) / (root - 1.0) == pytest.approx(limit["mse"], rel=0.02)


def test_a_large_decay_learns_nothing():
    """lambda = 10 is above the bound: S = 0. Below it the rank falls with lambda."""
    task, nodes = Task(RHO, 0.1, 2, 1.0), score_nodes(2, 256, np.random.default_rng(0))
    (nothing,) = softmax_points(task, [0.2], 10.0, nodes, 1e-5, 100)
    assert (nothing["learned_rank"], nothing["mse"]) == (0.0, 1.5)
    rows = [softmax_points(task, [0.2], decay, nodes, 1e-5, 300)[0] for decay in (0.3, 0.6, 0.9, 1.2)]
    ranks = [row["learned_rank"] for row in rows]
    assert all(row["converged"] for row in rows)
    assert ranks == sorted(ranks, reverse=True)


def test_many_samples_of_a_noisy_softmax_do_not_recover():
    """Noise inside the softmax makes the model wrong: S tends to 0.87617 S*, test loss to 0.07408 (one-dimensional minimisation).

    At alpha = 40 the prototype has mse 0.02446(36) and test loss 0.07457.
    """
    nodes = score_nodes(2, 4096, np.random.default_rng(2))
    (row,) = softmax_points(Task(RHO, 0.25, 2, 1.0), [40.0], 0.01, nodes, 1e-6, 100)
    assert row["mse"] == pytest.approx(0.02446, rel=0.06)
    assert row["test_loss"] == pytest.approx(0.07457, rel=0.02)
