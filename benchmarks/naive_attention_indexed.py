"""Attention of extensive width, directly translated from the formulas.

Sums over samples use a tensor of all samples, gradient descent loops over samples, and the fixed point of weight decay is an
iterated map whose integrals come from roots of a cubic. The posterior of two layers comes from adaptive quadrature. The learning
curve is in `toycodes/attention_indexed.py`.
"""

import numpy as np
from scipy.integrate import dblquad


def tensor(sequences):
    """F (n, d, d, M, M) with h = sum_ij F_ij S_ij: (x_ai x_bj - delta_ab delta_ij) / sqrt(d)."""
    _, tokens, dimension = sequences.shape
    outer = np.einsum("nai,nbj->nijab", sequences, sequences)
    return (outer - np.einsum("ij,ab->ijab", np.eye(dimension), np.eye(tokens))) / np.sqrt(dimension)


def tensor_fields(F, S):
    """h (n, M, M)."""
    return np.einsum("nijab,ij->nab", F, S, optimize=True)


def tensor_backward(F, G):
    """sum_mu sum_ab G_ab F_ab (d, d)."""
    total = np.einsum("nijab,nab->ij", F, G, optimize=True)
    return 0.5 * (total + total.T)


def gradient(weights, sequences, outputs, beta):
    """Gradient (d, r) of sum ||softmax(beta h_W) - y||^2 / d by a loop over samples."""
    dimension, rank = weights.shape
    S = weights @ weights.T / np.sqrt(rank * dimension)
    by_matrix = np.zeros_like(S)
    for x, y in zip(sequences, outputs, strict=True):
        h = (x @ S @ x.T - np.trace(S) * np.eye(len(x))) / np.sqrt(dimension)
        attention = np.exp(beta * (h - h.max(axis=1, keepdims=True)))
        attention /= attention.sum(axis=1, keepdims=True)
        back = 2.0 * (attention - y) / dimension
        by_score = beta * attention * (back - np.sum(back * attention, axis=1, keepdims=True))
        by_matrix += (x.T @ by_score @ x - np.trace(by_score) * np.eye(dimension)) / np.sqrt(dimension)
    return (by_matrix + by_matrix.T) @ weights / np.sqrt(rank * dimension)


def decay_point(equations, ratio, score_noise, decay, tolerance=1e-6):
    """Error of weight decay at one alpha K = `equations`: iterates delta and eps, with roots of the cubic on 400 eigenvalues."""
    root = np.sqrt(ratio)
    error, threshold = 1.0 + ratio, decay / equations
    for _ in range(10_000):
        noise = (error + score_noise) / equations
        x = np.linspace(-2.0 * np.sqrt(noise) - 0.1, 2.0 * np.sqrt(noise) + (1.0 + root) ** 2 / root, 400)
        cubics = [np.roots([noise, -(v + noise * root), v * root + 1.0 - ratio, -root]) for v in x]
        g = np.array([roots[np.argmin(roots.imag)] for roots in cubics])
        mass = -g.imag / np.pi * (x[1] - x[0])
        over = np.maximum(x - threshold, 0.0)
        theta = 2.0 * np.sum(over * g.real * mass)
        below = np.sum((x**2 * mass)[x <= threshold])
        new = threshold**2 * np.sum(mass[x > threshold]) + below + (2.0 * theta - 1.0) * noise
        if abs(new - error) < tolerance:
            break
        error, threshold = new, 0.5 * threshold + 0.25 * decay / max(equations - theta, 0.05 * equations)
    return new


def two_layer_moments(a, means, V, skip, beta, tolerance=1e-6):
    """log Z and the posterior means (2, 2) of one output, as in `TwoLayers.posterior`, by adaptive quadrature.

    The variables are the sum and the difference u of the scores of layer 1, up to 6.5 prior standard deviations.
    """
    widths = np.sqrt([8.0, 4.0])[None, :] * np.sqrt(V)[:, None]

    def weighted(u_d, u_s, power):
        s_1, s_2 = (1.0 / (1.0 + np.exp(-0.5 * beta * u)) for u in (u_s + u_d, u_s - u_d))
        e = skip + s_1 + s_2 - 1.0
        v_s = a[0] / e**2
        v_d = (a[1] / e + (s_2 - s_1) * v_s) / (skip + 1.0)
        z = (np.array([[u_s, u_d], [v_s, v_d]]) - means) / widths
        density = np.exp(-0.5 * np.sum(z**2)) / (abs(e) ** 3 * (skip + 1.0) * 4.0 * np.pi**2 * np.prod(widths))
        return density * (1.0 if power is None else z[power])

    low, high = means[0] - 6.5 * widths[0], means[0] + 6.5 * widths[0]

    def integral(power):
        return dblquad(weighted, low[0], high[0], low[1], high[1], args=(power,), epsabs=0.0, epsrel=tolerance)[0]

    Z = integral(None)
    return np.log(Z), np.array([[integral((layer, k)) for k in range(2)] for layer in range(2)]) / Z
