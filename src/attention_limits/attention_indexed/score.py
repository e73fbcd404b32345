"""What a channel hands to message passing."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Score:
    """G (n, T, T) and the mean over samples of sum_ab G_ab^2, without the bias that squares of sampled G would have."""

    G: np.ndarray
    power: float
