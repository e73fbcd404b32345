"""The reduced SGD is the d-dimensional one: path by path on the same tokens, and in law."""

import full_sgd
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from ssi_tools import lane_update, rng, rngs

from attention_limits.sequence_single_index.links.geometry import fixed_attention
from attention_limits.sequence_single_index.sgd import fixed_students
from attention_limits.sequence_single_index.sgd import fixed_students_kernels as kernels
from attention_limits.sequence_single_index.sgd.attention_kernels import FROBENIUS, HALF_SQUARE, attention_update
from attention_limits.sequence_single_index.sgd.fixed_students import Schedule

pytestmark = pytest.mark.slow

DIMENSION = 50


RATE = 0.3


def directions(seed, count=3):
    return full_sgd.orthonormal_directions(DIMENSION, count, rng(seed))


def tied(tokens=3):
    teacher, other, _ = directions(1)
    return full_sgd.FullTied(0.3 * teacher + np.sqrt(1 - 0.09) * other, teacher, RATE), tokens


def untied(tokens=3):
    teacher = directions(2)[0]
    students = rng(3).standard_normal((tokens, DIMENSION))
    return full_sgd.FullUntied(students * np.sqrt(tokens / np.sum(students**2)), teacher, RATE), tokens


def attention(loss):
    teacher, position, other = directions(4)
    student = 0.3 * teacher + 0.2 * position + np.sqrt(1 - 0.13) * other
    return full_sgd.FullAttention(student, teacher, position, RATE, 1.0, 0.6, loss), 2


PARAMETERS = {
    kernels.tied_update: [RATE / DIMENSION, 3],
    kernels.untied_update: [RATE / DIMENSION],
    attention_update: [RATE / DIMENSION, 0.6, float(fixed_attention(1.0))],
}


