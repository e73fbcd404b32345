"""Statistics of aligned sequences: weights of similar sequences, frequencies of one and two sites, and how two sets compare."""

import numpy as np

from attention_limits.potts_mlm.attention import pair_kernels


def sequence_weights(states, identity: float) -> np.ndarray:
    """1 / (number of sequences, itself included, that agree with a sequence at a fraction >= `identity` of the sites): array
    (n,).

    Gaps agree with gaps. The sum of the weights is the effective number of sequences. `states` is int8 (n, L).
    """
    return 1.0 / neighbours(states, states, identity)


def neighbours(states, others, identity: float) -> np.ndarray:
    """Number of `others` (N, L) that agree with each of `states` (n, L) at a fraction >= `identity` of the sites: array (n,)."""
    states, others = (np.ascontiguousarray(item, dtype=np.int8) for item in (states, others))
    out = np.empty(len(states), dtype=np.int64)
    # The small number cancels rounding errors: (1 - 0.8) times 10 sites must give two sites, not one.
    pair_kernels.neighbours(states, others, int(np.floor((1.0 - identity) * states.shape[1] + 1e-9)), out)
    return out


def unseen_weights(test, training, identity: float) -> np.ndarray:
    """0 for a test sequence that any training sequence resembles, else 1 / (number of similar test sequences): array (n,).

    Sequences are similar from the share `identity` of equal sites on, as in `sequence_weights`.
    """
    alone = neighbours(test, training, identity) == 0
    return alone * sequence_weights(test, identity)


def weighted(losses, weights) -> float:
    """The weighted mean of losses (n, L) per site; NaN without weight."""
    return float(weights @ losses.mean(axis=1) / weights.sum()) if weights.any() else np.nan


def connected_correlations(states, weights, colors: int) -> tuple[np.ndarray, np.ndarray]:
    """Weighted frequencies f_i(a) (L, C), and f_ij(a, b) - f_i(a) f_j(b) of all pairs i < j: array (L (L - 1) / 2, C, C).

    `states` is int8 (n, L) with `colors` C, `weights` is (n,).
    """
    sites = states.shape[1]
    onehot = (states[:, :, None] == np.arange(colors)).reshape(len(states), -1).astype(float)
    shares = np.asarray(weights, dtype=float) / np.sum(weights)
    frequency = shares @ onehot
    pairs = (onehot * shares[:, None]).T @ onehot - np.outer(frequency, frequency)
    i, j = np.triu_indices(sites, 1)
    return frequency.reshape(sites, colors), pairs.reshape(sites, colors, sites, colors)[i, :, j, :]


def agreement(expected, found) -> tuple[float, float]:
    """Pearson's correlation of `found` with `expected`, arrays of one shape, and the slope of the regression of `found` on it.

    Both are NaN where one of them does not vary.
    """
    x, y = np.ravel(expected) - np.mean(expected), np.ravel(found) - np.mean(found)
    xx, yy, xy = x @ x, y @ y, x @ y
    if xx == 0.0 or yy == 0.0:
        return np.nan, np.nan
    return float(xy / np.sqrt(xx * yy)), float(xy / xx)
