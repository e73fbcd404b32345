"""The proximal operator of many outputs side by side: minima by a slow independent method; lanes do not depend on each other."""

from functools import partial

import numpy as np
import pytest
from scipy.optimize import minimize

from attention_limits.numerics.tracing.elementary import LANES
from attention_limits.sequence_multi_index.erm.losses import hessians, make_loss, values
from attention_limits.sequence_multi_index.erm.prox import prox
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.links.attention.sequence_output import SequenceOutput
from attention_limits.sequence_multi_index.links.attention.untied import UntiedAttention
from attention_limits.sequence_multi_index.links.heads.multi_head import MultiHeadAttention
from attention_limits.sequence_multi_index.links.linear import LargestRow, Linear
from attention_limits.sequence_multi_index.links.one_token import Monomial, SignProduct, SumOfSquares


def square(link, y, z):
    return 0.5 * np.sum((link.forward(z.reshape(link.rows, link.tokens)).ravel() - y) ** 2)


def logistic(link, y, z):
    return np.logaddexp(0.0, -y[0] * link.forward(z.reshape(link.rows, link.tokens)).ravel()[0])


def cross_entropy(link, y, z):
    rows = z.reshape(link.rows, link.tokens)
    return np.sum(y.reshape(rows.shape) * (np.log(np.sum(np.exp(rows), axis=0)) - rows))


# Loss in NumPy, student, target.
CASES = {
    "square": (square, Linear(2, 2), Linear(2, 2)),
    "perceptron": (logistic, Linear(), SignProduct(1)),
    "cross entropy": (cross_entropy, Linear(3), LargestRow(3)),
    "product": (square, Monomial((1, 2)), Monomial((1, 2))),
    "logistic of a sum of squares": (logistic, SumOfSquares(2), SignProduct(2)),
    "one layer": (square, DeepAttention(depth=1), DeepAttention(depth=1)),
    "one layer, three tokens": (square, DeepAttention(depth=1, tokens=3), DeepAttention(depth=1, tokens=3)),
    "two linear layers": (square, DeepAttention(activation="linear"), DeepAttention(activation="linear")),
    "untied": (square, UntiedAttention(), UntiedAttention()),
    "two heads": (square, MultiHeadAttention(heads=2), MultiHeadAttention(heads=2)),
    "sequence output": (square, SequenceOutput(depth=1), SequenceOutput(depth=1)),
}  # fmt: skip


def drawn(student, target, count, seed=0):
    """Outputs, anchors and omega as state evolution has them, and a V that mixes the rows."""
    rng = np.random.default_rng(seed)
    h = rng.standard_normal((count, target.rows, target.tokens))
    fit = h if (target.rows, target.tokens) == (student.rows, student.tokens) else np.zeros((count, student.rows, 1))
    omega = 0.64 * fit + 0.48 * rng.standard_normal((count, student.rows, student.tokens))
    outputs = np.ascontiguousarray(target.forward(h), dtype=float).reshape(count, -1)
    V = 0.8 * np.eye(student.rows) + 0.3
    return outputs, fit.reshape(count, 1, -1), omega, V


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_minima_are_those_of_a_slow_method(name):
    """BFGS with differences of the loss in NumPy, from the same two starts; 11 outputs leave five lanes of a register empty."""
    loss, student, target = CASES[name]
    outputs, anchors, omega, V = drawn(student, target, 11)
    found = prox(make_loss(loss.__name__, student), outputs, anchors, omega, V)
    precision = np.linalg.inv(V)
    assert found.ended.all()
    for k, y in enumerate(outputs):

        def objective(z, k=k, y=y):
            off = z.reshape(omega[k].shape) - omega[k]
            return 0.5 * np.einsum("pa,pq,qa->", off, precision, off) + loss(student, y, z)

        slow = min(minimize(objective, start.ravel(), tol=1e-9).fun for start in (omega[k], anchors[k, 0]))
        assert found.envelope[k] <= slow + 1e-9
        assert found.envelope[k] == pytest.approx(objective(found.point[k].ravel()), abs=1e-11)
        assert found.loss[k] == pytest.approx(loss(student, y, found.point[k].ravel()), abs=1e-11)
        if found.envelope[k] > slow - 1e-6:
            assert found.envelope[k] == pytest.approx(slow, abs=1e-8)
    slope, second = values_at(make_loss(loss.__name__, student), outputs, found)
    assert np.allclose(found.slope.reshape(slope.shape), -slope, atol=1e-8)
    wide = np.kron(V, np.eye(student.tokens))
    expected = -second @ np.linalg.inv(np.eye(len(wide)) + wide @ second)
    assert np.allclose(found.jacobian.reshape(expected.shape), expected, atol=1e-8)


