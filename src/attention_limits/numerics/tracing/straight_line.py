"""The operations of a function of arrays on the numbers of one node, as lines of code.

JAX records the function once, on arrays of one node (`Traced`). Its program has few kinds of operations: some act on the entries
of arrays, some sum over entries, the others only move them. Every array here is a NumPy array of names and constants, so that a
move costs nothing, and the lines that remain are the operations on numbers: each is written once.
"""

import math
import re
from collections.abc import Callable

import jax
import numpy as np

from attention_limits.numerics.tracing.traced import Traced, opened

_NAMES = re.compile(r"\bv\d+\b")
# More lines compile for more than about three seconds.
MAX_LINES = 10_000

# Operations on entries: their code, with {0}, {1} for the arguments. Functions are those of `elementary`, or of math.
_ENTRIES = {
    "add": "{0} + {1}", "add_any": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "neg": "-{0}", "abs": "abs({0})",
    "max": "maximum({0}, {1})", "min": "minimum({0}, {1})", "sign": "sign({0})", "square": "{0} * {0}",
    "exp": "exp({0})", "log": "log({0})", "log1p": "log1p({0})", "expm1": "expm1({0})", "tanh": "tanh({0})",
    "logistic": "logistic({0})", "sinh": "sinh({0})", "cosh": "cosh({0})", "sqrt": "math.sqrt({0})",
    "rsqrt": "1.0 / math.sqrt({0})", "sin": "math.sin({0})", "cos": "math.cos({0})", "tan": "math.tan({0})",
    "asin": "math.asin({0})", "acos": "math.acos({0})", "atan": "math.atan({0})", "atan2": "math.atan2({0}, {1})",
    "erf": "math.erf({0})", "erfc": "math.erfc({0})", "lgamma": "math.lgamma({0})", "floor": "floor({0})",
    "ceil": "ceil({0})", "lt": "{0} < {1}", "le": "{0} <= {1}", "gt": "{0} > {1}", "ge": "{0} >= {1}", "eq": "{0} == {1}",
    "ne": "{0} != {1}", "is_finite": "abs({0}) < INFINITE", "clamp": "minimum(maximum({1}, {0}), {2})", "copy": "{0}",
    "stop_gradient": "{0}",
}  # fmt: skip
# Operations that have this code for numbers, or for truth values, alone.
_FLOATS = {"div": "{0} / {1}", "pow": "power({0}, {1})", "rem": "math.fmod({0}, {1})"}
_TRUTHS = {"and": "{0} & {1}", "or": "{0} | {1}", "not": "not {0}", "xor": "{0} != {1}"}
# Sums over entries, by the operation that adds one entry.
_FOLDS = {
    "reduce_sum": "add", "reduce_prod": "mul", "reduce_max": "max", "reduce_min": "min", "reduce_and": "and",
    "reduce_or": "or", "cumsum": "add", "cumprod": "mul", "cummax": "max", "cummin": "min",
}  # fmt: skip
# Operations that contain a program.
_CALLS = ("pjit", "jit", "closed_call", "custom_jvp_call", "custom_vjp_call", "remat", "checkpoint")
# Moves whose arguments from the second number on are places, and not entries.
_PLACES = {"gather": (1,), "dynamic_slice": None, "dynamic_update_slice": None, "scatter": (1,)}


def _is(entry, value) -> bool:
    return not isinstance(entry, Name) and not isinstance(entry, bool | np.bool_) and entry == value


def _shorter_sum(x, y):
    return y if _is(x, 0) else x if _is(y, 0) else None


def _shorter_product(x, y):
    if _is(x, 0) or _is(y, 0):
        return np.float64(0.0)
    return y if _is(x, 1) else x if _is(y, 1) else None


# Sums and products that need no line.
_SHORTER = {
    "{0} + {1}": _shorter_sum,
    "{0} - {1}": lambda x, y: x if _is(y, 0) else None,
    "{0} * {1}": _shorter_product,
    "-{0}": lambda x: np.float64(0.0) if _is(x, 0) else None,
}


class Name(str):
    """A variable of the lines; an entry of an array is a name or a constant."""

    __slots__ = ()


class Lines:
    """Lines `name = operation`, each operation once.

    Attributes
    ----------
    lines : list of str
    """

    def __init__(self):
        self.lines, self._known = [], {}

    def add(self, code: str, *arguments):
        """The name of the value of `code` for `arguments`, names and constants, or the value itself where that is known.

        Zero times anything is zero: derivatives have many zeros. Raises NotImplementedError beyond `MAX_LINES`.
        """
        if code in _SHORTER:
            known = _SHORTER[code](*arguments)
            if known is not None:
                return known
        text = code.format(*(_text(argument) for argument in arguments))
        if text not in self._known:
            if len(self.lines) == MAX_LINES:
                raise NotImplementedError(f"more than {MAX_LINES} operations on each node")
            self._known[text] = Name(f"v{len(self.lines)}")
            self.lines.append(f"{self._known[text]} = {text}")
        return self._known[text]


