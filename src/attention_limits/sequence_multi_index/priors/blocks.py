"""Rows that read blocks of the dimensions: heads that split the embedding.

The D dimensions form B blocks of D / B. Row p has normal weights of variance B in its block and zeros elsewhere, so its field has
variance one, as in multi-head attention whose heads divide the embedding (Troiani et al. 2025, arXiv:2502.00901, appendix A.3).
With Lambda_b the block of Lambda for the rows that read block b (derived in this module),

    Cov(w | b) = (I / B + Lambda_b)^-1 in block b,   Q_bb = B Lambda_b (I + B Lambda_b)^-1,
    Psi_w = sum_b [tr B Lambda_b - log det(I + B Lambda_b)] / (2 B),

and rows of different blocks have no overlap. At small Lambda, Q_bb = B Lambda_b: the first threshold is that of rows that read
all dimensions, divided by B, if those rows have no overlap with each other either.
"""

import numpy as np

from attention_limits.sequence_multi_index.priors.gaussian import GaussianRows
from attention_limits.sequence_multi_index.priors.overlaps import LARGEST_OVERLAP, overlap_from_precision
from attention_limits.sequence_multi_index.priors.prior import WeightPosterior


class BlockRows(GaussianRows):
    """Normal weights of rows that read one block each; dimensions are in the order of the blocks.

    Methods that take or return D dimensions raise ValueError unless B divides D.

    Parameters
    ----------
    blocks : sequence of int
        The block of each row, from 1 to B.
    count : int, optional
        B, the largest number in `blocks` by default.

    Raises
    ------
    ValueError
        If a number from 1 to B is missing while `count` is not given.
    """

    isotropic = False

    def __init__(self, blocks, count=None):
        blocks = np.array(blocks, dtype=int)
        if count is None:
            count = int(blocks.max(initial=0))
            missing = sorted(set(range(1, count + 1)) - set(blocks.tolist()))
            if missing or blocks.min(initial=1) < 1:
                raise ValueError(
                    f"prior.blocks: allowed: the numbers 1 to B, each at least once; got {blocks.tolist()}"
                )
        super().__init__(np.eye(len(blocks)))
        self.blocks, self.count = blocks, count
        self.rotations, self.sign_symmetry, self.response = False, "rows", float(count)
        self._same = blocks[:, None] == blocks

    def check_dimension(self, dimension):
        """See `Prior` for `dimension`."""
        if dimension % self.count:
            raise ValueError(
                f"D = {dimension} has no whole number of dimensions for each of the {self.count} blocks; allowed: "
                f"multiples of {self.count}"
            )

    def block_of_dimensions(self, dimension):
        """The block of each of D = `dimension` dimensions, array (D,); ValueError unless B divides D."""
        self.check_dimension(dimension)
        return np.repeat(np.arange(1, self.count + 1), dimension // self.count)

    def _covariances(self, precision):
        """Cov(w | b) in each block, array (B, P, P), and log det(I + B Lambda_b), array (B,)."""
        covariances, volumes = np.zeros((self.count, self.rows, self.rows)), np.zeros(self.count)
        for k in range(self.count):
            rows = np.flatnonzero(self.blocks == k + 1)
            grown = np.eye(len(rows)) + self.count * precision[np.ix_(rows, rows)]
            covariances[k][np.ix_(rows, rows)] = self.count * np.linalg.inv(grown)
            volumes[k] = np.linalg.slogdet(grown)[1]
        return covariances, volumes

    def posterior(self, b, precision):
        """See `Prior`; `b` has one row for each dimension, at the `precision` (P, P)."""
        covariances, volumes = self._covariances(precision)
        block = self.block_of_dimensions(len(b)) - 1
        mean = np.einsum("npq,nq->np", covariances[block], b)
        return WeightPosterior(0.5 * (np.sum(b * mean, axis=1) - volumes[block]), mean, covariances[block])

    def denoise(self, b, precision, hint=0.0, weight=1.0):
        """See `Prior` for `precision`, `hint` and `weight`; the mean is linear in `b` (P, D)."""
        covariances, _ = self._covariances(precision + hint * np.eye(self.rows))
        self.check_dimension(b.shape[1])
        parts = b.reshape(self.rows, self.count, -1)
        mean = np.einsum("kpq,qki->pki", covariances, parts).reshape(b.shape)
        return weight * mean, covariances.mean(axis=0)

    def overlap(self, precision, largest=LARGEST_OVERLAP):
        """See `Prior` for `precision` and `largest`."""
        found = np.zeros((self.rows, self.rows))
        for k in range(1, self.count + 1):
            block = np.ix_(self.blocks == k, self.blocks == k)
            found[block] = overlap_from_precision(self.count * precision[block], largest)
        return found

    def confined(self, subspace, precision, largest=LARGEST_OVERLAP):
        """See `Prior` for `subspace`, `precision` and `largest`."""
        return self.overlap(subspace @ precision @ subspace.T, largest)

    def within(self, matrix):
        """See `Prior` for `matrix`: its entries for two rows of the same block."""
        return np.where(self._same, matrix, 0.0)

    def free_entropy(self, overlap, precision):
        """See `Prior` for `overlap`; an error of the `precision` enters in second order."""
        _, volumes = self._covariances(precision)
        of_weights = 0.5 * (np.trace(precision) - volumes.sum() / self.count)
        return float(of_weights - 0.5 * np.sum(overlap * precision))

    def draw(self, dimension, generator):
        """See `Prior` for `dimension` and `generator`."""
        mine = self.blocks[:, None] == self.block_of_dimensions(dimension)
        return np.sqrt(self.count) * mine * super().draw(dimension, generator)

    def start(self, overlap, dimension, generator):
        """See `Prior` for `dimension` and `generator`; the noise has the law of the weights and the share `overlap`."""
        return np.sqrt(overlap) * self.draw(dimension, generator)

    def subset(self, rows):
        """See `Prior` for `rows`."""
        return BlockRows(self.blocks[rows], self.count)
