"""Checks of the channel of a link: a probability density, with the posterior moments and the symmetries that it claims.

The checks are derived in this module; the identity is that of Nishimori 1980.
"""

import copy
from dataclasses import replace

import numpy as np

from attention_limits.numerics.differences import FIRST, OFFSETS, SECOND
from attention_limits.pipeline.checks import Check, mean_check, refined, same_check
from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.channels.sampling.importance import (
    MAX_SIGNED_ROWS,
    drawn_rows,
    fibre_moments,
)
from attention_limits.sequence_multi_index.links.link import Link, inference

# Outputs at which the moments are compared with derivatives and symmetries, each along one random direction.
FEW = 24
# Step of the differences in standard deviations of the fields, and the least resolution of a quadrature there. The errors are
# those of fields of up to fifteen standard deviations.
STEP, FINEST = 0.02, 3.0
SLOPE, CURVATURE = 1e-5, 1e-3
# Sampled channels: outputs, independent scramblings, least resolution, step, and the bias of a ratio of two means, relative.
SAMPLED, SCRAMBLINGS, LEAST, SAMPLED_STEP, RATIO_BIAS = 12, 16, 0.75, 1e-3, 0.03
# Change under a symmetry of the nodes, and of single precision beside the error of the method, in standard deviations.
SYMMETRIC, SINGLE = 1e-4, 1e-3


def channel_checks(channel: Channel, outputs: int, rng) -> list[Check]:
    """All checks of one channel on `outputs` random outputs from the numpy generator `rng`.

    Normalisation: for y drawn at (omega, V) = (0, I) the mean of Z(y; omega', V') / Z(y; 0, I) over y is 1 for any omega', V';
    factors of the density that depend on y alone cancel, and no posterior depends on them. Nishimori identity: with m the
    posterior mean of the deviation h - omega, E[m (h - omega - m)^T] = 0; the same for products of two fields, with weight 1 too.
    Each is a test at `checks.FALSE_ALARM`. Sampled channels have a bias of the order of the inverse effective sample size, and
    the tests allow it. The moments are derivatives of log Z, the signs of the fields and single precision change nothing: these
    are deterministic, but for the derivatives of sampled channels, a test at FALSE_ALARM too.
    """
    found = [_shapes(channel, rng)]
    if found[0].passed:
        found += [
            *(
                refined(lambda count: _sampled_derivatives(channel, count, rng), SCRAMBLINGS)
                if channel.sampled
                else _derivatives(channel, rng)
            ),
            *_signs(channel, rng),
            *_rotations(channel, rng),
            *_precision(channel, rng),
            *refined(lambda count: [_normalisation(channel, count, rng)], outputs),
            *(
                check
                for where, coupling in (("Q = 0", (0.0, 0.0)), ("coupled rows", (0.5, 0.1)))
                for check in refined(
                    lambda count, where=where, coupling=coupling: _nishimori(channel, where, coupling, count, rng),
                    outputs,
                )
            ),
        ]
    return [replace(check, name=f"{channel.method}: {check.name}") for check in found]


def _overlap(channel, size, coupling):
    """Q (P, P): `size` on the diagonal, and `coupling` off it where V need not be v I."""
    rows = channel.link.rows
    coupling = 0.0 if channel.isotropic else min(coupling, 0.4 / rows)
    return (size - coupling) * np.eye(rows) + coupling


def _draw(link: Link, Q, count, rng):
    """Fields h and omega (n, P, M) of n = `count` samples at the overlap Q (P, P), their outputs, and V = I - Q."""
    V = np.eye(link.rows) - Q
    shape = (count, link.rows, link.tokens)
    omega = np.einsum("pq,nqa->npa", np.linalg.cholesky(Q + 1e-300 * np.eye(link.rows)), rng.standard_normal(shape))
    h = omega + np.einsum("pq,nqa->npa", np.linalg.cholesky(V), rng.standard_normal(shape))
    noise = rng.standard_normal((count, link.noise_dimension))
    if hasattr(link, "spikes"):
        spikes = link.spikes(noise)
        omega, h = omega + Q @ spikes, h + spikes
    return h, omega, link.observe(h, noise), V