def _text(entry) -> str:
    if isinstance(entry, Name):
        return entry
    value = entry.item() if isinstance(entry, np.generic) else entry
    if isinstance(value, float) and not math.isfinite(value):
        return "NAN" if math.isnan(value) else ("INFINITE" if value > 0 else "(-INFINITE)")
    return f"({value!r})" if not isinstance(value, bool) and value < 0 else repr(value)


def number(entry) -> str:
    """The code of an `entry`, a name or a constant, as a float."""
    return f"float({_text(entry)})"


def straight_line(function: Callable, *shapes: tuple[int, ...]):
    """The program of `function`, of arrays of one node.

    Parameters
    ----------
    function : callable
        Of one array per shape; it returns a tuple of arrays, computed with NumPy functions and operators.
    shapes : tuples of int

    Returns
    -------
    lines : list of str
        Assignments to variables, in order.
    inputs : list of arrays of `Name`
        The variables of the arguments: those of argument i are x{i}_0, x{i}_1, ...
    outputs : list of arrays of `Name` and constants

    Raises
    ------
    NotImplementedError
        If the program has an operation without code here; also what `function` raises on arrays that record.
    """
    inputs = [_names(f"x{i}", shape) for i, shape in enumerate(shapes)]
    with jax.enable_x64(True):
        closed = jax.make_jaxpr(lambda *arrays: opened(tuple(function(*map(Traced, arrays)))))(*map(np.zeros, shapes))
        lines = Lines()
        outputs = _run(lines, closed.jaxpr, closed.consts, inputs)
    return _needed(lines.lines, outputs), inputs, outputs


def _needed(lines, outputs):
    """The lines that the outputs need."""
    needed = {entry for array in outputs for entry in array.ravel() if isinstance(entry, Name)}
    kept = []
    for line in reversed(lines):
        name, code = line.split(" = ", 1)
        if name in needed:
            kept.append(line)
            needed.update(_NAMES.findall(code))
    return kept[::-1]


def _names(stem, shape):
    found = np.empty(shape, object)
    for place, index in enumerate(np.ndindex(*shape)):
        found[index] = Name(f"{stem}_{place}")
    return found


def _run(lines, program, constants, inputs):
    """The arrays that a program of JAX returns."""
    known = dict(zip(program.constvars, map(_entries, constants), strict=True))
    known.update(zip(program.invars, inputs, strict=True))

    def read(variable):
        return _entries(variable.val) if hasattr(variable, "val") else known[variable]

    for equation in program.eqns:
        found = _apply(lines, equation, [read(variable) for variable in equation.invars])
        known.update(zip(equation.outvars, found, strict=True))
    return [read(variable) for variable in program.outvars]


def _entries(constant):
    """An array of constants; of numbers of NumPy, which keep their kind."""
    values = np.asarray(constant)
    found = np.empty(values.shape, object)
    for index in np.ndindex(*values.shape):
        found[index] = values[index]
    return found


def _constants(array):
    """The numbers of an array of constants, or None."""
    entries = array.ravel().tolist()
    if any(isinstance(entry, Name) for entry in entries):
        return None
    return np.array(entries).reshape(array.shape)


def _apply(lines, equation, arrays):
    """The arrays that one operation gives."""
    name, parameters = equation.primitive.name, equation.params
    kinds = [variable.aval.dtype for variable in equation.invars]
    if name in _CALLS:
        inner = next(parameters[key] for key in ("jaxpr", "call_jaxpr", "fun_jaxpr") if key in parameters)
        program, constants = (inner.jaxpr, inner.consts) if hasattr(inner, "jaxpr") else (inner, ())
        return _run(lines, program, constants, arrays)
    numbers = [_constants(array) for array in arrays]
    if all(array is not None for array in numbers):
        typed = [number.astype(kind) for number, kind in zip(numbers, kinds, strict=True)]
        found = equation.primitive.bind(*typed, **parameters)
        return [_entries(part) for part in (found if equation.primitive.multiple_results else [found])]
    if name in _MOVES:
        found = _MOVES[name](parameters, *arrays)
        return found if equation.primitive.multiple_results else [found]
    if name == "gather" and numbers[1] is None:
        return [_chosen(lines, equation, *arrays)]
    if name in _PLACES:
        return [_moved(equation, arrays, numbers)]
    if name == "sort":
        return _sorted(lines, parameters, arrays)
    if name in _FOLDS:
        return [_fold(lines, name, parameters, arrays[0], kinds[0])]
    if name == "dot_general":
        return [_product(lines, parameters["dimension_numbers"], *arrays)]
    if name in ("argmax", "argmin"):
        return [_place_of_largest(lines, "gt" if name == "argmax" else "lt", parameters["axes"][0], arrays[0])]
    code = _code(name, parameters, kinds, equation.outvars[0].aval.dtype)
    spread = np.broadcast_arrays(*arrays)
    found = np.empty(spread[0].shape, object)
    for index in np.ndindex(*found.shape):
        found[index] = lines.add(code, *(array[index] for array in spread))
    return [found]


