"""Ridge regression in closed form: l = 1/2 |y - z|^2, y = h* + sqrt(Delta) noise, P = P* rows, M tokens, sigma = 1.

V solves V (lambda + alpha M / (1 + V)) = 1, and m = 1 - lambda V. The mean squared error of a fresh output is
E = (lambda^2 V^2 + Delta) / (1 - alpha M V^2 / (1 + V)^2). Then q = E - Delta - 1 + 2 m and
e = P [alpha M E / (1 + V)^2 + lambda q] / 2. At lambda = Delta ridge regression is Bayes-optimal and
q = m. (Derived from the equations of `state_evolution`.)
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Ridge:
    """q, m and V (their diagonals) and the training objective e = L / D."""

    q: float
    m: float
    V: float
    objective: float


def ridge_regression(alpha: float, ridge: float, noise: float, rows: int = 1, tokens: int = 1) -> Ridge:
    """Ridge regression at alpha = n / D > 0, lambda = `ridge` > 0 and noise variance Delta >= 0.

    Raises
    ------
    ValueError
        If a value is out of its range.
    """
    if not (alpha > 0 and ridge > 0 and noise >= 0):
        raise ValueError(f"need alpha > 0, ridge > 0 and noise >= 0, got {alpha!r}, {ridge!r}, {noise!r}")
    samples = alpha * tokens
    # lambda V^2 + (lambda + alpha M - 1) V - 1 = 0, in a form without cancellation.
    slope = ridge + samples - 1.0
    root = np.sqrt(slope**2 + 4.0 * ridge)
    V = 2.0 / (slope + root) if slope > 0 else (root - slope) / (2.0 * ridge)
    error = (ridge**2 * V**2 + noise) / (1.0 - samples * V**2 / (1.0 + V) ** 2)
    m = 1.0 - ridge * V
    q = error - noise - 1.0 + 2.0 * m
    objective = 0.5 * rows * (samples * error / (1.0 + V) ** 2 + ridge * q)
    return Ridge(float(q), float(m), float(V), float(objective))
