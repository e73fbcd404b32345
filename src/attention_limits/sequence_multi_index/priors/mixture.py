"""Binary, sparse and other weights: independent weights, each from a mixture of points and normal laws.

The P weights of a dimension then have a mixture of J^P Gaussians N(mu_k, S_k) of weights pi_k, with S_k = D_k^2 diagonal. Each of
them gives, with A_k = I + D_k Lambda D_k and c_k = D_k (b - Lambda mu_k),

    Z = sum_k pi_k exp(b . mu_k - mu_k^T Lambda mu_k / 2 + c_k^T A_k^-1 c_k / 2) det(A_k)^(-1/2),

a posterior mean mu_k + D_k A_k^-1 c_k and covariance D_k A_k^-1 D_k (derived in this module: the integral is Gaussian). Averages
over b are sums over k of averages over N(Lambda mu_k, Lambda + Lambda S_k Lambda): by a trapezoid rule along its principal axes
for one and two rows, over Sobol nodes for more.
"""

import itertools
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

import numpy as np
from scipy.special import ndtr

from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.sequence_multi_index.priors.overlaps import LARGEST_OVERLAP
from attention_limits.sequence_multi_index.priors.prior import Prior, WeightPosterior

# The rule in x = Lambda^(-1/2) b, whose noise has unit width: nodes per unit near the centre, and reach in standard deviations,
# by the number of rows. Beyond the distance of the third line the nodes spread exponentially.
STEPS = {1: 32.0, 2: 4.0}
REACH = {1: 9.0, 2: 7.0}
LINEAR = 8.0
# Sobol nodes of the average over more rows, the same at every call, so that it is a smooth function of the precision; they
# come in pairs of opposite noise.
SAMPLES, SEED = 2**16, 0
# The posterior of P rows is a sum of J^P terms. Most of them: at all, for rows that depend on each other, for the trapezoid rule.
MAX_ROWS, MAX_TERMS, MOST_COUPLED_TERMS = 8, 4096, 256
# The average over b of one row takes time like J^2: a second for this many parts.
MAX_PARTS = 128
MOST_LINE_TERMS = {1: 4096, 2: 16}
# Rounding of numbers in a file.
ROUNDED = 1e-9
# Largest error of an average over these nodes, of dPsi_w / dLambda against Q / 2.
SAMPLED_ACCURACY = 2e-3


@dataclass(frozen=True)
class Averages:
    """Averages over b at one precision.

    Attributes
    ----------
    missing : array (P, P)
        E_b Cov(w | b) = E w w^T - Q.
    log_normaliser : float
        Psi_w(Lambda).
    error : float
        Largest difference of an entry of `missing` between the rule and the one with every second node, which is far less exact;
        between the two halves of the nodes where they are Sobol nodes.
    """

    missing: np.ndarray
    log_normaliser: float
    error: float


