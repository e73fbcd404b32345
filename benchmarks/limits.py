"""The limits of one core: products, exponentials, random numbers and copies, measured in the same run.

A kernel needs per unit of work some operations (additions and multiplications, counted by hand in its function in `roofline` or
`finite_rank_roofs`), exponentials, normal numbers and bytes of large arrays. The bound of its time is the larger one of two sums:
of the times that its operations take at the rate of a matrix product, its exponentials and its normal numbers at their own rates,
and of its bytes at the rate of a copy. A matrix decomposition has no such count: its measured time is added.
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.numerics import fast_math
from attention_limits.numerics.compiled import njit
from attention_limits.numerics.probability import random_kernels
from table import Roof, Spread, timed

SINGLE, DOUBLE = np.float32, np.float64
# Side of the matrices of the peak; numbers of an array in the first cache; bytes of an array far beyond the last one.
SIDE, SMALL, LARGE = 1024, 2048, 2**28


@dataclass(frozen=True)
class Peaks:
    """Seconds of one operation (an addition or multiplication) and of one exponential by precision, of one normal number, and of
    one byte that is read or written."""

    operation: dict
    exponential: dict
    normal: float
    byte: float

    def lines(self):
        """The conditions that the table needs."""
        rates = (
            f"{1e-9 / self.operation[p]:.0f} Gflop/s in {name}" for p, name in ((DOUBLE, "double"), (SINGLE, "single"))
        )
        times = (
            f"{1e9 * self.exponential[p]:.2f} ns in {name}" for p, name in ((DOUBLE, "double"), (SINGLE, "single"))
        )
        return {
            "peak of matrix products": ", ".join(rates) + f" precision, {SIDE} × {SIDE}, one core",
            "exponential": ", ".join(times) + " precision, the faster one of NumPy's and ours",
            "normal number": f"{1e9 * self.normal:.2f} ns",
            "copy": f"{1e-9 / self.byte:.1f} GB/s, read and written bytes together",
        }


def best(function, repeats):
    """The shortest wall time of a few calls."""
    return timed(function, repeats).min()


@njit(fastmath={"nnan", "nsz", "arcp", "contract", "reassoc"}, error_model="numpy")
def _exponentials(x, y):
    for i in range(len(x)):
        y[i] = fast_math.exp_of(x[i])


def peaks(repeats):
    """The limits of one core."""
    operation, exponential = {}, {}
    rng = np.random.default_rng(0)
    for precision in (DOUBLE, SINGLE):
        square = rng.standard_normal((SIDE, SIDE)).astype(precision)
        operation[precision] = best(lambda square=square: square @ square, repeats) / (2 * SIDE**3)
        x = rng.standard_normal(SMALL).astype(precision)
        y = np.empty_like(x)
        calls = (
            lambda x=x, y=y: [np.exp(x, out=y) for _ in range(100)],
            lambda x=x, y=y: [_exponentials(x, y) for _ in range(100)],
        )
        exponential[precision] = min(best(call, repeats) for call in calls) / (100 * SMALL)
    y = np.empty(SMALL)
    state, bits = random_kernels.random_state(rng), np.empty(SMALL, dtype=np.uint64)
    normal = best(lambda: [random_kernels.fill_normals(state, bits, y) for _ in range(100)], repeats) / (100 * SMALL)
    source, target = np.ones(LARGE // 8), np.empty(LARGE // 8)
    byte = best(lambda: np.copyto(target, source), repeats) / (2 * LARGE)
    return Peaks(operation, exponential, normal, byte)


def roof(what, unit, units, run, repeats, limits, precision, *, operations=0.0, exponentials=0.0, normals=0.0, size=0.0,
         extra=0.0, note=""):  # fmt: skip
    """Measure run() of `units` units of work; the counts are per unit, `extra` are seconds that are part of the bound."""
    times = timed(run, repeats, units)
    busy = (
        operations * limits.operation[precision]
        + exponentials * limits.exponential[precision]
        + normals * limits.normal
    )
    bound = max(busy, size * limits.byte) + extra
    return Roof(what, unit, Spread.of(times), bound, operations, exponentials, normals, size, note)
