"""Links whose output is the fields themselves, or the row of the largest field: targets of regression and classification.

The densities are derived in this module.
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.sequence_multi_index.links.link import Link, require_shape


def _require_sizes(rows, tokens, least):
    if rows < least or tokens < 1:
        raise ValueError(f"need rows >= {least} and tokens >= 1, got {rows} and {tokens}")


@dataclass(frozen=True)
class Linear(Link):
    """y = h, linear regression.

    Attributes
    ----------
    rows, tokens : int
        P and M, each at least one.

    Raises
    ------
    ValueError
        If one is below one.
    """

    rows: int = 1
    tokens: int = 1

    sign_symmetry = "none"

    def __post_init__(self):
        _require_sizes(self.rows, self.tokens, 1)

    @property
    def student(self):
        """The fields; see `Link`."""
        return "linear", ()

    def forward(self, h):
        """Output y = h, array (..., P, M)."""
        return require_shape(h, self.rows, self.tokens)

    def fibre(self, observed, free, angles):
        """The one candidate, the output itself; see `Link`."""
        shape = (*free.shape[:2], 1, self.rows, self.tokens)
        return np.broadcast_to(observed[:, None, None], shape), np.zeros(shape[:3])


@dataclass(frozen=True)
class LargestRow(Link):
    """y_pa = 1 where row p has the largest field of token a, else 0: one of P classes per token.

    Attributes
    ----------
    rows, tokens : int
        P >= 2 and M >= 1.

    Raises
    ------
    ValueError
        If P < 2 or M < 1.
    """

    rows: int = 3
    tokens: int = 1

    sign_symmetry = "none"

    def __post_init__(self):
        _require_sizes(self.rows, self.tokens, 2)

    def forward(self, h):
        """Output y, array (..., P, M), of fields h (..., P, M)."""
        h = require_shape(h, self.rows, self.tokens)
        return (np.argmax(h, axis=-2)[..., None, :] == np.arange(self.rows)[:, None]).astype(float)

    def log_likelihood(self, observed, h):
        """0 where the fields explain the output, -inf elsewhere; array (n, S)."""
        return np.where(np.all(self.forward(h) == observed[:, None], axis=(-2, -1)), 0.0, -np.inf)
