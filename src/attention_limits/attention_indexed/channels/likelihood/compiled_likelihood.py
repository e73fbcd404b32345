"""The log-likelihood of a channel as one compiled loop over nodes, from its NumPy functions (`tracing.node_loop`)."""

import numpy as np
from numba.core.errors import NumbaError

from attention_limits.numerics.tracing.elementary import NODES

# Outputs of the comparison with NumPy; the largest difference, relative to the size of the numbers.
CHECKED, ACCURACY = 8, 1e-9


def compiled_likelihood(model, observed):
    """The loop (observed (k,), h (T T, NODES), out (1, NODES)) of a channel, and an empty text; or None and the reason.

    Parameters
    ----------
    model : OutputChannel or GaussianNoise
        With a `log_likelihood`.
    observed : array (n, ...)
        Outputs, for their shape and for a comparison with NumPy on random scores.
    """
    try:
        # A late import: JAX takes a second.
        from attention_limits.numerics.tracing.node_loop import node_loop
    except ModuleNotFoundError:
        return None, "JAX, of the extra `training`, is not installed"
    tokens, whole = model.tokens, np.issubdtype(observed.dtype, np.integer)

    def recorded(y, h):
        # The loop reads floats.
        return (model.log_likelihood(y.astype(int) if whole else y, h),)

    try:
        loop, _ = node_loop(recorded, (1, *observed.shape[1:]), (1, 1, tokens, tokens))
    except NumbaError:
        return None, "it calls a function that numba compiled"
    # A function of a user can fail in every way on an array that records.
    except Exception as error:
        return None, f"{type(error).__name__}: {(str(error).strip() or ' ').splitlines()[0].rstrip('.')}"
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
