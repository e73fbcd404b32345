"""SGD of any student and target: path by path the d-dimensional simulation, with gradients of JAX; the four fast students.

Compilation of one student and target takes some seconds: that is the time of this file.
"""

import math
from types import FunctionType

import full_sgd
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numba import njit
from numba.core import event
from ssi_tools import lane_update, rng, rngs

from attention_limits.numerics import content
from attention_limits.sequence_single_index.large_dimension.any_student_flow import flows
from attention_limits.sequence_single_index.links import built_in
from attention_limits.sequence_single_index.links import link as batch_links
from attention_limits.sequence_single_index.links.geometry import alternating, fixed_attention
from attention_limits.sequence_single_index.sgd import any_student, attention_kernels
from attention_limits.sequence_single_index.sgd import fixed_students_kernels as kernels
from attention_limits.sequence_single_index.sgd import functions_kernels as functions
from attention_limits.sequence_single_index.sgd.any_student import LinkProblem
from attention_limits.sequence_single_index.sgd.fixed_students import Schedule

pytestmark = pytest.mark.slow

D, RATE = 40, 0.4


def gate(z):
    return math.tanh(z[0]) * z[1] + 0.3 * z[0] ** 2


def wave(z):
    return math.sin(z[0] + z[1]) - z[0]


def soft_majority(z):
    total = 0.0
    for x in z:
        total += 2.0 * math.tanh(x) / (1.0 + math.exp(-x))
    return total


def sign_of_product(z):
    return 1.0 if z[0] * z[1] * z[2] > 0 else -1.0


def kinks(z):
    return [max(z[0], 0.2 * z[1]), abs(z[2]) - z[3], math.sqrt(1.0 + z[1] ** 2) * z[3]]


def kinks_slopes(z, token):
    return [
        (1.0 if token == 0 else 0.0) if z[0] >= 0.2 * z[1] else (0.2 if token == 1 else 0.0),
        (1.0 if z[2] >= 0 else -1.0) * (token == 2) - (token == 3),
        (z[1] * z[3] / math.sqrt(1 + z[1] ** 2)) * (token == 1) + math.sqrt(1 + z[1] ** 2) * (token == 3),
    ]


def given_kinks(z):
    return [max(z[0], 0.2 * z[1]), abs(z[2]) - z[3], math.sqrt(1.0 + z[1] ** 2) * z[3]]


def squares(z):
    return [z[0] ** 2, z[1] * z[2], z[3]]


NEIGHBOURS = ((1.0, 0.3), (0.3, 0.5))
# Target, student, tokens, loss, Gram matrix, untied, batch; and target, student and loss for jax.grad, written anew.
CASES = {
    "gate, square, general positions that overlap with the teacher": (
        LinkProblem(wave, gate, 2, "half_square", NEIGHBOURS, shifts=(0.4, -0.3)), 1,
        lambda a: jnp.sin(a[0] + a[1]) - a[0], lambda z: jnp.tanh(z[0]) * z[1] + 0.3 * z[0] * z[0],
        lambda y, f: 0.5 * (y - f) ** 2,
    ),
    "soft majority, logistic, untied, positions that overlap, batch 2": (
        LinkProblem(sign_of_product, soft_majority, 3, "logistic", alternating(3), untied=True, shifts=(0.6, -0.6, 0.6)), 2,
        lambda a: jnp.sign(jnp.prod(a)), lambda z: jnp.sum(2 * jnp.tanh(z) * jax.nn.sigmoid(z)),
        lambda y, f: jnp.log(1 + jnp.exp(-y * f)),
    ),
    "three outputs with kinks, norm": (
        LinkProblem(squares, kinks, 4, "frobenius"), 1,
        lambda a: jnp.array([a[0] ** 2, a[1] * a[2], a[3]]),
        lambda z: jnp.array([jnp.maximum(z[0], 0.2 * z[1]), jnp.abs(z[2]) - z[3], jnp.sqrt(1 + z[1] ** 2) * z[3]]),
        lambda y, f: jnp.sqrt(jnp.sum((y - f) ** 2)),
    ),
}  # fmt: skip


