"""A function of NumPy arrays with its first and second derivatives, as compiled code.

    jet(given (k,), z (n,), value (K,), gradient (K, n), hessian (K, n, n))

writes the K numbers that a function gives at n variables z, and their derivatives. JAX differentiates forward, twice.
"""

import hashlib
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from numba import types

from attention_limits.numerics.compiled import compile_source
from attention_limits.numerics.tracing.straight_line import HEADER, number, straight_line
from attention_limits.numerics.tracing.traced import Traced, opened

_ONE, _TWO, _THREE = (types.Array(types.float64, axes, "C") for axes in (1, 2, 3))
# Type of the compiled function.
JET = types.void(_ONE, _ONE, _ONE, _TWO, _THREE)

_TEMPLATE = """{header}

def jet(given, z, value, gradient, hessian):
    value, gradient, hessian = value.reshape(-1), gradient.reshape(-1), hessian.reshape(-1)
{lines}
"""


def compiled_jet(function: Callable, given: int, variables: int):
    """The jet of a function, a jitted function of the type JET, and the number K of its outputs.

    Parameters
    ----------
    function : callable
        Of arrays (given,) and (variables,); it returns an array, computed with NumPy functions and operators. Its K entries are
        taken in C order.
    given, variables : int
        k and n.

    Raises
    ------
    NotImplementedError
        If an operation has no code (`straight_line`); also what `function` raises on arrays that record.
    """

    def recorded(constants, z):
        def values(x):
            return opened(function(constants, Traced(x))).reshape(-1)

        def slope(unit):
            return lambda x: jax.jvp(values, (x,), (unit,))[1]

        # The lower triangle: each entry of the Hessian costs as much as the function.
        units, found = np.eye(variables), {}
        for i, first in enumerate(units):
            for j, second in enumerate(units[: i + 1]):
                found[i, j] = found[j, i] = jax.jvp(slope(first), (z.value,), (second,))[1]
        gradient = jnp.stack([slope(unit)(z.value) for unit in units], axis=1)
        rows = [jnp.stack([found[i, j] for j in range(variables)], axis=1) for i in range(variables)]
        return values(z.value), gradient, jnp.stack(rows, axis=1)

    lines, inputs, outputs = straight_line(recorded, (given,), (variables,))
    read = [
        f"{name} = {array}[{k}]"
        for array, names in zip(("given", "z"), inputs, strict=True)
        for k, name in enumerate(names)
    ]
    written = [
        f"{array}[{k}] = {number(entry)}"
        for array, entries in zip(("value", "gradient", "hessian"), outputs, strict=True)
        for k, entry in enumerate(entries.ravel())
    ]
    body = "\n".join(f"    {line}" for line in (*read, *lines, *written))
    source = _TEMPLATE.format(header=HEADER, lines=body)
    name = f"jet_{hashlib.sha256(source.encode()).hexdigest()[:16]}"
    return compile_source(name, source, "jet", JET, error_model="numpy", nogil=True), int(np.size(outputs[0]))
