"""Extensive-width attention as one would write it at first: a tensor of all samples, loops over samples, iterated maps."""

import numpy as np
from scipy.integrate import quad


def tensor(sequences):
    """F (n, d, d, T, T) with h = sum_ij F_ij S_ij: (x_ai x_bj - delta_ab delta_ij) / sqrt(d)."""
    _, tokens, dimension = sequences.shape
    outer = np.einsum("nai,nbj->nijab", sequences, sequences)
    return (outer - np.einsum("ij,ab->ijab", np.eye(dimension), np.eye(tokens))) / np.sqrt(dimension)


def tensor_fields(F, S):
    """h (n, T, T)."""
    return np.einsum("nijab,ij->nab", F, S, optimize=True)


def tensor_backward(F, G):
    """sum_mu sum_ab G_ab F_ab (d, d)."""
    total = np.einsum("nijab,nab->ij", F, G, optimize=True)
    return 0.5 * (total + total.T)


def loss_gradient(weights, sequences, outputs, beta):
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


def mmse(ratio, noise):
    """Error of the denoiser at noise D, from roots of the cubic of the Stieltjes transform and adaptive quadrature."""
    root = np.sqrt(ratio)

    def density(value):
        # D g^3 - (z + D sqrt(rho)) g^2 + (z sqrt(rho) + 1 - rho) g - sqrt(rho) = 0.
        g = np.roots([noise, -(value + noise * root), value * root + 1.0 - ratio, -root])
        return np.max(np.abs(g.imag)) / np.pi

    wide = 2.0 * np.sqrt(noise) + (1.0 + root) ** 2 / root
    cubes = quad(lambda value: density(value) ** 3, -2.0 * np.sqrt(noise) - 0.1, wide, limit=200)[0]
    return noise - 4.0 * np.pi**2 / 3.0 * noise**2 * cubes


def learning_point(equations, ratio, alpha, tolerance=1e-6):
    """V at one alpha, of an output of so many equations, by iterating V = mmse(V / (alpha K)) from V = 1."""
    V = 1.0
    for _ in range(10_000):
        new = mmse(ratio, V / (alpha * equations))
        if abs(new - V) < tolerance:
            break
        V = new
    return new
