"""Kernels of layers of finite rank beside the limit of one core (`limits`)."""

from dataclasses import replace

import numpy as np

from attention_limits.numerics.compiled import njit
from attention_limits.sequence_multi_index.channels.channel import SAMPLING_NODES, Channel
from attention_limits.sequence_multi_index.channels.trapezoid.lattice_kernels import Output
from attention_limits.sequence_multi_index.channels.trapezoid.rows_kernels import RUN, SUMS, ZERO, row_of, sum_row
from attention_limits.sequence_multi_index.data.sequences import draw, local_fields
from attention_limits.sequence_multi_index.erm.kernels import loss_kernels
from attention_limits.sequence_multi_index.erm.losses import make_loss
from attention_limits.sequence_multi_index.erm.minimisation import objective_and_gradient
from attention_limits.sequence_multi_index.erm.prox import prox
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from channel_rows import typical_outputs
from descent_rows import BATCH, DESCENT, DIMENSION, SETS, descent_problem
from limits import DOUBLE, SINGLE, roof

LAYER = DeepAttention(depth=1)


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
    return roof(
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
    return roof(
        f"importance sampling of {free + 1} layers", "node", 2 * SAMPLING_NODES * outputs,
        lambda: channel.posterior(observed, omega, V), repeats, limits, SINGLE,
        operations=draw + densities + layers + moments, exponentials=2 * free + 3,
        note="two proposals per output; the search of the proposals is in the measured time, not in the bound",
    )  # fmt: skip


def general_sampling(limits, repeats, outputs=128, tokens=3):
    """Per node of two layers of M tokens, the link compiled: the draw and its density 4 M^2, the layer and the inverse 3 M^3 +
    12 M^2, the weights 8 M, and the moments of 2 M fields 8 M^2 + 4 M; exponentials of M^2 scores and three weights."""
    link, V = DeepAttention(skip=1.0, tokens=tokens), np.diag([1.0, 0.3])
    channel = Channel(link, 1.0, np.random.default_rng(0))
    observed, omega = typical_outputs(link, V, outputs, seed=200)
    return roof(
        "importance sampling of any link", "node", 2 * SAMPLING_NODES * outputs, lambda: channel.posterior(observed, omega, V),
        repeats, limits, DOUBLE, operations=3 * tokens**3 + 24 * tokens**2 + 12 * tokens, exponentials=tokens**2 + 3,
        note=f"two layers of {tokens} tokens, the link compiled; the search of the proposals is in the measured time alone",
    )  # fmt: skip


@njit(signature_or_function=loss_kernels.LOSS, error_model="numpy")
def _counted(y, z, parameters, found, table, size):
    parameters[-1] += size
    loss_kernels.of_two_tokens(y, z, parameters, found, table, size)


def proximal(limits, repeats, count=4096, overlap=0.8):
    """Per evaluation 80 operations and four exponentials of the loss and its Hessian, 24 to whiten, 24 of the Newton step."""
    loss, rng = make_loss("square", LAYER), np.random.default_rng(0)
    h, noise = rng.standard_normal((2, count, 1, 2))
    omega = overlap**2 * h + overlap * np.sqrt(1.0 - overlap**2) * noise
    outputs = np.ascontiguousarray(LAYER.forward(h)).reshape(count, -1)
    counter = replace(loss, function=_counted, parameters=np.append(loss.parameters, 0.0))
    prox(counter, outputs, h.reshape(count, 1, -1), omega, np.eye(1), "never")
    evaluations = counter.parameters[-1] / count
    return roof(
        "proximal operator of one attention layer", "output", count,
        lambda: prox(loss, outputs, h.reshape(count, 1, -1), omega, np.eye(1)), repeats, limits, DOUBLE,
        operations=128 * evaluations, exponentials=4 * evaluations,
        note=f"{evaluations:.1f} evaluations per output from two starts; divisions, roots and further starts are not counted",
    )  # fmt: skip


def erm_gradient(limits, repeats, dimension=500, samples=1000):
    """Loss and gradient on a data set: two products of all tokens with the weights, which read the tokens twice."""
    loss, rng = make_loss("square", LAYER), np.random.default_rng(0)
    sequences, teacher = draw(1, 2, dimension, samples, rng)
    outputs = np.ascontiguousarray(LAYER.forward(local_fields(sequences, teacher))).reshape(samples, -1)
    tokens, start = sequences.astype(float).reshape(-1, dimension), rng.standard_normal(teacher.shape)
    return roof(
        f"loss and gradient of empirical risk, D = {dimension}, n = {samples}", "evaluation", 20,
        lambda: [objective_and_gradient(loss, outputs, tokens, 0.1, start) for _ in range(20)], repeats, limits, DOUBLE,
        operations=8 * samples * dimension, exponentials=4 * samples, size=2 * tokens.nbytes,
    )  # fmt: skip


def batch_reuse(limits, repeats, batches=200):
    """A step of one data set: two products of the tokens of a batch with the weights; memory is read once for all steps of it."""
    # A late import: JAX must not be in the measured memory.
    from attention_limits.sequence_multi_index.training.gradient_descent import descend

    link, block, start, teachers = descent_problem(batches)
    tokens = BATCH * link.tokens
    return roof(
        f"step of gradient descent with batch reuse, D = {DIMENSION}", "step", batches * DESCENT.reuse * SETS,
        lambda: descend(link, [block], start, teachers, DESCENT), repeats, limits, SINGLE,
        operations=4 * tokens * DIMENSION * link.rows, exponentials=8 * BATCH, size=4 * tokens * DIMENSION / DESCENT.reuse,
        note=f"batch of {BATCH} sequences, {DESCENT.reuse} steps on each, {SETS} data sets at once",
    )  # fmt: skip


def sequences(limits, repeats, dimension=500, samples=2000):
    """Random numbers of a data set, each written once."""
    return roof(
        "Gaussian sequences", "number", 2 * dimension * samples,
        lambda: draw(2, 2, dimension, samples, np.random.default_rng(0)), repeats, limits, SINGLE, normals=1, size=4,
    )  # fmt: skip


CASES = (trapezoid, importance_sampling, general_sampling, proximal, erm_gradient, batch_reuse, sequences)
