"""The training objective of weight decay on one data set, as a function of S.

    L(S) = sum_mu ||y_mu - f(h_mu(S))||_F^2 + lambda d tr S,    S >= 0,

with f linear or softmax(beta h) by rows. Without symmetry the scores are x_a^T S z_b / sqrt(d), z the tokens that the keys read,
and the penalty is lambda d ||S||_* (nuclear norm). Let G = dL/dh; for a softmax G = 2 beta P (R - rows of sum R P), R = P - y.
The gradient with respect to S is sum_mu sum_ab G_ab (x_a x_b^T - delta_ab I) / sqrt(d) + lambda d I: two products with the matrix
of all tokens.
The objective is that of Boncoraglio, Erba, Troiani, Krzakala, Zdeborova 2025, arXiv:2509.24914; the gradient is derived in this
module.
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.attention_indexed.amp.sample_sums import all_scores, backward
from attention_limits.attention_indexed.model.scores import attention, draw_sequences, effective_side, scores
from attention_limits.attention_indexed.model.sizes import Sizes
from attention_limits.attention_indexed.priors.prior import Prior
from attention_limits.attention_indexed.priors.wishart import Wishart

# Tokens of fresh sequences at a time.
_ROWS = 2048


@dataclass(frozen=True)
class Data:
    """Sequences with the outputs of a teacher.

    Attributes
    ----------
    sequences : array (n, M, d)
        X, standard normal.
    teacher : array (d, d)
        S*.
    scores, outputs : array (n, M, M)
        h* + sqrt(tau) xi, and y = f of it.
    beta : float or None
        Inverse temperature of the softmax; None for linear outputs.
    keys : array (n, M, d_k) or None
        Z, the tokens that the keys read, where S (d_q, d_k) has no symmetry.
    """

    sequences: np.ndarray
    teacher: np.ndarray
    scores: np.ndarray
    outputs: np.ndarray
    beta: float | None
    keys: np.ndarray | None = None

    @property
    def side(self) -> float:
        """d, of S (d_q, d_k) sqrt(d_q d_k)."""
        return effective_side(self.teacher)

    def norm(self, S: np.ndarray) -> float:
        """The sum of the eigenvalues of symmetric `S`, or of the singular values, per d."""
        total = np.trace(S) if self.keys is None else np.linalg.svd(S, compute_uv=False).sum()
        return float(total) / self.side


@dataclass(frozen=True)
class Fit:
    """Where an algorithm for the minimum ended.

    Attributes
    ----------
    S : array (d, d)
    residual : float
        Change of S by the last proximal step, or undamped step of message passing, relative to S.
    iterations : int
        Of all kinds together.
    converged : bool
    diverged : bool
        Whether the algorithm was stopped as diverging.
    """

    S: np.ndarray
    residual: float
    iterations: int
    converged: bool
    diverged: bool = False

    def end(self) -> dict:
        """Variables of the end, by the names that both estimators share."""
        return {"minimum_residual": self.residual, "iterations": self.iterations, "converged": self.converged}


def draw_data(
    size: Sizes, tokens: int, beta: float | None, score_noise: float, generator, prior: Prior | None = None
) -> Data:
    """A teacher and its data from the numpy.random.Generator `generator`, with M = `tokens` and tau = `score_noise`.

    `size` gives d, the rank of the teacher and the number n of sequences. The teacher has the law `prior`, by default that of
    tied attention. Teacher and sequences are those of `matrix_amp.draw_dataset` with the same generator.
    """
    prior = Wishart(size.rank / size.dimension) if prior is None else prior
    teacher = prior.draw(size, generator)
    sequences = draw_sequences(size.count, tokens, teacher.shape[0], generator)
    keys = None if prior.symmetric else draw_sequences(size.count, tokens, teacher.shape[1], generator)
    noisy = _noisy(all_scores(sequences, teacher, keys), score_noise, generator, keys is None)
    return Data(sequences, teacher, noisy, output(noisy, beta), beta, keys)


def output(h, beta: float | None):
    """f(h) of scores h (n, M, M): h itself, or softmax(beta h) by rows."""
    return h if beta is None else attention(h, beta)


def _noisy(h, score_noise, generator, symmetric):
    if score_noise == 0:
        return h
    noise = generator.standard_normal(h.shape)
    if not symmetric:
        return h + np.sqrt(score_noise) * noise
    return h + np.sqrt(0.5 * score_noise) * (noise + noise.transpose(0, 2, 1))


def loss_and_gradient(data: Data, S: np.ndarray) -> tuple[float, np.ndarray]:
    """The sum of the squared errors at S (d_q, d_k), without the decay, and its gradient; both symmetric without keys."""
    found = output(all_scores(data.sequences, S, data.keys), data.beta)
    residual = found - data.outputs
    G = 2.0 * residual
    if data.beta is not None:
        G = data.beta * found * (G - np.sum(G * found, axis=2, keepdims=True))
        G = G if data.keys is not None else 0.5 * (G + G.transpose(0, 2, 1))
    return float(np.sum(residual**2)), backward(data.sequences, G, data.keys)


def fresh_losses(data: Data, S: np.ndarray, score_noise: float, count: int, generator) -> tuple[float, float]:
    """Mean over `count` fresh sequences of ||f(h*) - f(h(S))||^2, and of ||y - f(h(S))||^2 with y of noisy scores.

    Teacher, f and M are those of `data`, S is (d_q, d_k) and tau = `score_noise`; the numpy.random.Generator `generator` draws.
    """
    tokens, symmetric = data.sequences.shape[1], data.keys is None
    first_side, second_side = data.teacher.shape
    clean = noisy = 0.0
    for first in range(0, count, size := max(1, _ROWS // tokens)):
        shape = min(size, count - first), tokens
        sequences = draw_sequences(*shape, first_side, generator)
        keys = None if symmetric else draw_sequences(*shape, second_side, generator)
        h, learned = scores(sequences, data.teacher, keys), output(scores(sequences, S, keys), data.beta)
        clean += np.sum((output(h, data.beta) - learned) ** 2)
        noisy += np.sum((output(_noisy(h, score_noise, generator, symmetric), data.beta) - learned) ** 2)
    return float(clean / count), float(noisy / count)
