"""The row of gradient descent of layers of finite rank: one step on a batch of sequences."""

from functools import partial

import numpy as np

import naive_sequence_multi_index as naive
from attention_limits.sequence_multi_index.data.sequences import draw, local_fields
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.schema.training import DescentSolver
from table import Row, Spread, clocked

# The setting of Figure 2.
DIMENSION, SAMPLES, BATCH, SETS = 500, 7500, 200, 4
DESCENT = DescentSolver(batch=BATCH, batches=1, learning_rate=15.0, weight_decay=0.07, reuse=3)


def descent_problem(batches, seed=0):
    """Link, block on the device, starts (S, 1, P, D) and teachers (S, P, D)."""
    # A late import: JAX must not be in the measured memory.
    import jax

    from attention_limits.sequence_multi_index.training.gradient_descent import Block, drawn_batches

    link, generator = DeepAttention(skip=1.0), np.random.default_rng(seed)
    drawn = [draw(link.rows, link.tokens, DIMENSION, SAMPLES, generator) for _ in range(SETS)]
    sequences, teachers = (np.stack(part) for part in zip(*drawn, strict=True))
    pairs = zip(sequences, teachers, strict=True)
    outputs = np.stack([link.forward(local_fields(*pair)) for pair in pairs]).astype(np.float32)
    order = np.stack([drawn_batches(SAMPLES, BATCH, batches, generator) for _ in range(SETS)])
    block = Block(jax.device_put(sequences), jax.device_put(outputs), order)
    return link, block, 0.9 * generator.standard_normal(teachers.shape)[:, None], teachers


def step_row(naive_batches, batches, repeats):
    """One gradient step of one data set: a `Row`. Both programs run in turn, the naive one on fewer batches."""
    from attention_limits.sequence_multi_index.training.gradient_descent import Block, descend

    link, block, start, teachers = descent_problem(batches)
    sequences, outputs = np.asarray(block.sequences[0], float), np.asarray(block.outputs[0], float)
    plain, ours = [], []
    descend(link, [block], start, teachers, DESCENT)
    first = block.order[0, :naive_batches]
    for _ in range(repeats):
        call = partial(naive.descend, link, start[0, 0], sequences, outputs, first, DESCENT)
        seconds, weights = clocked(call, naive_batches * DESCENT.reuse)
        plain.append(seconds)
        call = partial(descend, link, [block], start, teachers, DESCENT)
        ours.append(clocked(call, batches * DESCENT.reuse * SETS)[0])
    same = Block(block.sequences, block.outputs, block.order[:, :naive_batches])
    found = descend(link, [same], start, teachers, DESCENT).weights[0, 0]
    error = float(np.max(np.abs(found - weights)))
    return Row(
        f"Gradient step, batch of {BATCH} sequences, D = {DIMENSION}, {SETS} data sets at once",
        Spread.of(ours),
        Spread.of(plain),
        Spread.of([a / b for a, b in zip(plain, ours, strict=True)]),
        our_errors={f"W after {naive_batches} batches, in single precision": Spread.of([error])},
        note="the baseline loops over the sequences, in double precision",
    )
