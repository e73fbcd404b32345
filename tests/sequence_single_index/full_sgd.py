"""The d-dimensional simulation of online SGD, plain and slow: the reference for `sgd.fixed_students`.

Tokens x_l = g_l / sqrt d, g_l ~ N(0, I); a student holds unit vectors u (w = sqrt(d) u), so that a step of w with learning rate
gamma is u <- u - (gamma / d) sum_l D_l g_l, followed by normalisation (arXiv:2506.02651). `Full*.step` takes a batch of tokens
(B, M, d) and returns the `draws` and `chi` with which the reduced law follows the same path.
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.sequence_single_index.links.geometry import fixed_attention
from attention_limits.sequence_single_index.links.link import softmax_attention
from attention_limits.sequence_single_index.sgd import attention_kernels as kernels


def orthonormal_directions(dimension, count, generator):
    """`count` random orthonormal vectors in d = `dimension` dimensions, drawn from the Generator: array (count, d).

    Parameters
    ----------
    dimension, count : int
        count <= d.
    generator : numpy.random.Generator
    """
    return np.linalg.qr(generator.standard_normal((dimension, count)))[0].T


def _unit(vector):
    return vector / np.linalg.norm(vector)


def _split(tokens, directions):
    """Components of tokens (..., d) along orthonormal directions (k, d), and the rest of the tokens."""
    along = tokens @ directions.T
    return along, tokens - along @ directions


def _chi(D, left):
    """|sum D g_left|^2 / |D|^2: the chi^2 variable that the reduced law draws; 1 where the gradient, its factor, vanishes."""
    square = np.sum(D**2)
    return np.sum(np.tensordot(D, left, axes=(range(D.ndim), range(D.ndim))) ** 2) / square if square > 0 else 1.0


@dataclass
class FullTied:
    """relu(M^-1/2 sum_l w . x_l) against sum_l He_2(z*_l) / sqrt 2, loss (y - f)^2.

    Attributes
    ----------
    student, teacher : arrays (d,)
        Unit vectors.
    learning_rate : float
        Learning rate gamma.
    """

    student: np.ndarray
    teacher: np.ndarray
    learning_rate: float

    def state(self):
        """(m,)."""
        return np.array([self.student @ self.teacher])

    def step(self, tokens):
        """One step on tokens (B, M, d); returns (draws (B, M + 1), chi (1,))."""
        batch, length, dimension = tokens.shape
        pooled = tokens.sum(axis=1) / np.sqrt(length)
        star, h = tokens @ self.teacher, pooled @ self.student
        y = np.sum(star**2 - 1.0, axis=1) / np.sqrt(2.0)
        c = np.where(h > 0, -2.0 * (y - np.maximum(h, 0.0)), 0.0) / batch
        rest = _unit(self.student - (self.student @ self.teacher) * self.teacher)
        along, left = _split(pooled, np.array([self.teacher, rest]))
        draws, chi = np.column_stack([star, along[:, 1]]), np.array([_chi(c, left)])
        self.student = _unit(self.student - self.learning_rate / dimension * c @ pooled)
        return draws, chi


@dataclass
class FullUntied:
    """As `FullTied`, each token with its own weights; batch 1.

    Attributes
    ----------
    students : array (M, d)
        Normalised together, to |students|^2 = M.
    teacher : array (d,)
        Unit vector.
    learning_rate : float
        Learning rate gamma.
    """

    students: np.ndarray
    teacher: np.ndarray
    learning_rate: float

    def state(self):
        """(m_1 ... m_L, r_1^2 ... r_L^2)."""
        return np.concatenate([self.students @ self.teacher, np.sum(self.students**2, axis=1)])

    def step(self, tokens):
        """One step on tokens (1, M, d); returns (draws (1, 2 M), chi (M,))."""
        (g,) = tokens
        length, dimension = g.shape
        star, fields = g @ self.teacher, np.sum(g * self.students, axis=1)
        h = fields.sum() / np.sqrt(length)
        c = -2.0 * (np.sum(star**2 - 1.0) / np.sqrt(2.0) - h) if h > 0 else 0.0
        xi, chi = np.empty(length), np.empty(length)
        for token, student in enumerate(self.students):
            rest = _unit(student - (student @ self.teacher) * self.teacher)
            along, left = _split(g[token], np.array([self.teacher, rest]))
            xi[token], chi[token] = along[1], left @ left
        self.students = self.students - self.learning_rate / dimension * c / np.sqrt(length) * g
        self.students *= np.sqrt(length / np.sum(self.students**2))
        return np.concatenate([star, xi])[None], chi


@dataclass
class FullAttention:
    """softmax(z z^T) of two tokens with positional encoding +p, -p against the positional-semantic target.

    Attributes
    ----------
    student, teacher, position : arrays (d,)
        Unit vectors, the last two orthogonal.
    learning_rate : float
        Learning rate gamma.
    a, omega : float
        Strength and weight of the positional part of the target.
    loss : int
        FROBENIUS or HALF_SQUARE of `attention_kernels`.
    """

    student: np.ndarray
    teacher: np.ndarray
    position: np.ndarray
    learning_rate: float
    a: float
    omega: float
    loss: int

    def state(self):
        """(e, m)."""
        return np.array([self.student @ self.position, self.student @ self.teacher])

    def step(self, tokens):
        """One step on tokens (B, 2, d); returns (draws (B, 6), chi (1,))."""
        batch, _, dimension = tokens.shape
        encoded = tokens + np.array([1.0, -1.0])[:, None] * self.position
        D = self.slopes(encoded @ self.student, tokens @ self.teacher) / batch
        e, m = self.state()
        rest = _unit(self.student - e * self.position - m * self.teacher)
        along, left = _split(tokens, np.array([self.teacher, self.position, rest]))
        draws, chi = np.moveaxis(along, 2, 1).reshape(batch, 6), np.array([_chi(D, left)])
        self.student = _unit(
            self.student - self.learning_rate / dimension * np.tensordot(D, encoded, axes=((0, 1), (0, 1)))
        )
        return draws, chi

    def slopes(self, z, star):
        """Gradient (B, 2) of the loss with respect to the student's fields z (B, 2), through the Jacobian of the softmax.

        `star` (B, 2) are the fields of the teacher.
        """
        abar = float(fixed_attention(self.a))
        fixed = np.array([[abar, 1.0 - abar], [1.0 - abar, abar]])
        S = softmax_attention(z)
        miss = (1.0 - self.omega) * softmax_attention(star) + self.omega * fixed - S
        outer = -miss
        if self.loss == kernels.FROBENIUS:
            norm = np.sqrt(np.sum(miss**2, axis=(1, 2), keepdims=True))
            outer = np.divide(outer, norm, out=np.zeros_like(outer), where=norm > 0)
        scores = S * (outer - np.sum(outer * S, axis=2, keepdims=True))
        # The scores are z_i z_j: each field enters as a row and as a column.
        return np.einsum("bij,bj->bi", scores, z) + np.einsum("bji,bj->bi", scores, z)


def simulate(model, steps, generator, tokens, batch=1):
    """States (steps + 1, n) of a model over fresh tokens.

    Parameters
    ----------
    model : FullTied, FullUntied or FullAttention
        Is moved.
    steps, tokens, batch : int
        Number of steps, tokens M of a sequence, sequences per step.
    generator : numpy.random.Generator
    """
    dimension = np.shape(model.teacher)[0]
    states = [model.state()]
    for _ in range(steps):
        model.step(generator.standard_normal((batch, tokens, dimension)))
        states.append(model.state())
    return np.array(states)