class Full:
    """All d components of students, teacher and positional vectors; the state in the layout of `any_student_kernels`."""

    def __init__(self, problem, generator, target, student, loss):
        self.problem, M = problem, problem.tokens
        rank = problem.components.shape[1]
        basis = full_sgd.orthonormal_directions(D, rank + 1, generator)
        self.basis, self.teacher = basis[:-1], basis[-1]
        self.positions = problem.components @ self.basis + np.outer(problem.teacher_overlaps, self.teacher)
        u = generator.standard_normal((M if problem.untied else 1, D))
        self.u = u * np.sqrt(len(u) / np.sum(u**2))

        def of_weights(u, g):
            return loss(target(g @ self.teacher), student(jnp.sum((g + self.positions) * u, axis=1)))

        self.gradient = jax.jit(jax.vmap(jax.grad(of_weights), (None, 0)))
        self.slopes = jax.jit(jax.vmap(jax.grad(lambda z, y: loss(y, student(z)))))
        self.target = jax.jit(jax.vmap(target))

    def state(self):
        m, e = self.u @ self.teacher, self.u @ self.basis.T
        if not self.problem.untied:
            return np.concatenate([e[0], m])
        return np.concatenate([m, e.ravel(), np.sum(self.u**2, axis=1)])

    def step(self, g):
        """One step on tokens (B, M, d): draws and chi of the reduced law that follows."""
        B, M, _ = g.shape
        known = np.vstack([self.teacher, self.basis])
        weights = np.broadcast_to(self.u, (M, D))
        rests = weights - weights @ known.T @ known
        rests = rests / np.linalg.norm(rests, axis=1)[:, None]
        along = g @ known.T
        xi = np.sum(g * rests, axis=2)
        off = g - along @ known - xi[..., None] * rests
        z = np.sum((g + self.positions) * weights, axis=2)
        slopes = np.asarray(self.slopes(z, self.target(along[..., 0])))
        if self.problem.untied:
            chi = np.sum(np.einsum("bl,bld->ld", slopes, off) ** 2, axis=1) / np.sum(slopes**2, axis=0)
        else:
            chi = np.array([np.sum(np.einsum("bl,bld->d", slopes, off) ** 2) / np.sum(slopes**2)])
        draws = np.concatenate([np.moveaxis(along, 2, 1).reshape(B, -1), xi], axis=1)
        gradient = np.asarray(self.gradient(self.u, g)).mean(axis=0)
        moved = self.u - RATE / D * (gradient if self.problem.untied else gradient.sum(axis=0, keepdims=True))
        self.u = moved * np.sqrt(len(moved) / np.sum(moved**2))
        return draws, chi


def any_lane_update(problem):
    """(state, draws, chi) -> |e|^2 + m^2: a step of `ssi_tools.lane_update` for any student, at d = D."""
    eta, _, *numbers = any_student.parameters(problem, D, RATE, 1)
    step = lane_update(any_student.compiled(problem)[0])
    return lambda state, draws, chi: step(state, draws, chi, [eta, *numbers])


@pytest.mark.parametrize("case", CASES)
def test_same_tokens_give_the_same_path(case):
    """200 steps at d = 40; the gradient of the full simulation is that of JAX by all components of the weights."""
    problem, batch, *written = CASES[case]
    with jax.enable_x64(True):
        full = Full(problem, rng(1), *written)
        update, state = any_lane_update(problem), full.state()
        generator, moved = rng(2), 0.0
        for _ in range(200):
            before = state.copy()
            draws, chi = full.step(generator.standard_normal((batch, problem.tokens, D)))
            known = update(state, draws, chi)
            moved += np.abs(state - before).sum()
            np.testing.assert_allclose(state, full.state(), rtol=0, atol=1e-11)
        m, e = any_student.overlaps(problem, state)
        np.testing.assert_allclose(m, np.broadcast_to(full.u @ full.teacher, m.shape), atol=1e-11)
        np.testing.assert_allclose(e, np.sum(full.u * full.positions, axis=1), atol=1e-11)
        size = np.sum((full.u @ np.vstack([full.teacher, full.basis]).T) ** 2) / len(full.u)
        assert known == pytest.approx(size, abs=1e-11)
    assert moved > 0.1


def test_a_given_gradient_is_used():
    """The same path as with dual numbers, to rounding."""
    given_kinks.gradient = kinks_slopes
    schedule = Schedule(50, threshold=2.0)
    automatic, given = (
        any_student.simulate(LinkProblem(squares, student, 4, "frobenius"), D, RATE, [[0.2]], schedule, [rng(0)])[
            0
        ].state
        for student in (kinks, given_kinks)
    )
    np.testing.assert_allclose(automatic, given, rtol=0, atol=1e-12)
    assert abs(automatic[0] - 0.2) > 1e-3


def bend(z):
    return [max(z[0], 0.3 * z[1]) * z[1], math.exp(z[0] - abs(z[1]))]


def branched_bend(z):
    first = z[0] if z[0] >= 0.3 * z[1] else 0.3 * z[1]
    return [first * z[1], math.exp(z[0] - (z[1] if z[1] >= 0 else -z[1]))]


