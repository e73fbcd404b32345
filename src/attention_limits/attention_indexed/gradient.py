"""The result of a channel for message passing."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Gradient:
    """Gradients of a channel at n outputs.

    Attributes
    ----------
    G : array (n, T, T)
    power : float
        An estimate of the mean over samples of sum_ab G_ab^2. Noise of G does not bias it.
    resolved : float
        Fraction of the outputs whose posterior is resolved; 1 for channels in closed form.
    """

    G: np.ndarray
    power: float
    resolved: float = 1.0