def _shapes(channel, rng):
    link = channel.link
    _, omega, observed, V = _draw(link, _overlap(channel, 0.4, 0.1), FEW, rng)
    found, size = channel.posterior(observed, omega, V), (link.rows, link.tokens)
    shapes = {"log_z": (FEW,), "means": (2, FEW, *size), "covariances": (2, FEW, *size, *size), "effective": (FEW,)}
    wrong = [name for name, shape in shapes.items() if np.shape(getattr(found, name)) != shape]
    if not wrong:
        matrices = found.covariance.reshape(FEW, link.rows * link.tokens, -1)
        wrong += [] if np.allclose(matrices, matrices.transpose(0, 2, 1)) else ["covariance: not symmetric"]
        wrong += [] if np.all(np.isfinite(found.mean)) and np.all(np.isfinite(matrices)) else ["moments: not finite"]
    return Check("wrong shapes of the posterior", float(len(wrong)), note=", ".join(wrong))


def _directions(link, V, count, rng):
    """Directions d (n, P, M) of unit length in the metric of V, and V^-1 d."""
    white = rng.standard_normal((count, link.rows, link.tokens))
    white /= np.linalg.norm(white, axis=(1, 2), keepdims=True)
    lower = np.linalg.cholesky(V)
    return np.einsum("pq,nqa->npa", lower, white), np.einsum("pq,nqa->npa", np.linalg.inv(lower).T, white)


def _derivatives(channel, rng):
    """d log Z = m . V^-1 d and d^2 log Z = (V^-1 d) . Cov (V^-1 d) - 1 along directions d."""
    link = channel.link
    fine = copy.copy(channel)
    fine.resolution = max(channel.resolution, FINEST)
    _, omega, observed, V = _draw(link, _overlap(channel, 0.4, 0.1), FEW, rng)
    moments = fine.posterior(observed, omega, V)
    along, dual = _directions(link, V, FEW, rng)
    values = np.stack([fine.posterior(observed, omega + t * STEP * along, V).log_z for t in OFFSETS])
    slope = np.einsum("npa,npa->n", dual, moments.mean)
    curvature = np.einsum("npa,npaqb,nqb->n", dual, moments.covariance, dual) - 1.0
    # Sharp posteriors: the differences of high order are those of powers of the slope.
    sharp = 1.0 + slope**2
    return [
        same_check("posterior mean, derivative of log Z", FIRST @ values / STEP, slope, SLOPE, sharp),
        same_check("posterior covariance, second derivative of log Z", SECOND @ values / STEP**2, curvature, CURVATURE, sharp**2),
    ]  # fmt: skip


def _sampled_derivatives(channel, scramblings, rng):
    """The same for the mean, over independent `scramblings`: the slope of log Z on the nodes of the general sampling."""
    link, fibre = channel.link, inference(channel.link) == "fibre"
    # Likelihoods that jump have no derivative at nodes that move with omega: those of hardly known rows do not move.
    Q = _overlap(channel, *((0.4, 0.1) if fibre else (0.1, 0.0)))
    _, omega, observed, V = _draw(link, Q, SAMPLED, rng)
    along, dual = _directions(link, V, SAMPLED, rng)
    differences, slopes = [], []
    for one in channel.independent(scramblings, max(1.0, LEAST / channel.resolution)):
        nodes = one.nodes[0].astype(float)
        up, down = (
            fibre_moments(link, observed, omega + t * along, V, nodes)[0] for t in (SAMPLED_STEP, -SAMPLED_STEP)
        )
        slopes.append(np.einsum("npa,npa->n", dual, one.posterior(observed, omega, V).mean))
        differences.append((up - down) / (2.0 * SAMPLED_STEP) - slopes[-1])
    unit = 1.0 + np.abs(np.mean(slopes, axis=0))
    return [mean_check("posterior mean minus derivative of log Z", differences, allowance=RATIO_BIAS * unit, unit=unit)]


def _moved(channel, rng, turn):
    """Moments at omega and V, and those at `turn` omega and turn V turn^T turned back, by name with their units."""
    _, omega, observed, V = _draw(channel.link, _overlap(channel, 0.4, 0.1), FEW, rng)
    turned_V = turn @ V @ turn.T
    first = channel.posterior(observed, omega, V)
    second = channel.posterior(observed, np.einsum("pq,nqa->npa", turn, omega), 0.5 * (turned_V + turned_V.T))
    deviations = np.repeat(np.sqrt(np.diag(V)), channel.link.tokens).reshape(omega.shape[1:])
    back = np.linalg.inv(turn)
    covariance = np.einsum("pi,niajb,qj->npaqb", back, second.covariance, back)
    return [
        ("log Z", first.log_z, second.log_z, 1.0),
        ("mean", first.mean, np.einsum("pq,nqa->npa", back, second.mean), deviations),
        ("covariance", first.covariance, covariance, np.multiply.outer(deviations, deviations)),
    ]


