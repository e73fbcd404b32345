"""One tied attention layer whose output also holds a fixed attention matrix, which depends on positions alone.

Cui, Behrens, Krzakala, Zdeborova 2024 (arXiv:2402.03902).
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.links.link import Link

ROW_SUMS = 1e-6


@dataclass(frozen=True)
class PositionalAttention(Link):
    """y = (1 - omega) softmax_rows(beta h^T h) + omega A: a semantic and a positional part, one row h of M fields.

    omega and A are known. Therefore the output gives the semantic part, and fixes h up to its sign, as for `deep` of
    one layer.

    Attributes
    ----------
    omega : float
        Weight of the positional part, in [0, 1).
    positional : sequence of M sequences of M floats
        A. Its rows sum to one, its entries are not negative.
    beta : float
        Inverse temperature beta > 0.

    Raises
    ------
    ValueError
        If a parameter is out of its range.
    """

    omega: float = 0.3
    positional: tuple[tuple[float, ...], ...] = ((0.6, 0.4), (0.4, 0.6))
    beta: float = 1.0

    sign_symmetry = "rows"
    rows = 1

    def __post_init__(self):
        if not 0 <= self.omega < 1:
            raise ValueError(f"omega must be in [0, 1), got {self.omega!r}")
        object.__setattr__(self, "positional", tuple(tuple(map(float, row)) for row in self.positional))
        sizes = {len(row) for row in self.positional}
        if sizes != {len(self.positional)} or len(self.positional) < 2:
            raise ValueError(f"positional must be a square matrix of at least two rows, got {self.positional}")
        matrix = np.array(self.positional)
        if not (np.all(matrix >= 0) and np.allclose(matrix.sum(axis=1), 1.0, rtol=0.0, atol=ROW_SUMS)):
            raise ValueError(
                f"every row of positional must sum to one, without negative entries; got {self.positional}"
            )
        self._semantic()

    def _semantic(self):
        return DeepAttention(depth=1, tokens=self.tokens, beta=self.beta)

    @property
    def tokens(self):
        """M."""
        return len(self.positional)

    def forward(self, h):
        """Output y, array (..., M, M), of fields h (..., 1, M)."""
        return (1.0 - self.omega) * self._semantic().forward(h) + self.omega * np.array(self.positional)

    def observe(self, h, noise=None):
        """The fields (n, M), known up to sign: the semantic part fixes them."""
        return self._semantic().observe(h)

    def log_volume(self, h):
        """Log-volume of the semantic part, times (1 - omega)^M; see `Link`."""
        return self._semantic().log_volume(h) + self.tokens * np.log(1.0 - self.omega)

    def fibre(self, observed, free, angles):
        """The two candidates of the fields; see `Link`."""
        return self._semantic().fibre(observed, free, angles)
