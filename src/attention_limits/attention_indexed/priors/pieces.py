"""The law of the spectrum of Y = S + sqrt(D) Z on pieces of its support, as weight decay integrates it.

The moments are derived in `erm.teachers.table`.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Pieces:
    """A law at one delta, on pieces of its support with the same nodes.

    Attributes
    ----------
    angle : array (k,)
        theta of the nodes in (0, pi), ascending.
    value, mass, transform : array (pieces, k)
        x, ascending in theta, mu dx / d theta, and h.
    low, high : array (pieces,)
        x at theta = 0 and pi.
    """

    angle: np.ndarray
    value: np.ndarray
    mass: np.ndarray
    transform: np.ndarray
    low: np.ndarray
    high: np.ndarray
