"""Promises of gradient descent in the attention-indexed family: what is stored is the descent, up to its rounding."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from attention_indexed_promises import FAMILY, computed
from hypothesis import example, given, settings
from hypothesis import strategies as st
from slow_attention_indexed_simulations import Rounding, adam, descent_problem
from specifications import section

from attention_limits.attention_indexed.model.scores import (
    attention,
    attention_matrix,
    draw_sequences,
    draw_weights,
    scores,
)
from attention_limits.pipeline.base.streams import Streams

pytestmark = pytest.mark.slow

# Rounded paths, and the root mean squares of their deviations within which the stored numbers are: Student's t of eight degrees
# leaves 5e-5 beyond.
PATHS, DEVIATIONS = 8, 7.0


@settings(max_examples=2)
@given(
    model=section(
        FAMILY,
        "gradient_descent",
        "model",
        "beta",
        tokens=st.integers(2, 5),
        ratio=st.floats(-1.3, 1.0).map(lambda x: 10.0**x),
    ),
    grid=section(FAMILY, "gradient_descent", "grid", alpha=st.floats(0.01, 1.0)),
    rate=st.floats(-4.0, 1.0).map(lambda x: 10.0**x),
    sharp=st.just(False),
)
@example(model={"tokens": 2, "ratio": 0.5, "beta": 30.0}, grid={"alpha": 0.2}, rate=0.1, sharp=True)
@example(model={"tokens": 2, "ratio": 0.5, "beta": 0.01}, grid={"alpha": 0.2}, rate=0.1, sharp=True)
@example(model={"tokens": 2, "ratio": 0.5, "beta": 1.0}, grid={"alpha": 0.2}, rate=10.0, sharp=False)
@example(model={"tokens": 2, "ratio": 1.0, "beta": 0.01}, grid={"alpha": 1.0}, rate=1.0, sharp=False)
def test_gradient_descent_is_that_in_double_precision(model, grid, rate, sharp):
    """Training errors and errors of the estimates are within seven deviations of eight paths in which each sum, function and step
    is rounded at random as in single precision. False-alarm rate 5e-5 per number. At beta < 1 outputs differ by beta and are
    rounded by u = 6e-8, so that slopes have the relative error u / beta; nothing else is set for it.

    `sharp` examples are stable: there the deviations are below 1 % of the number, so that a wrong step is seen. More tokens than
    five or wider weights make only the compilation longer.
    """
    d, steps = 12, 8
    solver = {"dimension": d, "starts": 2, "steps": steps, "record_every": 1, "learning_rate": rate}
    found = computed("gradient_descent", model, grid, solver=solver)
    streams, at = Streams(0, FAMILY, "promise"), {"alpha": float(f"{grid['alpha']:.12g}")}
    rank, count = int(found.width.item()), round(found.realised_alpha.item() * d * d)
    generator = streams.generator("data", 0, **at)
    _, S = draw_weights(d, rank, generator)
    X = draw_sequences(count, model["tokens"], d, generator)
    y = attention(scores(X, S), model["beta"])
    starts = streams.generator("start", 0, **at).standard_normal((2, d, rank), dtype=np.float32).astype(float)
    rng = np.random.default_rng(0)
    for k, start in enumerate(starts):
        training, final = [], []
        for rounding in (Rounding(), *(Rounding(rng) for _ in range(PATHS))):
            error, gradient = descent_problem(rounding(X), y, model["beta"], rounding)
            path = adam(gradient, start, steps, rate, rounding)
            training.append([error(W) for W in path])
            final.append([np.sum((attention_matrix(path[-1]) - S) ** 2) / d])
        ours = found.isel(start=k)
        for stored, paths in (
            (ours.training_error.values.ravel(), np.array(training)),
            (ours.mmse_by_start.values.ravel(), np.array(final)),
        ):
            deviation = np.sqrt(np.mean((paths[1:] - paths[0]) ** 2, axis=0))
            np.testing.assert_array_less(np.abs(stored - paths[0]), DEVIATIONS * deviation)
            assert not sharp or np.all(deviation < 0.01 * paths[0])
    assert np.isclose(found.mmse_average.sel(average=1).item(), found.mmse_by_start.mean().item(), rtol=1e-9)


@settings(max_examples=2)
@given(ratio=st.floats(0.3, 1.0), share=st.floats(0.3, 2.0), rate=st.sampled_from([0.02, 0.1]))
@example(ratio=0.5, share=1.6, rate=0.1)
@example(ratio=0.5, share=0.8, rate=0.02)
def test_starts_that_have_settled_stay_with_four_times_the_steps(ratio, share, rate):
    """At shares of exact recovery, d = 16. Starts are flagged as settled if they moved by at most 0.01 of their error, in one to
    two doublings of the steps. The two doublings of four times the steps may then move them by 0.03, which changes a squared
    error by 6 %; errors up to 1e-4 are exact recovery, about which Adam wanders. Runs of a few steps have not settled."""
    nu = ratio - ratio**2 / 2
    model, grid = {"tokens": 2, "ratio": float(f"{ratio:.6g}")}, {"alpha": float(f"{share * nu / 2.0:.6g}")}
    solver = {
        "dimension": 16,
        "starts": 3,
        "steps": 1500,
        "record_every": 500,
        "learning_rate": rate,
        "fresh_sequences": 10,
    }
    found = computed("gradient_descent", model, grid, solver=solver, replicas=2)
    longer = computed("gradient_descent", model, grid, solver={**solver, "steps": 6000}, replicas=2)
    settled = (found.settled == 1).values.ravel()
    if rate == 0.1 and share > 1.5:
        assert settled.any()
    for name in ("mmse_extrapolated", "mmse_average"):
        one, four = (data[name].values.reshape(len(settled), -1) for data in (found, longer))
        allowed = 0.06 * np.abs(one) + 1e-3
        assert np.all((np.abs(four - one) <= allowed) | ~settled[:, None])
    short = computed("gradient_descent", model, grid, solver={**solver, "steps": 20}, replicas=2)
    assert not np.any(short.settled)


def outputs_of_layers(X, weights, skip, beta):
    """y (n, M, M) of sequences X (n, M, d) and weights (L, d, r): a loop over the layers, which jax differentiates."""
    d, identity = X.shape[2], jnp.eye(X.shape[1])
    mixing = identity
    for layer, W in enumerate(weights):
        S = W @ W.T / jnp.sqrt(W.shape[1] * d)
        S = S - jnp.trace(S) / d * jnp.eye(d)
        fields = mixing @ (X @ S @ jnp.swapaxes(X, 1, 2) / jnp.sqrt(d)) @ jnp.swapaxes(mixing, -1, -2)
        attends = jax.nn.softmax(beta * fields, axis=-1)
        mixing = attends if layer + 1 == len(weights) else (attends + skip * identity) @ mixing
    return mixing


@settings(max_examples=2)
@given(
    model=section(
        FAMILY,
        "layers_descent",
        "model",
        layers=st.integers(1, 4),
        tokens=st.integers(2, 4),
        ratio=st.floats(0.1, 1.0),
        skip=st.floats(0.0, 3.0),
        beta=st.floats(0.3, 3.0),
    ),
    alpha=st.floats(0.05, 0.5),
)
@example(model={"layers": 3, "tokens": 2, "ratio": 0.5, "skip": 1.0, "beta": 1.0}, alpha=0.3)
@example(model={"layers": 1, "tokens": 3, "ratio": 0.5, "skip": 0.0, "beta": 1.0}, alpha=0.3)
def test_layers_descent_is_that_in_double_precision(model, alpha):
    """Training errors and errors of the estimates after 0 to 4 steps against Adam with gradients of jax in double precision.

    Allowed is 1e-3, some thousand roundings of single precision: Adam divides small gradients by their size."""
    d, steps, rate = 10, 4, 0.05
    solver = {"dimension": d, "starts": 2, "steps": steps, "record_every": 1, "learning_rate": rate}
    found = computed("layers_descent", model, {"alpha": alpha}, solver=solver)
    streams, at = Streams(0, FAMILY, "promise"), {"alpha": float(f"{alpha:.12g}")}
    rank, count = int(found.width.item()), round(found.realised_alpha.item() * d * d)
    generator = streams.generator("data", 0, **at)
    teachers = np.stack([draw_weights(d, rank, generator)[0] for _ in range(model["layers"])])
    X = draw_sequences(count, model["tokens"], d, generator)
    starts = streams.generator("start", 0, **at).standard_normal((2, *teachers.shape), dtype=np.float32).astype(float)
    with jax.enable_x64(True):
        y = outputs_of_layers(X, teachers, model["skip"], model["beta"])

        def squares(W):
            return jnp.sum((outputs_of_layers(X, W, model["skip"], model["beta"]) - y) ** 2)

        gradient = jax.jit(jax.grad(lambda W: squares(W) / d))
        for k, start in enumerate(starts):
            path = adam(lambda W: np.asarray(gradient(W)), start, steps, rate, Rounding())
            training = [float(squares(W)) / count for W in path]
            ours = found.isel(start=k)
            np.testing.assert_allclose(ours.training_error.values.ravel(), training, rtol=1e-3, atol=1e-9)
            final = []
            for W, teacher in zip(path[-1], teachers, strict=True):
                gap = attention_matrix(W) - attention_matrix(teacher)
                final.append((np.sum(gap**2) - np.trace(gap) ** 2 / d) / d)
            np.testing.assert_allclose(ours.mmse_by_layer_start.values.ravel(), final, rtol=1e-3)


@settings(max_examples=2)
@given(
    model=section(
        FAMILY,
        "untied_descent",
        "model",
        "self_attention",
        tokens=st.integers(2, 4),
        ratio=st.floats(0.1, 1.5),
        beta=st.floats(0.3, 3.0),
    ),
    alpha=st.floats(0.05, 0.5),
)
@example(model={"self_attention": True, "tokens": 2, "ratio": 0.5, "beta": 1.0}, alpha=0.3)
def test_untied_descent_is_that_in_double_precision(model, alpha):
    """Training errors, errors of the estimates and of their two parts after 0 to 4 steps against Adam with gradients of jax in
    double precision of another order of the products.

    Allowed is 1e-3, some thousand roundings of single precision: Adam divides small gradients by their size."""
    d, steps, rate, own = 10, 4, 0.05, model["self_attention"]
    solver = {"dimension": d, "starts": 2, "steps": steps, "record_every": 1, "learning_rate": rate}
    found = computed("untied_descent", model, {"alpha": alpha}, solver=solver)
    streams, at = Streams(0, FAMILY, "promise"), {"alpha": float(f"{alpha:.12g}")}
    rank, count = int(found.width.item()), round(found.realised_alpha.item() * d * d)
    generator = streams.generator("data", 0, **at)
    queries, keys = generator.standard_normal((2, d, rank))
    X = draw_sequences(count, model["tokens"], d, generator)
    Z = X if own else draw_sequences(count, model["tokens"], d, generator)
    starts = streams.generator("start", 0, **at).standard_normal((2, 2, d, rank), dtype=np.float32).astype(float)

    def outputs(W):
        h = (X @ W[0]) @ jnp.swapaxes(Z @ W[1], 1, 2)
        h = h - own * jnp.sum(W[0] * W[1]) * jnp.eye(model["tokens"])
        return jax.nn.softmax(model["beta"] * h / (np.sqrt(rank) * d), axis=-1)

    with jax.enable_x64(True):
        y = outputs(np.stack([queries, keys]))

        def squares(W):
            return jnp.sum((outputs(W) - y) ** 2)

        gradient = jax.jit(jax.grad(lambda W: squares(W) / d))
        for k, start in enumerate(starts):
            path = adam(lambda W: np.asarray(gradient(W)), start, steps, rate, Rounding())
            training = [float(squares(W)) / count for W in path]
            ours = found.isel(start=k)
            np.testing.assert_allclose(ours.training_error.values.ravel(), training, rtol=1e-3, atol=1e-9)
            gap = (path[-1][0] @ path[-1][1].T - queries @ keys.T) / np.sqrt(rank * d)
            np.testing.assert_allclose(ours.mmse_by_start.values.ravel(), np.sum(gap**2) / d, rtol=1e-3)
    np.testing.assert_allclose(found.mmse_by_part_average.sum("part").values, found.mmse_average.values, rtol=1e-9)
