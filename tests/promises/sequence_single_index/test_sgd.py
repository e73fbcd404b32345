"""Promises of SGD of the sequence single-index family: any specification is right, flagged or refused.

Distributions of runs are compared by Kolmogorov-Smirnov at a false alarm of 1e-7.
"""

import numpy as np
import pytest
import slow_sequence_single_index as slow
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import integrate, stats
from specifications import Refused, compute, document, node, section, whole_range

pytestmark = pytest.mark.slow

FAMILY = "sequence_single_index"
RUNS = 150


def few(**keys):
    """Sizes at which all d components of all weights are affordable."""
    return {name: st.integers(*bounds) for name, bounds in keys.items()}


def same_law(found, expected):
    # A step without gradient keeps an overlap, or changes its last bits. This is no difference in law.
    assert stats.ks_2samp(np.round(np.ravel(found), 13), np.round(np.ravel(expected), 13)).pvalue > 1e-7


def follows(found, overlaps, threshold, steps):
    """Escape steps and final overlaps of runs that do not stop, against all overlaps (steps, runs) of slow ones."""
    beyond = overlaps > threshold
    first = np.where(beyond.any(axis=0), beyond.argmax(axis=0) + 1, steps)
    same_law(found.escape_step.values, first)
    escaped, slow_escaped = found.escaped.values.sum(), beyond.any(axis=0).sum()
    runs = found.escaped.size
    assert stats.fisher_exact([[escaped, runs - escaped], [slow_escaped, len(first) - slow_escaped]]).pvalue > 1e-7


WARNINGS = pytest.mark.filterwarnings("ignore:.*stability bound:UserWarning")


def feed_forward(estimator, model, grid, steps, shared):
    solver = {"steps": steps, "stop": False}
    found = compute(FAMILY, document(estimator, model, grid, solver, RUNS))[estimator]
    rate = model["learning_rate"] * (grid["tokens"] ** grid.get("learning_rate_exponent", 0.0))
    overlaps = slow.feed_forward_sgd(
        grid["tokens"], model["dimension"], rate, steps, 300, shared, np.random.default_rng(steps)
    )
    follows(found, overlaps, 2.0 / np.sqrt(model["dimension"]), steps)
    same_law(found.overlap.values, overlaps[-1])


SMALL = {"dimension": st.integers(5, 30)}
STEPS = st.integers(1, 12)


@WARNINGS
@settings(max_examples=4)
@given(
    model=section(FAMILY, "tied_sgd", "model", "learning_rate", **SMALL),
    grid=section(FAMILY, "tied_sgd", "grid", "learning_rate_exponent", tokens=st.integers(1, 6)),
    steps=STEPS,
)
@example({"dimension": 5, "learning_rate": 100.0}, {"tokens": 1, "learning_rate_exponent": 2.0}, 3)
def test_tied_sgd_is_the_simulation_in_all_components(model, grid, steps):
    feed_forward("tied_sgd", model, grid, steps, shared=True)


@WARNINGS
@settings(max_examples=4)
@given(
    model=section(FAMILY, "untied_sgd", "model", "learning_rate", **SMALL),
    grid=st.fixed_dictionaries(few(tokens=(1, 6))),
    steps=STEPS,
)
@example({"dimension": 5, "learning_rate": 0.5}, {"tokens": 2}, 12)
def test_untied_sgd_is_the_simulation_in_all_components(model, grid, steps):
    feed_forward("untied_sgd", model, grid, steps, shared=False)


def flow_step(order, tokens, dimension, rate, threshold):
    """Steps of the flow from d^(-1/2), by its own integration with V(m) from plain samples; infinite where it points back."""
    a, xi = np.random.default_rng(0).standard_normal((2, 2**15, tokens))
    m = np.geomspace(dimension**-0.5, threshold, 40)
    drift = []
    for x in m:
        z = x * a + np.sqrt(1.0 - x**2) * xi
        miss = (slow.he(order, a) - slow.he(order, z)).sum(axis=1) / tokens
        noise = np.mean(np.sum((miss[:, None] * np.sqrt(order) * slow.he(order - 1, z)) ** 2, axis=1))
        drift.append(rate * order * x ** (order - 1) * (1.0 - x**2) - 0.5 * rate**2 * noise * x)
    drift = np.array(drift)
    return dimension * integrate.trapezoid(m / drift, np.log(m)) if np.all(drift > 0.0) else np.inf


