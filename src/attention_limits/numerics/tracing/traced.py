"""Arrays of JAX that NumPy functions accept: a function written for NumPy runs in JAX as it stands.

NumPy hands a call of one of its functions to an argument that defines `__array_ufunc__` (NEP 13) or `__array_function__`
(NEP 18). `Traced` is such an argument.
"""

import jax
import jax.numpy as jnp
import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from attention_limits.numerics.tracing.small_matrices import solve_with_functions

# What a function that JAX cannot trace raises.
UNTRACEABLE = (TypeError, NotImplementedError, AttributeError, jax.errors.JAXTypeError, jax.errors.JAXIndexError)
# Matrices of more rows are left to JAX: the operations of elimination, each written once, become many.
MAX_ROWS = 8
# The methods of a ufunc that sum over an axis, and so on, by the name of the ufunc.
_REDUCTIONS = {
    "add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all", "logical_or": "any",
}  # fmt: skip


class Traced(NDArrayOperatorsMixin):
    """A JAX array, `value`, that NumPy functions accept.

    Assignments to entries work; a slice is a copy, not a view. Where this changes the result, a comparison with NumPy shows it.
    """

    __array_priority__ = 1000

    def __init__(self, value):
        self.value = value

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **keywords):
        names = {"__call__": ufunc.__name__, "reduce": _REDUCTIONS.get(ufunc.__name__)}
        function = getattr(jnp, names.get(method) or "", None)
        if function is None:
            return NotImplemented
        value = function(*opened(inputs), **opened(keywords))
        if out is not None and isinstance(out[0], Traced):
            out[0].value = value
            return out[0]
        return Traced(value)

    def __array_function__(self, function, types, arguments, keywords):
        small = _OF_SMALL_MATRICES.get(function)
        if small is not None and np.shape(arguments[0])[-1] <= MAX_ROWS:
            return small(*(Traced(jnp.asarray(argument)) for argument in opened(arguments)), **keywords)
        home = jnp.linalg if function.__module__ == "numpy.linalg" else jnp
        found = getattr(home, function.__name__, None)
        return NotImplemented if found is None else _closed(found(*opened(arguments), **opened(keywords)))

    def __getitem__(self, key):
        return Traced(self.value[opened(key)])

    def __setitem__(self, key, value):
        self.value = self.value.at[opened(key)].set(opened(value))

    def __len__(self):
        return len(self.value)

    def __bool__(self):
        return bool(self.value)

    def __iter__(self):
        return iter([Traced(part) for part in self.value])

    def copy(self):
        """Another `Traced` of the same numbers."""
        return Traced(self.value)

    def astype(self, dtype, **keywords):
        """The numbers in `dtype`; a float stays in the precision of the trace, and the `keywords` of NumPy have no effect."""
        return Traced(self.value.astype(jnp.result_type(float) if np.dtype(dtype).kind == "f" else dtype))

    def __getattr__(self, name):
        found = getattr(self.value, name)
        if not callable(found):
            return _closed(found)
        return lambda *arguments, **keywords: _closed(found(*opened(arguments), **opened(keywords)))


def opened(item):
    """`item` with the JAX array in place of every `Traced`, in tuples, lists and dictionaries too."""
    if isinstance(item, Traced):
        return item.value
    if isinstance(item, tuple | list):
        return type(item)(opened(part) for part in item)
    return {key: opened(part) for key, part in item.items()} if isinstance(item, dict) else item


def _closed(item):
    """`item` with a `Traced` in place of every JAX array."""
    if isinstance(item, tuple | list):
        return tuple(_closed(part) for part in item)
    return Traced(item) if isinstance(item, jax.Array) else item


def _solution(matrices, right):
    vector = right.ndim == 1
    right = right[..., None] if vector else right
    leading = np.broadcast_shapes(matrices.shape[:-2], right.shape[:-2])
    x, _ = solve_with_functions(
        np.broadcast_to(matrices, (*leading, *matrices.shape[-2:])),
        np.broadcast_to(right, (*leading, *right.shape[-2:])),
    )
    return x[..., 0] if vector else x


def _inverse(matrices):
    return _solution(matrices, Traced(jnp.eye(matrices.shape[-1])))


def _determinant(matrices):
    return solve_with_functions(matrices, matrices[..., :0])[1]


def _sign_and_log_of_determinant(matrices):
    determinant = _determinant(matrices)
    return np.sign(determinant), np.log(np.abs(determinant))


# Functions of `numpy.linalg` by elimination without branches, for the program that `straight_line` writes.
_OF_SMALL_MATRICES = {
    np.linalg.solve: _solution, np.linalg.inv: _inverse, np.linalg.det: _determinant,
    np.linalg.slogdet: _sign_and_log_of_determinant,
}  # fmt: skip


def first_line(error: BaseException) -> str:
    """The first line of the message of an `error` of `UNTRACEABLE`, without its stop."""
    return str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else type(error).__name__
