"""The checks of a prior of the weights.

b = Lambda w + Lambda^(1/2) z is the observation of `priors.prior`; the identity is that of Nishimori 1980.
"""

import numpy as np

from attention_limits.numerics.differences import FIRST, OFFSETS, SECOND
from attention_limits.pipeline.checks import Check, mean_check, same_check
from attention_limits.sequence_multi_index.priors.prior import Prior

# Observations that are compared with derivatives and symmetries, steps in b and in Lambda, and the errors of the differences.
FEW, STEP, PRECISION_STEP = 8, 0.05, 1e-3
SLOPE, CURVATURE, EXACT = 1e-7, 1e-6, 1e-9
# Precision that is small, and the error of second order in it.
SMALL, SECOND_ORDER = 1e-4, 1e-6


def check_prior(prior: Prior, samples: int = 20_000, seed: int = 0) -> list[Check]:
    """All checks of a prior, at one precision, with random numbers of this `seed`.

    The posterior moments are derivatives of log Z in b, the overlap is that of dPsi_w / dLambda, the denoiser states its own
    derivative, and the posterior has the signs and rotations that the law declares: these checks are deterministic. The mean
    and the second moment of drawn weights, and the Nishimori identity E m m^T = E m w^T = Q, m the posterior mean, are tests
    over this number of `samples`; a correct prior fails each of them with the probability `checks.FALSE_ALARM`, over the seeds.
    """
    rng = np.random.default_rng(seed)
    root = np.eye(prior.rows) + 0.3 * np.tril(rng.standard_normal((prior.rows, prior.rows)), -1)
    precision = 1.2 * root @ root.T
    if prior.rows > prior.most_coupled_rows:
        precision = np.diag(np.diag(precision))
    b = _observed(prior, precision, FEW, rng)[1]
    shapes = _shapes(prior, b, precision)
    if not shapes.passed:
        return [shapes]
    return [
        shapes,
        *_weights(prior, samples, rng),
        *_derivatives(prior, b, precision, rng),
        *_denoiser(prior, b, precision),
        *_symmetries(prior, b, precision, rng),
        *_overlaps(prior, precision),
        *_nishimori(prior, precision, samples, rng),
    ]


def _observed(prior, precision, count, rng):
    """Drawn weights (n, P) and their observations b (n, P)."""
    w = prior.draw(count, rng).T
    return w, w @ precision + rng.standard_normal(w.shape) @ np.linalg.cholesky(precision).T


def _weights(prior, samples, rng):
    w = prior.draw(samples, rng).T
    one = prior.subset([0])
    return [
        mean_check("mean of drawn weights", w, prior.mean),
        mean_check("second moment of drawn weights", w[:, :, None] * w[:, None], prior.second_moment),
        same_check("second moment of each row", np.diag(prior.second_moment), 1.0, EXACT),
        same_check("second moment of the first row alone", one.second_moment, prior.second_moment[:1, :1], EXACT),
    ]


def _shapes(prior, b, precision):
    found, size = prior.posterior(b, precision), (len(b), prior.rows)
    shapes = {"log_normaliser": size[:1], "mean": size, "covariance": (*size, prior.rows)}
    wrong = [name for name, shape in shapes.items() if np.shape(getattr(found, name)) != shape]
    return Check("wrong shapes of the posterior", float(len(wrong)), note=", ".join(wrong))


def _derivatives(prior, b, precision, rng):
    along = rng.standard_normal(b.shape)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    found = prior.posterior(b, precision)
    values = np.stack([prior.posterior(b + STEP * t * along, precision).log_normaliser for t in OFFSETS])
    slope = np.einsum("np,np->n", found.mean, along)
    curvature = np.einsum("np,npq,nq->n", along, found.covariance, along)
    return [
        same_check("posterior mean, derivative of log Z", FIRST @ values / STEP, slope, SLOPE),
        same_check("posterior covariance, second derivative of log Z", SECOND @ values / STEP**2, curvature, CURVATURE),
    ]


def _denoiser(prior, b, precision):
    """Side information adds to the precision; the covariance is the mean derivative of the mean."""
    hint, identity = 0.3, np.eye(prior.rows)
    mean, covariance = prior.denoise(b.T, precision, hint, 0.5)
    wanted = 0.5 * prior.posterior(b, precision + hint * identity).mean.T
    slopes = [
        [prior.denoise(b.T + STEP * t * identity[:, [p]], precision, hint)[0].mean(axis=1) for t in OFFSETS]
        for p in range(prior.rows)
    ]
    return [
        same_check("denoiser, posterior mean with side information", mean, wanted, EXACT),
        same_check("denoiser, its mean derivative", covariance, np.einsum("t,ptq->pq", FIRST, slopes) / STEP, SLOPE),
    ]


def _symmetries(prior, b, precision, rng):
    turns = {}
    if prior.sign_symmetry != "none":
        turns["the sign of all rows"] = -np.eye(prior.rows)
    if prior.sign_symmetry == "rows":
        turns["the sign of the first row"] = np.diag(np.where(np.arange(prior.rows) == 0, -1.0, 1.0))
    if prior.rotations:
        turns["a rotation of the rows"] = np.linalg.qr(rng.standard_normal((prior.rows, prior.rows)))[0]
    first, found = prior.posterior(b, precision), []
    for name, turn in turns.items():
        second = prior.posterior(b @ turn.T, turn @ precision @ turn.T)
        found += [
            same_check(f"log Z, change under {name}", second.log_normaliser, first.log_normaliser, EXACT),
            same_check(f"posterior mean, change under {name}", second.mean @ turn, first.mean, EXACT),
        ]
    return found


def _overlaps(prior, precision):
    overlap = prior.overlap(precision)
    small = SMALL * precision
    grown = prior.response * prior.covariance @ small @ prior.covariance
    wanted = np.outer(prior.mean, prior.mean) + prior.root @ prior.within(prior.whitened(grown)) @ prior.root.T

    def average(at):
        """Psi_w, from the prior part of the free entropy at its extremum."""
        found = prior.overlap(at)
        return prior.free_entropy(found, at) + 0.5 * np.sum(found * at)

    slopes, expected = [], []
    coupled = prior.rows <= prior.most_coupled_rows
    for p in range(prior.rows):
        for q in range(p, prior.rows if coupled else p + 1):
            direction = np.zeros_like(precision)
            direction[p, q] = direction[q, p] = 1.0
            up, down = (average(precision + sign * PRECISION_STEP * direction) for sign in (1.0, -1.0))
            slopes.append((up - down) / (2.0 * PRECISION_STEP))
            expected.append(0.5 * np.sum(overlap * direction))
    return [
        same_check("dPsi_w / dLambda minus Q / 2", slopes, expected, prior.accuracy),
        same_check("overlap at a small precision", prior.overlap(small), wanted, SECOND_ORDER),
    ]


def _nishimori(prior, precision, samples, rng):
    w, b = _observed(prior, precision, samples, rng)
    found, overlap = prior.posterior(b, precision), prior.overlap(precision)
    mean = found.mean
    return [
        mean_check("Nishimori identity, E m m^T", mean[:, :, None] * mean[:, None], overlap),
        mean_check("Nishimori identity, E m w^T", mean[:, :, None] * w[:, None], overlap),
        mean_check("Nishimori identity, E Cov + Q", found.covariance + overlap, prior.second_moment),
    ]
