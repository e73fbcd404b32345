"""Benchmarks of the attention-indexed family: learning curves, matrix AMP, gradient descent, against naive implementations."""

import operator
import tracemalloc
from functools import partial

import numpy as np

import naive_attention_indexed as naive
from attention_limits.attention_indexed.amp import matrix_amp, sample_sums
from attention_limits.attention_indexed.channels.loading import make_channel
from attention_limits.attention_indexed.erm import linear
from attention_limits.attention_indexed.model.scores import attention, draw_sequences, draw_weights, scores
from attention_limits.attention_indexed.model.sizes import Sizes
from attention_limits.attention_indexed.schema.keys import Iteration
from attention_limits.attention_indexed.schema.one_layer import GradientDescent
from attention_limits.attention_indexed.state_evolution.curve import solve
from attention_limits.attention_indexed.training.gradient_descent import descend
from attention_limits.attention_indexed.two_layers.two_tokens.softmax import SPREADS, TwoLayers, contrasts
from table import Row, Spread, clocked, growth, timed
from toycodes import attention_indexed as toy

RATIO, TOKENS = 0.5, 2
POINTS = 600


def rows(quick):
    """All rows of the family."""
    # A late import: only this row needs JAX.
    import jax_rows

    repeats = 3 if quick else 7
    return [
        curve_row(repeats, naive_points=1 if quick else 4),
        amp_row(100, 0.5, repeats),
        amp_tensor_row(30 if quick else 40, repeats),
        descent_row(100, 0.14, repeats),
        descent_loop_row(100, 0.14, 2 if quick else repeats),
        two_layer_row(2 if quick else 8, outputs=2000, repeats=repeats),
        decay_row(repeats, naive_points=1 if quick else 4),
        jax_rows.width_row(repeats),
    ]


def growths(quick):
    """All growths of the family."""
    repeats = 2 if quick else 5
    return [
        width_growth([20, 40] if quick else [100, 150, 200, 300, 400], repeats),
        score_growth([2, 4] if quick else [2, 3, 4, 6, 8], repeats),
    ]


def curve_row(repeats, naive_points):
    """Seconds for a softmax learning curve of 600 values of alpha."""
    channel = make_channel("softmax", TOKENS)
    alpha = np.linspace(0.0, 0.18, POINTS)
    ours = solve(channel, RATIO, alpha)
    places = np.linspace(60, POINTS - 120, naive_points).astype(int)
    # q_hat = alpha K / V.
    precisions = [partial(operator.truediv, alpha[place] * channel.equations) for place in places]
    found = [clocked(partial(toy.learning_point, RATIO, precision)) for precision in precisions]
    naive_times = [POINTS * seconds for seconds, _ in found]
    errors = [abs(value - ours.mmse[place]) for place, (_, value) in zip(places, found, strict=True)]
    our_times = timed(partial(solve, channel, RATIO, alpha), repeats)
    return Row(
        f"learning curve of extensive width, {POINTS} points",
        ours=Spread.of(our_times),
        baseline=Spread.of(naive_times),
        ratio=Spread.of(np.median(naive_times) / our_times),
        baseline_errors={"V": Spread.of(errors)},
        note="softmax, ρ = 0.5; baseline: roots of the cubic, adaptive quadrature, iterated fixed point, a few points",
    )


def all_of(iterations):
    """Settings of matrix AMP that measure this number of iterations: no residual is below their tolerance."""
    return Iteration().model_copy(update={"max_iterations": iterations, "tolerance": 0.0})


def amp_row(dimension, alpha, repeats, iterations=10):
    """Seconds per AMP iteration, measured alternately with its two matrix products and one eigendecomposition; memory with X."""
    channel = make_channel("softmax", TOKENS)
    count = round(alpha * dimension**2)
    data = matrix_amp.draw_dataset(channel, Sizes(count, dimension, round(RATIO * dimension)), np.random.default_rng(0))
    # A constant in the scores changes no softmax: one token of each sequence is left out.
    tokens = np.ascontiguousarray(data.sequences[:, :-1]).reshape(-1, dimension)
    narrow = data.teacher.astype(tokens.dtype)
    whole = partial(matrix_amp.run, channel, data, all_of(iterations))

    def parts():
        for _ in range(iterations):
            products = tokens @ narrow
            tokens.T @ products
            np.linalg.eigh(data.teacher)

    whole(), parts()
    our_times, part_times = [], []
    for _ in range(repeats):
        our_times.append(clocked(whole, iterations)[0])
        part_times.append(clocked(parts, iterations)[0])
    tracemalloc.start()
    whole()
    memory = (tracemalloc.get_traced_memory()[1] + data.sequences.nbytes) / 1e6
    tracemalloc.stop()
    return Row(
        f"AMP iteration of extensive width, d = {dimension}, n = {count}",
        ours=Spread.of(our_times),
        baseline=Spread.of(part_times),
        ratio=Spread.of(np.divide(part_times, our_times)),
        memory_mb=Spread.of([memory]),
        note="baseline: its own two matrix products, in single precision, and one eigendecomposition; "
        "a ratio above 0.67 would mean that ours takes less than 1.5 times as long; "
        f"X alone is {data.sequences.nbytes / 1e6:.3g} MB",
    )


