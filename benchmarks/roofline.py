"""Kernels beside the limit of one core: products, exponentials, random numbers and copies, measured in the same run.

A kernel needs per unit of work some operations (additions and multiplications, counted by hand in its function below),
exponentials, normal numbers and bytes of large arrays. The bound of its time is the larger one of two sums: of the times that its
operations take at the rate of a matrix product, its exponentials and its normal numbers at their own rates, and of its bytes at
the rate of a copy. A matrix decomposition has no such count: its measured time is added.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from attention_indexed import descent_problem
from attention_limits.attention_indexed import matrix_amp
from attention_limits.attention_indexed.channel import make_channel
from attention_limits.attention_indexed.gradient_descent import Descent, descend
from attention_limits.attention_indexed.model import Sizes
from attention_limits.numerics import fast_math, random_kernels
from attention_limits.numerics.compiled import njit
from attention_limits.numerics.double_lanes import WIDTH
from attention_limits.potts_mlm import transformer
from attention_limits.potts_mlm.factored_attention import objective
from attention_limits.potts_mlm.gibbs import Ladder
from attention_limits.potts_mlm.transformer import Shape, initial
from attention_limits.sequence_multi_index.channel import SAMPLING_NODES, Channel
from attention_limits.sequence_multi_index.links.deep_attention import DeepAttention
from attention_limits.sequence_multi_index.trapezoid_lattice_kernels import Output
from attention_limits.sequence_multi_index.trapezoid_rows_kernels import RUN, SUMS, ZERO, row_of, sum_row
from attention_limits.sequence_single_index.reduced_sgd import AttentionProblem, Schedule, attention
from channel_rows import typical_outputs
from potts_mlm import model
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


def roofs(quick):
    """(peaks, list of Roof) of the kernels on which the figures spend their time."""
    repeats = 2 if quick else 5
    limits = peaks(repeats)
    cases = (trapezoid, importance_sampling, gibbs, factored, encoder, matrix_amp_iteration, descent, reduced_sgd)
    return limits, [case(limits, repeats) for case in cases]


def _roof(what, unit, units, run, repeats, limits, precision, *, operations=0.0, exponentials=0.0, normals=0.0, size=0.0,
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


@njit
def _rows(total, nodes, count, size, output):
    # Made in compiled code: Python would turn its numbers into double precision.
    row = row_of(nodes, output, -2.0, 0.06, 0.3, 1.0)
    for _ in range(count):
        sum_row(total, nodes, size, 0, 0.3, ZERO, row)


def trapezoid(limits, repeats):
    """A row of the lattice of the two-layer channel: 18 operations of the layers, 22 of the log-weights, 42 of the sums."""
    output = Output(0.4, -0.3, (0.2, 0.1, -0.5, 0.3), (0.7, 0.0, 0.5), 1.0, 1.0)
    size, count, total, nodes = 64, 2000, np.zeros(SUMS), np.empty((4, RUN), SINGLE)
    return _roof(
        "trapezoid channel of two layers", "node", size * count, lambda: _rows(total, nodes, count, size, output), repeats,
        limits, SINGLE, operations=82, exponentials=3, note=f"rows of {size} nodes; one division per node is not counted",
    )  # fmt: skip


def importance_sampling(limits, repeats, outputs=64, free=2):
    """Per node, for F free layers: the draw, two densities, the layers and their inverses, weights and moments."""
    link, V = DeepAttention(skip=1.0, depth=free + 1), np.diag([1.0, 1.0, 0.3])
    channel = Channel(link, 1.0, np.random.default_rng(0))
    observed, omega = typical_outputs(link, V, outputs, seed=200)
    bound = 2 * free
    draw = bound * (bound + 1)
    densities = sum(2 * (2 * (k + 1) + 3) for k in range(free)) + 1.5 * bound * (bound + 1) + 2 * bound + 6
    layers = free * (10 + 35) + 5 * free * (free - 1) / 2 + 7 * free + 4
    moments = 14 + 32 + 8 * free + sum(4 + 8 * (j + 1) for j in range(free))
    return _roof(
        f"importance sampling of {free + 1} layers", "node", 2 * SAMPLING_NODES * outputs,
        lambda: channel.posterior(observed, omega, V), repeats, limits, SINGLE,
        operations=draw + densities + layers + moments, exponentials=2 * free + 3,
        note="two proposals per output; the search of the proposals is in the measured time, not in the bound",
    )  # fmt: skip


def gibbs(limits, repeats, sites=20, colors=20, gap=2000):
    """A site of a replica: L additions collect the couplings, 2 C^2 give the fields, 6 C draw the colour."""
    ladder = Ladder(model(), [0.45], np.random.default_rng(2), runs=16)
    return _roof(
        f"Gibbs update, C = L = {colors}", "site", gap * sites * 16, lambda: ladder.sample(1, gap), repeats, limits, SINGLE,
        operations=sites + 2 * colors**2 + 6 * colors, exponentials=colors,
    )  # fmt: skip


def factored(limits, repeats, sites=20, colors=20, count=3000):
    """Loss and gradient: three products of (L, L) with (L, C) matrices, a softmax of L C logits."""
    rng = np.random.default_rng(3)
    sequences = rng.integers(0, colors, (count, sites)).astype(np.int8)
    parameters = 0.3 * rng.standard_normal(sites**2 + colors**2)
    parameters[: sites**2 : sites + 1] = 0.0
    return _roof(
        f"gradient of factored attention, C = L = {colors}", "sequence", count,
        lambda: objective(parameters, sequences, colors, "raw", 0.0, single=True), repeats, limits, SINGLE,
        operations=6 * sites**2 * colors, exponentials=sites * colors,
    )  # fmt: skip


def encoder(limits, repeats, sites=20, colors=20, layers=3, count=1000, batch=100):
    """Training step per sequence: the products of all layers, with one query in the last. Backward costs twice forward."""
    rng = np.random.default_rng(4)
    shape = Shape(sites, colors, layers)
    width, hidden = shape.width, shape.hidden
    sequences = rng.integers(0, colors, (count, sites))
    orders, masked = rng.permutation(count).reshape(-1, batch), rng.integers(0, sites, (count // batch, batch))
    theta = initial(shape, rng)
    rates = np.full(count // batch, 0.003)

    def run():
        moments = np.zeros((2, len(theta)), dtype=SINGLE)
        transformer.epoch(theta.copy(), moments, shape, sequences, orders, masked, rates, True, 0)

    whole = sites * (8 * width**2 + 4 * sites * width + 4 * width * hidden)
    last = 8 * width**2 + 4 * sites * width + 4 * width * hidden
    return _roof(
        f"training step of {layers} layers, L = {sites}", "sequence", count, run, repeats, limits, SINGLE,
        operations=3 * ((layers - 1) * whole + last + 2 * width * colors),
        exponentials=(layers - 1) * sites**2 + sites + colors, note=f"Adam, batch {batch}, one run on one core",
    )  # fmt: skip


def matrix_amp_iteration(limits, repeats, dimension=100, alpha=0.5, tokens=2, iterations=10):
    """Two products of all tokens with a (d, d) matrix in single precision; one eigendecomposition in double precision."""
    channel = make_channel("softmax", tokens)
    sizes = Sizes(round(alpha * dimension**2), dimension, dimension // 2)
    data = matrix_amp.draw_dataset(channel, sizes, np.random.default_rng(0))
    return _roof(
        f"AMP iteration of extensive width, d = {dimension}, n = {sizes.count}", "iteration", iterations,
        partial(matrix_amp.run, channel, data, iterations, tolerance=0.0), repeats, limits, SINGLE,
        operations=4 * sizes.count * tokens * dimension**2, size=2 * data.sequences.nbytes,
        extra=best(partial(np.linalg.eigh, data.teacher), repeats), note="the bound contains a measured eigendecomposition",
    )  # fmt: skip


def descent(limits, repeats, dimension=100, alpha=0.14, starts=8, steps=20):
    """A step of one start: two products of all tokens with a (d, r) matrix in single precision."""
    X, y, first = descent_problem(dimension, alpha, starts)
    count, tokens, _ = X.shape
    settings = Descent(steps=steps, record_every=steps)
    return _roof(
        f"gradient descent step of extensive width, d = {dimension}, n = {count}", "step and start", (steps + 1) * starts,
        partial(descend, X, y, first.astype(SINGLE), 1.0, settings), repeats, limits, SINGLE,
        operations=4 * count * tokens * dimension * first.shape[2], note=f"{starts} starts, Adam included",
    )  # fmt: skip


def reduced_sgd(limits, repeats, steps=200_000):
    """A step of attention in its overlaps: six normal numbers, one chi^2 (about a normal number), four exponentials."""
    problem, schedule = AttentionProblem(1.0, 0.64, "frobenius"), Schedule(steps, threshold=2.0)
    generators = [np.random.Generator(np.random.SFC64(seed)) for seed in range(WIDTH)]
    return _roof(
        "SGD step of attention in its overlaps", "step", steps * WIDTH,
        lambda: attention(problem, 1000, 0.05, (0.0, 0.0), schedule, generators), repeats, limits, DOUBLE,
        operations=110, exponentials=4, normals=7,
    )  # fmt: skip
