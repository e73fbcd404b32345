"""One-pass gradient descent at large dimension: closed forms, the gradient of the population loss, and simulated descent."""

import numpy as np
import pytest
from smi_tools import descent_settings

from agreement import assert_mean
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.links.linear import Linear
from attention_limits.sequence_multi_index.links.one_token import phase_retrieval
from attention_limits.sequence_multi_index.links.wrappers import OutputNoise
from attention_limits.sequence_multi_index.schema.training import FlowSolver
from attention_limits.sequence_multi_index.training.flow import (
    Averages,
    Overlaps,
    flow,
    learning_times,
    overlaps_of,
    random_start,
)
from attention_limits.sequence_multi_index.training.gradient_descent import Block, descend
from attention_limits.sequence_multi_index.training.outputs import teacher_output
from attention_limits.sequence_multi_index.training.signs import changes_of_sign


def settings(time, **changes):
    return FlowSolver(time=time, dimension=100).model_copy(update=changes)


def overlaps(rows, seed, size=0.5):
    """Overlaps of random weights of 50 dimensions."""
    rng = np.random.default_rng(seed)
    teacher = rng.standard_normal((rows, 50))
    return overlaps_of(size * teacher + 0.6 * rng.standard_normal((rows, 50)), teacher)


def test_averages_of_phase_retrieval_are_moments_of_gaussians():
    """y = h^2: E G h* = 4 (3 q m - 3 m), E G h = 4 (3 q^2 - q - 2 m^2), E G^2 = 16 E (h*^2 - h^2)^2 h^2, at R = 1."""
    q, m = 0.7, 0.4
    at = Overlaps(np.array([[q]]), np.array([[m]]), np.eye(1))
    found = [Averages(phase_retrieval(), 2**14, generator)(at) for generator in np.random.default_rng(1).spawn(6)]
    noise = 3.0 * q + 12.0 * m**2 - 2.0 * (3.0 * q**2 + 12.0 * q * m**2) + 15.0 * q**3
    wanted = [
        3.0 + 3.0 * q**2 - 2.0 * q - 4.0 * m**2,
        12.0 * m * (q - 1.0),
        12.0 * q**2 - 4.0 * q - 8.0 * m**2,
        16.0 * noise,
    ]
    values = np.array([[loss, *(float(product[0, 0]) for product in products)] for loss, *products in found])
    assert_mean(values, np.array(wanted))
    # The errors are small: a wrong coefficient fails.
    assert np.all(values.std(axis=0) < 0.02 * np.abs(wanted))


