"""The forward pass of any link in JAX: NumPy functions that a link calls on its fields run as the JAX functions of the same name
(`tracing.traced`). A forward pass written with NumPy functions therefore needs no second version.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from attention_limits.numerics.tracing.traced import UNTRACEABLE, Traced, first_line, opened
from attention_limits.sequence_multi_index.links.link import Link

# Fields of the check, and largest accepted difference of the outputs of NumPy and of JAX, relative to their size.
CHECKED, ACCURACY = 16, 1e-9


def forward(link: Link, h):
    """`link.forward(h)` as a JAX array that JAX differentiates, of a JAX array h (..., P, M)."""
    return opened(link.forward(Traced(h)))


def problem_of(link: Link) -> str:
    """Why JAX cannot differentiate the forward pass of a link, with an example, or an empty text.

    Its outputs in JAX must be those in NumPy, in double precision, and their derivatives finite.
    """
    name = link.name
    h = np.random.default_rng(0).standard_normal((CHECKED, link.rows, link.tokens))
    y = np.asarray(link.forward(h))
    with jax.enable_x64(True):
        try:
            # Compiled as a whole: each operation alone would be compiled too.
            pushed = jax.jit(lambda fields: jax.jvp(partial(forward, link), (fields,), (jnp.ones_like(fields),)))
            found, slope = pushed(h)
        except UNTRACEABLE as error:
            return (
                f"JAX cannot differentiate the forward pass of {name}: {first_line(error)}. Write it with NumPy functions "
                "of h itself, without np.asarray, float or if on its numbers"
            )
        found, slope = np.asarray(found), np.asarray(slope)
    if found.shape != y.shape or not np.allclose(found, y, rtol=ACCURACY, atol=ACCURACY * np.abs(y).max()):
        return f"the forward pass of {name} gives another output in JAX, {found[0]!r}, than in NumPy, {y[0]!r}, at h = {h[0]!r}"
    bad = np.flatnonzero(~np.isfinite(slope.reshape(CHECKED, -1)).all(axis=1))
    return f"the derivative of the output of {name} is not finite at h = {h[bad[0]]!r}" if bad.size else ""