def test_branches_are_those_of_each_sequence():
    """A function whose branches depend on the fields runs for one sequence after the other: 11 runs, more than the lanes.

    The exponentials of both differ by rounding.
    """
    schedule, starts = Schedule(80, threshold=2.0, records=(20, 40)), np.linspace(-0.5, 0.5, 11)[:, None]
    several = []
    for student in (bend, branched_bend):
        values = functions.make_values(njit(student), 2)
        assert (any_student.of_lanes(values, 2, 2) is values) == (student is bend)
        problem = LinkProblem(bend, student, 2, untied=False)
        several.append(any_student.simulate(problem, D, RATE, starts, schedule, rngs(11)))
    for one, other in zip(*several, strict=True):
        np.testing.assert_allclose(one.state, other.state, rtol=0, atol=1e-10)
        np.testing.assert_allclose(one.trajectory, other.trajectory, rtol=0, atol=1e-10)
        assert np.isfinite(one.state).all()
        assert np.abs(one.trajectory[1] - one.trajectory[0]).max() > 1e-3


@pytest.mark.parametrize("function", [soft_majority, built_in.full_attention])
def test_derivatives_by_many_fields(function):
    """Eleven fields need two calls of the function: derivatives by dual numbers against JAX, of floats and of lanes."""
    M, generator = 11, rng(8)
    z = generator.standard_normal((M, 8))
    P = np.size(function(tuple(z[:, 0].tolist())))
    write = functions.make_slopes(njit(function), None, M)
    values, slopes = np.empty((P, 8)), np.empty((P * M, 8))
    write(z, values, slopes)

    def written(z):
        if function is soft_majority:
            return jnp.sum(2 * jnp.tanh(z) * jax.nn.sigmoid(z))[None]
        return jax.nn.softmax(jnp.outer(z, z), axis=1).ravel()

    with jax.enable_x64(True):
        for lane in range(8):
            np.testing.assert_allclose(values[:, lane], written(jnp.array(z[:, lane])), rtol=1e-12)
            expected = jax.jacobian(written)(jnp.array(z[:, lane]))
            np.testing.assert_allclose(slopes[:, lane].reshape(P, M), expected, rtol=1e-10, atol=1e-12)
            one, found = np.empty(P), np.empty(P * M)
            write(np.ascontiguousarray(z[:, lane]), one, found)
            np.testing.assert_allclose(found, slopes[:, lane], rtol=1e-11, atol=1e-13)


ATTENTION = built_in.positional_semantic(1.0, 0.6)
SQUARES = built_in.hermite_sum(2, (math.sqrt(0.5),) * 3, 0.0)
HERMITE = built_in.hermite_sum(3, (1 / math.sqrt(12),) * 2, 0.0)
FAST = {
    "untied": (
        LinkProblem(SQUARES, built_in.relu_sum, 3, "square", untied=True),
        kernels.untied_update, [RATE / D], [0.3, 0.2, -0.1, 1.1, 0.9, 1.0],
    ),
    "frobenius": (
        LinkProblem(ATTENTION, built_in.full_attention, 2, "frobenius", alternating(2)),
        attention_kernels.attention_update, [RATE / D, 0.6, float(fixed_attention(1.0)), attention_kernels.FROBENIUS], [0.2, 0.3],
    ),
    "hermite": (LinkProblem(HERMITE, HERMITE, 2), kernels.hermite_update, [RATE / D, 2, 3], [0.3]),
}  # fmt: skip


@pytest.mark.parametrize("name", FAST)
def test_fast_students_are_instances(name):
    """The same draws give the same path as the update that was written for the student."""
    problem, fast, numbers, start = FAST[name]
    update, one, other, generator = any_lane_update(problem), np.array(start), np.array(start), rng(3)
    M, rank = problem.components.shape
    for _ in range(100):
        draws, chi = generator.standard_normal((1, M * (rank + 2))), 2 * generator.standard_gamma(0.5 * D, M)
        chi = chi[: M if problem.untied else 1]
        update(one, draws, chi)
        lane_update(fast)(other, draws, chi, numbers)
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)
    assert np.abs(one - start).max() > 1e-2


def test_tied_feed_forward_student_is_an_instance():
    """Its own update takes the normalised sum of the fields off the teacher."""
    problem = LinkProblem(SQUARES, built_in.relu_sum, 3, "square")
    update, one, other, generator = any_lane_update(problem), np.array([0.3]), np.array([0.3]), rng(4)
    for _ in range(100):
        draws, chi = generator.standard_normal((1, 6)), 2 * generator.standard_gamma(0.5 * D, 1)
        update(one, draws, chi)
        pooled = np.array([[*draws[0, :3], draws[0, 3:].sum() / math.sqrt(3)]])
        # Of the rests of three tokens one combination is pooled; the two others carry no gradient.
        lane_update(kernels.tied_update)(other, pooled, chi, [RATE / D, 3])
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["relu_sum", "full_attention", "trace_attention"])
def test_built_in_functions_are_those_of_many_sequences(name):
    z = rng(5).standard_normal((20, 3))
    many = batch_links.named_link(name, 3)(z)
    one = any_student.sequence_function(name, 3)
    np.testing.assert_allclose(many, np.array([one(tuple(row)) for row in z.tolist()]).reshape(20, -1), atol=1e-14)