def _signs(channel, rng):
    """Without a sign of the fields, or of one row, in the output, none is in the posterior; the nodes keep this symmetry."""
    link = channel.link
    if link.sign_symmetry == "none":
        return []
    every = not channel.sampled or (link.angles == 0 and drawn_rows(link) <= MAX_SIGNED_ROWS)
    turns = [("of all fields", -np.eye(link.rows))]
    if link.sign_symmetry == "rows" and every:
        turns += [
            (f"of row {p + 1}", np.diag(np.where(np.arange(link.rows) == p, -1.0, 1.0))) for p in range(link.rows)
        ]
    return [
        same_check(f"{name}, change under the sign {which}", *values, SYMMETRIC, units)
        for which, turn in turns
        for name, *values, units in _moved(channel, rng, turn)
    ]


def _rotations(channel, rng):
    """A common rotation of the rows of a block changes nothing; sampled channels keep this symmetry on average only."""
    link = channel.link
    if link.rotations == 1 or channel.sampled:
        return []
    block = np.linalg.qr(rng.standard_normal((link.rotations, link.rotations)))[0]
    turn = np.kron(np.eye(link.rows // link.rotations), block)
    found = _moved(channel, rng, turn)
    return [
        same_check(f"{name}, change under a rotation of the rows", *values, SYMMETRIC, units)
        for name, *values, units in found
    ]


def _precision(channel, rng):
    """Moments in single precision against those in double precision, where the channel uses single precision."""
    exact = channel.in_double_precision()
    if exact is channel:
        return []
    _, omega, observed, V = _draw(channel.link, _overlap(channel, 0.4, 0.1), FEW, rng)
    single, double = (one.posterior(observed, omega, V) for one in (channel, exact))
    deviations = np.sqrt(np.diag(V))[:, None]
    return [
        same_check("log Z, change by single precision", single.log_z, double.log_z, SINGLE),
        same_check("mean, change by single precision", single.mean, double.mean, SINGLE, deviations),
    ]


def _bias(moments, variance):
    """Bound on the bias of products of moments of variance `variance`; where no node hits a candidate the size is zero."""
    return 2.0 * variance * float(np.mean(1.0 / np.maximum(moments.effective, 1.0)))


def _normalisation(channel, outputs, rng):
    link, q = channel.link, 0.3
    _, zero, observed, identity = _draw(link, np.zeros((link.rows, link.rows)), outputs, rng)
    wide = channel.posterior(observed, np.zeros_like(zero), identity)
    moved = np.sqrt(q) * rng.standard_normal(zero.shape)
    narrow = channel.posterior(observed, moved, (1.0 - q) * identity)
    settled = np.isfinite(narrow.log_z) & np.isfinite(wide.log_z)
    ratio = np.ones(outputs)
    ratio[settled] = np.exp((narrow.log_z - wide.log_z)[settled])
    bias = float(2.0 * np.mean(ratio / np.maximum(wide.effective, 1.0)))
    return mean_check("normalisation, E[Z'/Z]", ratio, 1.0, bias + 1e-6)


def _nishimori(channel, where, coupling, outputs, rng):
    """The identity for first and second moments at the overlap of this `coupling`, with or without information."""
    link, found = channel.link, []
    size = link.rows * link.tokens
    upper = np.triu_indices(size)
    h, omega, observed, V = _draw(link, _overlap(channel, *coupling), outputs, rng)
    moments = channel.posterior(observed, omega, V)
    known = np.isfinite(moments.log_z)
    means = moments.means.reshape(2, outputs, size)
    true = (h - omega).reshape(outputs, size)
    first = np.einsum("ni,nj->nij", means[0], true - means[1])
    both = 0.5 * np.einsum("ni,nj->nij", means[0], means[1])
    seconds = moments.covariances.reshape(2, outputs, size, size) + both + both.transpose(0, 2, 1)
    excess = np.einsum("ni,nj->nij", true, true) - seconds[1]
    kinds = {
        "E[h - omega - m]": true - means.mean(axis=0),
        "E[m (h - omega - m)^T]": first,
        "E[h h - s], s = E[h h | y]": excess[:, *upper],
        "E[s (h h - s)]": (seconds[0] * excess)[:, *upper],
    }
    bias = _bias(moments, float(V[0, 0]))
    # Sharp outputs far from zero have second moments above one.
    units = {"E[s (h h - s)]": 1.0 + np.mean(seconds[0] ** 2, axis=0)[upper]}
    for name, products in kinds.items():
        # Where no node hits a candidate there is no posterior; its share enters the bias.
        products[~known] = 0.0
        found.append(
            mean_check(f"Nishimori identity, {name}, {where}", products, 0.0, bias + 1e-6, units.get(name, 1.0))
        )
    return found
