"""Two-layer attention, directly translated from the paper: the denoiser with `dblquad`, gradient descent with loops.

    Z_out(y, omega, V) = int dh prod_a N(h_a; omega_a, V) delta(y - g(h)),   g_out = V^-1 (E[h | y] - omega)

The delta function fixes the fields of layer 2 given those of layer 1, v = +-A(z)^-1 u with A(z) = softmax_rows(beta z z^T) + c I.
A two-dimensional integral over z remains for Z, and one for each of the four posterior means. The derivative of g_out is a
forward difference. The code treats one sample at a time; the integrand uses `math` on plain floats, which is several times faster
than NumPy on scalars. Gradient descent loops over the sequences, with explicit backpropagation.
"""

import math
import warnings

import numpy as np
from scipy.integrate import IntegrationWarning, dblquad
from scipy.optimize import minimize

# Absolute and relative tolerance of dblquad, and the half width of the integration range in prior standard deviations.
TOLERANCE = 1e-6
RANGE = 7.0
# Step of the forward differences in prior standard deviations of the field. A larger step has a larger truncation error; with a
# smaller step the error of dblquad dominates.
DIFFERENCE = 1e-4


def posterior_mean(model, u, omega, V):
    """Evidence and posterior mean of one sample, by five adaptive double integrals.

    Parameters
    ----------
    model : DeepAttention
        Two layers, two tokens.
    u : array (2,)
        Score root of the output y = softmax_rows(beta u u^T).
    omega : array (2, 2)
        Prior mean (layer, token) of h.
    V : array (2, 2)
        Prior covariance over layers.

    Returns
    -------
    log_z : float
        log of the density of u, both signs added.
    mean : array (2, 2)
        E[h - omega | y].
    """
    u_1, u_2 = map(float, u)
    (m_11, m_12), (m_21, m_22) = np.asarray(omega, dtype=float).tolist()
    (p_11, p_12), (_, p_22) = np.linalg.inv(V).tolist()
    norm = 1.0 / (4.0 * math.pi**2 * np.linalg.det(V))
    skip, beta = model.skip, model.beta

    def weighted_deviations(z_1, z_2):
        """(weight, x_1, x_2, w_1, w_2) for both signs of v: x = z - omega_1 and w = v - omega_2."""
        s_12 = 1.0 / (1.0 + math.exp(beta * z_1 * (z_1 - z_2)))
        s_21 = 1.0 / (1.0 + math.exp(beta * z_2 * (z_2 - z_1)))
        a_11, a_22 = skip + 1.0 - s_12, skip + 1.0 - s_21
        determinant = a_11 * a_22 - s_12 * s_21
        if determinant == 0.0:  # without skip connection A is singular at z_1 = z_2, where the density vanishes
            return
        v_1 = (a_22 * u_1 - s_12 * u_2) / determinant
        v_2 = (a_11 * u_2 - s_21 * u_1) / determinant
        x_1, x_2 = z_1 - m_11, z_2 - m_12
        for sign in (1.0, -1.0):
            w_1, w_2 = sign * v_1 - m_21, sign * v_2 - m_22
            square = p_11 * (x_1**2 + x_2**2) + 2.0 * p_12 * (x_1 * w_1 + x_2 * w_2) + p_22 * (w_1**2 + w_2**2)
            yield norm * math.exp(-0.5 * square) / abs(determinant), x_1, x_2, w_1, w_2

    reach = RANGE * math.sqrt(V[0, 0])

    def integral(integrand):
        box = (m_11 - reach, m_11 + reach, m_12 - reach, m_12 + reach)
        return dblquad(integrand, *box, epsabs=TOLERANCE, epsrel=TOLERANCE)[0]

    with warnings.catch_warnings():
        # If dblquad does not converge, its value is used: the benchmark measures the error.
        warnings.simplefilter("ignore", IntegrationWarning)
        z = integral(lambda z_2, z_1: sum(term[0] for term in weighted_deviations(z_1, z_2)))
        first = [
            integral(lambda z_2, z_1, k=k: sum(term[0] * term[k] for term in weighted_deviations(z_1, z_2)))
            for k in range(1, 5)
        ]
    return math.log(z), np.reshape(first, (2, 2)) / z


def denoiser(model, u, omega, V):
    """(g, dg) of one sample: g_out (2, 2), and the sum over tokens of d g_a / d omega_a (2, 2); arguments as above."""
    inverse = np.linalg.inv(V)
    g = inverse @ posterior_mean(model, u, omega, V)[1]
    derivative = np.zeros((2, 2))
    for layer in range(2):
        step = DIFFERENCE * math.sqrt(V[layer, layer])
        for token in range(2):
            moved = np.array(omega, dtype=float)
            moved[layer, token] += step
            g_moved = inverse @ posterior_mean(model, u, moved, V)[1]
            derivative[:, layer] += (g_moved - g)[:, token] / step
    return g, derivative


def _attention(u, beta):
    scores = beta * np.outer(u, u)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def _attention_back(u, attention, gradient, beta):
    """Gradient with respect to u, from the gradient with respect to the attention matrix of u."""
    scores = attention * (gradient - np.sum(gradient * attention, axis=1, keepdims=True))
    return beta * (scores + scores.T) @ u


def gradient(link, weights, sequences, outputs):
    """Gradient of sum ||y - g(h)||^2 / D over a batch (B, M, D), by a loop over its sequences; weights (2, D)."""
    dimension = weights.shape[1]
    total = np.zeros_like(weights)
    for x, y in zip(sequences, outputs, strict=True):
        first, second = weights @ x.T / np.sqrt(dimension)
        attention = _attention(first, link.beta)
        reading = attention + link.skip * np.eye(link.tokens)
        u = reading @ second
        output = _attention(u, link.beta)
        back = _attention_back(u, output, 2.0 * (output - y) / dimension, link.beta)
        fields = _attention_back(first, attention, np.outer(back, second), link.beta), reading.T @ back
        total += np.stack(fields) @ x / np.sqrt(dimension)
    return total


def descend(link, weights, sequences, outputs, order, descent):
    """Weights after all batches of `order` (K, B)."""
    for numbers in order:
        for _ in range(descent.reuse):
            step = gradient(link, weights, sequences[numbers], outputs[numbers])
            weights = weights - descent.learning_rate * (step + descent.weight_decay / weights.shape[1] * weights)
    return weights


def attention_risk(z, y):
    """Square loss 1/2 |y - softmax_rows(h h^T)|^2 of one tied layer, from its fields z (M,) and the output y (M, M)."""
    scores = np.outer(z, z)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return 0.5 * np.sum((y - weights / weights.sum(axis=1, keepdims=True)) ** 2)


def prox(y, omega, variance, starts):
    """Minimum over z of |z - omega|^2 / (2 V) + `attention_risk`, by BFGS with differences from every start: point and value."""

    def objective(z):
        return 0.5 * np.sum((z - omega) ** 2) / variance + attention_risk(z, y)

    found = [minimize(objective, start, method="BFGS") for start in starts]
    best = min(found, key=lambda one: one.fun)
    return best.x, best.fun
