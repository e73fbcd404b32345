"""Benchmarks of the sequence single-index family: SGD of special and any students, losses, phases; growth of their cost."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import minimize

import own_models
from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.numerics.simd.float64_lanes import WIDTH
from attention_limits.sequence_single_index.links import built_in
from attention_limits.sequence_single_index.links.geometry import alternating, fixed_attention
from attention_limits.sequence_single_index.links.link import Link, named_link, over_sequences
from attention_limits.sequence_single_index.positional_semantic.loss import LossGrid, attention_loss, attention_tables
from attention_limits.sequence_single_index.positional_semantic.phase_diagram import phase_grid
from attention_limits.sequence_single_index.sgd.any_student import LinkProblem, simulate
from attention_limits.sequence_single_index.sgd.fixed_students import (
    AttentionProblem,
    Schedule,
    attention,
    matched_hermite,
    tied,
)
from table import Row, Spread, clocked, growth
from tests.sequence_single_index.full_sgd import orthonormal_directions
from toycodes import sequence_single_index as toy

A, OMEGA, RATE, DIMENSION = 1.0, 0.64, 0.05, 1000
GRID = 200


def rows(quick):
    """All rows of the family."""
    return [
        sgd_row(3 if quick else 7, quick),
        *link_rows(3 if quick else 7),
        surface_row(5 if quick else 20),
        phase_row(1 if quick else 5),
    ]


def growths(quick):
    """All growths of the family."""
    repeats = 2 if quick else 5
    return [
        token_growth([1, 4, 16] if quick else [1, 4, 16, 64, 256], repeats),
        dimension_growth([1e2, 1e4] if quick else [1e2, 1e3, 1e4, 1e5], repeats),
        grid_growth([20, 40] if quick else [25, 50, 100, 200], repeats),
    ]


def autodiff_step():
    """The d-dimensional SGD step of the attention student on the Frobenius norm, with automatic differentiation, compiled."""
    teacher, position, student = jnp.asarray(orthonormal_directions(DIMENSION, 3, np.random.default_rng(0)))
    abar = float(fixed_attention(A))
    fixed = jnp.array([[abar, 1 - abar], [1 - abar, abar]])
    encoding = jnp.array([[1.0], [-1.0]]) * position

    def loss(u, tokens):
        star, z = tokens @ teacher, (tokens + encoding) @ u
        target = (1 - OMEGA) * jax.nn.softmax(jnp.outer(star, star), axis=1) + OMEGA * fixed
        return jnp.linalg.norm(target - jax.nn.softmax(jnp.outer(z, z), axis=1))

    @jax.jit
    def step(u, key):
        key, now = jax.random.split(key)
        u = u - RATE / DIMENSION * jax.grad(loss)(u, jax.random.normal(now, (2, DIMENSION)))
        return u / jnp.linalg.norm(u), key

    state = step(student, jax.random.key(0))
    jax.block_until_ready(state)
    return step, state


def _generators():
    return [np.random.Generator(np.random.SFC64(seed)) for seed in range(WIDTH)]


def sgd_row(repeats, quick):
    """Seconds per SGD step of a run at d = 1000, alternately for the autodiff loop and for the reduced law."""
    step, state = autodiff_step()
    problem = AttentionProblem(A, OMEGA, "frobenius")
    plain_steps, our_steps = (500 if quick else 3000), 200_000

    def plain(state):
        for _ in range(plain_steps):
            state = step(*state)
        return jax.block_until_ready(state)

    def ours(steps):
        attention(problem, DIMENSION, RATE, (0.0, 0.0), Schedule(steps, threshold=2.0), _generators())

    ours(10)
    plain_times, our_times = [], []
    for _ in range(repeats):
        seconds, state = clocked(partial(plain, state), plain_steps)
        plain_times.append(seconds)
        our_times.append(clocked(partial(ours, our_steps), our_steps * WIDTH)[0])
    return Row(
        "SGD step of attention, d = 1000",
        ours=Spread.of(our_times),
        baseline=Spread.of(plain_times),
        ratio=Spread.of(np.divide(plain_times, our_times)),
        note="batch 1, Frobenius norm, eight runs at once; baseline: one run, compiled jax.grad in d dimensions, step by step",
    )


def link_rows(repeats):
    """Seconds per SGD step of two tokens, alternately for the updates of one student and for those of any student."""
    attends = built_in.positional_semantic(A, OMEGA), built_in.full_attention
    cubic = built_in.hermite_sum(3, (12**-0.5, 12**-0.5), 0.0)
    schedule = Schedule(1_000_000, threshold=2.0)
    problem = AttentionProblem(A, OMEGA, "frobenius")

    def own_kernel():
        attention(problem, DIMENSION, RATE, (0.0, 0.0), schedule, _generators())

    cases = {
        "softmax attention": (
            own_kernel,
            LinkProblem(*attends, 2, "frobenius", alternating(2)),
        ),
        "softmax attention of a user, a tuple": (
            own_kernel,
            LinkProblem(attends[0], own_models.attention_of_two_tokens, 2, "frobenius", alternating(2)),
        ),
        "He₃": (
            lambda: matched_hermite(3, 2, DIMENSION, RATE, 0.1, schedule, _generators()),
            LinkProblem(cubic, cubic, 2),
        ),
        "tanh, no update for it alone": (None, LinkProblem(cubic, _mean_tanh, 2)),
    }
    found = []
    for name, (one, anyone) in cases.items():
        starts = np.full((WIDTH, anyone.components.shape[1] + 1), 0.1)

        def general(steps, anyone=anyone, starts=starts):
            simulate(anyone, DIMENSION, RATE, starts, Schedule(steps, threshold=2.0), _generators())

        general(10)
        times, general_times = [], []
        for _ in range(repeats):
            if one is not None:
                times.append(clocked(one, schedule.steps * WIDTH)[0])
            general_times.append(clocked(partial(general, schedule.steps), schedule.steps * WIDTH)[0])
        found.append(
            Row(
                f"SGD step of any student, M = 2: {name}",
                ours=Spread.of(general_times),
                baseline=Spread.of(times) if times else None,
                ratio=Spread.of(np.divide(times, general_times)) if times else None,
                note="derivatives by dual numbers; baseline: the update written for this student; both: eight runs at once",
            )
        )
    return found


def _mean_tanh(z):
    total = 0.0
    for field in z:
        total += math.tanh(field)
    return total / math.sqrt(len(z))


def surface_row(repeats):
    """Seconds for a 200 x 200 loss surface at a new (a, omega), with existing tables."""
    axis = np.linspace(-1.0, 1.0, GRID)
    grid = LossGrid.on(axis, axis)
    target, student = Link(2, over_sequences(built_in.positional_semantic(A, OMEGA))), named_link("full_attention", 2)
    nodes = gaussian_nodes(4, 2**14, np.random.default_rng(0))
    e, m = 0.4, 0.5
    exact = LossGrid.on([e], [m]).loss(A, OMEGA)[0, 0]
    plain_times, our_times, errors = [], [], []

    def plain():
        return nodes.mean(toy.losses(target, student, e, m, nodes.points))

    for k in range(repeats):
        seconds, value = clocked(plain)
        plain_times.append(seconds * GRID**2)
        errors.append(abs(value - exact))
        our_times.append(clocked(partial(grid.loss, A, 0.4 + 0.01 * k))[0])
    tail = 4 * (1 - OMEGA) * float(np.max(attention_tables().tail(np.sqrt(1 - axis**2), axis)))
    return Row(
        f"loss surface {GRID} × {GRID}, new (a, ω)",
        ours=Spread.of(our_times),
        baseline=Spread.of(plain_times),
        ratio=Spread.of(np.divide(plain_times, our_times)),
        baseline_errors={"R": Spread.of(errors)},
        our_errors={"tail": Spread.of([tail])},
        note="baseline: 16 384 Sobol nodes per point, one point extrapolated; tables once per process",
    )


def descend(a, omega):
    """Minima of the loss over radius and angle by descent from five starts, one number of the loss at a time."""

    def loss(p):
        return float(attention_loss(a, omega, p[0] * np.cos(p[1]), p[0] * np.sin(p[1])))

    starts = ([0.1, 0.8], [0.9, 0.1], [0.9, 1.4], [0.7, 0.8], [1.0, 0.8])
    return [minimize(loss, start, method="L-BFGS-B", bounds=[(0, 1), (0, 0.5 * np.pi)]) for start in starts]


def phase_row(repeats):
    """Seconds for the 200 x 200 phase diagram."""
    a, omega = np.linspace(0.7, 1.0, GRID), np.linspace(0.4, 1.0, GRID)
    phase_grid(a[:2], omega[:2])
    plain_times, our_times = [], []
    for k in range(repeats):
        plain_times.append(clocked(partial(descend, a[20 * k], omega[100]))[0] * GRID**2)
        our_times.append(clocked(partial(phase_grid, a, omega))[0])
    return Row(
        f"phase diagram {GRID} × {GRID}",
        ours=Spread.of(our_times),
        baseline=Spread.of(plain_times),
        ratio=Spread.of(np.divide(plain_times, our_times)),
        note="one core, tables computed before; baseline: descent within the disk from five starts, point by point, extrapolated",
    )


def token_growth(sizes, repeats):
    """One step of reduced SGD with tied weights against the number of tokens."""
    steps, what = 100_000, "reduced SGD, tied weights, d = 1000, per step"
    return growth(what, "tokens M", sizes, lambda length: _sgd(length, 1000, steps), WIDTH * steps, repeats)


def dimension_growth(sizes, repeats):
    """The same against the dimension, which enters the reduced law only as the number of degrees of freedom of a chi^2."""
    steps, what = 200_000, "reduced SGD, tied weights, two tokens, per step"
    return growth(what, "dimension d", sizes, lambda dimension: _sgd(2, int(dimension), steps), WIDTH * steps, repeats)


def _sgd(length, dimension, steps):
    # A threshold out of reach: every step is taken.
    return lambda: tied(length, dimension, 1e-3, 0.1, Schedule(steps, threshold=2.0), _generators())


def grid_growth(sizes, repeats):
    """The phase diagram against the points along one side of its grid."""

    def work(points):
        a, omega = np.linspace(0.7, 1.0, points), np.linspace(0.4, 1.0, points)
        return lambda: phase_grid(a, omega)

    return growth("phase diagram of points × points", "points per side", sizes, work, 1, repeats)
