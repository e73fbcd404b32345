"""The built-in links as functions of the fields of one sequence, z = (z_1 ... z_M).

A field may be a number, a dual number in compiled code (`sgd.functions_kernels`), or an array (n,) of the fields of n sequences
(`link`). An output is then of the same kind (arXiv:2506.02651).
"""

import math

import numpy as np

from attention_limits.sequence_single_index.links.geometry import fixed_attention


def linear_sum(z):
    """M^(-1/2) sum_l z_l: the linear target."""
    total = 0.0
    for field in z:
        total += field
    return total / math.sqrt(len(z))


def relu_sum(z):
    """relu(M^(-1/2) sum_l z_l): the feed-forward student; tied when all tokens share their weights."""
    # Its own loop: compiled code calls no function of Python.
    total = 0.0
    for field in z:
        total += field
    return np.maximum(total / math.sqrt(len(z)), 0.0)


def full_attention(z):
    """All entries of softmax(z z^T), softmax over rows: a list of M^2 outputs."""
    # A list needs its type from its first element: zero is a dual number where the fields are.
    found = [0.0 * z[0] for _ in range(len(z) * len(z))]
    for i in range(len(z)):
        largest = z[i] * z[0]
        for other in z:
            largest = np.maximum(largest, z[i] * other)
        total = 0.0
        for j in range(len(z)):
            found[i * len(z) + j] = np.exp(z[i] * z[j] - largest)
            total += found[i * len(z) + j]
        for j in range(len(z)):
            found[i * len(z) + j] /= total
    return found


def trace_attention(z):
    """M^(-1/2) Tr softmax(z z^T)."""
    trace = 0.0
    for i in range(len(z)):
        total = 0.0
        for other in z:
            total += np.exp(z[i] * (other - z[i]))
        trace += 1.0 / total
    return trace / math.sqrt(len(z))


FUNCTIONS = {function.__name__: function for function in (linear_sum, relu_sum, full_attention, trace_attention)}
# Functions of the sum of the fields alone.
OF_THE_SUM = "linear_sum", "relu_sum"


def hermite_sum(degree, weights, constant):
    """The function constant + sum_l weights_l He_k(z_l), k = `degree`, He not normalised; `weights` is a tuple (M,)."""

    def hermite(z):
        total = 0.0 * z[0] + constant
        for i in range(len(z)):
            lower, value = 0.0 * z[0], 0.0 * z[0] + 1.0
            for k in range(degree):
                lower, value = value, z[i] * value - k * lower
            total += weights[i] * value
        return total

    return hermite


def positional_semantic(a, omega):
    """The function (1 - omega) softmax(z z^T) + omega A of two fields, A = softmax of [[a^2, -a^2], [-a^2, a^2]] over rows."""
    abar = float(fixed_attention(a))
    on, off = omega * abar, omega * (1.0 - abar)

    def target(z):
        first = (1.0 - omega) / (1.0 + np.exp(z[0] * (z[1] - z[0])))
        second = (1.0 - omega) / (1.0 + np.exp(z[1] * (z[0] - z[1])))
        return first + on, 1.0 - omega - first + off, 1.0 - omega - second + off, second + on

    return target
