"""Random numbers by the block for compiled loops, at half the time of numba's methods of a Generator.

`fill_bits` is xoshiro256++ (D. Blackman and S. Vigna, ACM Trans. Math. Softw. 47 (2021) 36), `LANES` independent generators side
by side, which the compiler vectorises. A Generator of numpy draws their 256-bit states, so that streams do not overlap.
`fill_normals` is the ziggurat of G. Marsaglia and W. W. Tsang, J. Stat. Softw. 5 (2000) 8, in the exact form of J. A. Doornik
(An improved ziggurat method to generate normal random samples, Oxford, 2005). `fill_chi_squares` is the rejection of
G. Marsaglia and W. W. Tsang, ACM Trans. Math. Softw. 26 (2000) 363. All three laws are exact.
"""

import math

import numpy as np
from numba.cpython.unsafe.numbers import trailing_zeros

from attention_limits.numerics.compiled import njit

# Enough for the compiler to vectorise the loop over them.
LANES = 64
# Layers of the ziggurat, and the place where its tail begins.
_LAYERS = 256
_TAIL = 3.6541528853610088
_UNIT = 2.0**-53


def _ziggurat():
    """Right edges x_0 > x_1 > ... > x_256 = 0 of layers of equal area below exp(-x^2 / 2); the first includes the tail."""
    height = math.exp(-0.5 * _TAIL**2)
    area = _TAIL * height + math.sqrt(0.5 * math.pi) * math.erfc(_TAIL / math.sqrt(2.0))
    edges = [area / height, _TAIL]
    for _ in range(_LAYERS - 2):
        edges.append(math.sqrt(-2.0 * math.log(area / edges[-1] + math.exp(-0.5 * edges[-1] ** 2))))
    return np.array([*edges, 0.0])


_EDGES = _ziggurat()
# A point of a layer whose share of the width is below this lies under the curve.
_INNER = _EDGES[1:] / _EDGES[:-1]
# The same for the integer of `_place`: a share is this integer times _UNIT, a power of two, so no product rounds.
_SCALES, _LIMITS = _EDGES[:-1] * _UNIT, _INNER / _UNIT


def random_state(generator):
    """State of `LANES` generators, array (4, LANES) of uint64, which `generator`, a numpy.random.Generator, draws."""
    return generator.integers(0, 2**64, (4, LANES), dtype=np.uint64)


