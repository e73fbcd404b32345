"""Random numbers by the block: the bits of the reference generator, and the laws of scipy."""

import numpy as np
import pytest
from scipy import stats

from attention_limits.numerics.probability import random_kernels as kernels

pytestmark = pytest.mark.slow

COUNT = 200_000
WORD = 2**64


def source(seed):
    return kernels.random_state(np.random.default_rng(seed))


def bits(count):
    return np.empty(kernels.padded(count), dtype=np.uint64)


def reference(state, count):
    """xoshiro256++ of Blackman and Vigna with Python's integers, from four words."""

    def rotated(x, places):
        return (x << places | x >> (64 - places)) % WORD

    s, found = [int(word) for word in state], []
    for _ in range(count):
        found.append((rotated((s[0] + s[3]) % WORD, 23) + s[0]) % WORD)
        shifted = (s[1] << 17) % WORD
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= shifted
        s[3] = rotated(s[3], 45)
    return found


def test_bits_are_those_of_xoshiro():
    state, found = source(0), bits(20 * kernels.LANES)
    lanes = [reference(state[:, lane], 20) for lane in range(kernels.LANES)]
    kernels.fill_bits(state, found)
    np.testing.assert_array_equal(found.reshape(20, -1).T, np.array(lanes, dtype=np.uint64))


def drawn(fill, *more, dtype=float):
    found = np.empty(COUNT, dtype=dtype)
    fill(source(1), bits(COUNT), *more, found)
    return found


def test_normals_have_their_law():
    """Kolmogorov-Smirnov over the whole, and over both tails beyond the last layer of the ziggurat: false alarm 1e-4 each."""
    found = drawn(kernels.fill_normals)
    assert stats.kstest(found, "norm").pvalue > 1e-4
    edge = 3.0
    for tail in (found[found > edge], -found[found < -edge]):
        assert stats.binomtest(len(tail), COUNT, stats.norm.sf(edge)).pvalue > 1e-4
        assert stats.kstest(stats.norm.sf(tail) / stats.norm.sf(edge), "uniform").pvalue > 1e-4


@pytest.mark.parametrize("freedom", [0.5, 1.0, 2.0, 3.0, 12.5, 997.0])
def test_chi_squares_have_their_law(freedom):
    """Kolmogorov-Smirnov, and the mean within five standard errors: false alarm 1e-4 and 6e-7."""
    found = drawn(kernels.fill_chi_squares, freedom)
    assert stats.kstest(found, stats.chi2(freedom).cdf).pvalue > 1e-4
    assert abs(found.mean() / freedom - 1) < 5 * np.sqrt(2 / freedom / COUNT)


def test_waits_are_geometric():
    """chi^2 test of the numbers 0 to 9 and above, false alarm 1e-4."""
    found = np.bincount(np.minimum(drawn(kernels.fill_waits, dtype=np.int64), 10), minlength=11)
    expected = COUNT * np.array([*0.5 ** np.arange(1, 11), 0.5**10])
    assert stats.chisquare(found, expected).pvalue > 1e-4
