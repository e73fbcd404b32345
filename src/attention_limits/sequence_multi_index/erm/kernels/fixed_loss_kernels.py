"""The proximal operator of each provided loss, with the loss inside of its loops.

`prox_kernels.make_prox` calls a loss by its address, which takes 50 ns at each evaluation: a third of the time of a cheap loss.

Arguments are those of `prox_kernels.prox`: outputs y, anchors, omega, root and inverse of V, signs, further, parameters,
tokens and slots.
"""

from attention_limits.numerics.compiled import njit
from attention_limits.sequence_multi_index.erm.kernels.loss_kernels import (
    linear,
    of_attention,
    of_polynomial,
    of_two_tokens,
)
from attention_limits.sequence_multi_index.erm.kernels.prox_kernels import prox

_prox = njit(error_model="numpy", cache=False)(prox)


@njit(error_model="numpy")
def prox_linear(y, anchors, omega, root, inverse, signs, further, parameters, tokens, slots):
    """`prox_kernels.prox` of `loss_kernels.linear`."""
    return _prox(linear, y, anchors, omega, root, inverse, signs, further, parameters, tokens, slots)


@njit(error_model="numpy")
def prox_attention(y, anchors, omega, root, inverse, signs, further, parameters, tokens, slots):
    """`prox_kernels.prox` of `loss_kernels.of_attention`."""
    return _prox(of_attention, y, anchors, omega, root, inverse, signs, further, parameters, tokens, slots)


@njit(error_model="numpy")
def prox_two_tokens(y, anchors, omega, root, inverse, signs, further, parameters, tokens, slots):
    """`prox_kernels.prox` of `loss_kernels.of_two_tokens`."""
    return _prox(of_two_tokens, y, anchors, omega, root, inverse, signs, further, parameters, tokens, slots)


@njit(error_model="numpy")
def prox_polynomial(y, anchors, omega, root, inverse, signs, further, parameters, tokens, slots):
    """`prox_kernels.prox` of `loss_kernels.of_polynomial`."""
    return _prox(of_polynomial, y, anchors, omega, root, inverse, signs, further, parameters, tokens, slots)