def test_linear_regression_has_the_solution_in_closed_form():
    """y = h + noise: dM/ds = 2 (R - M), and Q follows from M, with the noise eps 4 (R - 2 M + Q + Delta)."""
    noise, rate, start = 0.25, 0.2, Overlaps(np.array([[0.8]]), np.array([[0.1]]), np.eye(1))
    averages = Averages(OutputNoise(Linear(), noise), 2**13, np.random.default_rng(2))
    path = flow(averages, start, rate, settings(3.0, records=30, tolerance=1e-8))
    s = path.times
    np.testing.assert_allclose(path.cross[:, 0, 0], 1.0 - 0.9 * np.exp(-2.0 * s), atol=3e-3)
    # e = R - 2 M + Q obeys de/ds = -4 e + 4 eps (e + Delta).
    error = 1.0 - 2.0 * path.cross[:, 0, 0] + path.student[:, 0, 0]
    slope = 4.0 * (1.0 - rate)
    rest = rate * noise / (1.0 - rate)
    np.testing.assert_allclose(error, rest + (1.6 - rest) * np.exp(-slope * s), atol=0.02)
    np.testing.assert_allclose(path.loss, error + noise, atol=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("link", [DeepAttention(1.0), DeepAttention(0.5, 1.0, 3), phase_retrieval()], ids=str)
def test_flow_without_noise_descends_the_population_loss(link):
    """At rate 0, dM/ds = -(2 L_Q M + L_M R) and dQ/ds = -(2 L_Q Q + L_M M^T) - its transpose, L the loss on the same nodes.

    The nodes are finite, so that derivatives of their means and means of derivatives (Stein) differ: false-alarm rate 1e-4.
    """
    at, step = overlaps(link.rows, 3), 1e-4
    excess = []
    for generator in np.random.default_rng(4).spawn(8):
        averages = Averages(link, 2**13, generator)

        def change(student, cross, averages=averages):
            high, low = (
                averages(Overlaps(at.student + sign * student, at.cross + sign * cross, at.teacher))[0]
                for sign in (step, -step)
            )
            return (high - low) / (2.0 * step)

        rows, zero = range(link.rows), np.zeros((link.rows,) * 2)
        units = {(p, q): np.outer(np.eye(link.rows)[p], np.eye(link.rows)[q]) for p in rows for q in rows}
        in_cross = np.array([[change(zero, units[p, q]) for q in rows] for p in rows])
        # Of a symmetric matrix both entries change together.
        in_student = np.array([[0.5 * change(units[p, q] + units[q, p], zero) for q in rows] for p in rows])
        _, with_teacher, with_own, _ = averages(at)
        first = with_teacher - (2.0 * in_student @ at.cross + in_cross @ at.teacher)
        second = with_own - (2.0 * in_student @ at.student + in_cross @ at.cross.T)
        excess.append(np.stack([first, second]))
    assert_mean(np.array(excess))
    scale = np.abs(with_teacher).max()
    assert np.std(excess, axis=0).max() < 0.2 * scale


@pytest.mark.slow
def test_loss_falls_along_the_flow_without_noise():
    start = random_start(np.random.default_rng(5).standard_normal((2, 500)), 0.9, np.random.default_rng(6))
    path = flow(Averages(DeepAttention(1.0), 4096, np.random.default_rng(7)), start, 0.0, settings(100.0))
    assert path.finite
    # The nodes are fixed, and the mean gradient on them is not quite that of the mean loss.
    assert np.all(np.diff(path.loss) < 2e-3 * path.loss[0])
    assert path.loss[-1] < 1e-3
    # The last layer is learned first.
    first, last = learning_times(path.times, path.cosine(start.teacher))
    assert last < 0.3 * first < np.inf


@pytest.mark.slow
@pytest.mark.parametrize(
    ("link", "rate", "batch", "decay"),
    [(DeepAttention(1.0), 0.2, 4, 0.1), (phase_retrieval(), 0.01, 1, 0.0), (OutputNoise(Linear(2), 0.5), 0.05, 8, 0.0)],
    ids=["two layers", "phase retrieval", "noisy regression"],
)
def test_simulated_descent_follows_the_flow(link, rate, batch, decay):
    """Cosines and norms of 12 runs at D = 400 at three times; bias O(1 / D) allowed; false-alarm rate 1e-4 each.

    eta = rate D, and the weight decay of the simulation is omega B / D in units of 1 / D.
    """
    dimension, time, blocks = 400, 1.5 if link.tokens > 1 else 0.5, 3
    steps = round(time * dimension / (rate * batch * blocks))
    descent = descent_settings(rate * dimension, decay * batch / dimension)
    made = []
    for generator in np.random.default_rng(8).spawn(12):
        teacher = generator.standard_normal((link.rows, dimension))
        weights = 0.3 * teacher + 0.6 * generator.standard_normal(teacher.shape)
        start = overlaps_of(weights, teacher)

        def fresh(generator=generator, teacher=teacher):
            for _ in range(blocks):
                x = generator.standard_normal((1, steps * batch, link.tokens, dimension), dtype=np.float32)
                h = np.einsum("pd,nad->npa", teacher, x[0], optimize=True) / np.sqrt(dimension)
                y = teacher_output(link, h, generator.standard_normal((len(h), link.noise_dimension))).astype(
                    np.float32
                )
                yield Block(x, y[None], np.arange(steps * batch, dtype=np.int32).reshape(1, steps, batch))

        run = descend(link, fresh(), weights[None, None], teacher[None], descent)
        exact = steps * blocks * rate * batch / dimension
        path = flow(Averages(link, 4096, generator), start, rate, settings(exact, records=blocks, weight_decay=decay))
        norm, cosine = np.sqrt(np.diagonal(path.student, axis1=1, axis2=2)), path.cosine(start.teacher)
        made.append(np.stack([run.cosine[0, 0] - cosine, run.norm[0, 0] - norm])[:, 1:])
    assert_mean(np.array(made), allowance=2.0 / dimension)
    assert np.abs(cosine[-1] - cosine[0]).max() > 0.1


def test_nodes_are_closed_under_the_signs_that_a_link_leaves_free():
    """At M = 0 nothing draws a student to a teacher, exactly; two layers, and a link whose signs are free together alone."""
    for link in (DeepAttention(1.0), phase_retrieval()):
        assert len(changes_of_sign(link)) == 4**link.rows
        at = Overlaps(0.8 * np.eye(link.rows), np.zeros((link.rows,) * 2), np.eye(link.rows))
        _, with_teacher, with_own, squared = Averages(link, 256, np.random.default_rng(9))(at)
        np.testing.assert_allclose(with_teacher, 0.0, atol=1e-12)
        np.testing.assert_allclose(with_own - np.diag(np.diag(with_own)), 0.0, atol=1e-12)
        np.testing.assert_allclose(squared - np.diag(np.diag(squared)), 0.0, atol=1e-12)
    many = changes_of_sign(DeepAttention(1.0, 1.0, 5)).reshape(-1, 10)
    for rows in ([0, 1, 2], [3, 7, 9]):
        patterns, counts = np.unique(many[:, rows], axis=0, return_counts=True)
        assert len(patterns) == 8
        assert np.ptp(counts) == 0


def test_weights_that_diverge_end_the_flow():
    """Phase retrieval at a large rate: the later records are missing, and the flow says so."""
    start = Overlaps(np.array([[1.0]]), np.array([[0.1]]), np.eye(1))
    path = flow(Averages(phase_retrieval(), 1024, np.random.default_rng(10)), start, 5.0, settings(10.0, records=20))
    assert not path.finite
    assert np.isnan(path.loss[-1])
    assert np.isfinite(path.loss[0])


def test_learning_time_is_between_the_records():
    cosine = np.array([[0.1, -0.9, 0.0], [-0.4, 1.0, 0.2], [-0.6, 1.0, 0.3]])
    found = learning_times(np.array([0.0, 1.0, 3.0]), cosine)
    np.testing.assert_allclose(found[:2], [2.0, 0.0])
    assert np.isnan(found[2])


def test_negative_rate_and_few_nodes_are_refused():
    with pytest.raises(ValueError, match="needs 64 nodes or more"):
        Averages(DeepAttention(1.0, 1.0, 3), 32, np.random.default_rng(0))
    averages = Averages(Linear(), 64, np.random.default_rng(0))
    with pytest.raises(ValueError, match="need rate >= 0"):
        flow(averages, Overlaps(*np.ones((3, 1, 1))), -1.0, settings(1.0))


def test_half_of_the_nodes_is_the_flow_on_fewer_nodes():
    """The first half of a Sobol sequence is the shorter sequence of the same scrambling."""
    at, link = overlaps(2, 11), OutputNoise(DeepAttention(1.0), 0.1)
    many, few = (Averages(link, count, np.random.default_rng(12)) for count in (512, 256))
    for one, other in zip(many.half()(at), few(at), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    assert many(at)[0] != few(at)[0]