@njit(nogil=True)
def padded(count):
    """The smallest multiple of `LANES` that is at least `count`: the length of the `bits` for so many numbers."""
    return -(-count // LANES) * LANES


@njit(inline="always")
def _rotated(x, places):
    return (x << np.uint64(places)) | (x >> np.uint64(64 - places))


@njit(inline="always")
def _next(state, lane):
    a, b, c, d = state[0, lane], state[1, lane], state[2, lane], state[3, lane]
    found = _rotated(a + d, 23) + a
    c ^= a
    d ^= b
    state[0, lane], state[1, lane] = a ^ d, b ^ c
    state[2, lane], state[3, lane] = c ^ (b << np.uint64(17)), _rotated(d, 45)
    return found


@njit(inline="always")
def _uniform(bits):
    """Uniform in [0, 1)."""
    return np.int64(bits >> np.uint64(11)) * _UNIT


@njit(nogil=True)
def fill_bits(state, bits):
    """Write random 64-bit numbers into `bits`, uint64, whose length is a multiple of `LANES`; `state` (4, LANES) moves on."""
    a, b, c, d = state[0], state[1], state[2], state[3]
    for start in range(0, len(bits), LANES):
        row = bits[start : start + LANES]
        for lane in range(LANES):
            p, q, r, s = a[lane], b[lane], c[lane], d[lane]
            row[lane] = _rotated(p + s, 23) + p
            r ^= p
            s ^= q
            a[lane], b[lane], c[lane], d[lane] = p ^ s, q ^ r, r ^ (q << np.uint64(17)), _rotated(s, 45)


@njit(inline="always")
def _place(bits):
    """The layer, from the low eight bits, and a uniform share in [-1, 1) of its width, from the others."""
    return np.int64(bits & np.uint64(_LAYERS - 1)), (np.int64(bits) >> 10) * _UNIT


@njit(nogil=True)
def _beside(state, layer, share):
    """A standard normal number, where the ziggurat has drawn the `share` in (-1, 1) of the width of a `layer`."""
    while True:
        x = share * _EDGES[layer]
        if abs(share) < _INNER[layer]:
            return x
        if layer == 0:
            while True:
                # 1 - u is never zero.
                beyond = -math.log(1.0 - _uniform(_next(state, 0))) / _TAIL
                height = -math.log(1.0 - _uniform(_next(state, 0)))
                if 2.0 * height > beyond * beyond:
                    return math.copysign(_TAIL + beyond, share)
        low, high = math.exp(-0.5 * _EDGES[layer] ** 2), math.exp(-0.5 * _EDGES[layer + 1] ** 2)
        if low + _uniform(_next(state, 0)) * (high - low) < math.exp(-0.5 * x * x):
            return x
        layer, share = _place(_next(state, 0))


@njit(nogil=True)
def fill_normals(state, bits, found):
    """Write standard normal numbers into `found` (n,).

    `state` (4, LANES), of `random_state`, moves on; `bits`, uint64, is work space of at least `padded` length.
    """
    fill_bits(state, bits[: padded(len(found))])
    for i in range(len(found)):
        # An unsigned index needs no test of its sign.
        layer, whole = bits[i] & np.uint64(_LAYERS - 1), float(np.int64(bits[i]) >> 10)
        inside = abs(whole) < _LIMITS[layer]
        found[i] = whole * _SCALES[layer] if inside else _beside(state, np.int64(layer), whole * _UNIT)


@njit(inline="always")
def _surely(t, u, b):
    """Whether the bound of `fill_chi_squares` accepts t at the uniform number u."""
    return abs(t) < 0.5 and u < 1.0 - 1.5 * b * t * t * t * t


@njit(nogil=True)
def _accepted(state, t, u, b, width):
    """The first accepted t of `fill_chi_squares`, from t and u on, which the bound does not accept."""
    while not _surely(t, u, b):
        if t > -1.0:
            cube = (1.0 + t) ** 3
            if u < math.exp(4.5 * b * t * t + b * (1.0 - cube + 3.0 * math.log(1.0 + t))):
                break
        layer, share = _place(_next(state, 0))
        t, u = width * _beside(state, layer, share), _uniform(_next(state, 0))
    return t


@njit(nogil=True)
def fill_chi_squares(state, bits, freedom, found):
    """Write chi^2 numbers of `freedom` > 0 degrees of freedom into `found` (n,); `state` and `bits` as in `fill_normals`.

    chi^2 = 2 b (1 + t)^3 with b = freedom / 2 - 1/3 and t normal of variance 1 / (9 b), accepted with probability
    exp(9 b t^2 / 2 + b (1 - (1 + t)^3 + 3 log(1 + t))). The exponent is at least -3/2 b t^4 where |t| < 1/2, which saves the
    logarithm. Below two degrees of freedom, chi^2 of freedom + 2 times u^(2 / freedom), u uniform.
    """
    shape = 0.5 * freedom
    b = (shape if shape >= 1.0 else shape + 1.0) - 1.0 / 3.0
    width = 1.0 / math.sqrt(9.0 * b)
    fill_normals(state, bits, found)
    fill_bits(state, bits[: padded(len(found))])
    for i in range(len(found)):
        t, u = width * found[i], _uniform(bits[i])
        if not _surely(t, u, b):
            t = _accepted(state, t, u, b, width)
        found[i] = 2.0 * b * (1.0 + t) ** 3
        if shape < 1.0:
            found[i] *= (1.0 - _uniform(_next(state, 0))) ** (1.0 / shape)


@njit(nogil=True)
def fill_waits(state, bits, found):
    """Write numbers of failures before a success of probability 1/2 into `found` (n,), int.

    `state` and `bits` as in `fill_normals`.
    """
    fill_bits(state, bits[: padded(len(found))])
    for i in range(len(found)):
        found[i] = trailing_zeros(bits[i])
