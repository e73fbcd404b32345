"""Rows of empirical risk minimisation: the proximal operator, a fixed point and the transitions of one attention layer."""

from functools import partial

import numpy as np

import naive_sequence_multi_index as naive
from attention_limits.sequence_multi_index.erm.losses import make_loss
from attention_limits.sequence_multi_index.erm.nodes import make_nodes
from attention_limits.sequence_multi_index.erm.prox import prox
from attention_limits.sequence_multi_index.erm.state_evolution import Problem, informed, solve
from attention_limits.sequence_multi_index.erm.transition import transitions
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.links.attention.positional import PositionalAttention
from attention_limits.sequence_multi_index.schema.erm import ErmStateEvolutionSolver, TransitionSolver
from table import Row, Spread, clocked, timed

LAYER, NODES, OVERLAP = DeepAttention(depth=1), 4096, 0.8


def prox_row(variance, naive_outputs, repeats):
    """The proximal operator with all derivatives, against BFGS from the same two starts."""
    loss, rng = make_loss("square", LAYER), np.random.default_rng(0)
    h, noise = rng.standard_normal((2, NODES, 1, 2))
    omega = OVERLAP**2 * h + OVERLAP * np.sqrt(1.0 - OVERLAP**2) * noise
    outputs = np.ascontiguousarray(LAYER.forward(h)).reshape(NODES, -1)
    matrix = variance * np.eye(1)
    found = prox(loss, outputs, h.reshape(NODES, 1, -1), omega, matrix)
    ours = timed(lambda: prox(loss, outputs, h.reshape(NODES, 1, -1), omega, matrix), repeats) / NODES
    plain, excess = [], []
    for k in range(naive_outputs):
        arguments = outputs[k].reshape(2, 2), omega[k, 0], variance, (omega[k, 0], h[k, 0])
        seconds, (_, value) = clocked(partial(naive.prox, *arguments))
        plain.append(seconds)
        excess.append(value - found.envelope[k])
    return Row(
        f"proximal operator of one attention layer, V = {variance:g}",
        Spread.of(ours),
        Spread.of(plain),
        Spread.of(np.median(plain) / ours),
        baseline_errors={"minimum": Spread.of(np.abs(excess))},
        note=f"{NODES} outputs with all derivatives, on average; baseline: BFGS with differences, same two starts, no "
        f"derivatives; errors: against our minimum, {naive_outputs} outputs",
    )


def fixed_point_row(repeats):
    """State evolution of one layer at alpha = 2, lambda = 0.1."""
    loss = make_loss("square", LAYER)
    nodes = make_nodes(loss, LAYER, LAYER, NODES, np.random.default_rng(0))
    problem, settings = Problem(loss, 2.0, 0.1, "free"), ErmStateEvolutionSolver()

    def fixed_point():
        return solve(problem, nodes, informed(problem, nodes, settings.start_overlap, 0.0), settings)

    found, seconds = fixed_point(), timed(fixed_point, repeats)
    note = f"{NODES} nodes, tolerance 1e-6, {found.iterations} iterations, one core"
    return Row("fixed point of empirical risk minimisation, one layer, α = 2, λ = 0.1", Spread.of(seconds), note=note)


def transitions_row(repeats):
    """Both transitions between the positional and the semantic solution at omega = 0.35."""
    loss, places = make_loss("square", LAYER), np.array([[1.0], [-1.0]])
    target = PositionalAttention(0.35)
    nodes = make_nodes(loss, target, LAYER, NODES, np.random.default_rng(0), 0.5, places)
    found = transitions(loss, 0.04, nodes, TransitionSolver())
    seconds = timed(lambda: transitions(loss, 0.04, nodes, TransitionSolver()), repeats)
    note = f"{NODES} nodes; α_c = {found['energy'].alpha:.3f}, α_l = {found['constant'].alpha:.3f}"
    return Row("transitions α_c and α_l at ω = 0.35, one core", Spread.of(seconds), note=note)


def rows(quick):
    """All rows of empirical risk minimisation."""
    outputs, repeats = (16, 2) if quick else (256, 5)
    return [
        *(prox_row(variance, outputs, repeats) for variance in (1.0, 20.0)),
        fixed_point_row(repeats),
        transitions_row(1 if quick else 3),
    ]
