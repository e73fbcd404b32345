"""Statistical tests that the channel of a link is a probability density with the posterior moments it claims.

The tests are derived in this module; the identity is that of Nishimori 1980.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.links.link import Link

# A correct link fails one test with this probability, over the seeds.
FALSE_ALARM = 1e-4


@dataclass(frozen=True)
class DensityTest:
    """One statistical test.

    Attributes
    ----------
    name : str
        The tested identity.
    passed : bool
    report : str
        The numbers.
    """

    name: str
    passed: bool
    report: str


def density_tests(link: Link, outputs=1024, resolution=1.0, seed=0) -> list[DensityTest]:
    """Whether the channel of a link is a probability density, on random outputs.

    Normalisation: for y drawn at (omega, V) = (0, I) the mean of Z(y; omega', V') / Z(y; 0, I) over y is 1 for any omega', V';
    factors of the density that depend on y alone cancel, and no posterior depends on them. Nishimori identity: with m the
    posterior mean of the deviation h - omega, E[m (h - omega - m)^T] = 0; the same for products of two fields, with weight 1 too.
    Each is a two-sided test at FALSE_ALARM. Sampled channels have a bias of the order of the inverse effective sample size, and
    the tests allow it.

    Parameters
    ----------
    link : Link
        Without `problems_of`.
    outputs : int
        Number of outputs of each test.
    resolution : float
        See `channel.Channel`.
    seed : int
        Seed of the random outputs and nodes.

    Raises
    ------
    ValueError
        If the link has no channel.
    """
    rng = np.random.default_rng([seed, 1])
    channel = Channel(link, resolution, rng)
    return [_normalisation(channel, outputs, rng), *_nishimori(channel, outputs, rng)]


def _threshold(comparisons):
    return float(-ndtri(0.5 * FALSE_ALARM / comparisons))


def _draw(link, omega, V, rng):
    """Fields N(omega, V) and their outputs."""
    h = omega + np.einsum("pq,nqa->npa", np.linalg.cholesky(V), rng.standard_normal(omega.shape))
    return h, link.observe(h, rng.standard_normal((len(h), link.noise_dimension)))


def _normalisation(channel, outputs, rng):
    link, q = channel.link, 0.3
    identity = np.eye(link.rows)
    zero = np.zeros((outputs, link.rows, link.tokens))
    _, observed = _draw(link, zero, identity, rng)
    wide = channel.posterior(observed, zero, identity)
    narrow = channel.posterior(observed, np.sqrt(q) * rng.standard_normal(zero.shape), (1.0 - q) * identity)
    settled = np.isfinite(narrow.log_z) & np.isfinite(wide.log_z)
    ratio = np.ones(outputs)
    ratio[settled] = np.exp((narrow.log_z - wide.log_z)[settled])
    error = float(ratio.std() / np.sqrt(outputs))
    # Where no node hits a candidate the effective sample size is zero.
    bias = float(2.0 * np.mean(ratio / np.maximum(wide.effective, 1.0)))
    deviation = abs(float(ratio.mean()) - 1.0)
    passed = bool(deviation <= _threshold(1) * error + bias + 1e-6)
    report = f"E[Z'/Z] = {ratio.mean():.4f} ± {error:.4f}, must be 1"
    return DensityTest("normalisation", passed, report + (f" within {bias:.4f} for sampling" if bias > 1e-6 else ""))


def _nishimori(channel, outputs, rng):
    """The identity for first moments, at half the information, and for second moments, without any."""
    link = channel.link
    size = link.rows * link.tokens
    first, second = [], []
    for q, found in ((0.5, first), (0.0, second)):
        V = (1.0 - q) * np.eye(link.rows)
        omega = np.sqrt(q) * rng.standard_normal((outputs, link.rows, link.tokens))
        h, observed = _draw(link, omega, V, rng)
        moments = channel.posterior(observed, omega, V)
        means = moments.means.reshape(2, outputs, size)
        true = (h - omega).reshape(outputs, size)
        if q:
            products = np.einsum("ni,nj->nij", means[0], true - means[1]).reshape(outputs, -1)
        else:
            both = 0.5 * np.einsum("ni,nj->nij", means[0], means[1])
            squares = moments.covariances.reshape(2, outputs, size, size) + both + both.transpose(0, 2, 1)
            residual = np.einsum("ni,nj->nij", true, true) - squares[1]
            upper = (slice(None), *np.triu_indices(size))
            products = np.concatenate([residual[upper], (squares[0] * residual)[upper]], axis=1)
        # Where no node hits a candidate there is no posterior; its share enters the bias.
        products[~np.isfinite(moments.log_z)] = 0.0
        bias = 2.0 * np.mean((1.0 - q) / np.maximum(moments.effective, 1.0))
        found += [products.mean(axis=0), products.std(axis=0) / np.sqrt(outputs), float(bias)]
    return [
        _vanishing("Nishimori identity", "E[m (h - omega - m)^T]", *first),
        _vanishing("Nishimori identity of second moments", "E[h h - s] and E[s (h h - s)], s = E[h h | y],", *second),
    ]


def _vanishing(name, what, mean, error, bias):
    limit = _threshold(len(mean)) * error + bias + 1e-6
    worst = int(np.argmax(np.nan_to_num(np.abs(mean) / limit, nan=np.inf)))
    report = f"largest entry of {what}: {mean[worst]:.4f} ± {error[worst]:.4f}, must be 0"
    if bias > 1e-6:
        report += f" within {bias:.4f} for sampling"
    return DensityTest(name, bool(abs(mean[worst]) <= limit[worst]), report)
