"""How well a Markov chain has mixed: autocorrelation time, split R-hat, errors by the jackknife over blocks."""

import numpy as np

# Sokal's self-consistent window: the sum of the autocorrelation ends at the first lag beyond WINDOW times itself.
WINDOW = 6.0


def autocorrelation_time(series) -> float:
    """Integrated autocorrelation time tau = 1 + 2 sum_t rho(t) of a series (n,), in steps of the series; 1 for white noise.

    The error of its mean is sqrt(tau var / n). A constant series has no such time: NaN.
    """
    series = np.asarray(series, dtype=float)
    centred = series - series.mean()
    if not np.any(centred):
        return float("nan")
    # Padding to twice the length keeps the end of the series from being correlated with its beginning.
    spectrum = np.abs(np.fft.rfft(centred, 2 * len(series))) ** 2
    correlation = np.fft.irfft(spectrum)[: len(series)]
    tau = 2.0 * np.cumsum(correlation / correlation[0]) - 1.0
    window = np.flatnonzero(np.arange(len(series)) >= WINDOW * tau)
    return float(max(1.0, tau[window[0] if len(window) else -1]))


def split_r_hat(chains) -> float:
    """Gelman and Rubin's R-hat over the halves of chains (m, n); 1 when all halves agree, NaN when nothing moves.

    sqrt(((k - 1) W + B) / (k W)) for halves of length k, W the mean variance within and B = k times the variance of the means.
    """
    chains = np.asarray(chains, dtype=float)
    half = chains.shape[1] // 2
    halves = np.concatenate([chains[:, :half], chains[:, -half:]])
    within = halves.var(axis=1, ddof=1).mean()
    between = half * halves.mean(axis=1).var(ddof=1)
    if within == 0.0:
        return float("nan") if between == 0.0 else float("inf")
    return float(np.sqrt(((half - 1) * within + between) / (half * within)))


def jackknife(statistic, blocks) -> tuple[np.ndarray, np.ndarray]:
    """`statistic(sum of blocks)` and its standard error from leaving out one block (b, ...) of additive counts at a time."""
    blocks = np.asarray(blocks)
    total = blocks.sum(axis=0)
    left_out = np.array([statistic(total - block) for block in blocks])
    count = len(blocks)
    error = np.sqrt((count - 1) / count * ((left_out - left_out.mean(axis=0)) ** 2).sum(axis=0))
    return statistic(total), error
