"""The epochs of a training: when it is evaluated, and its learning rates.

Cosine annealing is that of Loshchilov and Hutter 2017 (arXiv:1608.03983).
"""

import numpy as np


def evaluated_epochs(epochs: int, evaluations: int) -> np.ndarray:
    """The `evaluations` <= `epochs` numbers of epochs after which training is evaluated, evenly spaced: array (n,)."""
    return np.unique(np.linspace(epochs / evaluations, epochs, evaluations).round().astype(int))


def annealed(rate: float, first: int, steps: int, total: int) -> np.ndarray:
    """Learning rates (rate / 2)(1 + cos(pi t / total)) of `steps` steps from t = `first` on, of `total`: array (steps,)."""
    return 0.5 * rate * (1.0 + np.cos(np.pi * (first + np.arange(steps)) / total))
