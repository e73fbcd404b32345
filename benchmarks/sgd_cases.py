"""Benchmark of gradient descent: a jitted scan over batches, four data sets at once, against a loop over sequences."""

import time

import jax
import numpy as np

import naive_sgd
from attention_limits.sequence_multi_index.gaussian_sequences import draw, local_fields
from attention_limits.sequence_multi_index.gradient_descent import Block, Descent, descend, drawn_batches
from attention_limits.sequence_multi_index.links.deep_attention import DeepAttention
from table import Row, Spread

# The setting of Figure 2.
DIMENSION, SAMPLES, BATCH, SETS = 500, 7500, 200, 4
DESCENT = Descent(learning_rate=15.0, decay=0.07 / DIMENSION, reuse=3)


def problem(batches, seed=0):
    """Link, block on the device, starts (S, P, D) and teachers (S, P, D)."""
    link, generator = DeepAttention(skip=1.0), np.random.default_rng(seed)
    drawn = [draw(link.rows, link.tokens, DIMENSION, SAMPLES, generator) for _ in range(SETS)]
    sequences, teachers = (np.stack(part) for part in zip(*drawn, strict=True))
    pairs = zip(sequences, teachers, strict=True)
    outputs = np.stack([link.forward(local_fields(*pair)) for pair in pairs]).astype(np.float32)
    order = np.stack([drawn_batches(SAMPLES, BATCH, batches, generator) for _ in range(SETS)])
    block = Block(jax.device_put(sequences), jax.device_put(outputs), order)
    return link, block, 0.9 * generator.standard_normal(teachers.shape), teachers


def step_row(naive_batches, batches, repeats):
    """One gradient step of one data set: a `Row`. Both in the same run, the naive one on fewer batches."""
    link, block, start, teachers = problem(batches)
    sequences, outputs = np.asarray(block.sequences[0], float), np.asarray(block.outputs[0], float)
    plain, ours = [], []
    descend(link, [block], start, teachers, DESCENT)
    for _ in range(repeats):
        begun = time.perf_counter()
        weights = naive_sgd.descend(link, start[0], sequences, outputs, block.order[0, :naive_batches], DESCENT)
        plain.append((time.perf_counter() - begun) / (naive_batches * DESCENT.reuse))
        begun = time.perf_counter()
        descend(link, [block], start, teachers, DESCENT)
        ours.append((time.perf_counter() - begun) / (batches * DESCENT.reuse * SETS))
    same = Block(block.sequences, block.outputs, block.order[:, :naive_batches])
    found = descend(link, [same], start, teachers, DESCENT).weights[0]
    error = float(np.max(np.abs(found - weights)))
    return Row(
        f"Gradient step, batch of {BATCH} sequences, D = {DIMENSION}, {SETS} data sets at once",
        Spread.of(ours),
        Spread.of(plain),
        Spread.of([a / b for a, b in zip(plain, ours, strict=True)]),
        our_errors={f"W after {naive_batches} batches, in single precision": Spread.of([error])},
        note="the peer loops over the sequences, in double precision",
    )
