"""Slow and independent implementations for the promises of the Potts family, written from the definitions alone."""

import itertools
import math
from decimal import Decimal, localcontext

import numpy as np
from scipy.optimize import minimize


def enumerated(J, U, beta):
    """All states (C^L, L) and their probabilities, by the energy of every pair of sites."""
    states = np.array(list(itertools.product(range(len(U)), repeat=len(J))))
    energy = np.zeros(len(states))
    for i, j in itertools.combinations(range(len(J)), 2):
        energy -= J[i, j] * U[states[:, i], states[:, j]]
    weights = np.exp(-beta * (energy - energy.min()))
    return states, weights / weights.sum()


def mean_distance(states, probability, colors):
    """d_H = 1 - mean over sites of the sum of squared frequencies."""
    frequency = np.array([(states == color).T @ probability for color in range(colors)])
    return 1.0 - np.mean(np.sum(frequency**2, axis=0))


def conditional_losses(J, U, beta, states):
    """-log p(s_i | s_-i) (n, L) by the sum over the colours of one site."""
    out = np.empty(states.shape)
    for m, state in enumerate(states):
        for i in range(len(J)):
            fields = np.array(
                [sum(beta * J[i, j] * U[a, state[j]] for j in range(len(J)) if j != i) for a in range(len(U))]
            )
            out[m, i] = np.log(np.sum(np.exp(fields - fields.max()))) + fields.max() - fields[state[i]]
    return out


def mixed_losses(scores, values, sequences, a, softmax):
    """-log p(s_i | s_-i) (n, L) of attention between one-hot vectors x_j = a s_j + (1 - a) p_j; the masked site is a mask."""
    directions = scores.shape[1]
    units = np.eye(directions)
    mask = np.eye(directions + 1)[-1]
    sites, out = sequences.shape[1], np.empty(sequences.shape)
    for m, sequence in enumerate(sequences):
        for i in range(sites):
            query = a * mask + (1.0 - a) * np.append(units[i], 0.0)
            keys = [a * units[sequence[j]] * (j != i) + (1.0 - a) * units[j] for j in range(sites)]
            attention = np.array([query @ scores @ key for key in keys])
            if softmax:
                attention = np.exp(attention) / np.exp(attention).sum()
            logits = sum(attention[j] * values[:, sequence[j]] for j in range(sites) if j != i)
            out[m, i] = np.log(np.exp(logits).sum()) - logits[sequence[i]]
    return out


def plain_fit(sequences, colors, ridge, attention, seed, iterations=4000):
    """Smallest regularised loss that conjugate gradients reach from one start, with gradients by matrices of all parameters."""
    count, sites = sequences.shape
    onehot = np.eye(colors)[sequences]
    off = 1.0 - np.eye(sites)

    def function(x):
        W, V = x[: sites**2].reshape(sites, sites), x[sites**2 :].reshape(colors, colors)
        if attention == "softmax":
            full = np.exp(W - W.max(axis=1, keepdims=True))
            full /= full.sum(axis=1, keepdims=True)
        else:
            full = W
        A = full * off
        values = onehot @ V.T
        logits = A @ values
        logits -= logits.max(axis=2, keepdims=True)
        p = np.exp(logits)
        p /= p.sum(axis=2, keepdims=True)
        loss = -np.log(np.sum(p * onehot, axis=2)).mean()
        R = (p - onehot) / (count * sites)
        dA = np.tensordot(R, values, ((0, 2), (0, 2))) * off
        dV = np.tensordot(A.T @ R, onehot, ((0, 1), (0, 1)))
        if attention == "softmax":
            dA = full * (dA - np.sum(full * dA, axis=1, keepdims=True))
        gradient = np.concatenate([dA.ravel(), dV.ravel()]) + ridge * x
        return loss + 0.5 * ridge * x @ x, gradient

    start = 0.3 * np.random.default_rng(seed).standard_normal(sites**2 + colors**2)
    if attention == "raw":
        start[: sites**2 : sites + 1] = 0.0
    return minimize(function, start, jac=True, method="BFGS", options={"maxiter": iterations, "gtol": 1e-7}).fun


def replica_errors(gamma, ridge, alpha):
    """(e_g, e_train, m, q, V) of the replica theory by bisection in many digits, formulas as they stand; ridge > 0."""
    digits = 80 + 3 * int(abs(math.log10(ridge)) + abs(math.log10(alpha)))
    with localcontext() as context:
        context.prec = digits
        gamma, ridge, alpha = Decimal(gamma), Decimal(ridge), Decimal(alpha)

        def g(x):
            return (x - (x * x - 4).sqrt()) / 2

        low, high = Decimal(0), alpha / ridge
        # Halves the logarithm at first, since the root may be anywhere up to alpha / ridge.
        low = high * Decimal(10) ** -digits
        for step in range(2600):
            middle = (low * high).sqrt() if step < 40 else (low + high) / 2
            if ridge * middle + middle * g(gamma + middle) < alpha:
                low = middle
            else:
                high = middle
            if high - low < high * Decimal(10) ** -(digits // 2):
                break
        z = high
        x = gamma + z
        r = g(x)
        slope = -r / (x * x - 4).sqrt()
        noise = 1 / gamma
        rho = g(gamma) - noise
        tau, d_tau = r / (gamma * (gamma - r)), slope / (gamma - r) ** 2
        error = (noise + tau + z * d_tau) / (1 + z * z * slope / alpha)
        m, V = rho - tau, r / ridge
        return tuple(map(float, (error, error / (1 + V) ** 2, m, error - rho - noise + 2 * m, V)))