CASES = {
    "tied": (tied, kernels.tied_update, (), 1),
    "tied, batch 4": (tied, kernels.tied_update, (), 4),
    "untied": (untied, kernels.untied_update, (), 1),
    "frobenius": (
        lambda: attention(FROBENIUS),
        attention_update,
        (FROBENIUS,),
        1,
    ),
    "half square": (
        lambda: attention(HALF_SQUARE),
        attention_update,
        (HALF_SQUARE,),
        1,
    ),
    "half square, batch 4": (
        lambda: attention(HALF_SQUARE),
        attention_update,
        (HALF_SQUARE,),
        4,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_same_tokens_give_the_same_path(case):
    """The reduced update, fed with the components of the tokens of a full run, follows its overlaps to rounding."""
    make, update, more, batch = CASES[case]
    model, tokens = make()
    parameters = np.array([*PARAMETERS[update], *more], dtype=float)
    generator, state, step = rng(7), model.state(), lane_update(update)
    moved = 0.0
    for _ in range(300):
        before = state.copy()
        draws, chi = model.step(generator.standard_normal((batch, tokens, DIMENSION)))
        step(state, draws, chi, parameters)
        moved += np.abs(state - before).sum()
        np.testing.assert_allclose(state, model.state(), rtol=0, atol=1e-12)
    assert moved > 0.1


def autodiff_loss(case, u, tokens, model):
    """The losses as one writes them down, for jax.grad."""
    star = tokens @ model.teacher
    if case in ("tied", "untied"):
        fields = tokens @ u if case == "tied" else jnp.sum(tokens * u, axis=1)
        y = jnp.sum(star**2 - 1) / jnp.sqrt(2.0)
        return (y - jax.nn.relu(jnp.sum(fields) / jnp.sqrt(len(tokens)))) ** 2
    z = (tokens + jnp.array([[1.0], [-1.0]]) * model.position) @ u
    fixed = jax.nn.softmax(model.a**2 * jnp.array([[1.0, -1.0], [-1.0, 1.0]]), axis=1)
    target = (1 - model.omega) * jax.nn.softmax(jnp.outer(star, star), axis=1) + model.omega * fixed
    miss = target - jax.nn.softmax(jnp.outer(z, z), axis=1)
    return jnp.sqrt(jnp.sum(miss**2)) if case == "frobenius" else 0.5 * jnp.sum(miss**2)


@pytest.mark.parametrize("case", ["tied", "untied", "frobenius", "half square"])
def test_full_step_descends_the_autodiff_gradient(case):
    model, tokens = CASES[case][0]()
    name = "students" if case == "untied" else "student"
    slope = jax.jit(jax.grad(lambda u, g: autodiff_loss(case, u, g, model)))
    with jax.enable_x64(True):
        for g in rng(8).standard_normal((3, tokens, DIMENSION)):
            u = getattr(model, name)
            gradient = np.asarray(slope(jnp.asarray(u), g))
            moved = u - RATE / DIMENSION * gradient
            model.step(g[None])
            expected = moved * np.sqrt(np.sum(u**2) / np.sum(moved**2))
            np.testing.assert_allclose(getattr(model, name), expected, rtol=0, atol=1e-12)


def reduced_laws(schedule):
    """Runs of the reduced law with the Generators g, from the starts below, by case."""

    def law(loss, g):
        problem = fixed_students.AttentionProblem(1.0, 0.6, loss)
        return fixed_students.attention(problem, DIMENSION, RATE, (0.2, 0.3), schedule, g)

    return {
        "tied": lambda g: fixed_students.tied(3, DIMENSION, RATE, 0.3, schedule, g),
        "untied": lambda g: fixed_students.untied(3, DIMENSION, RATE, 0.3, schedule, g),
        "frobenius": lambda g: law("frobenius", g),
        "half square": lambda g: law("half_square", g),
    }


@pytest.mark.parametrize("case", ["tied", "untied", "frobenius", "half square"])
def test_reduced_and_full_agree_in_distribution(case):
    """Overlaps after 30 steps, 200 full against 4000 reduced runs: Kolmogorov-Smirnov, false alarm 1e-4 per overlap."""
    steps, full = 30, []
    for seed in range(200):
        model, tokens = CASES[case][0]()
        if case == "untied":
            # All tokens start at m_l = 0.3 and r_l = 1, like the reduced student.
            rest = model.students - np.outer(model.students @ model.teacher, model.teacher)
            rest /= np.linalg.norm(rest, axis=1)[:, None]
            model.students = 0.3 * model.teacher + np.sqrt(1 - 0.3**2) * rest
        end = full_sgd.simulate(model, steps, rng(1000 + seed), tokens)[-1]
        full.append(end)
    law = reduced_laws(Schedule(steps, threshold=2.0))[case]
    full, reduced = np.array(full), np.array([run.state for run in law([rng(5000 + seed) for seed in range(4000)])])
    if case == "untied":
        full, reduced = (states[:, :3].mean(axis=1, keepdims=True) for states in (full, reduced))
    assert full.shape[1] == reduced.shape[1] > 0
    for one, other in zip(full.T, reduced.T, strict=True):
        assert np.std(one) > 1e-3
        assert stats.ks_2samp(one, other).pvalue > 1e-4


def test_random_starts_are_the_overlaps_of_random_weights_and_each_run_has_its_own():
    """Components of random unit vectors in d dimensions: (1 + m) / 2 has the law Beta((d - 1)/2, (d - 1)/2); false alarm 1e-6."""
    starts = fixed_students.random_starts(7, 3, [rng(seed) for seed in range(2000)])
    assert starts.shape == (3, 2000)
    assert stats.kstest(0.5 * (1.0 + starts.ravel()), stats.beta(3.0, 3.0).cdf).pvalue > 1e-6
    schedule = Schedule(10, threshold=2.0, records=[0, 10])
    shared, own = rngs(20), starts[:, :20]
    tied = fixed_students.tied(3, 7, 0.1, own[:1], schedule, shared)
    assert [run.trajectory[0, 0] for run in tied] == list(own[0])
    untied = fixed_students.untied(3, 7, 0.1, own, schedule, rngs(20))
    np.testing.assert_array_equal([run.trajectory[0, :3] for run in untied], own.T)
    (alone,) = fixed_students.untied(3, 7, 0.1, own[:, 13:14], schedule, rngs(20)[13:14])
    np.testing.assert_array_equal(alone.state, untied[13].state)


def test_unescaped_runs_are_censored_at_their_length():
    (run,) = fixed_students.tied(2, 1000, 1e-3, 0.03, Schedule(500, threshold=0.9, records=[0, 250, 500]), [rng(0)])
    assert (run.escaped, run.escape_step) == (False, 500)
    assert run.trajectory[0, 0] == 0.03
    assert run.trajectory[-1, 0] == run.state[0]
    (stopped,) = fixed_students.tied(2, 100, 0.1, 0.3, Schedule(10**6, threshold=0.5, records=[0, 10**6]), [rng(0)])
    assert stopped.escaped
    assert np.isnan(stopped.trajectory[1, 0])


@pytest.mark.parametrize("stop", [True, False])
def test_a_run_does_not_depend_on_the_others(stop):
    """Twenty runs side by side, of different lengths, have the bytes of each of them alone: states, records, escape steps."""
    schedule = Schedule(3000, threshold=0.5, stop=stop, records=[0, 1, 100, 3000])
    laws = reduced_laws(schedule) | {
        "hermite": lambda g: fixed_students.matched_hermite(3, 2, DIMENSION, 0.1, 0.3, schedule, g),
        "batch": lambda g: fixed_students.tied(2, DIMENSION, 0.1, 0.3, schedule, g, batch=3),
    }
    for name, law in laws.items():
        together = law(rngs(20))
        assert len({run.escape_step for run in together}) >= 3, name
        for seed in (0, 7, 8, 19):
            (alone,) = law([rng(seed)])
            assert (alone.escaped, alone.escape_step) == (together[seed].escaped, together[seed].escape_step)
            np.testing.assert_array_equal(alone.state, together[seed].state)
            np.testing.assert_array_equal(alone.trajectory, together[seed].trajectory)
