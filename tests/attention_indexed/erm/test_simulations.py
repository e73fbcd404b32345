"""Weight decay on data sets: three algorithms, one minimum; the state evolution against minima of several dimensions."""

import numpy as np
import pytest
from aim_tools import computed, estimator, load

from attention_limits.attention_indexed.amp.matrix_amp import draw_dataset
from attention_limits.attention_indexed.channels.loading import make_channel
from attention_limits.attention_indexed.erm.estimate import Task, linear_points, softmax_points
from attention_limits.attention_indexed.erm.simulations import message_passing
from attention_limits.attention_indexed.erm.simulations.minimisation import minimise
from attention_limits.attention_indexed.erm.simulations.objective import draw_data, loss_and_gradient
from attention_limits.attention_indexed.erm.softmax import score_nodes
from attention_limits.attention_indexed.model.sizes import Sizes, sizes
from attention_limits.attention_indexed.schema.erm import ErmGampSolver, MinimisationSolver

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("beta", [None, 1.3])
def test_gradient(beta):
    """Central differences along a random symmetric direction, step 1e-5, to 1e-7."""
    rng = np.random.default_rng(0)
    data = draw_data(Sizes(30, 7, 4), 3, beta, 0.1, rng)
    S, direction = (M + M.T for M in rng.standard_normal((2, 7, 7)))
    up, down = (loss_and_gradient(data, S + s * 1e-5 * direction)[0] for s in (1, -1))
    assert np.vdot(loss_and_gradient(data, S)[1], direction) == pytest.approx((up - down) / 2e-5, rel=1e-7)


def test_data_are_those_of_matrix_amp():
    """Teacher and sequences of the same generator are equal, with noise too; those of matrix AMP are rounded."""
    size, theirs = Sizes(20, 8, 4), np.random.default_rng(3)
    found = draw_data(size, 2, 1.0, 0.2, np.random.default_rng(3))
    expected = draw_dataset(make_channel("softmax", 2), size, theirs)
    np.testing.assert_array_equal(found.teacher, expected.teacher)
    np.testing.assert_array_equal(found.sequences.astype(np.float32), expected.sequences)


@pytest.mark.parametrize(("beta", "alpha", "score_noise", "decay"), [(None, 0.15, 0.1, 0.1), (1.0, 0.4, 0.0, 0.1)])
def test_three_algorithms_reach_one_minimum(beta, alpha, score_noise, decay):
    """L-BFGS on the factor, proximal gradient and message passing: S agrees to 1e-3, relative, and no eigenvalue is negative.

    Proximal steps end at 1e-6, message passing at 1e-5, where a step is not yet the distance to the minimum.
    """
    data = draw_data(sizes(alpha, 0.5, 30), 2, beta, score_noise, np.random.default_rng(1))
    factor, proximal = (
        minimise(data, decay, MinimisationSolver(method=method, tolerance=1e-6)) for method in ("factor", "proximal")
    )
    passed = message_passing.run(data, decay, ErmGampSolver(tolerance=1e-5))
    assert factor.converged
    assert proximal.converged
    assert passed.converged
    for other in (proximal.S, passed.S):
        assert np.linalg.norm(other - factor.S) < 1e-3 * np.linalg.norm(factor.S)
    assert np.linalg.eigvalsh(factor.S)[0] > -1e-12


CASES = [(None, 0.2, 0.1, 0.1), (1.0, 0.4, 0.25, 0.1)]


@pytest.mark.parametrize(("beta", "alpha", "score_noise", "decay"), CASES)
def test_state_evolution_is_the_limit_of_minima(beta, alpha, score_noise, decay):
    """Means at d = 16 and 32, extrapolated with a law a + b / d, are within three standard errors of the theory.

    False-alarm rate 0.3 % for each of five numbers, 1.5 % of a case; the seed is fixed. Teachers fluctuate, so errors are scaled
    by their norm, mse / tr S*^2 (1 + rho).
    """
    task = Task(0.5, score_noise, 2, beta)
    if beta is None:
        (theory,) = linear_points(task, [alpha], [decay])
    else:
        nodes = score_nodes(2, 2048, np.random.default_rng(0))
        (theory,) = softmax_points(task, [alpha], decay, nodes, 1e-6, 100)
    model = {"channel": "softmax" if beta else "linear", "tokens": 2, "ratio": 0.5, "score_noise": score_noise}
    names = ("mse", "learned_rank", "learned_trace", "training_loss", "objective")
    means, errors = {}, {}
    for dimension, replicas in ((16, 240), (32, 60)):
        document = estimator(
            "erm_minimisation", model, {"alpha": [alpha], "weight_decay": [decay]}, replicas,
            solver={"dimension": dimension, "method": "proximal", "tolerance": 1e-4, "fresh_sequences": 1},
        )  # fmt: skip
        found = computed(load_once(document).estimators["erm_minimisation"])
        assert found.converged.values.all()
        for name in names:
            values = found[name].values.ravel()
            if name == "mse":
                values = 1.5 * values / found.teacher_norm.values.ravel()
            means[name, dimension] = values.mean()
            errors[name, dimension] = values.std(ddof=1) / np.sqrt(replicas)
    for name in names:
        limit = 2.0 * means[name, 32] - means[name, 16]
        error = np.hypot(2.0 * errors[name, 32], errors[name, 16])
        assert abs(limit - theory[name]) < 3.0 * error, (name, limit, theory[name], error)


@pytest.fixture(autouse=True)
def _folder(tmp_path):
    load_once.folder = tmp_path


def load_once(document):
    """The experiment of a document in the folder of the test."""
    return load(load_once.folder, document)