def _code(name, parameters, kinds, kind):
    """The code of an operation on entries of these dtypes `kinds`, which gives the dtype `kind`."""
    if name == "select_n" and len(kinds) == 3:
        return "{2} if {0} else {1}"
    if name == "integer_pow":
        exponent = parameters["y"]
        product = " * ".join(["{0}"] * abs(exponent)) or "1.0"
        return product if exponent >= 0 else f"1.0 / ({product})"
    if name == "convert_element_type":
        if kinds[0].kind == "b":
            return "1.0 if {0} else 0.0" if kind.kind == "f" else "1 if {0} else 0"
        if kind.kind == "b":
            return "{0} != 0"
        return "float({0})" if kind.kind == "f" else "int({0})"
    if name in _ENTRIES:
        return _ENTRIES[name]
    if name in _FLOATS and kinds[0].kind == "f":
        return _FLOATS[name]
    if name in _TRUTHS and kinds[0].kind == "b":
        return _TRUTHS[name]
    raise NotImplementedError(f"the operation {name} of JAX on {kinds[0]} has no code here")


def _fold(lines, name, parameters, array, kind):
    code = _code(_FOLDS[name], {}, [kind, kind], kind)
    if name.startswith("cum"):
        axis = parameters["axis"]
        found = np.flip(array, axis).copy() if parameters["reverse"] else array.copy()
        rows = np.moveaxis(found, axis, 0)
        for k in range(1, len(rows)):
            for index in np.ndindex(*rows.shape[1:]):
                rows[(k, *index)] = lines.add(code, rows[(k - 1, *index)], rows[(k, *index)])
        return np.flip(found, axis) if parameters["reverse"] else found
    axes = tuple(parameters["axes"])
    rows = np.moveaxis(array, axes, range(len(axes)))
    rows = rows.reshape(-1, *rows.shape[len(axes) :])
    if not len(rows):
        raise NotImplementedError("a sum over nothing")
    found = rows[0].copy() if rows.ndim > 1 else np.array(rows[0], object)
    for row in rows[1:]:
        for index in np.ndindex(*found.shape):
            found[index] = lines.add(code, found[index], row[index] if rows.ndim > 1 else row)
    return found


def _product(lines, numbers, left, right):
    """The product of `dot_general` of JAX: contracted, batch and free axes."""
    (left_sum, right_sum), (left_batch, right_batch) = numbers

    def three(array, batch, summed):
        free = [axis for axis in range(array.ndim) if axis not in (*batch, *summed)]
        shapes = [[array.shape[axis] for axis in axes] for axes in (batch, free, summed)]
        return array.transpose([*batch, *free, *summed]).reshape([math.prod(shape) for shape in shapes]), shapes

    (a, (batch, rows, _)), (b, (_, columns, _)) = (
        three(left, left_batch, left_sum),
        three(right, right_batch, right_sum),
    )
    found = np.empty((len(a), a.shape[1], b.shape[1]), object)
    for k, i, j in np.ndindex(*found.shape):
        total = np.float64(0.0)
        for x, y in zip(a[k, i], b[k, j], strict=True):
            total = lines.add(_ENTRIES["add"], total, lines.add(_ENTRIES["mul"], x, y))
        found[k, i, j] = total
    return found.reshape([*batch, *rows, *columns])


def _place_of_largest(lines, comparison, axis, array):
    """The first place of the largest entry along an axis, or of the smallest one."""
    rows = np.moveaxis(array, axis, 0)
    found = np.empty(rows.shape[1:], object)
    for index in np.ndindex(*found.shape):
        best, place = rows[(0, *index)], np.int64(0)
        for k in range(1, len(rows)):
            larger = lines.add(_ENTRIES[comparison], rows[(k, *index)], best)
            best = lines.add("{1} if {0} else {2}", larger, rows[(k, *index)], best)
            place = lines.add("{1} if {0} else {2}", larger, np.int64(k), place)
        found[index] = place
    return found


