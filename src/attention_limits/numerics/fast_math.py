"""Elementary functions that the compiler can vectorise inside numba loops."""

from numba import types
from numba.extending import intrinsic

from attention_limits.numerics.compiled import njit


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


# No reassociation here: it would cancel the rounding constant below.
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
