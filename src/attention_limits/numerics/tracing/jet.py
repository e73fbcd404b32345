"""A function of NumPy arrays with its first and second derivatives, as one compiled loop over points side by side.

    jet(given, z, parameters, found, table, size)        arrays (rows, LANES)

computes, at the first `size` points, the number that a function gives at n variables z, its gradient and the lower triangle of
its Hessian by rows: `found` has 1 + n + n (n + 1) / 2 rows. JAX differentiates forward, twice.
"""

import hashlib
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from attention_limits.numerics.compiled import compile_source
from attention_limits.numerics.tracing.elementary import JET, LANES
from attention_limits.numerics.tracing.lowered import program_source
from attention_limits.numerics.tracing.straight_line import straight_line
from attention_limits.numerics.tracing.traced import Traced, opened

_TEMPLATE = """{program}
def jet(given, z, parameters, found, table, size):
    given, z, found = given.reshape(-1), z.reshape(-1), found.reshape(-1)
    for s in range(size):
        body(given, z, found, s)
"""


def compiled_jet(function: Callable, given: int, variables: int):
    """The jet of a function, a jitted function of the type JET; `parameters` and `table` are not used.

    Parameters
    ----------
    function : callable
        Of arrays (given,) and (variables,); it returns one number, computed with NumPy functions and operators.
    given, variables : int
        Rows of `given` and of z, n.

    Raises
    ------
    NotImplementedError
        If an operation has no code (`straight_line`); also what `function` raises on arrays that record.
    """

    def recorded(constants, z):
        def value(x):
            return opened(function(constants, Traced(x))).reshape(())

        def slope(unit):
            return lambda x: jax.jvp(value, (x,), (unit,))[1]

        units = np.eye(variables)
        gradient = [slope(unit)(z.value) for unit in units]
        # The lower triangle: each entry of the Hessian costs as much as the function.
        hessian = [
            jax.jvp(slope(first), (z.value,), (second,))[1]
            for i, first in enumerate(units)
            for second in units[: i + 1]
        ]
        return (jnp.stack([value(z.value), *gradient, *hessian]),)

    lines, inputs, (outputs,) = straight_line(recorded, (given,), (variables,))
    reads = [(name, array, k * LANES) for array, names in enumerate(inputs) for k, name in enumerate(names)]
    writes = [(entry, k * LANES) for k, entry in enumerate(outputs)]
    source = _TEMPLATE.format(program=program_source(reads, lines, writes))
    name = f"jet_{hashlib.sha256(source.encode()).hexdigest()[:16]}"
    return compile_source(name, source, "jet", JET, error_model="numpy", fastmath={"contract"}, nogil=True)