def _sorted(lines, parameters, arrays):
    """The arrays in the order of the first one along an axis: neighbours change their places until none is larger."""
    rows = [np.moveaxis(array.copy(), parameters["dimension"], 0) for array in arrays]
    if parameters["num_keys"] != 1:
        raise NotImplementedError("an order by several keys")
    for last in range(len(rows[0]) - 1, 0, -1):
        for k in range(last):
            for index in np.ndindex(*rows[0].shape[1:]):
                first, second = (k, *index), (k + 1, *index)
                larger = lines.add(_ENTRIES["gt"], rows[0][first], rows[0][second])
                for row in rows:
                    pair = row[first], row[second]
                    row[first] = lines.add("{2} if {0} else {1}", larger, *pair)
                    row[second] = lines.add("{1} if {0} else {2}", larger, *pair)
    return [np.moveaxis(row, 0, parameters["dimension"]) for row in rows]


def _chosen(lines, equation, array, places):
    """The entries of `gather` at places along one axis that the numbers decide: one of all entries, by comparison."""
    numbers = equation.params["dimension_numbers"]
    if places.shape[-1] != 1 or equation.params["slice_sizes"][numbers.start_index_map[0]] != 1:
        raise NotImplementedError("places along several axes that depend on the fields")
    count = array.shape[numbers.start_index_map[0]]
    rows = [_moved(equation, [array, places], [None, np.full(places.shape, k)]) for k in range(count)]
    found = np.empty(rows[0].shape, object)
    for index in np.ndindex(*found.shape):
        place = places[(*(index[axis] for axis in range(found.ndim) if axis not in numbers.offset_dims), 0)]
        entry = rows[-1][index]
        for k in range(count - 2, -1, -1):
            entry = lines.add(
                "{1} if {0} else {2}", lines.add(_ENTRIES["eq"], place, np.int64(k)), rows[k][index], entry
            )
        found[index] = entry
    return found


def _broadcast(parameters, array):
    shape = [1] * len(parameters["shape"])
    for axis, place in enumerate(parameters["broadcast_dimensions"]):
        shape[place] = array.shape[axis]
    return np.broadcast_to(array.reshape(shape), parameters["shape"])


def _slice(parameters, array):
    strides = parameters["strides"] or (1,) * array.ndim
    limits = zip(parameters["start_indices"], parameters["limit_indices"], strides, strict=True)
    return array[tuple(slice(*limit) for limit in limits)]


# Moves of entries: of the parameters of JAX and the arrays.
_MOVES = {
    "broadcast_in_dim": _broadcast,
    "reshape": lambda parameters, array: array.reshape(parameters["new_sizes"]),
    "squeeze": lambda parameters, array: np.squeeze(array, parameters["dimensions"]),
    "expand_dims": lambda parameters, array: np.expand_dims(array, parameters["dimensions"]),
    "transpose": lambda parameters, array: array.transpose(parameters["permutation"]),
    "slice": _slice,
    "rev": lambda parameters, array: np.flip(array, parameters["dimensions"]),
    "concatenate": lambda parameters, *arrays: np.concatenate(arrays, parameters["dimension"]),
    "stack": lambda parameters, *arrays: np.stack(arrays, parameters["axis"]),
    "split": lambda parameters, array: np.split(array, np.cumsum(parameters["sizes"])[:-1], parameters["axis"]),
}


def _moved(equation, arrays, numbers):
    """The entries that a move with given places gives, found by the same move of their numbers."""
    places = _PLACES[equation.primitive.name]
    first_places = 1 if equation.primitive.name == "dynamic_slice" else 2
    places = range(first_places, len(arrays)) if places is None else places
    if any(numbers[place] is None for place in places):
        raise NotImplementedError("a place that depends on the fields")
    kinds = [variable.aval.dtype for variable in equation.invars]
    count, given, entries = 0, [], []
    for place, (array, number, kind) in enumerate(zip(arrays, numbers, kinds, strict=True)):
        if place in places:
            given.append(number.astype(kind))
        else:
            # From one on: zero may fill a place outside of the array.
            given.append(np.arange(count + 1, count + 1 + array.size, dtype=kind).reshape(array.shape))
            entries += array.ravel().tolist()
            count += array.size
    found = np.asarray(equation.primitive.bind(*given, **equation.params), float)
    chosen = np.empty(found.shape, object)
    for index in np.ndindex(*found.shape):
        if not (1 <= found[index] <= count and found[index] == int(found[index])):
            raise NotImplementedError("a place outside of an array")
        chosen[index] = entries[int(found[index]) - 1]
    return chosen
