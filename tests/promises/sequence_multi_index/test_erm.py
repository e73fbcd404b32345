"""Promises of empirical risk minimisation: right, flagged, or refused, over the ranges of its specifications.

The independent implementations: closed formulas of ridge regression, the angle between two vectors, and the normal equations
of the data that the estimators read.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from drawn_sequence_multi_index import FAMILY
from hypothesis import example, given, settings
from hypothesis import strategies as st
from specifications import Refused, compute, document, node, whole_range

from agreement import errors_cover
from attention_limits.pipeline.base.streams import Streams
from attention_limits.pipeline.cubes.readings import passed
from attention_limits.sequence_multi_index.erm.losses import make_loss
from attention_limits.sequence_multi_index.erm.nodes import make_nodes
from attention_limits.sequence_multi_index.erm.state_evolution import Problem, informed, solve
from attention_limits.sequence_multi_index.estimators.training import gaussian_sequences
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.links.attention.positional import PositionalAttention
from attention_limits.sequence_multi_index.schema.erm import ErmStateEvolutionSolver
from ridge_regression import ridge_regression

pytestmark = pytest.mark.slow
ridges = whole_range(node(FAMILY, "erm_state_evolution", "grid", "ridge"))
alphas = whole_range(node(FAMILY, "erm_state_evolution", "grid", "alpha"))
# A grid rounds the last digits of its values, and this would change the streams of the data.
samples = st.integers(1, 50).map(lambda tenth: tenth / 10)
REGRESSION = {"link": "linear", "rows": 1, "tokens": 1}
POSITIONAL = {
    "link": "positional_attention", "student": {"link": "deep_attention", "depth": 1, "tokens": 2}, "sigma": 0.5,
    "positions": [[1.0], [-1.0]],
}  # fmt: skip
PERCEPTRON = {"link": "sign_product", "rows": 1, "student": {"link": "linear"}}


def point(estimator, model, grid, solver=None, **part):
    """The dataset of one point, or the refusal."""
    found = compute(FAMILY, document(estimator, model, grid, solver, **part))
    return found if isinstance(found, Refused) else found[estimator].isel(dict.fromkeys((*grid, "replica"), 0))


@settings(max_examples=25, deadline=None)
@given(alpha=alphas, ridge=ridges, noise=st.floats(0.01, 100.0))
def test_erm_state_evolution_of_regression_is_exact(alpha, ridge, noise):
    found = point("erm_state_evolution", REGRESSION | {"noise": noise}, {"alpha": alpha, "ridge": ridge})
    if not found.converged:
        return
    exact = ridge_regression(alpha, ridge, noise)
    assert found.susceptibility.item() == pytest.approx(exact.V, rel=1e-3)
    assert found.overlap.item() == pytest.approx(exact.m, rel=1e-3, abs=1e-5)
    assert found.student_norm.item() == pytest.approx(exact.q, rel=1e-2, abs=1e-5)


@settings(max_examples=12, deadline=None)
@given(alpha=st.floats(0.05, 20.0), ridge=st.floats(1e-3, 100.0), loss=st.sampled_from(["logistic", "hinge", "square"]))
@example(alpha=0.05, ridge=1e-6, loss="hinge")
def test_erm_state_evolution_of_a_perceptron_keeps_its_identities(alpha, ridge, loss):
    found = point("erm_state_evolution", PERCEPTRON | {"loss": loss}, {"alpha": alpha, "ridge": ridge})
    if not found.converged:
        return
    q, m = found.student_norm.item(), found.overlap.item()
    assert found.misclassification.item() == pytest.approx(np.arccos(m / np.sqrt(q)) / np.pi, rel=1e-4)
    assert found.free_energy.item() == pytest.approx(found.objective.item(), rel=1e-3, abs=1e-9)
    # No loss is worse than that of W = 0.
    zero = {"logistic": np.log(2.0), "hinge": 1.0, "square": 0.5}[loss]
    assert found.objective.item() <= alpha * zero * (1.0 + 1e-6)


@settings(max_examples=6, deadline=None)
@given(noise=st.floats(0.01, 5.0), alpha=st.floats(0.1, 10.0))
def test_erm_optimal_ridge_of_regression_is_the_noise(noise, alpha):
    solver = {"accuracy": 0.01, "tolerance": 1e-9}
    found = point("erm_optimal_ridge", REGRESSION | {"noise": noise}, {"alpha": alpha}, solver)
    assert found.best_ridge.item() == pytest.approx(noise, rel=0.05)


def data(alpha, dimension):
    """The data set that the estimators below read."""
    spec = {
        "family": FAMILY, "experiment": "promise", "estimator": "gaussian_sequences", "model": REGRESSION, "project": ".",
        "grid": {"alpha": [alpha]}, "replicas": [0], "solver": SimpleNamespace(dimension=dimension),
    }  # fmt: skip
    return gaussian_sequences.run(spec, Streams(0, FAMILY, "promise")).isel(alpha=0, replica=0)


def of_data(estimator, alpha, ridge, dimension, solver, tokens=None):
    written = document(
        estimator, REGRESSION | (tokens or {}), {"alpha": alpha, "ridge": ridge}, solver, reads="gaussian_sequences"
    )
    written["data"] = {
        "gaussian_sequences": {"grid": {"alpha": {"values": [alpha]}}, "solver": {"dimension": dimension}}
    }
    return compute(FAMILY, written)[estimator].isel(alpha=0, ridge=0, replica=0)


def assert_normal_equations(found, alpha, ridge, dimension, sigma=1.0, place=0.0):
    """Overlaps and objective of the solution of the normal equations, for tokens of mean place (1, ..., 1) / sqrt(D)."""
    drawn = data(alpha, dimension)
    centred, teacher = drawn.sequences.values[:, 0].astype(float) * sigma / np.sqrt(dimension), drawn.teacher.values[0]
    x, y = centred + place / dimension, centred @ teacher
    W = np.linalg.solve(x.T @ x + ridge * np.eye(dimension), x.T @ y)
    objective = (0.5 * np.sum((y - x @ W) ** 2) + 0.5 * ridge * np.sum(W**2)) / dimension
    assert found.objective.item() == pytest.approx(objective, rel=1e-3, abs=1e-12)
    assert found.overlap.item() == pytest.approx(W @ teacher / dimension, rel=1e-2, abs=1e-6)
    if place:
        assert found.position_overlap.item() == pytest.approx(W.sum() / dimension, rel=1e-2, abs=1e-5)
    # The error of a fresh output is the distance of the weights, and what they see of the mean.
    distance = sigma**2 * np.sum((W - teacher) ** 2) / dimension + (place * W.sum() / dimension) ** 2
    assert found.error_plug_in.item() == pytest.approx(distance, rel=0.05, abs=1e-4)


@settings(max_examples=10, deadline=None)
@given(alpha=samples, ridge=st.floats(0.01, 100.0), rate=st.floats(0.01, 10.0), dimension=st.integers(10, 40))
def test_erm_online_sgd_of_regression_follows_its_recursion(alpha, ridge, rate, dimension):
    found = of_data("erm_online_sgd", alpha, ridge, dimension, {"learning_rate": rate})
    if not found.converged:
        return
    drawn = data(alpha, dimension)
    tokens, teacher = drawn.sequences.values[:, 0].astype(float) / np.sqrt(dimension), drawn.teacher.values[0]
    W = teacher.astype(float)
    for x in tokens:
        W = (1.0 - rate * ridge / len(tokens)) * W - rate * (x @ W - x @ teacher) * x
    assert found.overlap.item() == pytest.approx(W @ teacher / dimension, rel=1e-6, abs=1e-9)
    assert found.student_norm.item() == pytest.approx(W @ W / dimension, rel=1e-6, abs=1e-9)
    objective = (0.5 * np.sum((tokens @ (W - teacher)) ** 2) + 0.5 * ridge * np.sum(W**2)) / dimension
    assert found.objective.item() == pytest.approx(objective, rel=1e-6, abs=1e-12)


@settings(max_examples=10, deadline=None)
@given(alpha=samples, ridge=st.floats(0.01, 100.0), dimension=st.integers(10, 40))
def test_erm_minimisation_solves_the_normal_equations(alpha, ridge, dimension):
    found = of_data("erm_minimisation", alpha, ridge, dimension, {"start": "random"})
    if found.converged:
        assert_normal_equations(found, alpha, ridge, dimension)


@settings(max_examples=10, deadline=None)
@given(alpha=samples, ridge=st.floats(0.01, 10.0), sigma=st.floats(0.1, 4.0), place=st.floats(0.5, 4.0))
def test_erm_minimisation_sees_the_means_of_the_tokens(alpha, ridge, sigma, place):
    tokens = {"sigma": sigma, "positions": [[place]]}
    found = of_data("erm_minimisation", alpha, ridge, 24, {"start": "positions"}, tokens)
    if found.converged:
        assert_normal_equations(found, alpha, ridge, 24, sigma, place)


@settings(max_examples=4, deadline=None)
@given(omega=st.floats(0.25, 0.45), ridge=st.floats(0.03, 0.06))
def test_erm_transition_separates_the_better_solutions(omega, ridge):
    """The fixed points on other nodes, 6 % above and below, have the stated order; 1024 nodes err by about 2 %."""
    found = point("erm_transition", POSITIONAL, {"omega": omega, "ridge": ridge}, {"nodes": 1024, "accuracy": 1e-3})
    loss, link = make_loss("square", DeepAttention(depth=1)), PositionalAttention(omega)
    nodes = make_nodes(
        loss, link, DeepAttention(depth=1), 1024, np.random.default_rng(5), 0.5, np.array([[1.0], [-1.0]])
    )

    short = ErmStateEvolutionSolver(tolerance=1e-5, max_iterations=60)

    def fixed_point(alpha, branch):
        problem = Problem(loss, alpha, ridge, branch)
        return solve(problem, nodes, informed(problem, nodes, 0.9, 1.0), short)

    for criterion in ("energy", "constant"):
        here = found.sel(criterion=criterion)
        if not here.transition_jump_index <= 0.05:
            continue
        for side in (-1, 1):
            semantic = fixed_point((1 + 0.06 * side) * here.transition.item(), "semantic")
            if criterion == "energy":
                other = fixed_point((1 + 0.06 * side) * here.transition.item(), "positional").free_energy
                assert np.sign(other - semantic.free_energy) == side
            else:
                assert np.sign(found.constant_loss.item() - semantic.errors["test_loss"]) == side


@settings(max_examples=10, deadline=None)
@given(alpha=samples, ridge=st.floats(0.05, 100.0), dimension=st.integers(10, 40))
def test_erm_gamp_solves_the_normal_equations(alpha, ridge, dimension):
    found = of_data("erm_gamp", alpha, ridge, dimension, {"tolerance": 1e-8})
    if found.converged:
        assert_normal_equations(found, alpha, ridge, dimension)


@pytest.mark.parametrize(
    ("estimator", "model", "grid", "line"),
    [
        ("erm_state_evolution", REGRESSION, {"alpha": 1.0}, "grid.ridge: missing"),
        ("erm_state_evolution", REGRESSION, {"alpha": 1.0, "ridge": -1.0}, "-1.0: allowed: a number ≥ 1e-06"),
        ("erm_state_evolution", REGRESSION | {"loss": "hing"}, {"alpha": 1.0, "ridge": 1.0}, "no loss 'hing'; allowed: square"),
        ("erm_state_evolution", {"link": "committee", "rows": 3}, {"alpha": 1.0, "ridge": 1.0}, "its gradient is zero"),
        ("erm_state_evolution", {"link": "deep_attention", "depth": 5}, {"alpha": 1.0, "ridge": 1.0}, "at most 8 fields"),
        ("erm_state_evolution", REGRESSION | {"loss": "own.py:mine"}, {"alpha": 1.0, "ridge": 1.0}, "own.py does not exist"),
        ("erm_state_evolution", PERCEPTRON | {"student": {"link": "linear", "tokens": 2}}, {"alpha": 1.0, "ridge": 1.0},
         "reads 2 tokens; allowed: 1"),
        ("erm_state_evolution", REGRESSION | {"positions": [[1.0], [1.0]]}, {"alpha": 1.0, "ridge": 1.0},
         "model.positions: [[1.0], [1.0]]: allowed: 1 rows (tokens)"),
        ("erm_state_evolution", REGRESSION | {"positions": [[float("nan")]]}, {"alpha": 1.0, "ridge": 1.0}, "model.positions"),
        ("erm_state_evolution", POSITIONAL | {"omega": 1.0}, {"alpha": 1.0, "ridge": 1.0}, "model.omega: 1.0: allowed"),
        ("erm_state_evolution", POSITIONAL | {"positional": [[0.5, 0.6], [0.5, 0.5]]}, {"alpha": 1.0, "ridge": 1.0},
         "every row of positional must sum to one"),
        ("erm_transition", REGRESSION, {"ridge": 1.0}, "model.positions: missing"),
        ("erm_transition", POSITIONAL | {"loss": "logistic"}, {"ridge": 1.0}, "one output"),
    ],
)  # fmt: skip
def test_impossible_models_are_refused(estimator, model, grid, line):
    found = point(estimator, model, grid)
    assert isinstance(found, Refused)
    assert any(line in problem for problem in found.problems), found.problems


def test_branches_of_positions_need_positions():
    found = point("erm_state_evolution", REGRESSION, {"alpha": 1.0, "ridge": 1.0}, {"branch": "semantic"})
    assert "solver.branch: semantic: allowed without model.positions: free, diagonal" in found.problems[0]


@pytest.mark.parametrize(
    ("estimator", "tokens", "solver", "line"),
    [
        ("erm_minimisation", {}, {"start": "positions"}, "solver.start: positions: needs model.positions"),
        ("erm_gamp", {"sigma": 0.5}, {}, "model.sigma: erm_gamp accepts standard normal tokens only"),
        ("erm_gamp", {"positions": [[1.0]]}, {}, "model.positions: erm_gamp accepts standard normal tokens only"),
    ],
)
def test_tokens_that_an_estimator_cannot_take_are_refused(estimator, tokens, solver, line):
    written = document(estimator, REGRESSION | tokens, {"alpha": 1.0, "ridge": 1.0}, solver, reads="gaussian_sequences")
    written["data"] = {"gaussian_sequences": {"grid": {"alpha": {"values": [1.0]}}, "solver": {"dimension": 20}}}
    assert line in compute(FAMILY, written).problems[0]


def test_erm_minimisation_refuses_the_hinge():
    written = document(
        "erm_minimisation", PERCEPTRON | {"loss": "hinge"}, {"alpha": 1.0, "ridge": 1.0}, reads="gaussian_sequences"
    )
    written["data"] = {"gaussian_sequences": {"grid": {"alpha": {"values": [1.0]}}, "solver": {"dimension": 20}}}
    found = compute(FAMILY, written)
    assert isinstance(found, Refused)
    assert "allowed: differentiable losses" in found.problems[0]


def evolutions(model, grid, nodes, replicas, estimator="erm_state_evolution", **solver):
    """The dataset (replica) of several scramblings of one point."""
    found = compute(FAMILY, document(estimator, model, grid, {"nodes": nodes, **solver}, replicas=replicas))[estimator]
    return found.isel(dict.fromkeys(grid, 0))


ONE_LAYER = {"link": "deep_attention", "depth": 1, "tokens": 2}


@pytest.mark.parametrize(("ridge", "alpha"), [(0.1, 1.5), (0.5, 2.0)])
def test_erm_state_evolution_states_the_error_of_its_nodes(ridge, alpha):
    """Six scramblings of 256 nodes against six of 1024 with four times the iterations; false-alarm rate 1e-3 per variable."""
    grid = {"alpha": alpha, "ridge": ridge}
    runs = [evolutions(ONE_LAYER, grid, n, 6, max_iterations=k) for n, k in ((256, 150), (1024, 600))]
    few, many = (run.isel(replica=(passed(run, "test_loss") == 1).values).squeeze() for run in runs)
    assert few.replica.size >= 4
    assert many.replica.size >= 4
    for name in ("overlap", "test_loss"):
        errors_cover(few[name], few[f"{name}_node_error"], many[name], many[f"{name}_node_error"])


def test_erm_optimal_ridge_states_the_error_of_its_nodes():
    """As above, at the best ridge of each scrambling."""
    few, many = (
        evolutions(ONE_LAYER, {"alpha": 2.0}, n, 4, "erm_optimal_ridge", accuracy=0.5).squeeze() for n in (256, 1024)
    )
    errors_cover(few.test_loss, few.test_loss_node_error, many.test_loss, many.test_loss_node_error)


def test_erm_without_random_nodes_has_no_error_of_them():
    for model in (PERCEPTRON | {"loss": "logistic"}, REGRESSION | {"noise": 0.5}):
        found = point("erm_state_evolution", model, {"alpha": 2.0, "ridge": 0.1})
        assert found.overlap_node_error.item() == found.test_loss_node_error.item() == 0.0


def test_two_layers_with_a_jumping_proximal_operator_are_flagged():
    """lambda = 0.1, alpha = 3: all scramblings converge, with cosines of layer 1 that differ by tenths; none may count."""
    found = evolutions(ONE_LAYER | {"depth": 2, "skip": 1.0}, {"alpha": 3.0, "ridge": 0.1}, 1024, 3)
    assert np.all(found.converged == 1)
    cosine = found.overlap[:, 0, 0] / np.sqrt(found.student_norm[:, 0, 0])
    assert float(cosine.max() - cosine.min()) > 0.1
    assert not np.any(passed(found, "test_loss") == 1)
    assert np.all(found.overlap_node_error[:, 0, 0] > 0.02)