def amp_tensor_row(dimension, repeats):
    """Seconds of the sums over samples of an AMP iteration, and the memory of the n d^2 M^2 tensor, alpha = 1."""
    rng = np.random.default_rng(1)
    _, S = draw_weights(dimension, round(RATIO * dimension), rng)
    X = draw_sequences(dimension**2, TOKENS, dimension, rng)
    F = naive.tensor(X)
    G = naive.tensor_fields(F, S)
    our_times, naive_times = [], []
    for _ in range(repeats):
        seconds, (fields, step) = clocked(lambda: (sample_sums.all_scores(X, S), sample_sums.backward(X, G)))
        our_times.append(seconds)
        seconds, (naive_fields, naive_step) = clocked(lambda: (naive.tensor_fields(F, S), naive.tensor_backward(F, G)))
        naive_times.append(seconds)
    differences = [np.max(np.abs(naive_fields - fields)), np.max(np.abs(naive_step - step))]
    return Row(
        f"sums over samples of an AMP iteration, d = {dimension}, α = 1",
        ours=Spread.of(our_times),
        baseline=Spread.of(naive_times),
        ratio=Spread.of(np.divide(naive_times, our_times)),
        our_errors={"difference": Spread.of(differences)},
        memory_mb=Spread.of([X.nbytes / 1e6]),
        note=f"memory: X, the only stored array; baseline: contractions of the n × d × d × M × M tensor, {F.nbytes / 1e6:.3g} MB",
    )


def descent_problem(dimension, alpha, starts=1):
    """(X, y, starts) in double precision."""
    rng = np.random.default_rng(2)
    rank = round(RATIO * dimension)
    _, S = draw_weights(dimension, rank, rng)
    X = draw_sequences(round(alpha * dimension**2), TOKENS, dimension, rng)
    return X, attention(scores(X, S)), rng.standard_normal((starts, dimension, rank))


def timed_descent(X, y, starts, repeats, steps=50):
    """Seconds per step and start of our descent, after its compilation."""
    run = partial(
        descend, X, y, starts.astype(np.float32), 1.0, GradientDescent.Solver(steps=steps, record_every=steps)
    )
    # The run computes the loss after its last step too.
    return timed(run, repeats, (steps + 1) * len(starts))


def descent_row(dimension, alpha, repeats, starts=8):
    """Seconds per step and start, compared with its two products in single precision."""
    X, y, first = descent_problem(dimension, alpha, starts)
    tokens = X.reshape(-1, dimension).astype(np.float32)
    weights = first.transpose(1, 0, 2).reshape(dimension, -1).astype(np.float32)
    our_times, product_times = [], []
    for _ in range(repeats):
        our_times += timed_descent(X, y, first, 1, 20).tolist()
        product_times.append(clocked(lambda: [tokens.T @ (tokens @ weights) for _ in range(10)], 10 * starts)[0])
    return Row(
        f"gradient descent step of extensive width, d = {dimension}, n = {len(X)}",
        ours=Spread.of(our_times),
        baseline=Spread.of(product_times),
        ratio=Spread.of(np.divide(product_times, our_times)),
        note=f"of each of {starts} starts, Adam included; baseline: its own two matrix products",
    )


def descent_loop_row(dimension, alpha, repeats):
    """Seconds per step against a loop over samples in NumPy."""
    X, y, start = descent_problem(dimension, alpha)
    naive_times = [clocked(partial(naive.gradient, start[0], X, y, 1.0))[0] for _ in range(repeats)]
    our_times = timed_descent(X, y, start, repeats)
    return Row(
        f"the same step, d = {dimension}, n = {len(X)}",
        ours=Spread.of(our_times),
        baseline=Spread.of(naive_times),
        ratio=Spread.of(np.divide(naive_times, our_times)),
        note="baseline: gradient by a loop over samples in NumPy, double precision",
    )


