"""Promises of weight decay in the attention-indexed family."""

import numpy as np
import pytest
from attention_indexed_promises import FAMILY, computed
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_attention_indexed_erm import least_objective, shrunk, spectrum
from specifications import section

from agreement import errors_cover
from attention_limits.attention_indexed.erm.simulations.objective import draw_data
from attention_limits.attention_indexed.model.sizes import Sizes
from attention_limits.pipeline.base.streams import Streams
from attention_limits.pipeline.cubes.readings import passed

pytestmark = pytest.mark.slow


def decades(low, high):
    return st.floats(low, high).map(lambda x: float(f"{10.0**x:.6g}"))


def or_zero(low, high):
    return st.one_of(st.just(0.0), decades(low, high))


LINEAR = section(
    FAMILY, "erm_state_evolution", "model", "tokens", "ratio", channel="linear", score_noise=or_zero(-4, 1)
)


@settings(max_examples=25)
@given(model=LINEAR, alpha=decades(-3, 2), decay=or_zero(-4, 3))
def test_erm_state_evolution_solves_its_equations(model, alpha, decay):
    """delta^2 = (mse + tau) / (alpha K) and eps from the slow response reproduce mse, rank and trace, within the slow quadrature.

    Its sums cut a node at eps: one part in 80 of a bulk. ERM is never better than the Bayes-optimal estimate.
    """
    found = computed("erm_state_evolution", {**model, "weight_decay": decay}, {"alpha": alpha}).isel(alpha=0, replica=0)
    mse, bayes, Q = float(found.mse), float(found.mse_bayes), 1.0 + model["ratio"]
    assert mse >= bayes * (1.0 - 1e-6) - 1e-9
    np.testing.assert_allclose(found.free_energy, found.objective, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(mse, Q - 2.0 * found.learned_overlap + found.learned_norm, rtol=1e-6, atol=1e-8)
    equations = alpha * model["tokens"] * (model["tokens"] + 1)
    noise = (mse + model["score_noise"]) / equations
    # Below this noise the quadrature of the slow spectrum does not resolve the bulk at zero.
    if noise < 1e-6:
        return
    values, mass, transform = spectrum(model["ratio"], noise)
    assert np.isclose(mass.sum(), 1.0, atol=1e-4)

    def excess(threshold):
        return 2.0 * threshold * (equations - shrunk(values, mass, transform, threshold, noise)[3]) - decay

    low, high = 0.0, max(values.max(), decay / (2.0 * equations)) * (1.0 + 1e-9)
    interpolates = shrunk(values, mass, transform, 0.0, noise)[3] > equations
    for _ in range(100):
        middle = 0.5 * (low + high)
        free = excess(middle) if decay else equations - shrunk(values, mass, transform, middle, noise)[3]
        low, high = (middle, high) if free < 0 else (low, middle)
    threshold = 0.5 * (low + high) if decay or interpolates else 0.0
    error, rank, trace, _ = shrunk(values, mass, transform, threshold, noise)
    np.testing.assert_allclose(found.learned_rank, rank, atol=0.02)
    np.testing.assert_allclose(found.learned_trace, trace, atol=0.01 * np.sqrt(model["ratio"]) + 1e-3 * np.sqrt(noise))
    np.testing.assert_allclose(mse, error, rtol=0.02, atol=1e-3 * noise)


@settings(max_examples=4)
@given(model=LINEAR, alpha=decades(-2, 1))
def test_erm_optimal_decay_is_the_best(model, alpha):
    """No decay on a grid of a factor of two around the best one, and not the limit of none, has a smaller error."""
    best = computed("erm_optimal_decay", model, {"alpha": alpha}).isel(alpha=0, replica=0)
    tried = [0.0, *(float(np.clip(best.best_decay * f, 1e-4, 1000)) for f in (0.25, 0.5, 2.0, 4.0))]
    others = computed("erm_state_evolution", model, {"alpha": alpha, "weight_decay": sorted(set(tried))})
    assert float(best.mse) <= float(others.mse.min()) * (1.0 + 1e-6) + 1e-12


SMALL = {"dimension": 8, "fresh_sequences": 1}
MODELS = st.sampled_from([("linear", None), ("softmax", 1.0), ("softmax", 3.0)])


def least(channel, beta, alpha, score_noise, decay):
    """The least objective of the data set that the estimators draw, divided by d^2."""
    streams = Streams(0, FAMILY, "promise")
    generator = streams.generator("data", 0, alpha=alpha)
    data = draw_data(Sizes(round(alpha * 64), 8, 4), 2, beta, score_noise, generator)
    return least_objective(data.sequences, data.outputs, beta, decay, 4, np.random.default_rng(0)) / 64


@settings(max_examples=4)
@given(output=MODELS, alpha=st.floats(0.2, 1.0), noise=st.floats(0.001, 0.3), decay=decades(-2, 0))
def test_erm_minimisation_reaches_the_least_objective(output, alpha, noise, decay):
    """Both methods, and message passing where it converges, against four runs of a general minimiser, to 1e-4."""
    channel, beta = output
    alpha = float(f"{alpha:.6g}")
    model = {"channel": channel, "tokens": 2, "ratio": 0.5, "score_noise": noise, "weight_decay": decay}
    model |= {} if beta is None else {"beta": beta}
    slow = least(channel, beta, alpha, noise, decay)
    for method in ("factor", "proximal"):
        found = computed("erm_minimisation", model, {"alpha": alpha}, solver={**SMALL, "method": method})
        assert found.converged.all()
        assert found.objective.item() == pytest.approx(slow, rel=1e-4)


@settings(max_examples=4)
@given(output=MODELS, alpha=st.floats(0.4, 1.0), noise=st.floats(0.001, 0.3), decay=decades(-1, 0))
def test_erm_gamp_is_a_minimum_or_flagged(output, alpha, noise, decay):
    channel, beta = output
    alpha = float(f"{alpha:.6g}")
    model = {"channel": channel, "tokens": 2, "ratio": 0.5, "score_noise": noise, "weight_decay": decay}
    model |= {} if beta is None else {"beta": beta}
    found = computed("erm_gamp", model, {"alpha": alpha}, solver=SMALL)
    if found.converged.all():
        assert found.objective.item() == pytest.approx(least(channel, beta, alpha, noise, decay), rel=1e-3)


@pytest.mark.parametrize(("decay", "alpha"), [(0.001, 0.05), (0.01, 0.14), (0.1, 0.2)])
def test_erm_state_evolution_states_the_error_of_its_nodes(decay, alpha):
    """Six scramblings of 128 nodes against six of 512 with four times the iterations; false-alarm rate 1e-3 per variable."""
    model = {"channel": "softmax", "tokens": 2, "ratio": 0.5, "weight_decay": decay}
    runs = [
        computed("erm_state_evolution", model, {"alpha": alpha}, solver={"nodes": n, "max_iterations": k}, replicas=6)
        for n, k in ((128, 100), (512, 400))
    ]
    few, many = (run.isel(alpha=0, replica=(passed(run.isel(alpha=0), "mse", unique=True) == 1).values) for run in runs)
    assert few.replica.size >= 4
    assert many.replica.size >= 4
    for name in ("mse", "test_loss"):
        errors_cover(few[name], few[f"{name}_node_error"], many[name], many[f"{name}_node_error"])


def test_erm_optimal_decay_states_the_error_of_its_nodes():
    """As above, at the best decay of each scrambling: the mse is stationary there."""
    model, solver = {"channel": "softmax", "tokens": 2, "ratio": 0.5}, {"accuracy": 0.3}
    few, many = (
        computed("erm_optimal_decay", model, {"alpha": 0.05}, solver={**solver, "nodes": n}, replicas=4).isel(alpha=0)
        for n in (64, 256)
    )
    assert np.all(passed(few, "mse", unique=True) == 1)
    errors_cover(few.mse, few.mse_node_error, many.mse, many.mse_node_error)


def test_linear_scores_have_no_nodes():
    found = computed(
        "erm_state_evolution", {"channel": "linear", "tokens": 2, "ratio": 0.5, "weight_decay": 0.1}, {"alpha": 0.2}
    )
    assert found.mse_node_error.item() == found.test_loss_node_error.item() == 0.0
    assert np.all(passed(found, "mse", unique=True) == 1)
