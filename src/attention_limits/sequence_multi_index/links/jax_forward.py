"""The forward pass of any link in JAX: NumPy functions that a link calls on its fields run as the JAX functions of the same name.

NumPy hands a call of one of its functions to an argument that defines `__array_ufunc__` (NEP 13) or `__array_function__`
(NEP 18). `Traced` is such an argument. A forward pass written with NumPy functions therefore needs no second version.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from attention_limits.sequence_multi_index.links.link import Link

# Fields of the check, and largest accepted difference of the outputs of NumPy and of JAX, relative to their size.
CHECKED, ACCURACY = 16, 1e-9
# The methods of a ufunc that sum over an axis, and so on, by the name of the ufunc.
_REDUCTIONS = {
    "add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all", "logical_or": "any",
}  # fmt: skip


class Traced(NDArrayOperatorsMixin):
    """A JAX array, `value`, that NumPy functions accept.

    Assignments to entries work; a slice is a copy, not a view. `problem_of` finds links for which this changes the output.
    """

    __array_priority__ = 1000

    def __init__(self, value):
        self.value = value

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **keywords):
        names = {"__call__": ufunc.__name__, "reduce": _REDUCTIONS.get(ufunc.__name__)}
        function = getattr(jnp, names.get(method) or "", None)
        if function is None:
            return NotImplemented
        value = function(*_opened(inputs), **_opened(keywords))
        if out is not None and isinstance(out[0], Traced):
            out[0].value = value
            return out[0]
        return Traced(value)

    def __array_function__(self, function, types, arguments, keywords):
        home = jnp.linalg if function.__module__ == "numpy.linalg" else jnp
        found = getattr(home, function.__name__, None)
        return NotImplemented if found is None else _closed(found(*_opened(arguments), **_opened(keywords)))

    def __getitem__(self, key):
        return Traced(self.value[_opened(key)])

    def __setitem__(self, key, value):
        self.value = self.value.at[_opened(key)].set(_opened(value))

    def __len__(self):
        return len(self.value)

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
        return lambda *arguments, **keywords: _closed(found(*_opened(arguments), **_opened(keywords)))


def _opened(item):
    """`item` with the JAX array in place of every `Traced`, in tuples, lists and dictionaries too."""
    if isinstance(item, Traced):
        return item.value
    if isinstance(item, tuple | list):
        return type(item)(_opened(part) for part in item)
    return {key: _opened(part) for key, part in item.items()} if isinstance(item, dict) else item


def _closed(item):
    """`item` with a `Traced` in place of every JAX array."""
    if isinstance(item, tuple | list):
        return tuple(_closed(part) for part in item)
    return Traced(item) if isinstance(item, jax.Array) else item


def forward(link: Link, h):
    """`link.forward(h)` as a JAX array that JAX differentiates, of a JAX array h (..., P, M)."""
    return _opened(link.forward(Traced(h)))


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
        except (
            TypeError,
            NotImplementedError,
            AttributeError,
            jax.errors.JAXTypeError,
            jax.errors.JAXIndexError,
        ) as error:
            reason = str(error).strip().splitlines()[0].rstrip(".")
            return (
                f"JAX cannot differentiate the forward pass of {name}: {reason}. Write it with NumPy functions of h itself, "
                "without np.asarray, float or if on its numbers"
            )
        found, slope = np.asarray(found), np.asarray(slope)
    if found.shape != y.shape or not np.allclose(found, y, rtol=ACCURACY, atol=ACCURACY * np.abs(y).max()):
        return f"the forward pass of {name} gives another output in JAX, {found[0]!r}, than in NumPy, {y[0]!r}, at h = {h[0]!r}"
    bad = np.flatnonzero(~np.isfinite(slope.reshape(CHECKED, -1)).all(axis=1))
    return f"the derivative of the output of {name} is not finite at h = {h[bad[0]]!r}" if bad.size else ""
