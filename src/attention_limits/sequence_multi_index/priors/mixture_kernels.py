"""Averages of the posterior of a mixture of Gaussians over many observations, without arrays of all terms.

The sum over the terms is that of `priors.mixture` (derived there: the integral is Gaussian).
"""

import math

import numpy as np

from attention_limits.numerics.compiled import FAST, njit


@njit(fastmath=FAST, error_model="numpy")
def posterior_averages(noise, chosen, factors, means, centres, covariances, constants):
    """Mean posterior covariance (P, P), and mean log Z, over the observations b.

    Parameters
    ----------
    noise, chosen : arrays (n, P), (n,)
        Standard normal x, and the term k of each observation b = Lambda mu_k + factors_k x.
    factors : array (K, P, P)
    means, centres : arrays (K, P)
        mu_k and Lambda mu_k.
    covariances : array (K, P, P)
        D_k A_k^-1 D_k.
    constants : array (K,)
        log pi_k - mu_k^T Lambda mu_k / 2 - log det(A_k) / 2.
    """
    terms, rows = means.shape
    average, log_normaliser = np.zeros((rows, rows)), 0.0
    logs, moments = np.empty(terms), np.empty((terms, rows))
    b, shift, mean = np.empty(rows), np.empty(rows), np.empty(rows)
    for i in range(len(noise)):
        own = chosen[i]
        for p in range(rows):
            b[p] = centres[own, p]
            for q in range(rows):
                b[p] += factors[own, p, q] * noise[i, q]
        for k in range(terms):
            for p in range(rows):
                shift[p] = b[p] - centres[k, p]
            value = constants[k]
            for p in range(rows):
                move = 0.0
                for q in range(rows):
                    move += covariances[k, p, q] * shift[q]
                moments[k, p] = means[k, p] + move
                value += b[p] * means[k, p] + 0.5 * shift[p] * move
            logs[k] = value
        top = logs.max()
        total = 0.0
        for k in range(terms):
            logs[k] = math.exp(logs[k] - top)
            total += logs[k]
        log_normaliser += top + math.log(total)
        mean[:] = 0.0
        for k in range(terms):
            logs[k] /= total
            for p in range(rows):
                mean[p] += logs[k] * moments[k, p]
        for k in range(terms):
            for p in range(rows):
                apart = logs[k] * (moments[k, p] - mean[p])
                for q in range(p + 1):
                    average[p, q] += logs[k] * covariances[k, p, q] + apart * (moments[k, q] - mean[q])
    for p in range(rows):
        for q in range(p):
            average[q, p] = average[p, q]
    return average / len(noise), log_normaliser / len(noise)