@WARNINGS
@settings(max_examples=4)
@given(
    model=section(FAMILY, "hermite_sgd", "model", "order", "learning_rate", "threshold", tokens=st.integers(1, 4)),
    dimension=st.integers(5, 30),
    steps=STEPS,
)
@example({"order": 3, "tokens": 2, "learning_rate": 0.05, "threshold": 0.1}, 20, 5)
@example({"order": 2, "tokens": 2, "learning_rate": 0.2, "threshold": 0.5}, 20, 12)
def test_hermite_sgd_is_the_simulation_in_all_components(model, dimension, steps):
    solver = {"steps": steps, "stop": False}
    found = compute(FAMILY, document("hermite_sgd", model, {"dimension": dimension}, solver, RUNS))["hermite_sgd"]
    order, tokens = model["order"], model["tokens"]
    rate = model["learning_rate"]
    rate *= 1.0 / np.log(dimension) if order == 2 else dimension ** (-0.5 * max(0, order - 2))
    overlaps = slow.hermite_sgd(order, tokens, dimension, rate, steps, 300, np.random.default_rng(steps))
    follows(found, overlaps, model["threshold"], steps)
    same_law(found.overlap.values, overlaps[-1])
    flow = found.flow_step.values.flat[0]
    if model["threshold"] <= dimension**-0.5:
        assert flow == 0.0
    elif order <= 3:
        # Plain samples know V to a few per cent at low orders.
        expected = flow_step(order, tokens, dimension, rate, model["threshold"])
        assert flow == pytest.approx(expected, rel=0.1) or (
            np.isinf(flow) != np.isinf(expected) and flow > 10 * dimension
        )


@settings(max_examples=4)
@given(
    model=section(FAMILY, "attention_sgd", "model", "a", "loss", "learning_rate", "threshold", **SMALL),
    grid=section(FAMILY, "attention_sgd", "grid", "omega"),
    steps=STEPS,
)
@example({"a": 1.0, "loss": "frobenius", "learning_rate": 1.0, "threshold": 0.3, "dimension": 8}, {"omega": 0.6}, 12)
@example({"a": 5.0, "loss": "half_square", "learning_rate": 100.0, "threshold": 0.9, "dimension": 5}, {"omega": 1.0}, 2)
def test_attention_sgd_is_the_simulation_in_all_components(model, grid, steps):
    solver, generator = {"steps": steps, "stop": False}, np.random.default_rng(steps)
    found = compute(FAMILY, document("attention_sgd", model, grid, solver, RUNS))["attention_sgd"]
    paths = slow.attention_sgd(
        model["a"], grid["omega"], model["loss"], model["dimension"], model["learning_rate"], steps, 300, generator
    )
    follows(found, np.sum(paths**2, axis=2), model["threshold"], steps)
    same_law(found.positional_overlap.values, paths[-1, :, 0])
    same_law(found.semantic_overlap.values, paths[-1, :, 1])


SGD = {
    "tied_sgd": ("tokens", "learning_rate_exponent"),
    "untied_sgd": ("tokens",),
    "hermite_sgd": ("dimension",),
    "attention_sgd": ("omega",),
}


@WARNINGS
@pytest.mark.parametrize("estimator", SGD)
@settings(max_examples=6)
@given(data=st.data())
def test_sgd_is_bounded_and_consistent_over_the_whole_range(estimator, data):
    """Overlaps are those of unit vectors; escapes, censored times, records, stops fit together; too many records are refused."""
    grid = data.draw(section(FAMILY, estimator, "grid", *SGD[estimator]))
    keys = [key for key in node(FAMILY, estimator, "model")["properties"] if key not in grid]
    model = data.draw(section(FAMILY, estimator, "model", *keys))
    steps, records = (
        data.draw(st.integers(1, 300)),
        data.draw(whole_range(node(FAMILY, estimator, "solver", "records"))),
    )
    solver = {"steps": steps, "records": records, "stop": data.draw(st.booleans())}
    result = compute(FAMILY, document(estimator, model, grid, solver, 2))
    assert isinstance(result, Refused) == (records > steps + 1)
    if isinstance(result, Refused):
        return
    found = result[estimator]
    names = ("positional_overlap", "semantic_overlap") if estimator == "attention_sgd" else ("overlap",)
    assert np.all(sum(found[name].values ** 2 for name in names) <= 1.0 + 1e-9)
    assert np.all(found.escaped | (found.escape_step == steps))
    assert np.all((found.escape_step >= 1) & (found.escape_step <= steps))
    if records:
        assert len(np.unique(found.step)) == records
        ended = found.escaped.values & solver["stop"]
        for name in names:
            path = found[f"{name}_trajectory"].values
            assert np.array_equal(
                np.isfinite(path), ~ended[..., None] | (found.step.values <= found.escape_step.values[..., None])
            )
