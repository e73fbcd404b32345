"""Tokens that are correlated with each other: a linear map of the fields.

Tokens x_a = sum_b T^(1/2)_ab z_b with z_b standard normal in every dimension have the covariance T between tokens, the same in
each dimension. Their fields are h = k T^(1/2), k the fields of the z_b, and the theory of independent tokens holds for the link
k -> g(k T^(1/2)) (derived in this module: the change of variables is exact). Solvers and data sets hold the whitened tokens z_b.
"""

import numpy as np

from attention_limits.sequence_multi_index.links.link import SMALLEST_EIGENVALUE, Link, inference


class CorrelatedTokens(Link):
    """A link that reads tokens of covariance T.

    Parameters
    ----------
    link : Link
        The link of the tokens themselves.
    covariance : array (M, M)
        T, positive definite with a diagonal of ones.

    Raises
    ------
    ValueError
        If it is not.
    """

    def __init__(self, link: Link, covariance):
        T = np.array(covariance, dtype=float) if len({len(row) for row in covariance}) == 1 else np.zeros((0, 0))
        if T.shape != (link.tokens, link.tokens):
            raise ValueError(
                f"token_covariance: allowed: {link.tokens} rows of {link.tokens} numbers, the number of tokens"
            )
        if not np.array_equal(T, T.T) or not np.array_equal(np.diag(T), np.ones(len(T))):
            raise ValueError(f"token_covariance: allowed: a symmetric matrix with a diagonal of ones, got {T.tolist()}")
        values, vectors = np.linalg.eigh(T)
        if values[0] < SMALLEST_EIGENVALUE:
            raise ValueError(
                f"token_covariance: allowed: a smallest eigenvalue ≥ {SMALLEST_EIGENVALUE}, got {values[0]:.3g}"
            )
        self.link, self.root = link, (vectors * np.sqrt(values)) @ vectors.T
        self._inverse = (vectors / np.sqrt(values)) @ vectors.T
        self._log_volume = 0.5 * float(np.log(values).sum())
        for name in ("rows", "tokens", "sign_symmetry", "rotations", "noise_dimension", "free_rows", "angles"):
            setattr(self, name, getattr(link, name))
        self.no_density, self.no_moments = link.no_density, link.no_moments
        if not link.no_density:
            form = "fibre" if inference(link) == "fibre" else "log_likelihood"
            setattr(self, form, getattr(self, f"_{form}"))

    def forward(self, h):
        """Output (..., *output) of the fields (..., P, M) of whitened tokens."""
        return self.link.forward(h @ self.root)

    def observe(self, h, noise=None):
        """As of the link, at the fields of the tokens themselves."""
        return self.link.observe(h @ self.root, noise)

    def log_volume(self, h):
        """As for the link, at the fields of the tokens themselves."""
        return self.link.log_volume(h @ self.root)

    @property
    def output_entropy(self):
        """The entropy of the link."""
        return self.link.output_entropy

    def _fibre(self, observed, free, angles):
        """Candidates of the rows that are not free; each carries the volume det(T)^(-1/2)."""
        candidates, log_weight = self.link.fibre(observed, free @ self.root, angles)
        return candidates @ self._inverse, log_weight - (self.rows - self.free_rows) * self._log_volume

    def _log_likelihood(self, observed, h):
        """As for the link, at the fields of the tokens themselves."""
        return self.link.log_likelihood(observed, h @ self.root)
