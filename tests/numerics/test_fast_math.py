import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from numba import njit
from scipy.special import erfcx
from scipy.special import ndtr as exact_ndtr

from attention_limits.numerics.fast_math import exp, exp_of, exp_single, log, ndtr, normal_tail


@given(st.floats(-700, 700))
@example(0.0)
@example(-0.0)
@example(700.0)
@example(-700.0)
@example(5e-324)
@example(np.log(2) / 2)
def test_exponential_to_one_part_in_1e14(x):
    np.testing.assert_allclose(exp(x), np.exp(x), rtol=1e-14)


def test_exponential_on_a_dense_grid_and_at_the_joints_of_the_reduction():
    """Half-odd multiples of log 2 are where the reduced argument jumps."""
    joints = (np.arange(-1009, 1010) + 0.5) * np.log(2)
    joints = np.concatenate([np.nextafter(joints, -np.inf), joints, np.nextafter(joints, np.inf)])
    x = np.concatenate([np.linspace(-700, 700, 20_001), joints[np.abs(joints) < 700]])
    np.testing.assert_allclose([exp(value) for value in x], np.exp(x), rtol=1e-14)


@given(st.floats(700, 1e300))
def test_exponential_is_clamped(x):
    assert exp(x) == exp(700.0)
    assert exp(-x) == exp(-700.0)


def test_exponential_is_as_accurate_in_a_vectorised_loop():
    """Fast-math flags of the surrounding loop must not reassociate the rounding trick."""

    @njit(fastmath={"nnan", "nsz", "arcp", "contract", "reassoc"})
    def loop(x, out):
        for i in range(x.size):
            out[i] = exp(x[i])

    x = np.random.default_rng(1).uniform(-700, 700, 10_000)
    out = np.empty_like(x)
    loop(x, out)
    np.testing.assert_allclose(out, np.exp(x), rtol=1e-14)


def test_exponential_in_single_precision_to_3e_7():
    """On a dense grid, at the joints of the reduction, and clamped beyond; `exp_of` takes the precision of its argument."""
    joints = (np.arange(-125, 126) + 0.5) * np.log(2)
    x = np.concatenate([np.linspace(-87, 88, 20_001), joints, [0.0, -0.0]]).astype(np.float32)
    found = np.array([exp_single(value) for value in x])
    np.testing.assert_allclose(found, np.exp(x.astype(float)), rtol=3e-7)
    assert exp_single(np.float32(1e30)) == exp_single(np.float32(88.0))
    assert exp_single(np.float32(-1e30)) == exp_single(np.float32(-87.0))

    @njit
    def both(single, double):
        return exp_of(single), exp_of(double)

    assert both(np.float32(0.3), 0.3) == (exp_single(np.float32(0.3)), exp(0.3))


@given(st.floats(1e-300, 1e300))
@example(1.0)
@example(np.sqrt(2.0))
@example(np.nextafter(np.sqrt(2.0), 2.0))
@example(np.sqrt(0.5))
def test_logarithm_to_1e_12(x):
    # Beyond the series, the rounding of the result itself.
    np.testing.assert_allclose(log(x), np.log(x), rtol=1e-15, atol=1e-12)


@given(st.floats(0, 1e150))
@example(0.0)
@example(4.0)
def test_scaled_tail_of_the_normal_distribution(z):
    np.testing.assert_allclose(normal_tail(z), 0.5 * erfcx(z / np.sqrt(2.0)), rtol=1e-12)


@given(st.floats(-37.0, 1e3))
@example(0.0)
@example(-1e-300)
def test_normal_distribution_function_to_1e_12(x):
    """Below zero scipy's own relative error grows with x^2, to 1e-13 at x = -37."""
    np.testing.assert_allclose(ndtr(x), exact_ndtr(x), rtol=2e-12)
