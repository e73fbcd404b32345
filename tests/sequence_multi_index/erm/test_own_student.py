"""A student of the user with compiled derivatives: its loss is that of the provided one; wrong derivatives are refused."""

import numba
import numpy as np
import pytest

import attention_limits as al
from attention_limits.pipeline.base.errors import SpecError
from attention_limits.sequence_multi_index.erm.losses import checked_student, hessians, make_loss, values
from attention_limits.sequence_multi_index.erm.students import problem_of
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


def test_what_does_not_fit_is_refused():
    assert "has 1 outputs; allowed: square, or logistic" in problem_of("hinge", Squares())
    plain = type("Plain", (Squares,), {"derivatives": lambda self, z, value, gradient, hessian: None})()
    with pytest.raises(ValueError, match="must be a function compiled by numba"):
        make_loss("square", plain)
    assert "your own link with `derivatives`" in problem_of("square", type("None", (Squares,), {"derivatives": None})())


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
