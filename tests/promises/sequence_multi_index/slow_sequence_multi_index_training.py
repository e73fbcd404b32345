"""Gradient descent and AdamW in plain loops, for the promises of the sequence multi-index family, without the package."""

import itertools

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


def flow_samples(forward_pass, tokens, noise, weights, teacher, count, rng, step=1e-5):
    """Loss (n,), and G h*^T, G h^T and G G^T (n, P, P), at n = `count` random sequences, by central differences of the loss.

    Student and teacher are W and W* (P, D) with h = W x / sqrt(D); `forward_pass` takes fields (n, P, M) of M = `tokens`, and the
    teacher's outputs have noise of variance `noise`.
    """
    rows, dimension = weights.shape
    both = np.concatenate([weights, teacher]) / np.sqrt(dimension)
    root = np.linalg.cholesky(both @ both.T)
    fields = np.einsum("pq,nqa->npa", root, rng.standard_normal((count, 2 * rows, tokens)))
    h, theirs = fields[:, :rows], fields[:, rows:]
    y = forward_pass(theirs)
    y = y + np.sqrt(noise) * rng.standard_normal(y.shape)

    def loss(at):
        return ((y - forward_pass(at)) ** 2).reshape(count, -1).sum(axis=1)

    gradient = np.empty_like(h)
    for at in np.ndindex(h.shape[1:]):
        moved = np.zeros(h.shape[1:])
        moved[at] = step
        gradient[:, *at] = (loss(h + moved) - loss(h - moved)) / (2.0 * step)
    return loss(h), *(np.einsum("npa,nqa->npq", gradient, other) for other in (theirs, h, gradient))


def flow_of_phase_retrieval(start, teacher, rate, decay, times, steps=400):
    """Q and M (T, 2) of y = h^2 at the times, from `start` (Q, M), by Runge-Kutta steps of the Gaussian moments."""
    r = teacher

    def slope(at):
        q, m = at
        with_teacher, with_own = -12.0 * m * (r - q), -4.0 * (r * q + 2.0 * m**2 - 3.0 * q**2)
        squared = 16.0 * (3.0 * r**2 * q + 12.0 * r * m**2 - 2.0 * (3.0 * q**2 * r + 12.0 * q * m**2) + 15.0 * q**3)
        return np.array([-2.0 * with_own - 2.0 * decay * q + rate * squared, -with_teacher - decay * m])

    found, at = [np.array(start)], np.array(start)
    for before, after in itertools.pairwise(times):
        length = (after - before) / steps
        for _ in range(steps):
            first = slope(at)
            second = slope(at + 0.5 * length * first)
            third = slope(at + 0.5 * length * second)
            at = at + length * (first + 2.0 * second + 2.0 * third + slope(at + length * third)) / 6.0
        found.append(at)
    return np.array(found)
