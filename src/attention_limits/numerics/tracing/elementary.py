"""Functions of one number that the compiler vectorises inside a loop, and the type of such a loop.

At zero, infinity and NaN they have the values of IEEE arithmetic.

The C library's functions are opaque calls, which keep LLVM from vectorising a loop around them. These are arithmetic alone; their
relative errors are below 1e-12.
"""

import math

import numpy as np
from numba import types

from attention_limits.numerics import fast_math
from attention_limits.numerics.compiled import njit

# Nodes of one call of a loop: its rows lie in the first cache, and the compiler knows the distance of two rows.
NODES = 128
_ROWS = types.Array(types.float64, 2, "C")
# Type of the function loop(given (k,), x (d, NODES), out (r, NODES)) of `node_loop`.
LOOP = types.void(types.Array(types.float64, 1, "C"), _ROWS, _ROWS)
# Points side by side in the arrays of `jet`, a multiple of eight, and the type of its functions.
LANES = 64
JET = types.void(_ROWS, _ROWS, types.Array(types.float64, 1, "C"), _ROWS, _ROWS, types.intp)
# The smallest normal number.
_NORMAL = 2.2250738585072014e-308
# Below it a series replaces a difference of exponentials.
_SMALL = 0.1
# No liberty of fast arithmetic: NaN and infinity keep their meaning.
_options = {"error_model": "numpy", "fastmath": {"contract"}}


@njit(**_options)
def exp(x):
    """exp(x); zero below -1400 and infinite above it, by the square of exp(x / 2)."""
    root = fast_math.exp(0.5 * (x if x == x else 0.0))
    return root * root if x == x else x


@njit(**_options)
def log(x):
    """log(x): -inf at zero, NaN below it."""
    scaled = x * 18014398509481984.0 if x < _NORMAL else x
    found = fast_math.log(scaled if _NORMAL <= scaled < np.inf else 1.0)
    # 2^54 was a factor.
    found = found - 37.42994775023705 if x < _NORMAL else found
    found = found if x > 0.0 else -np.inf
    found = found if x < np.inf else x
    return found if x >= 0.0 else np.nan


@njit(**_options)
def log1p(x):
    """log(1 + x), with the rounding of 1 + x repaired."""
    shifted = 1.0 + x
    correction = (x - (shifted - 1.0)) / shifted
    return log(shifted) + (correction if abs(correction) < np.inf else 0.0)


@njit(**_options)
def expm1(x):
    """exp(x) - 1."""
    series = x * (1.0 + x / 2.0 * (1.0 + x / 3.0 * (1.0 + x / 4.0 * (1.0 + x / 5.0 * (1.0 + x / 6.0 * (
        1.0 + x / 7.0 * (1.0 + x / 8.0 * (1.0 + x / 9.0))))))))  # fmt: skip
    return series if abs(x) < _SMALL else exp(x) - 1.0


@njit(**_options)
def tanh(x):
    """tanh(x)."""
    square = x * x
    series = x * (1.0 - square * (1.0 / 3.0 - square * (2.0 / 15.0 - square * (17.0 / 315.0 - square * (
        62.0 / 2835.0 - square * (1382.0 / 155925.0))))))  # fmt: skip
    small = exp(-2.0 * abs(x))
    far = (1.0 - small) / (1.0 + small)
    return series if abs(x) < _SMALL else (far if x > 0.0 else -far)


@njit(**_options)
def logistic(x):
    """1 / (1 + exp(-x))."""
    return 1.0 / (1.0 + exp(-x))


@njit(**_options)
def sinh(x):
    """sinh(x)."""
    square = x * x
    series = x * (1.0 + square / 6.0 * (1.0 + square / 20.0 * (1.0 + square / 42.0 * (1.0 + square / 72.0))))
    half = exp(0.5 * x)
    return series if abs(x) < _SMALL else 0.5 * (half * half - (1.0 / half) / half)


@njit(**_options)
def cosh(x):
    """cosh(x)."""
    half = exp(0.5 * x)
    return 0.5 * (half * half + (1.0 / half) / half)


@njit(**_options)
def sign(x):
    """-1, 0 or 1, the sign of x; NaN of NaN."""
    found = 1.0 if x > 0.0 else 0.0
    found = -1.0 if x < 0.0 else found
    return found if x == x else x


@njit(**_options)
def maximum(x, y):
    """The larger one of x and y; NaN if one is."""
    return x if (x >= y) | (x != x) else y


@njit(**_options)
def minimum(x, y):
    """The smaller one of x and y; NaN if one is."""
    return x if (x <= y) | (x != x) else y


@njit(**_options)
def floor(x):
    """The largest integer number not above x, as a float; that of math is an integer, which knows no infinity."""
    return np.floor(x)


@njit(**_options)
def ceil(x):
    """The smallest integer number not below x, as a float."""
    return np.ceil(x)


@njit(**_options)
def power(x, y):
    """x^y, a call of the C library."""
    return math.pow(x, y)
