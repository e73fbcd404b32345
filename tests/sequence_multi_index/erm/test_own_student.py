"""A student of the user with compiled derivatives: its loss is that of the provided one; wrong derivatives are refused."""

import numba
import numpy as np
import pytest

import attention_limits as al
from attention_limits.pipeline.base.errors import SpecError
from attention_limits.sequence_multi_index.erm.losses import checked, checked_student, hessians, make_loss, values
from attention_limits.sequence_multi_index.erm.prox import prox
from attention_limits.sequence_multi_index.erm.students import problem_of
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.links.linear import Linear
from attention_limits.sequence_multi_index.links.link import Link
from attention_limits.sequence_multi_index.links.one_token import SumOfSquares

FILE = """
import numba
import numpy as np

from attention_limits.sequence_multi_index.links.link import Link


@numba.njit
def jet(z, value, gradient, hessian):
    value[0] = {value}
    for i in range(z.size):
        gradient[0, i] = {slope}
        for j in range(z.size):
            hessian[0, i, j] = 2.0 if i == j else 0.0


class Squares(Link):
    rows, tokens, sign_symmetry = 2, 1, "all"
    derivatives = staticmethod(jet)

    def forward(self, h):
        return np.sum(h[..., 0] ** 2, axis=-1)
"""
WRITE = {"value": "z[0] ** 2 + z[1] ** 2", "slope": "2.0 * z[i]"}


@numba.njit
def jet(z, value, gradient, hessian):
    value[0] = np.sum(z**2)
    for i in range(z.size):
        gradient[0, i] = 2.0 * z[i]
        for j in range(z.size):
            hessian[0, i, j] = 2.0 if i == j else 0.0


class Squares(Link):
    """y = h_1^2 + h_2^2 with derivatives of its own."""

    rows, tokens, sign_symmetry = 2, 1, "all"
    derivatives = jet

    def forward(self, h):
        return np.sum(h[..., 0] ** 2, axis=-1)


@pytest.mark.parametrize("name", ["square", "logistic"])
def test_the_loss_is_that_of_the_provided_student(name):
    own, provided = make_loss(name, Squares()), make_loss(name, SumOfSquares(2))
    rng = np.random.default_rng(0)
    outputs, fields = rng.standard_normal((32, 1)), rng.standard_normal((32, 2))
    for first, second in zip(values(own, outputs, fields), values(provided, outputs, fields), strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        hessians(own, outputs, fields), hessians(provided, outputs, fields), rtol=1e-10, atol=1e-12
    )
    assert checked_student(Squares()) == ""


@pytest.mark.parametrize(
    "student", [Squares(), SumOfSquares(2), DeepAttention(depth=2), DeepAttention(depth=1), Linear(2)]
)
def test_a_loss_that_is_called_by_its_address_has_one_type(student):
    """numba ends the process where such a function has several: one was added by the proximal operator."""
    loss, n = make_loss("square", student), student.rows * student.tokens
    size = student.forward(np.zeros((1, student.rows, student.tokens))).size
    prox(
        loss, np.ones((1, size)), np.zeros((1, 0, n)), np.zeros((1, student.rows, student.tokens)), np.eye(student.rows)
    )
    values(loss, np.ones((1, size)), np.zeros((1, n)))
    assert len(loss.function.signatures) == 1


def test_what_does_not_fit_is_refused():
    assert "has 1 outputs; allowed: square, or logistic" in problem_of("hinge", Squares())
    plain = type("Plain", (Squares,), {"derivatives": lambda self, z, value, gradient, hessian: None})()
    with pytest.raises(ValueError, match="must be a function compiled by numba"):
        make_loss("square", plain)
    assert "gradient is zero" in problem_of("square", Signs())


class Signs(Link):
    """y = sign h."""

    rows, tokens, sign_symmetry = 1, 1, "none"

    def forward(self, h):
        return np.sign(h[..., 0, 0])


class Attention(Link):
    """Two softmax layers that read two tokens, c = 1, in NumPy."""

    rows, tokens, sign_symmetry = 2, 2, "rows"

    def forward(self, h):
        out = np.broadcast_to(np.eye(2), (*h.shape[:-2], 2, 2))
        for row in range(2):
            mixed = (out @ h[..., row, :, None])[..., 0]
            scores = mixed[..., :, None] * mixed[..., None, :]
            weights = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
            weights = weights / np.sum(weights, axis=-1, keepdims=True)
            out = weights if row else (weights + np.eye(2)) @ out
        return out