class MixtureRows(Prior):
    """P independent weights from one law, a mixture of J normal laws (points for standard deviation zero).

    Parameters
    ----------
    rows : int
        P, at most MAX_ROWS.
    shares, means, deviations : sequence of J numbers
        Weight, mean and standard deviation of each part. The second moment of the law must be one.

    Raises
    ------
    ValueError
        If there are too many rows or parts, if the lists have different lengths, if the shares are not positive numbers that sum
        to one, or if the second moment is not one.
    """

    def __init__(self, rows, shares, means, deviations):
        _require_law(shares, means, deviations)
        if rows > MAX_ROWS or len(shares) ** rows > MAX_TERMS:
            raise ValueError(
                f"a law of {len(shares)} parts for {rows} rows of W; allowed: at most {MAX_ROWS} rows, and at most {MAX_TERMS} "
                "combinations of the parts of all rows"
            )
        if len(shares) > MAX_PARTS:
            raise ValueError(
                f"a law of {len(shares)} parts; allowed: at most {MAX_PARTS}: join parts that are near to each other"
            )
        parts = np.array([shares, means, deviations], dtype=float)
        shares, means, deviations = parts
        self.rows, self._parts = rows, parts
        mirrored = sorted(zip(shares, -means, deviations, strict=True))
        symmetric = mirrored == sorted(zip(shares, means, deviations, strict=True))
        # A mean of the size of rounding would count as known.
        mean = 0.0 if symmetric else float(shares @ means)
        second = (1.0 - mean**2) * np.eye(rows) + mean**2
        super().__init__(np.full(rows, mean), second)
        self.sign_symmetry = "rows" if symmetric else "none"
        if not np.any(deviations):
            self.entropy = -rows * float(shares @ np.log(shares))
        chosen = np.array(list(itertools.product(range(len(shares)), repeat=rows)))
        self._log_shares = np.log(shares)[chosen].sum(axis=1)
        coupled = [count for count in range(2, MAX_ROWS + 1) if len(shares) ** count <= MOST_COUPLED_TERMS]
        self.most_coupled_rows = max(coupled, default=1)
        self._lines = rows in STEPS and len(chosen) <= MOST_LINE_TERMS[rows]
        self.accuracy = Prior.accuracy if self._lines else SAMPLED_ACCURACY
        self._means, self._deviations = means[chosen], deviations[chosen]

    def posterior(self, b, precision):
        """See `Prior`."""
        logs, means, covariances = [], [], []
        for log_share, mu, deviation in zip(self._log_shares, self._means, self._deviations, strict=True):
            log = log_share + b @ mu - 0.5 * mu @ precision @ mu
            if not np.any(deviation):
                # A point.
                logs.append(log)
                means.append(np.broadcast_to(mu, b.shape))
                covariances.append(np.zeros((self.rows, self.rows)))
                continue
            matrix = np.eye(self.rows) + deviation[:, None] * precision * deviation
            covariance = deviation[:, None] * np.linalg.inv(matrix) * deviation
            shift = b - precision @ mu
            move = shift @ covariance
            volume = np.linalg.slogdet(matrix)[1]
            logs.append(log + 0.5 * np.sum(shift * move, axis=1) - 0.5 * volume)
            means.append(mu + move)
            covariances.append(covariance)
        logs, means = np.array(logs), np.array(means)
        top = logs.max(axis=0)
        shares = np.exp(logs - top)
        total = shares.sum(axis=0)
        shares /= total
        mean = np.sum(shares[:, :, None] * means, axis=0)
        apart = means - mean
        covariance = np.tensordot(shares.T, np.array(covariances), axes=1)
        for p, q in itertools.product(range(self.rows), repeat=2):
            covariance[:, p, q] += np.sum(shares * apart[:, :, p] * apart[:, :, q], axis=0)
        return WeightPosterior(top + np.log(total), mean, covariance)

    def averages(self, precision) -> Averages:
        """Averages over b at a precision Lambda (P, P).

        A diagonal Lambda leaves the rows independent: then each has its sum. ValueError for more than `most_coupled_rows` rows
        otherwise.
        """
        if np.count_nonzero(precision - np.diag(np.diag(precision))) == 0:
            one = self if self.rows == 1 else self._one
            found = [one._together(np.array([[value]])) for value in np.diag(precision)]
            missing = np.diag([float(item.missing[0, 0]) for item in found])
            return Averages(missing, sum(item.log_normaliser for item in found), max(item.error for item in found))
        if self.rows > self.most_coupled_rows:
            raise ValueError(
                f"the average over {self.rows} rows of binary or sparse weights needs a diagonal precision; allowed: at most "
                f"{self.most_coupled_rows} rows"
            )
        return self._together(precision)

    @cached_property
    def _one(self):
        return self.subset([0])

    def _together(self, precision) -> Averages:
        values, vectors = np.linalg.eigh(precision)
        root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        return self._on_lines(root, precision) if self._lines else self._on_nodes(root, precision)

    def _on_nodes(self, root, precision) -> Averages:
        # A late import: the specification makes priors, and imports nothing that compiles.
        from attention_limits.sequence_multi_index.priors.mixture_kernels import posterior_averages

        noise, chosen = _nodes(self.rows, tuple(np.exp(self._log_shares)))
        spreads = np.eye(self.rows) + root @ (self._deviations[:, :, None] ** 2 * root)
        centres = self._means @ precision
        matrices = np.eye(self.rows) + self._deviations[:, :, None] * precision * self._deviations[:, None]
        covariances = self._deviations[:, :, None] * np.linalg.inv(matrices) * self._deviations[:, None]
        volumes = np.linalg.slogdet(matrices)[1]
        constants = self._log_shares - 0.5 * np.sum(self._means * centres, axis=1) - 0.5 * volumes
        terms = root @ np.linalg.cholesky(spreads), self._means, centres, covariances, constants
        half = len(noise) // 2
        first, second = (
            posterior_averages(noise[part], chosen[part], *terms) for part in (slice(half), slice(half, None))
        )
        error = float(np.max(np.abs(first[0] - second[0])))
        return Averages(0.5 * (first[0] + second[0]), 0.5 * (first[1] + second[1]), error)

    def _on_lines(self, root, precision) -> Averages:
        fine, coarse, normaliser = np.zeros((self.rows, self.rows)), np.zeros((self.rows, self.rows)), 0.0
        for log_share, mu, deviation in zip(self._log_shares, self._means, self._deviations, strict=True):
            if np.any(deviation):
                spread, axes = np.linalg.eigh(np.eye(self.rows) + root @ np.diag(deviation**2) @ root)
                points, weights, every_second = _trapezoid(np.sqrt(spread))
                points = points @ axes.T
            else:
                points, weights, every_second = _of_points(self.rows)
            found = self.posterior((root @ mu + points) @ root, precision)
            share = np.exp(log_share)
            fine += share * np.tensordot(weights, found.covariance, axes=1)
            coarse += share * np.tensordot(every_second, found.covariance, axes=1)
            normaliser += share * float(weights @ found.log_normaliser)
        return Averages(fine, normaliser, float(np.max(np.abs(fine - coarse))))

    def overlap(self, precision, largest=LARGEST_OVERLAP):
        """See `Prior`."""
        return self.clipped(self.second_moment - self.averages(precision).missing, largest)

    def confined(self, subspace, precision, largest=LARGEST_OVERLAP):
        """See `Prior`; the subspace must be that of some rows."""
        return self.overlap(subspace @ precision @ subspace.T, largest)

    def free_entropy(self, overlap, precision):
        """See `Prior`; an error of the precision enters in second order."""
        return self.averages(precision).log_normaliser - 0.5 * float(np.sum(overlap * precision))

    def draw(self, dimension, generator):
        """See `Prior`."""
        shares, means, deviations = self._parts
        chosen = generator.choice(len(shares), size=(self.rows, dimension), p=shares)
        return means[chosen] + deviations[chosen] * generator.standard_normal((self.rows, dimension))

    def subset(self, rows):
        """See `Prior`."""
        return MixtureRows(len(rows), *self._parts)


