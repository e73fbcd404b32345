"""A function of NumPy arrays as one compiled loop over nodes.

    compiled(given, x, out)      given (k,), x (d, NODES), out (r, NODES), float64, C order

computes the r results of every node from the d numbers of that node and k numbers that all nodes share.
"""

import hashlib
from collections.abc import Callable

from attention_limits.numerics.compiled import compile_source
from attention_limits.numerics.tracing.elementary import LOOP, NODES
from attention_limits.numerics.tracing.lowered import program_source
from attention_limits.numerics.tracing.straight_line import straight_line

_TEMPLATE = """{program}
def loop(given, x, out):
    shared = ({shared})
    x, out = x.reshape(-1), out.reshape(-1)
    for s in range({nodes}):
        body(shared, x, out, s)
"""


def node_loop(function: Callable, shared: tuple[int, ...], *shapes: tuple[int, ...]):
    """The compiled loop of `function`, a jitted function of the type LOOP, and the shapes of its results.

    Parameters
    ----------
    function : callable
        Of arrays of one node: the shared numbers, then one array per shape. It returns a tuple of arrays, computed with NumPy
        functions and operators.
    shared : tuple of int
        Shape of the shared numbers: k entries.
    shapes : tuples of int
        Of the other arguments, which have d entries together; the results have r entries together.

    Raises
    ------
    NotImplementedError
        If an operation has no code (`straight_line`); also what `function` raises on arrays that record.
    """
    lines, inputs, outputs = straight_line(function, shared, *shapes)
    own = [name for array in inputs[1:] for name in array.ravel()]
    reads = [(name, 0, k) for k, name in enumerate(inputs[0].ravel())]
    reads += [(name, 1, row * NODES) for row, name in enumerate(own)]
    writes = [(entry, row * NODES) for row, entry in enumerate(entry for array in outputs for entry in array.ravel())]
    source = _TEMPLATE.format(
        program=program_source(reads, lines, writes),
        nodes=NODES,
        shared="".join(f"given[{k}], " for k in range(inputs[0].size)),
    )
    options = {"error_model": "numpy", "fastmath": {"contract"}, "nogil": True}
    name = f"node_loop_{hashlib.sha256(source.encode()).hexdigest()[:16]}"
    return compile_source(name, source, "loop", LOOP, **options), [array.shape for array in outputs]
