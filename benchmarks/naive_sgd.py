"""Gradient descent on two-layer attention as one would write it at first: sequence by sequence, backpropagation by hand."""

import numpy as np


def _attention(u, beta):
    scores = beta * np.outer(u, u)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def _attention_back(u, attention, gradient, beta):
    """Gradient with respect to u, given that with respect to the attention matrix of u."""
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
            weights = weights - descent.learning_rate * (step + descent.decay * weights)
    return weights
