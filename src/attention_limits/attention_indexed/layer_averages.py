"""Averages over the outputs of several layers: derived in `two_layers_evolution`, whose state evolution iterates them."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Averages:
    """Averages over outputs.

    Attributes
    ----------
    information : array (L,)
        k_l = 2 E |z_l|^2.
    resolved : float
        Fraction of outputs whose posterior met its accuracy check.
    """

    information: np.ndarray
    resolved: float
