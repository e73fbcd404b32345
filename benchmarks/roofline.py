"""Kernels beside the limit of one core (`limits`): extensive width, Potts models, reduced SGD; `finite_rank_roofs` has others."""

from functools import partial

import numpy as np

import finite_rank_roofs
from attention_indexed import all_of, descent_problem
from attention_limits.attention_indexed.amp import matrix_amp
from attention_limits.attention_indexed.channels.loading import make_channel
from attention_limits.attention_indexed.model.sizes import Sizes
from attention_limits.attention_indexed.schema.one_layer import GradientDescent
from attention_limits.attention_indexed.training.gradient_descent import descend
from attention_limits.attention_indexed.two_layers.two_tokens.lattice_kernels import Output, empty_lattice, fill
from attention_limits.attention_indexed.two_layers.two_tokens.posterior_kernels import SUMS, _sums_of_plane
from attention_limits.numerics.compiled import njit
from attention_limits.numerics.simd.float64_lanes import WIDTH
from attention_limits.potts_mlm.attention.factored import objective
from attention_limits.potts_mlm.potts.gibbs import Ladder
from attention_limits.potts_mlm.transformer import transformer
from attention_limits.potts_mlm.transformer.transformer import Shape, initial
from attention_limits.sequence_single_index.links import built_in
from attention_limits.sequence_single_index.links.geometry import alternating
from attention_limits.sequence_single_index.sgd.any_student import LinkProblem, simulate
from attention_limits.sequence_single_index.sgd.fixed_students import (
    AttentionProblem,
    Schedule,
    attention,
    matched_hermite,
)
from limits import DOUBLE, SINGLE, best, peaks, roof
from potts_mlm import model


def roofs(quick):
    """(peaks, list of Roof) of the kernels on which the figures spend their time."""
    repeats = 2 if quick else 5
    limits = peaks(repeats)
    cases = (
        *finite_rank_roofs.CASES, gibbs, factored, encoder, matrix_amp_iteration, descent, two_layers, reduced_sgd, hermite_sgd,
        link_sgd,
    )  # fmt: skip
    return limits, [case(limits, repeats) for case in cases]


def gibbs(limits, repeats, sites=20, colors=20, gap=2000):
    """A site of a replica: L additions collect the couplings, 2 C^2 give the fields, 6 C draw the colour."""
    ladder = Ladder(model(), [0.45], np.random.default_rng(2), runs=16)
    return roof(
        f"Gibbs update, C = L = {colors}", "site", gap * sites * 16, lambda: ladder.sample(1, gap), repeats, limits, SINGLE,
        operations=sites + 2 * colors**2 + 6 * colors, exponentials=colors,
    )  # fmt: skip


def factored(limits, repeats, sites=20, colors=20, count=3000):
    """Loss and gradient: three products of (L, L) with (L, C) matrices, a softmax of L C logits."""
    rng = np.random.default_rng(3)
    sequences = rng.integers(0, colors, (count, sites)).astype(np.int8)
    parameters = 0.3 * rng.standard_normal(sites**2 + colors**2)
    parameters[: sites**2 : sites + 1] = 0.0
    return roof(
        f"gradient of factored attention, C = L = {colors}", "sequence", count,
        lambda: objective(parameters, sequences, colors, "raw", 0.0, single=True), repeats, limits, SINGLE,
        operations=6 * sites**2 * colors, exponentials=sites * colors,
    )  # fmt: skip


