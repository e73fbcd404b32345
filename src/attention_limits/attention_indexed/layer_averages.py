"""Averages over the outputs of several layers, which the state evolution of `two_layers_evolution` iterates. They are derived in it."""

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
