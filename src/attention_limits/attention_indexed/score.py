"""What a channel hands to message passing."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Score:
    """Gradients of a channel.

    Attributes
    ----------
    G : array (n, T, T)
    power : float
        An estimate of the mean over samples of sum_ab G_ab^2 that is not biased by noise of G.
    """

    G: np.ndarray
    power: float