def _require_law(shares, means, deviations):
    lengths = {"shares": len(shares), "means": len(means), "deviations": len(deviations)}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"shares, means and deviations have one number for each part, got {lengths}")
    shares, means, deviations = (np.array(values, dtype=float) for values in (shares, means, deviations))
    if np.any(deviations < 0):
        raise ValueError(f"deviations: allowed: numbers >= 0, got {deviations[deviations < 0][0]:g}")
    if not np.all(shares > 0) or abs(shares.sum() - 1.0) > ROUNDED:
        raise ValueError(
            f"shares: allowed: positive numbers that sum to one, got {shares.tolist()}, whose sum is {shares.sum():.10g}"
        )
    if not np.any(means) and not np.any(deviations):
        raise ValueError("the weights are zero: all means and deviations are; allowed: a second moment of 1")
    if abs((second := float(shares @ (means**2 + deviations**2))) - 1.0) > ROUNDED:
        raise ValueError(
            f"the second moment of a weight, the sum of share (mean^2 + deviation^2), is {second:.10g}; allowed: 1; divide means "
            f"and deviations by {np.sqrt(second):.10g}"
        )


def _trapezoid(deviations):
    """Nodes (n, P) and weights (n,) of N(0, diag(deviations^2)), and the weights of the rule with every second node.

    Along an axis the nodes are LINEAR sinh(t / LINEAR), t evenly spaced.
    """
    count, lines = len(deviations), []
    for s in deviations:
        half = int(np.ceil(LINEAR * np.arcsinh(REACH[count] * s / LINEAR) * STEPS[count] / 2.0)) * 2
        t = np.arange(-half, half + 1) / STEPS[count]
        x = LINEAR * np.sinh(t / LINEAR)
        density = np.exp(-0.5 * (x / s) ** 2) / (np.sqrt(2.0 * np.pi) * s)
        weights = density * np.cosh(t / LINEAR) / STEPS[count]
        lines.append((x, weights, 2.0 * weights * (np.arange(len(t)) % 2 == 0)))
    points = np.stack(np.meshgrid(*(line[0] for line in lines), indexing="ij"), axis=-1).reshape(-1, count)
    products = [np.array(1.0), np.array(1.0)]
    for line in lines:
        products = [
            np.multiply.outer(product, factor).ravel() for product, factor in zip(products, line[1:], strict=True)
        ]
    return points, *products


@cache
def _of_points(rows):
    """As `_trapezoid`, of N(0, I) in P = `rows` dimensions."""
    return _trapezoid(np.ones(rows))


@lru_cache(maxsize=8)
def _nodes(rows, shares):
    """Standard normal noise (n, P) in pairs of opposite sign, and the term of each node (n,), in two independent halves."""
    parts = []
    for child in np.random.default_rng(SEED).spawn(2):
        points = gaussian_nodes(rows + 1, SAMPLES // 2, child, 1.0).points
        term = np.minimum(np.searchsorted(np.cumsum(shares), ndtr(points[:, 0]), side="right"), len(shares) - 1)
        parts.append((np.concatenate([points[:, 1:], -points[:, 1:]]), np.tile(term, 2)))
    noise, term = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return noise, term


def binary(rows: int, mean: float = 0.0) -> MixtureRows:
    """Weights +1 and -1, independent, of the given mean: P = `rows`, mean in (-1, 1)."""
    return MixtureRows(rows, [0.5 * (1.0 + mean), 0.5 * (1.0 - mean)], [1.0, -1.0], [0.0, 0.0])


def bernoulli_gauss(rows: int, density: float) -> MixtureRows:
    """Independent weights, zero with the probability 1 - density, else normal of variance 1 / density: P = `rows`."""
    return MixtureRows(rows, [density, 1.0 - density], [0.0, 0.0], [density**-0.5, 0.0])
