"""A compiled loop of a function, or why there is none. JAX is imported late: it takes a second, and may be missing."""

from collections.abc import Callable

from numba.core.errors import NumbaError


def loop_or_reason(function: Callable, *shapes: tuple[int, ...]):
    """What `node_loop.node_loop` returns for a `function` of arrays of these `shapes`, and ""; or None and the reason."""
    try:
        from attention_limits.numerics.tracing.node_loop import node_loop
    except ModuleNotFoundError:
        return None, "JAX, of the extra `training`, is not installed"
    try:
        return node_loop(function, *shapes), ""
    except NumbaError:
        return None, "it calls a function that numba compiled"
    # A function of a user can fail in every way on an array that records.
    except Exception as error:
        return None, f"{type(error).__name__}: {(str(error).strip() or ' ').splitlines()[0].rstrip('.')}"