def two_layer_row(naive_outputs, outputs, repeats):
    """Seconds per output of the posterior of two layers at V = 1/2, and the difference of the posterior means."""
    model, V, rng = TwoLayers(), np.array([0.5, 0.5]), np.random.default_rng(7)
    means = rng.standard_normal((outputs, 2, 2)) * SPREADS * np.sqrt(1.0 - V)[:, None]
    truth = means + rng.standard_normal((outputs, 2, 2)) * SPREADS * np.sqrt(V)[:, None]
    a = model.observe(model.log_output(*(_fields(truth[:, layer]) for layer in range(2))))
    z = model.posterior(a, means, V)[1]
    our_times = timed(partial(model.posterior, a, means, V), repeats, outputs)
    naive_times, errors = [], []
    for k in range(naive_outputs):
        seconds, (_, plain) = clocked(partial(naive.two_layer_moments, a[k], means[k], V, model.skip, model.beta))
        naive_times.append(seconds)
        errors.append(np.abs(plain - z[k]).max())
    return Row(
        "posterior of one output of two layers of extensive width",
        ours=Spread.of(our_times),
        baseline=Spread.of(naive_times),
        ratio=Spread.of(np.array(naive_times) / np.median(our_times)),
        our_errors={"posterior mean": Spread.of(errors)},
        note="softmax, M = 2, c = β = 1, V = 1/2; baseline: adaptive quadrature to 1e-6; difference of the two in prior standard "
        "deviations",
    )


def decay_row(repeats, naive_points):
    """Seconds for a curve of weight decay of 50 values of alpha, linear scores with noise."""
    equations, score_noise, decay = np.linspace(0.3, 2.4, 50), 0.1, 0.1
    whole = partial(linear.solve, equations, RATIO, score_noise, decay)
    ours = whole()
    naive_times, errors = [], []
    for place in np.linspace(10, 49, naive_points).astype(int):
        seconds, value = clocked(partial(naive.decay_point, equations[place], RATIO, score_noise, decay))
        naive_times.append(seconds * len(equations))
        errors.append(abs(value - ours.error[place]))
    our_times = timed(whole, repeats)
    return Row(
        "learning curve of weight decay at extensive width, 50 points",
        ours=Spread.of(our_times),
        baseline=Spread.of(naive_times),
        ratio=Spread.of(np.median(naive_times) / our_times),
        baseline_errors={"mse": Spread.of(errors)},
        note="linear scores, τ = λ = 0.1, ρ = 0.5; baseline: roots of the cubic on a grid, iterated fixed point, a few points",
    )


def _fields(pairs):
    """Symmetric fields (n, 2, 2) with these contrasts (n, 2), of the smallest norm."""
    s, d = pairs[:, 0], pairs[:, 1]
    fields = np.stack(
        [np.stack([0.25 * s + 0.5 * d, -0.25 * s], -1), np.stack([-0.25 * s, 0.25 * s - 0.5 * d], -1)], -2
    )
    assert np.allclose(contrasts(fields), pairs)
    return fields


def width_growth(sizes, repeats):
    """One iteration of matrix AMP against the dimension, at alpha = 0.1: n = alpha d^2 samples of d^2 products each."""
    iterations = 3
    return growth(
        "matrix AMP, two tokens, α = 0.1, per iteration", "dimension d", sizes, lambda d: _amp(2, d, 0.1, iterations),
        iterations, repeats,
    )  # fmt: skip


def score_growth(sizes, repeats):
    """One iteration of matrix AMP against the number of tokens, at fixed d and n."""
    iterations = 3
    return growth(
        "matrix AMP, d = 100, n = 2000, per iteration", "tokens M", sizes, lambda length: _amp(length, 100, 0.2, iterations),
        iterations, repeats,
    )  # fmt: skip


def _amp(tokens, dimension, alpha, iterations):
    channel = make_channel("softmax", tokens)
    count = round(alpha * dimension**2)
    data = matrix_amp.draw_dataset(channel, Sizes(count, dimension, dimension // 2), np.random.default_rng(0))
    return lambda: matrix_amp.run(channel, data, all_of(iterations))
