"""The information of an output of one score with Gaussian noise, y = f(h_ab) + sqrt(noise) Z, by trapezoidal rules.

The posterior of such an output may have several narrow modes, which few samples miss: |h_12| has two. One dimension needs no
samples. With h = omega + sqrt(v V) z, v = 2 on the diagonal and 1 off it, and one number y,

    V information(V) = 2 E_omega int dy (int z phi(z) P(y | h) dz)^2 / int phi(z) P(y | h) dz,

twice the share of the variance of the score that y explains, for both places of the matrix. The rules converge fast for smooth
functions, and with the step where f jumps: there the change to the rules with twice the steps is their error. The bound is twice
this change. Derived for the model of Boncoraglio, Troiani, Erba, Zdeborova 2025 (arXiv:2506.01582).
"""

import numpy as np

from attention_limits.attention_indexed.channels.output import GaussianNoise
from attention_limits.attention_indexed.model.score_law import SYMMETRIC

# Scores, in `_REACH` standard deviations on both sides; steps of omega (in its standard deviation, and in that of the score given
# omega) and of y (in that of the noise); the most values of y.
_SCORES, _REACH, _FIELD_STEPS, _STEP, _MOST = 2001, 6.0, (0.15, 0.6), 0.6, 2000
# Random scores that show which entries an output reads: more often than once in so many. Smaller shares are rounding.
_COUNT, _ROUNDING = 4096, 1e-13


def share_explained(model, V: np.ndarray, Q: float) -> tuple[np.ndarray, np.ndarray] | None:
    """V information(V) at posterior variances `V` (n,) and prior variance `Q`, and a bound on its relative error, or None.

    None where the `model` is no `GaussianNoise` on one number that depends on one score, or its noise is too small for the grid.
    """
    entry = one_entry(model) if isinstance(model, GaussianNoise) else None
    if entry is None:
        return None
    first, second = entry
    width = np.sqrt(SYMMETRIC.diagonal if first == second else 1.0)
    h = np.linspace(-_REACH, _REACH, _SCORES) * width * np.sqrt(Q)
    matrices = np.zeros((_SCORES, model.tokens, model.tokens))
    matrices[:, first, second] = matrices[:, second, first] = h
    clean, scale = np.reshape(model.clean.output(matrices), _SCORES).astype(float), np.sqrt(model.noise)
    span = clean.max() - clean.min() + 2.0 * _REACH * scale
    if not span / (_STEP * scale) < _MOST:
        return None
    y = clean.min() - _REACH * scale + _STEP * scale * np.arange(int(span / (_STEP * scale)) + 1)
    kernel = np.exp(-0.5 * ((y[:, None] - clean) / scale) ** 2) * _STEP / np.sqrt(2.0 * np.pi)
    found = np.array([[_share(kernel, h / width, variance, Q, step) for step in (1, 2)] for variance in V])
    fine, coarse = np.where(found < _ROUNDING, 0.0, found).T
    with np.errstate(divide="ignore", invalid="ignore"):
        return fine, np.where(fine == coarse, 0.0, 2.0 * np.abs(fine - coarse) / fine)


def one_entry(model) -> tuple[int, int] | None:
    """The place of the only score that the output of a `model` reads, if there is one and the output is one number, else None."""
    generator = np.random.default_rng(0)
    h = SYMMETRIC.scores(generator.standard_normal((_COUNT, model.tokens, model.tokens)), 1.0)
    clean, read = np.asarray(model.output(h)), []
    if clean.size != _COUNT:
        return None
    for first, second in zip(*np.triu_indices(model.tokens), strict=True):
        moved = h.copy()
        moved[:, first, second] = moved[:, second, first] = np.roll(h[:, first, second], 1)
        if np.any(model.output(moved) != clean):
            read.append((int(first), int(second)))
    return read[0] if len(read) == 1 else None


def _share(kernel, h, V, Q, step):
    """V information(V) for the `kernel` P(y | h) dy at scores `h` of variance one, on each `step`-th node."""
    kernel, h = step * kernel[::step, ::step], h[::step]
    spread = np.sqrt(max(Q - V, 0.0))
    steps = step * min(_FIELD_STEPS[0], _FIELD_STEPS[1] * np.sqrt(V) / max(spread, 1e-300))
    x = steps * np.arange(-int(_REACH / steps), int(_REACH / steps) + 1) if spread > 0 else np.zeros(1)
    weights = np.exp(-0.5 * x**2)
    z = (h[:, None] - spread * x) / np.sqrt(V)
    density = np.exp(-0.5 * z**2)
    density /= density.sum(axis=0)
    probability, moment = kernel @ density, kernel @ (z * density)
    shares = np.sum(moment**2 / np.maximum(probability, 1e-300), axis=0)
    return 2.0 * float(weights @ shares / weights.sum())
