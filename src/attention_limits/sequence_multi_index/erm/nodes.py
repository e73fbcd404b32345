"""Nodes of the channel of empirical risk minimisation: the target's fields with their outputs, and the student's noise.

Two Gaussian variables (one row and one token of student and target) have a product rule, exact to rounding for smooth losses;
more have scrambled Sobol nodes.
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.numerics.gaussian_nodes import gaussian_nodes
from attention_limits.sequence_multi_index.erm.losses import Loss, values
from attention_limits.sequence_multi_index.links.link import Link

# The product rule: Gauss-Legendre points on each side of the target's field, equidistant ones of the student's noise.
HALF_POINTS, EVEN_POINTS, RANGE = 48, 601, 8.5


@dataclass(frozen=True)
class Nodes:
    """Nodes of the channel.

    Attributes
    ----------
    target : array (N, P*, M)
        h*, of covariance sigma^2 R over rows.
    student : array (N, P, M)
        Standard normal xi: omega = mu B^T + m (sigma^2 R)^-1 h* + root xi.
    outputs, clean : array (N, K)
        Outputs y of the target, with noise and without.
    anchors : array (N, S, P M)
        Fields of the student that fit the output.
    weights : array (N,)
        Their mean is one.
    positions : array (M, K)
        B.
    sigma : float
    field_covariance : array (P*, P*)
        sigma^2 R.
    """

    target: np.ndarray
    student: np.ndarray
    outputs: np.ndarray
    clean: np.ndarray
    anchors: np.ndarray
    weights: np.ndarray
    positions: np.ndarray
    sigma: float
    field_covariance: np.ndarray

    def mean(self, values):
        """Weighted mean over the nodes of an array (N, ...)."""
        return np.tensordot(self.weights, values, axes=1) / len(self.weights)

    def errors(self, loss: Loss, omega):
        """Test loss E l(y, h), and the error: E |y - f(h)|^2 without the noise of y for the square, else the fraction of wrong classes.

        `omega` (N, P, M) is distributed like the student's fields of a fresh sequence.
        """
        flat = np.ascontiguousarray(omega).reshape(len(omega), -1)
        test = float(self.mean(values(loss, self.outputs, flat)[0]))
        if loss.name in ("logistic", "hinge"):
            return test, float(self.mean(values(loss, self.outputs, flat)[0] > _at_zero(loss, self.outputs)))
        if loss.name == "cross_entropy":
            shape = (len(omega), loss.rows, loss.tokens)
            wrong = np.argmax(self.clean.reshape(shape), axis=1) != np.argmax(omega, axis=1)
            return test, float(self.mean(wrong.mean(axis=1)))
        if loss.name == "square":
            return test, 2.0 * float(self.mean(values(loss, self.clean, flat)[0]))
        return test, test


def _at_zero(loss, outputs):
    """A loss of margins at margin zero: larger values mean a wrong sign."""
    return np.log(2.0) if loss.name == "logistic" else 1.0


def make_nodes(
    loss: Loss, target: Link, count: int, generator, student: Link | None = None, sigma=1.0, positions=None
) -> Nodes:
    """Nodes of a loss and a target.

    Parameters
    ----------
    loss : Loss
    target : Link
        M tokens, as many as the student's.
    count : int
        Sobol nodes, a power of two; the product rule ignores it.
    generator : numpy.random.Generator
        Source of the scrambling.
    student : Link, optional
        Where it equals the target without its noise, the target's own fields fit the output.
    sigma : float
        Standard deviation of the components of a token.
    positions : array (M, K), optional
        B; none by default.

    Raises
    ------
    ValueError
        If target and student differ in their tokens.
    """
    if target.tokens != loss.tokens:
        raise ValueError(f"the target reads {target.tokens} tokens, the student {loss.tokens}")
    rows, tokens, noises = target.rows, target.tokens, target.noise_dimension
    fields = rows * tokens
    if fields + loss.fields + noises == 2:
        points, weights = _product_rule()
    else:
        points = gaussian_nodes(fields + loss.fields + noises, count, generator, widening=1.0).points
        weights = np.ones(count)
    size = len(points)
    hidden = sigma * points[:, :fields].reshape(size, rows, tokens)
    noise = points[:, fields + loss.fields :]
    clean = np.asarray(target.forward(hidden), dtype=float).reshape(size, -1)
    outputs = target.observe(hidden, noise).reshape(size, -1) if noises else clean
    anchors = np.zeros((size, 0, loss.fields))
    bare = getattr(target, "link", target)
    if student is not None and student == bare:
        anchors = hidden.reshape(size, 1, -1)
    return Nodes(
        hidden, points[:, fields : fields + loss.fields].reshape(size, loss.rows, tokens),
        np.ascontiguousarray(outputs, dtype=float), np.ascontiguousarray(clean), np.ascontiguousarray(anchors), weights,
        np.zeros((tokens, 0)) if positions is None else np.asarray(positions, dtype=float), float(sigma),
        sigma**2 * np.eye(rows),
    )  # fmt: skip


def _product_rule():
    """Points (N, 2) and weights of mean one: two Gauss-Legendre rules on the half lines times an equidistant one."""
    x, w = np.polynomial.legendre.leggauss(HALF_POINTS)
    half = 0.5 * RANGE * (x + 1.0)
    first = np.concatenate([-half[::-1], half])
    first_weight = np.concatenate([w[::-1], w]) * np.exp(-0.5 * first**2)
    second = np.linspace(-RANGE, RANGE, EVEN_POINTS)
    second_weight = np.exp(-0.5 * second**2)
    weights = np.outer(first_weight / first_weight.sum(), second_weight / second_weight.sum()).ravel()
    points = np.stack(np.meshgrid(first, second, indexing="ij"), axis=-1).reshape(-1, 2)
    return points, weights * len(weights)


