"""Reasons against recording, as JAX and NumPy of this environment give them, become advice."""

import math

import numpy as np
import pytest
from scipy.special import erf

from attention_limits.numerics.tracing.loop_or_reason import loop_or_reason
from attention_limits.numerics.tracing.plain_reasons import in_words


def branch(x):
    return x if x.sum() > 0 else -x


def mask(x):
    x[x > 0] = 0.0
    return x


def filled(x):
    found = np.zeros(x.shape)
    found[:] = x
    return found


def chosen(x):
    return np.array([0.0, 1.0])[(x > 0).astype(int)]


def entries(x):
    return np.array([[float(entry) for entry in row] for row in x])


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (branch, "it branches on numbers of an array"),
        (mask, "it chooses entries by a mask; write np.where"),
        (filled, "it makes a plain array of its arguments"),
        (chosen, "it makes a plain array of its arguments"),
        (lambda x: np.asarray(x) ** 2, "it makes a plain array of its arguments"),
        (entries, "it makes a Python number of an entry"),
        (lambda x: math.tanh(x[0, 0]) * x, "it makes a Python number of an entry"),
        (lambda x: erf(x), "it calls the function erf of another library"),
        (lambda x: np.linalg.eigh(x[..., None] * x[..., None])[0], "it needs the operation eigh"),
    ],
)
def test_a_reason_says_what_to_write(function, words):
    found, reason = loop_or_reason(lambda x: (function(x),), (1, 1))
    assert found is None
    message = reason.partition(": ")[2]
    assert in_words(reason).startswith(words)
    assert in_words(message) == in_words(reason)


def test_an_unknown_reason_stays():
    assert in_words("it calls a function that numba compiled") == "it calls a function that numba compiled"
