"""The checks of a law of S, on finite matrices: its denoiser, its error, and what it draws.

Y = S + sqrt(D) Z / sqrt(d) is the observation of `priors.prior`, Z symmetric where S is; the identity is that of Nishimori 1980.
"""

import math

import numpy as np

from attention_limits.attention_indexed.model.score_law import ScoreLaw
from attention_limits.attention_indexed.model.sizes import Sizes
from attention_limits.attention_indexed.priors.prior import Prior
from attention_limits.pipeline.checks import Check, mean_check, same_check

# Noises D of the checks, and those of the limits: mmse(D) -> 2 nu D and -> 1.
NOISES, TINY, HUGE = (1.0, 0.2), 1e-9, 1e9
# Relative corrections of a finite dimension times d; step of the derivative of the denoiser; errors of symmetries and of limits.
FINITE, STEP, EXACT, LIMIT = 4.0, 1e-4, 1e-6, 1e-2


def check_prior(prior: Prior, size: Sizes, matrices: int = 12, seed: int = 0) -> list[Check]:
    """All checks of a law on this number of `matrices` of the `size`, with random numbers of this `seed`.

    The error of the denoiser is mmse(D), the estimate and the truth overlap like two estimates, and D times the mean derivative
    of the denoiser is mmse(D) (Stein's lemma), each up to FINITE / d; the traces of drawn matrices are those that the law states.
    A correct law fails each of these with the probability `checks.FALSE_ALARM`, over the seeds, if FINITE / d bounds the
    correction. Covariance under rotations, shapes, order of the spectrum and limits of the error are deterministic.
    """
    law, rng = prior.realised(size), np.random.default_rng(seed)
    drawn = [law.draw(size, rng) for _ in range(matrices)]
    # d = sqrt(d_q d_k) of matrices that are not square.
    side = math.sqrt(drawn[0].size)
    found = [*_traces(law, size, drawn, side), *_limits(law), _spectrum(law, drawn[0])]
    for noise in NOISES:
        found += _denoiser(law, noise, drawn, side, rng)
    return found


def _noise(law, shape, rng):
    """Z (...), of variance one off the diagonal; symmetric where S is."""
    return ScoreLaw(law.symmetric).scores(rng.standard_normal(shape), 1.0)


def _traces(law, size, drawn, side):
    mean, squares = law.traces(size)
    found = [mean_check("tr S S^T / d of drawn matrices", [np.sum(S**2) / side for S in drawn], squares)]
    if law.symmetric:
        found.append(mean_check("tr S / d of drawn matrices", [np.trace(S) / side for S in drawn], mean))
    return [*found, Check("Q", law.Q, 1.0 + law.mean**2, limit=EXACT)]


def _limits(law):
    noises = np.geomspace(1e-4, 1e3, 29)
    error = law.mmse(noises)
    excess = float(np.max(error - np.minimum(noises, 1.0)))
    return [
        Check("mmse(D) / (2 nu D) at small D", float(law.mmse(TINY)) / (2.0 * law.effective_dimension * TINY), 1.0, limit=LIMIT),
        Check("mmse(D) at large D", float(law.mmse(HUGE)), 1.0, limit=EXACT),
        Check("excess of mmse(D) over D and over 1", max(excess, 0.0), limit=EXACT),
        Check("largest decrease of mmse(D) with D", float(max(0.0, -np.diff(error).min())), limit=EXACT),
    ]  # fmt: skip


def _spectrum(law, S):
    values = law.spectrum(S)
    sorted_squares = np.append(np.diff(values) >= 0.0, np.isclose(np.sum(values**2), np.sum(S**2)))
    return Check("spectrum that is not ascending, or not that of S", float(np.sum(~sorted_squares)))


def _denoiser(law, noise, drawn, side, rng):
    """The checks at D = `noise`."""
    where, errors, overlaps, responses, slopes = f"D = {noise:g}", [], [], [], []
    for S in drawn:
        Y = S + math.sqrt(noise / side) * _noise(law, S.shape, rng)
        estimate, slope = law.denoise(Y, noise)
        if estimate.shape != S.shape:
            return [Check(f"wrong shape of the estimate, {where}", 1.0)]
        errors.append(np.sum((estimate - S) ** 2) / side)
        overlaps.append(np.sum(estimate * (S - estimate)) / side)
        responses.append(noise * slope)
        G = _noise(law, S.shape, rng)
        step = STEP / math.sqrt(side)
        moved = [law.denoise(Y + sign * step * G, noise)[0] for sign in (1.0, -1.0)]
        slopes.append(np.sum(G * (moved[0] - moved[1])) / (2.0 * step * S.size) - slope)
    left = np.linalg.qr(rng.standard_normal((len(Y), len(Y))))[0]
    right = left if law.symmetric else np.linalg.qr(rng.standard_normal((Y.shape[1], Y.shape[1])))[0]
    turned = law.denoise(left @ Y @ right.T, noise)[0]
    expected = float(law.mmse(noise))
    allowance = FINITE / side * expected
    return [
        mean_check(f"error of the denoiser, {where}", errors, expected, allowance, expected),
        mean_check(f"Nishimori identity, tr E[S|Y] (S - E[S|Y])^T / d, {where}", overlaps, 0.0, allowance, expected),
        mean_check(f"D times the mean derivative of the denoiser, {where}", responses, expected, allowance, expected),
        mean_check(f"slope of the denoiser minus its mean derivative, {where}", slopes, 0.0, FINITE / side**2),
        same_check(f"denoiser, change under rotations, {where}", left.T @ turned @ right, estimate, EXACT),
    ]  # fmt: skip