def test_other_built_in_targets_are_those_of_many_sequences():
    z = rng(6).standard_normal((20, 2))
    many = batch_links.over_sequences(ATTENTION)(z)
    np.testing.assert_allclose(many, [ATTENTION(tuple(row)) for row in z.tolist()], atol=1e-14)
    hermite = any_student.sequence_function("hermite", 2, degree=4, weights=(1.0, 2.0), constant=4 / 3)
    many = batch_links.hermite_sum(2, {4: [1.0, 2.0]}, 4 / 3)(z)[:, 0]
    np.testing.assert_allclose(many, [hermite(tuple(row)) for row in z.tolist()], rtol=1e-12)


@pytest.mark.parametrize("rank", [0, 1, 3, 5])
def test_components_reproduce_the_gram_matrix(rank):
    vectors = rng(rank).standard_normal((5, rank))
    gram = vectors @ vectors.T
    found = any_student.position_components(gram, 5)
    assert found.shape == (5, rank)
    np.testing.assert_allclose(found @ found.T, gram, atol=1e-10)


def wrong_gradient(z):
    return z[0] ** 2


wrong_gradient.gradient = lambda z, token: z[0]


def uncompilable(z):
    return float(str(z[0])[:5])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: LinkProblem(gate, kinks, 4), "outputs, got 1 and 3"),
        (lambda: LinkProblem(gate, gate, 2, "hinge"), "loss must be one of half_square, square, frobenius, logistic"),
        (lambda: LinkProblem(gate, gate, 2, gram=((1.0, 2.0), (2.0, 1.0))), "negative eigenvalue -1"),
        (lambda: LinkProblem(gate, gate, 2, gram=((1.0, 0.5), (0.4, 1.0))), "symmetric"),
        (lambda: LinkProblem(gate, gate, 2, gram=((1.0,),)), "2 by 2"),
        (lambda: LinkProblem(gate, wrong_gradient, 2), r"not the derivative: by the field 0 at \("),
        (lambda: any_student.compiled(LinkProblem(gate, uncompilable, 2)), "numba cannot compile the student"),
        (lambda: any_student.initial_state(LinkProblem(gate, gate, 2), [0.6, 0.9]), "1 overlaps"),
        (
            lambda: any_student.simulate(LinkProblem(gate, gate, 2), 2, 1.0, [[0.1]], Schedule(1, 1.0), [rng(0)]),
            "at least 3",
        ),
    ],
)
def test_wrong_problems_are_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def jump(z):
    return z[0] + z[1] if z[0] > 0.1 else 0.3 * z[1]


@pytest.mark.parametrize("function", [gate, jump], ids=["eight sequences at once", "one after the other"])
@pytest.mark.parametrize("untied", [False, True])
def test_the_same_problem_again_compiles_nothing_and_gives_the_same_bytes(function, untied, tmp_path, monkeypatch):
    """As in another process: the functions of a file are made anew for each problem."""
    monkeypatch.setattr(content.compiled, "FOLDER", tmp_path)
    compilations, found = event.RecordingListener(), []
    for _ in range(2):
        again = FunctionType(function.__code__, globals(), function.__name__)
        problem = LinkProblem(again, again, 2, untied=untied)
        with event.install_listener("numba:compile", compilations):
            any_student.compiled(problem)
            drift = flows(problem, RATE, [rng(0)])[-1].drift(any_student.initial_state(problem, [0.2]))
        (run,) = any_student.simulate(problem, D, RATE, [[0.2]], Schedule(20, threshold=2.0), [rng(0)])
        found.append((len(compilations.buffer) // 2, drift.tobytes(), run.state.tobytes()))
    assert found[0] == found[1]
    assert found[0][0] > 0


def test_functions_of_one_sequence_from_a_file(tmp_path):
    """The same function serves SGD and the expansions; a function of rows serves the expansions alone."""
    (tmp_path / "mine.py").write_text(
        "import math\n\ndef one(z):\n    return math.tanh(z[0]) * z[1]\n\ndef rows(z):\n    return z[:, 0]\n"
    )
    one = any_student.sequence_function("mine.py:one", 2, tmp_path)
    z = rng(7).standard_normal((9, 2))
    link = batch_links.named_link("mine.py:one", 2, tmp_path)
    np.testing.assert_allclose(link(z)[:, 0], [one(tuple(row)) for row in z.tolist()])
    with pytest.raises(ValueError, match="function of one sequence"):
        any_student.sequence_function("mine.py:rows", 2, tmp_path)
