"""The log-likelihood of a channel as one compiled loop over nodes, from its NumPy functions (`tracing.node_loop`)."""

import numpy as np

from attention_limits.numerics.tracing.elementary import NODES
from attention_limits.numerics.tracing.loop_or_reason import loop_or_reason

# Outputs of the comparison with NumPy; the largest difference, relative to the size of the numbers.
CHECKED, ACCURACY = 8, 1e-9


def compiled_likelihood(model, observed):
    """The loop (observed (k,), h (M M, NODES), out (1, NODES)) of a channel, and an empty text; or None and the reason.

    Parameters
    ----------
    model : OutputChannel or GaussianNoise
        With a `log_likelihood`.
    observed : array (n, ...)
        Outputs, for their shape and for a comparison with NumPy on random scores.
    """
    tokens, whole = model.tokens, np.issubdtype(observed.dtype, np.integer)

    def recorded(y, h):
        # The loop reads floats.
        return (model.log_likelihood(y.astype(int) if whole else y, h),)

    made, reason = loop_or_reason(recorded, (1, *observed.shape[1:]), (1, 1, tokens, tokens))
    if made is None:
        return None, reason
    loop, _ = made
    h = np.random.default_rng(0).standard_normal((NODES, tokens, tokens))
    h = h + np.swapaxes(h, 1, 2)
    some = observed[:CHECKED]
    with np.errstate(all="ignore"):
        expected = model.log_likelihood(some, np.broadcast_to(h, (len(some), *h.shape)))
    found, x = np.empty((1, NODES)), np.ascontiguousarray(h.reshape(NODES, -1).T)
    for y, values in zip(some, expected, strict=True):
        loop(np.require(y.ravel(), float, "CW"), x, found)
        finite = np.isfinite(values)
        scale = np.abs(values[finite]).max(initial=0.0)
        if not np.allclose(found[0], values, rtol=ACCURACY, atol=ACCURACY * scale, equal_nan=True):
            return None, "its loop gives other numbers than NumPy"
    return loop, ""
