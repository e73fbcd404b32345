"""Gradient descent and AdamW in plain loops, for the promises of the sequence multi-index family, without the package."""

import numpy as np


def descend(forward_pass, weights, batches, rate, decay, reuse, step=1e-5):
    """Gradient descent with central differences: (weights, mean loss before the steps of each batch).

    loss(W) = sum over the batch of ||y - g(W x / sqrt(D))||^2 / D, of batches (x (B, M, D), y (B, ...)).
    """
    weights, dimension, losses = weights.copy(), weights.shape[1], []

    def loss(w, x, y):
        return np.sum((forward_pass(np.einsum("pd,nad->npa", w, x) / np.sqrt(dimension)) - y) ** 2) / dimension

    for x, y in batches:
        losses.append(loss(weights, x, y) * dimension / len(x))
        for _ in range(reuse):
            gradient = np.empty_like(weights)
            for at in np.ndindex(weights.shape):
                moved = np.zeros_like(weights)
                moved[at] = step
                gradient[at] = (loss(weights + moved, x, y) - loss(weights - moved, x, y)) / (2.0 * step)
            weights -= rate * (gradient + decay * weights)
    return weights, losses


def classify(parameters, tokens, skip, padded=False):
    """Scores of the classes of token numbers that end in 0, question by question, of (embedding, [W_l], readout, bias, [b_l]).

    Zeros are tokens if `padded`; the biases b_l of the keys may be empty.
    """
    embedding, attention, readout, bias, key_bias = parameters
    scores = []
    for row in tokens:
        x = embedding[row if padded else row[row != 0]]
        for weights, shift in zip(attention, key_bias, strict=True):
            keys = x @ weights
            if shift.size:
                keys = keys + shift
            products = keys @ keys.T / np.sqrt(weights.shape[1])
            exponentials = np.exp(products - products.real.max(axis=1, keepdims=True))
            x = skip * x + (exponentials / exponentials.sum(axis=1, keepdims=True)) @ x
        scores.append(x.mean(axis=0) @ readout + bias)
    return np.array(scores)


def cross_entropy(scores, labels):
    """Mean cross entropy in nats of scores (n, classes)."""
    shifted = scores - scores.real.max(axis=1, keepdims=True)
    return np.mean(np.log(np.exp(shifted).sum(axis=1)) - shifted[np.arange(len(labels)), labels])


def adam_step(parameters, gradient, moments, count, rate, decay):
    """One step of AdamW (Loshchilov and Hutter 2019) of a list of arrays; `moments` are the two lists of running means."""
    for p, g, m, v in zip(parameters, gradient, *moments, strict=True):
        m += 0.1 * (g - m)
        v += 0.001 * (g**2 - v)
        p -= rate * (m / (1 - 0.9**count) / (np.sqrt(v / (1 - 0.999**count)) + 1e-8) + decay * p)


def complex_gradient(value, parameters):
    """Gradient of a function of a list of arrays by a complex step, exact to rounding."""
    found = []
    for k, array in enumerate(parameters):
        gradient = np.empty_like(array)
        for at in np.ndindex(array.shape):
            moved = [p.astype(complex) for p in parameters]
            moved[k][at] += 1e-30j
            gradient[at] = value(moved).imag / 1e-30
        found.append(gradient)
    return found
