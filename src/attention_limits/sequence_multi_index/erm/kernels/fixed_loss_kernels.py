"""Proximal operator and values of each provided loss.

The functions of `prox_kernels` and `loss_kernels` take the loss as an argument, and the cache on disk does not know a function
among the arguments. These functions name their loss, so that the cache keeps them.

Arguments of the proximal operators: outputs y, anchors, omega, root and inverse of V, signs, further, parameters, tokens and
slots; see `prox_kernels.prox`. Arguments of the values: outputs, fields, parameters and slots; see `loss_kernels.values_of`.
"""

from attention_limits.numerics.compiled import njit
from attention_limits.sequence_multi_index.erm.kernels.loss_kernels import (
    linear,
    of_attention,
    of_polynomial,
    of_two_tokens,
    values_of,
)
from attention_limits.sequence_multi_index.erm.kernels.prox_kernels import prox


@njit(error_model="numpy")
def prox_linear(y, anchors, omega, root, inverse, signs, further, parameters, tokens, slots):
    """`prox_kernels.prox` of `loss_kernels.linear`."""
    return prox(linear, y, anchors, omega, root, inverse, signs, further, parameters, tokens, slots)


@njit(error_model="numpy")
def prox_attention(y, anchors, omega, root, inverse, signs, further, parameters, tokens, slots):
    """`prox_kernels.prox` of `loss_kernels.of_attention`."""
    return prox(of_attention, y, anchors, omega, root, inverse, signs, further, parameters, tokens, slots)


@njit(error_model="numpy")
def prox_two_tokens(y, anchors, omega, root, inverse, signs, further, parameters, tokens, slots):
    """`prox_kernels.prox` of `loss_kernels.of_two_tokens`."""
    return prox(of_two_tokens, y, anchors, omega, root, inverse, signs, further, parameters, tokens, slots)


@njit(error_model="numpy")
def prox_polynomial(y, anchors, omega, root, inverse, signs, further, parameters, tokens, slots):
    """`prox_kernels.prox` of `loss_kernels.of_polynomial`."""
    return prox(of_polynomial, y, anchors, omega, root, inverse, signs, further, parameters, tokens, slots)


@njit(error_model="numpy")
def values_linear(outputs, fields, parameters, slots):
    """`loss_kernels.values_of` of `loss_kernels.linear`."""
    return values_of(linear, outputs, fields, parameters, slots)


@njit(error_model="numpy")
def values_attention(outputs, fields, parameters, slots):
    """`loss_kernels.values_of` of `loss_kernels.of_attention`."""
    return values_of(of_attention, outputs, fields, parameters, slots)


@njit(error_model="numpy")
def values_two_tokens(outputs, fields, parameters, slots):
    """`loss_kernels.values_of` of `loss_kernels.of_two_tokens`."""
    return values_of(of_two_tokens, outputs, fields, parameters, slots)


@njit(error_model="numpy")
def values_polynomial(outputs, fields, parameters, slots):
    """`loss_kernels.values_of` of `loss_kernels.of_polynomial`."""
    return values_of(of_polynomial, outputs, fields, parameters, slots)
