"""Elementary functions that the compiler can vectorise inside numba loops."""

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from attention_limits.numerics.compiled import njit

# Log-weight of nothing in single precision.
LOWEST = np.float32(-1e37)


@intrinsic
def _bits(typingctx, x):
    """Reinterpret a float64 as an int64."""

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], context.get_value_type(types.int64))

    return types.int64(types.float64), generate


@intrinsic
def _from_bits(typingctx, n):
    """Reinterpret an int64 as a float64."""

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], context.get_value_type(types.float64))

    return types.float64(types.int64), generate


@intrinsic
def _scaled(typingctx, p, shifted):
    """p times 2^k in single precision, where the low bits of `shifted` hold k."""

    def generate(context, builder, signature, arguments):
        bits, exponent = (builder.bitcast(value, ir.IntType(32)) for value in arguments)
        return builder.bitcast(builder.add(bits, builder.shl(exponent, ir.IntType(32)(23))), ir.FloatType())

    return types.float32(types.float32, types.float32), generate


# No reassociation in this function: it would cancel the rounding constant below.
@njit(fastmath={"nnan", "contract"})
def exp(x):
    """exp(x) for a float64, relative error below 1e-14; x is clamped to [-700, 700].

    The C library's exp is an opaque call, which keeps LLVM from vectorising a loop around it; this one is plain
    arithmetic: x = k log 2 + r with |r| <= log(2)/2, the Taylor polynomial of degree 11 in r, and k added to the exponent bits.
    """
    x = x if x > -700.0 else -700.0
    x = x if x < 700.0 else 700.0
    # Adding 1.5 * 2**52 rounds to the nearest integer and leaves k in the low bits of the sum.
    shifted = x * 1.4426950408889634 + 6755399441055744.0
    k = shifted - 6755399441055744.0
    # log 2 in two parts, so that k log 2 is subtracted without rounding error.
    r = (x - k * 0.6931471803691238) - k * 1.9082149292705877e-10
    p = 1.0 / 3628800.0 + r / 39916800.0
    p = 1.0 / 362880.0 + r * p
    p = 1.0 / 40320.0 + r * p
    p = 1.0 / 5040.0 + r * p
    p = 1.0 / 720.0 + r * p
    p = 1.0 / 120.0 + r * p
    p = 1.0 / 24.0 + r * p
    p = 1.0 / 6.0 + r * p
    p = 0.5 + r * p
    p = 1.0 + r * p
    p = 1.0 + r * p
    return _from_bits(_bits(p) + (_bits(shifted) << 52))


_LOWEST, _HIGHEST, _MAGIC = np.float32(-87.0), np.float32(88.0), np.float32(12582912.0)
_LOG2E, _LOG2, _LOG2_REST = np.float32(1.4426950408889634), np.float32(0.693359375), np.float32(-2.1219444005469058e-4)
_P6, _P5, _P4, _P3, _P2, _P1 = (np.float32(1 / n) for n in (720, 120, 24, 6, 2, 1))


@njit(fastmath={"nnan", "contract"})
def exp_single(x):
    """exp(x) for a float32, relative error below 3e-7; x is clamped to [-87, 88]. As `exp`, with a polynomial of degree 6."""
    x = x if x > _LOWEST else _LOWEST
    x = x if x < _HIGHEST else _HIGHEST
    # Adding 1.5 * 2**23 rounds to the nearest integer; the product of k and the first part of log 2 is exact.
    shifted = x * _LOG2E + _MAGIC
    k = shifted - _MAGIC
    r = (x - k * _LOG2) - k * _LOG2_REST
    p = _P5 + r * _P6
    p = _P4 + r * p
    p = _P3 + r * p
    p = _P2 + r * p
    p = _P1 + r * p
    p = _P1 + r * p
    return _scaled(p, shifted)


def exp_of(x):
    """exp(x) in the precision of x: `exp_single` of a float32, `exp` of a float64."""
    return np.exp(x)


@overload(exp_of)
def _exp_of(x):
    return (lambda x: exp_single(x)) if x == types.float32 else (lambda x: exp(x))


@njit(fastmath={"nnan", "contract"}, error_model="numpy")
def log(x):
    """log(x) of a positive normal float64, absolute error below 1e-12, without a call like `exp`.

    x = 2^k m with m from 1/sqrt(2) to sqrt(2), and log m = 2 artanh((m - 1) / (m + 1)), a series to the 13th power.
    """
    n = _bits(x)
    k = (n - 0x3FE6A09E667F3BCD) >> 52
    m = _from_bits(n - (k << 52))
    t = (m - 1.0) / (m + 1.0)
    q = t * t
    series = 1.0 + q * (1 / 3 + q * (1 / 5 + q * (1 / 7 + q * (1 / 9 + q * (1 / 11 + q * (1 / 13))))))
    return 0.6931471805599453 * k + 2.0 * t * series


@njit(fastmath={"nnan", "contract"}, error_model="numpy")
def normal_tail(z):
    """exp(z^2 / 2) Phi(-z) of z >= 0, relative error below 1e-12, without a call like `exp`.

    (1 + z) times it is smooth in t = (z - 4) / (z + 4), from -1 at z = 0 to 1 at infinity: its Chebyshev interpolation of degree
    19 in t, in powers of t.
    """
    t = (z - 4.0) / (z + 4.0)
    p = -4.519970389083028e-08 - 2.9103830456733704e-10 * t
    p = -3.188324626535177e-08 + t * p
    p = 4.28108069172595e-07 + t * p
    p = 4.388006345834583e-07 + t * p
    p = -2.4764401587162874e-06 + t * p
    p = -3.4545214475656407e-06 + t * p
    p = 1.3533705812562863e-05 + t * p
    p = 2.1259278207708123e-05 + t * p
    p = -8.781326718718676e-05 + t * p
    p = -9.44326163050846e-05 + t * p
    p = 0.0006948866023979151 + t * p
    p = -0.0002856227469976602 + t * p
    p = -0.005002376994696144 + t * p
    p = 0.017936097453120144 + t * p
    p = -0.03219783755181489 + t * p
    p = 0.028600364054314525 + t * p
    p = 0.013999634728155819 + t * p
    p = -0.09670347732652854 + t * p
    p = 0.47205320650982613 + t * p
    return p / (1.0 + z)


@njit(fastmath={"nnan", "contract"}, error_model="numpy")
def ndtr(x):
    """Phi(x), the normal distribution function, relative error below 1e-12 down to x = -37, by `normal_tail`."""
    z = abs(x)
    tail = exp(-0.5 * z * z) * normal_tail(z)
    return tail if x < 0.0 else 1.0 - tail