def test_a_student_without_derivatives_gets_those_of_its_forward_pass():
    own, provided = Attention(), DeepAttention(depth=2)
    h = np.random.default_rng(1).standard_normal((64, 2, 2))
    np.testing.assert_allclose(own.forward(h), provided.forward(h), rtol=1e-12)
    assert checked_student(own) == ""
    first, second = make_loss("square", own), make_loss("square", provided)
    outputs, fields = own.forward(h).reshape(64, 4), np.random.default_rng(2).standard_normal((64, 4))
    for one, other in zip(values(first, outputs, fields), values(second, outputs, fields), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(
        hessians(first, outputs, fields), hessians(second, outputs, fields), rtol=1e-9, atol=1e-10
    )


def test_a_forward_pass_that_cannot_be_differentiated_is_refused():
    class Branch(Squares):
        """A field that the sign of the other one chooses."""

        derivatives = None

        def forward(self, h):
            return h[..., 0, 0] if np.all(h[..., 1, 0] > 0) else h[..., 1, 0]

    with pytest.raises(
        ValueError, match=r"JAX cannot differentiate the student Branch: .*Write it with NumPy functions"
    ):
        make_loss("square", Branch())


def test_a_student_may_sort_its_fields():
    class Sorted(Squares):
        """The larger field plus half of the smaller one."""

        derivatives = None

        def forward(self, h):
            return np.sort(h[..., 0], axis=-1) @ np.array([0.5, 1.0])

    assert checked_student(Sorted()) == ""
    fields = np.array([[2.0, -1.0], [0.5, 3.0]])
    value, gradient = values(make_loss("square", Sorted()), np.zeros((2, 1)), fields)
    np.testing.assert_allclose(value, 0.5 * np.array([1.5, 3.25]) ** 2)
    np.testing.assert_allclose(gradient, [[1.5, 0.75], [1.625, 3.25]])


NUMPY_LOSS = """
import numpy as np


def huber(y, z):
    difference = np.abs(z[0] - y[0])
    return np.where(difference < 1.0, 0.5 * difference**2, difference - 0.5)


def {name}({arguments}):
    return {value}
"""


def written(folder, name="own", arguments="y, z", value="0.5 * np.sum((y - z) ** 2)"):
    (folder / "loss.py").write_text(NUMPY_LOSS.format(name=name, arguments=arguments, value=value))
    return folder


def test_a_loss_in_numpy_has_its_derivatives(tmp_path):
    student, rng = Linear(2, 1), np.random.default_rng(3)
    own, provided = make_loss("loss.py:own", student, written(tmp_path), outputs=2), make_loss("square", student)
    outputs, fields = rng.standard_normal((2, 32, 2))
    for one, other in zip(values(own, outputs, fields), values(provided, outputs, fields), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(hessians(own, outputs, fields), hessians(provided, outputs, fields), atol=1e-13)
    huber = make_loss("loss.py:huber", Linear(), tmp_path)
    value, gradient = values(huber, np.zeros((3, 1)), np.array([[0.5], [2.0], [-3.0]]))
    np.testing.assert_allclose(value, [0.125, 1.5, 2.5])
    np.testing.assert_allclose(gradient[:, 0], [0.5, 1.0, -1.0])
    assert checked(huber, outputs[:, :1]) == ""


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"arguments": "y, h"}, "must be a function of y and z"),
        ({"value": "z * y"}, "must return a number, got 2"),
        ({"value": "0.0 if z[0] > 0 else 1.0"}, "JAX cannot differentiate the loss"),
    ],
)  # fmt: skip
def test_a_wrong_loss_in_numpy_is_refused(tmp_path, wrong, message):
    with pytest.raises(ValueError, match=message):
        make_loss("loss.py:own", Linear(2, 1), written(tmp_path, **wrong), outputs=2)


@pytest.mark.slow
def test_minima_are_those_of_the_provided_student(tmp_path):
    """The same data, start and minimiser: objectives to the tolerance of the minimiser."""
    (tmp_path / "own.py").write_text(FILE.format(**WRITE))
    keys = {"grid": {"alpha": [3.0]}, "data": {"gaussian_sequences": {"dimension": 12}}, "project": tmp_path}
    model = {"link": "sum_of_squares", "rows": 2, "ridge": 0.5}
    found = [
        al.compute("sequence_multi_index.erm_minimisation", {**model, "student": {"link": link}}, **keys)
        for link in ("own.py:Squares", "sum_of_squares")
    ]
    np.testing.assert_allclose(found[0].objective, found[1].objective, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"value": "z[0] ** 2"}, "derivatives and forward differ at z = "),
        ({"slope": "z[i]"}, "the gradient is not the derivative of the output at z = "),
        ({"value": "missing(z)"}, "numba cannot compile derivatives"),
    ],
)
def test_wrong_derivatives_are_refused(tmp_path, wrong, message):
    (tmp_path / "own.py").write_text(FILE.format(**{**WRITE, **wrong}))
    model = {"link": "sum_of_squares", "rows": 2, "ridge": 0.5, "student": {"link": "own.py:Squares"}}
    with pytest.raises(SpecError, match=f"model.student: {message}"):
        al.compute(
            "sequence_multi_index.erm_state_evolution", model, {"alpha": [3.0]}, solver={"nodes": 64}, project=tmp_path
        )  # fmt: skip