def encoder(limits, repeats, sites=20, colors=20, layers=3, count=1000, batch=100):
    """Training step per sequence: the products of all layers, with one query in the last. Backward costs twice forward.

    A layer has two square matrices (`folded_kernels`); tables take their place in the first of several layers.
    """
    rng = np.random.default_rng(4)
    shape = Shape(sites, colors, layers, width=20, hidden=40)
    width, hidden = shape.width, shape.hidden
    sequences = rng.integers(0, colors, (count, sites))
    orders, masked = rng.permutation(count).reshape(-1, batch), rng.integers(0, sites, (count // batch, batch))
    theta = initial(shape, rng)
    rates = np.full(count // batch, 0.003)

    def run():
        moments = np.zeros((2, len(theta)), dtype=SINGLE)
        transformer.epoch(theta.copy(), moments, shape, sequences, zip(orders, masked, rates, strict=True), True, 0)

    last = 4 * width**2 + 4 * sites * width + 4 * width * hidden
    tables = sites * 4 * width**2 if layers > 1 else 0
    return roof(
        f"training step of {layers} layers, L = {sites}", "sequence", count, run, repeats, limits, SINGLE,
        operations=3 * ((layers - 1) * sites * last - tables + last + 2 * width * colors),
        exponentials=(layers - 1) * sites**2 + sites + colors, note=f"Adam, batch {batch}, one run on one core",
    )  # fmt: skip


def matrix_amp_iteration(limits, repeats, dimension=100, alpha=0.5, tokens=2, iterations=10):
    """Two products of all tokens but one of each sequence, (n (M - 1), d), with a (d, d) matrix in single precision; one
    eigendecomposition in double precision."""
    channel = make_channel("softmax", tokens)
    sizes = Sizes(round(alpha * dimension**2), dimension, dimension // 2)
    data = matrix_amp.draw_dataset(channel, sizes, np.random.default_rng(0))
    return roof(
        f"AMP iteration of extensive width, d = {dimension}, n = {sizes.count}", "iteration", iterations,
        partial(matrix_amp.run, channel, data, all_of(iterations)), repeats, limits, SINGLE,
        operations=4 * sizes.count * (tokens - 1) * dimension**2, size=2 * data.sequences.nbytes,
        extra=best(partial(np.linalg.eigh, data.teacher), repeats), note="the bound contains a measured eigendecomposition",
    )  # fmt: skip


def descent(limits, repeats, dimension=100, alpha=0.14, starts=8, steps=20):
    """A step of one start: two products of all tokens with a (d, r) matrix in single precision."""
    X, y, first = descent_problem(dimension, alpha, starts)
    count, tokens, _ = X.shape
    settings = GradientDescent.Solver(steps=steps, record_every=steps)
    return roof(
        f"gradient descent step of extensive width, d = {dimension}, n = {count}", "step and start", (steps + 1) * starts,
        partial(descend, X, y, first.astype(SINGLE), 1.0, settings), repeats, limits, SINGLE,
        operations=4 * count * tokens * dimension * first.shape[2], note=f"{starts} starts, Adam included",
    )  # fmt: skip


@njit
def _planes(count, output, box, lattice, sums):
    for _ in range(count):
        _sums_of_plane(output, lattice, fill(output, box, lattice), sums)


def two_layers(limits, repeats, size=32, count=200):
    """A node of the lattice of two layers of extensive width: 12 operations of the layers, 16 of the log-density, then 40 of the
    sums with the layers again; one logarithm, taken as an exponential, and one exponential."""
    output = Output(0.8, -0.6, np.array([0.2, 0.1, -0.5, 0.3]), np.array([0.125, 0.25, 0.125, 0.25]), 1.0, 1.0, 0.0)
    box, lattice, sums = np.array([0.3, -0.2, 4.0, 4.0]), empty_lattice(size), np.zeros(SUMS)
    return roof(
        "two layers of extensive width", "node", size**2 * count, lambda: _planes(count, output, box, lattice, sums), repeats,
        limits, DOUBLE, operations=80, exponentials=2,
        note=f"lattice of {size} × {size} nodes, filled and summed once; two divisions per node are not counted",
    )  # fmt: skip


def _generators():
    return [np.random.Generator(np.random.SFC64(seed)) for seed in range(WIDTH)]


# A step of attention in its overlaps: six normal numbers and one chi^2, which costs about a normal number.
ATTENTION_STEP = {"operations": 110, "exponentials": 4, "normals": 7}


def reduced_sgd(limits, repeats, steps=200_000):
    """A step of attention in its overlaps, eight runs at once."""
    problem, schedule = AttentionProblem(1.0, 0.64, "frobenius"), Schedule(steps, threshold=2.0)
    return roof(
        "SGD step of attention in its overlaps", "step", steps * WIDTH,
        lambda: attention(problem, 1000, 0.05, (0.0, 0.0), schedule, _generators()), repeats, limits, DOUBLE, **ATTENTION_STEP,
    )  # fmt: skip


def hermite_sgd(limits, repeats, steps=200_000, order=3, tokens=2):
    """A step of Hermite students: two normal numbers per token and one chi^2; per token three operations of the field, twice 3 k
    of the recursion, and eight of the sums."""
    schedule = Schedule(steps, threshold=2.0)
    return roof(
        f"SGD step of He₃ students, M = {tokens}", "step", steps * WIDTH,
        lambda: matched_hermite(order, tokens, 1000, 0.05, 0.1, schedule, _generators()), repeats, limits, DOUBLE,
        operations=tokens * (11 + 6 * order) + 20, normals=2 * tokens + 1,
    )  # fmt: skip


def link_sgd(limits, repeats, steps=200_000):
    """The step of attention in the program for any student, which takes derivatives by dual numbers."""
    attends = built_in.positional_semantic(1.0, 0.64), built_in.full_attention
    problem = LinkProblem(*attends, 2, "frobenius", alternating(2))
    starts = np.full((WIDTH, problem.components.shape[1] + 1), 0.1)
    return roof(
        "SGD step of any student, M = 2: attention", "step", steps * WIDTH,
        lambda: simulate(problem, 1000, 0.05, starts, Schedule(steps, threshold=2.0), _generators()), repeats, limits, DOUBLE,
        **ATTENTION_STEP, note="bound: that of the student's own kernel",
    )  # fmt: skip