def values_at(loss, outputs, found):
    z = found.point.reshape(len(outputs), -1)
    return values(loss, outputs, z)[1], hessians(loss, outputs, z)


@pytest.mark.parametrize("name", ["one layer", "untied", "perceptron"])
@pytest.mark.parametrize("count", [1, 8, 13, LANES + 1, 3 * LANES + 5])
def test_an_output_does_not_depend_on_the_others(name, count):
    """The same bytes in any order, with more outputs than lanes and with fewer."""
    loss, student, target = CASES[name]
    outputs, anchors, omega, V = drawn(student, target, 3 * LANES + 5)
    solve = partial(prox, make_loss(loss.__name__, student), variance=5.0 * V)
    whole = solve(outputs, anchors, omega)
    some = np.random.default_rng(count).permutation(len(outputs))[:count]
    part = solve(outputs[some], anchors[some], omega[some])
    for attribute in ("point", "slope", "jacobian", "envelope", "loss", "ended"):
        assert np.array_equal(getattr(part, attribute), getattr(whole, attribute)[some])


COMPILED = """
import numba
import numpy as np


@numba.njit
def mine(y, z, gradient, hessian):
    sound = y[0] < 0.5
    gradient[0], hessian[0, 0] = z[0] - y[0] if sound else np.nan, 1.0 if sound else np.nan
    return 0.5 * (z[0] - y[0]) ** 2
"""


def test_a_minimisation_that_fails_is_flagged_and_harms_no_other(tmp_path):
    """Ridge regression, z_hat = (omega + V y) / (1 + V), where the derivatives are numbers."""
    (tmp_path / "own.py").write_text(COMPILED)
    rng = np.random.default_rng(2)
    outputs, omega = rng.standard_normal((300, 1)), rng.standard_normal((300, 1, 1))
    loss = make_loss("own.py:mine", Linear(), tmp_path)
    found = prox(loss, outputs, np.zeros((300, 0, 1)), omega, np.array([[1.5]]))
    fails = outputs[:, 0] > 0.5
    assert 50 < fails.sum() < 150
    assert np.array_equal(found.ended, ~fails)
    expected = (omega[:, 0] + 1.5 * outputs) / 2.5
    assert np.allclose(found.point[~fails, 0], expected[~fails], rtol=1e-14, atol=1e-14)
    assert np.allclose(found.jacobian[~fails].ravel(), -1.0 / 2.5, rtol=1e-14)


NUMPY = """
import numpy as np


def layer(y, z):
    scores = z[:, None] * z[None, :]
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return 0.5 * np.sum(((weights / weights.sum(axis=-1, keepdims=True)).reshape(-1) - y) ** 2)
"""


def test_a_loss_in_numpy_has_the_minima_of_the_provided_one(tmp_path):
    (tmp_path / "own.py").write_text(NUMPY)
    _, student, target = CASES["one layer"]
    outputs, anchors, omega, V = drawn(student, target, 200)
    losses = make_loss("own.py:layer", student, tmp_path, 4), make_loss("square", student)
    own, provided = (prox(loss, outputs, anchors, omega, 4.0 * V) for loss in losses)
    for attribute in ("point", "slope", "jacobian", "envelope", "loss"):
        assert np.allclose(getattr(own, attribute), getattr(provided, attribute), rtol=1e-9, atol=1e-9)
    assert np.array_equal(own.ended, provided.ended)
