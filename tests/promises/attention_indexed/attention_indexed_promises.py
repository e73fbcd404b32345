"""Helpers that the promise tests of the attention-indexed family share."""

from slow_attention_indexed import decimal_mmse, sign_information
from specifications import Refused, compute, document

FAMILY = "attention_indexed"
EQUATIONS = {"linear": lambda M: M * (M + 1), "softmax": lambda M: M * M + M - 2}


def with_output(model):
    """The model with at least two tokens where one score has a constant output."""
    return model if model["channel"] == "linear" else {**model, "tokens": max(2, model["tokens"])}


def computed(estimator, model, grid, **part):
    """The dataset of the one estimator of a document, or None where it is refused."""
    found = compute(FAMILY, document(estimator, model, grid, **part))
    return None if isinstance(found, Refused) else found[estimator]


def information(channel, tokens, V, Q):
    """E 4 sum G^2 at V, from the number of equations or by integration."""
    if channel in EQUATIONS:
        return EQUATIONS[channel](tokens) / V
    return sign_information(max(Q - V, 0.0) / V, channel == "hardmax_published") / V


def slow_mmse(ratio, noise):
    """mmse(D) and the accuracy of its quadrature."""
    first, second = (decimal_mmse(ratio, noise, nodes) for nodes in (24, 48))
    return second, abs(second - first)
