"""Promises of SGD of any student: any specification is right, flagged or refused.

Each example compiles a student and a target, which takes most of the time of this file.
"""

import numpy as np
import pytest
import slow_sequence_single_index as slow
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats
from specifications import Refused, compute, document, project, section

pytestmark = pytest.mark.slow

FAMILY = "sequence_single_index"
RUNS = 150
MINE = """
import math

def bent(z):
    total = 0.0
    for i in range(len(z)):
        total += (i + 1) * abs(z[i]) + math.sin(z[i])
    return total
"""


def bent(z):
    return np.sum(np.arange(1, z.shape[-1] + 1) * np.abs(z) + np.sin(z), axis=-1)[..., None]


def trace(z):
    return np.trace(slow.attention(z), axis1=-2, axis2=-1)[..., None] / np.sqrt(z.shape[-1])


def hermite(model):
    weights = np.broadcast_to(model["weights"], model["tokens"])
    factor = np.sqrt(np.prod(np.arange(1.0, model["degree"] + 1)))
    return lambda z: (model["constant"] + factor * slow.he(model["degree"], z) @ weights)[..., None]


STUDENTS = {
    "relu_sum": lambda model: lambda z: np.maximum(z.sum(axis=-1, keepdims=True) / np.sqrt(z.shape[-1]), 0.0),
    "trace_attention": lambda model: trace,
    "hermite": hermite,
    "mine.py:bent": lambda model: bent,
}


GRAM = [[1.0, 0.5, 0.0], [0.5, 2.0, 0.0], [0.0, 0.0, 0.0]]


def vectors(position, tokens):
    """Rows with these scalar products, the first along the first axis, the second in the first plane."""
    if position == GRAM:
        return np.array([[1.0, 0.0], [0.5, np.sqrt(1.75)], [0.0, 0.0]])
    return np.where(np.arange(tokens) % 2, -1.0, 1.0)[:, None] if position == "alternating" else np.zeros((tokens, 0))


@settings(max_examples=1)
@given(
    model=section(
        FAMILY,
        "link_sgd",
        "model",
        "loss",
        "untied",
        "start",
        "learning_rate",
        "learning_rate_exponent",
        "threshold",
        target=st.just("hermite"),
        degree=st.integers(0, 4),
        student=st.sampled_from(sorted(STUDENTS)),
        tokens=st.integers(1, 3),
        constant=st.floats(-2, 2),
        weights=st.just([0.7]),
        batch=st.integers(1, 3),
        position=st.sampled_from(["none", "alternating"]),
    ),
    dimension=st.integers(5, 20),
    steps=st.integers(1, 12),
)
@example(
    {
        "student": "mine.py:bent",
        "degree": 3,
        "tokens": 3,
        "weights": [0.5, 1.0, -0.3],
        "constant": 0.1,
        "loss": "square",
        "untied": True,
        "position": GRAM,
        "learning_rate": 0.3,
        "batch": 2,
        "threshold": 0.2,
    },
    12,
    10,
)
@example(
    {"student": "trace_attention", "degree": 2, "tokens": 2, "weights": [1.0], "constant": 0.0, "loss": "frobenius",
     "untied": False, "position": "alternating", "learning_rate": 2.0, "start": "uninformed", "threshold": 0.2}, 9, 8,
)  # fmt: skip
@example(
    {"student": "relu_sum", "degree": 1, "tokens": 3, "weights": [0.6], "constant": 0.0, "loss": "square", "untied": True,
     "position": "none", "learning_rate": 0.5, "start": "random", "threshold": 0.2}, 12, 8,
)  # fmt: skip
def test_link_sgd_is_the_simulation_in_all_components(model, dimension, steps):
    """Kolmogorov-Smirnov at a false alarm of 1e-7 per comparison."""
    (project() / "mine.py").write_text(MINE)
    written = document("link_sgd", model, {"dimension": dimension}, {"steps": steps, "stop": False}, RUNS)
    found = compute(FAMILY, written)["link_sgd"]
    tokens, untied = model["tokens"], model["untied"]
    rate = model["learning_rate"] * dimension ** -model.get("learning_rate_exponent", 0.0)
    overlap = {"overlapped": dimension**-0.5, "uninformed": 0.0, "random": None}[model.get("start", "overlapped")]
    m, e, size = slow.any_sgd(
        hermite(model), STUDENTS[model["student"]](model), model["loss"], vectors(model["position"], tokens), untied, overlap,
        dimension, rate, model.get("batch", 1), steps, 300, np.random.default_rng(steps),
    )  # fmt: skip
    for name, expected in (("semantic_size", m[-1]), ("positional_size", e[-1])):
        expected = np.sqrt(np.mean(expected**2, axis=1))
        # Rounding alone moves overlaps that vanish.
        here = np.round(found[name].values.ravel(), 9)
        assert stats.ks_2samp(here, np.round(expected, 9)).pvalue > 1e-7, name
    beyond = size > model["threshold"]
    first = np.where(beyond.any(axis=0), beyond.argmax(axis=0) + 1, steps)
    assert stats.ks_2samp(found.escape_step.values.ravel(), first).pvalue > 1e-7


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"position": [[1.0, 2.0], [2.0, 1.0]]}, "negative eigenvalue"),
        ({"position": [[1.0]]}, "must be 2 by 2"),
        ({"position_overlap": [0.1]}, "needs positional vectors"),
        (
            {"position": "alternating", "position_overlap": [0.1, 0.2, 0.3]},
            "3 numbers; allowed: one for all tokens, or 2",
        ),
        ({"position": "alternating", "position_overlap": [0.1]}, "no positional vectors have them"),
        ({"student": "mine.py:none"}, "no function 'none'"),
        ({"student": "full_attention"}, "4 outputs of 2 tokens"),
        ({"weights": [1.0, 2.0, 3.0]}, "3 weights"),
        ({"loss": "hinge"}, "hinge"),
    ],
)
def test_link_sgd_refuses_before_any_job(change, words):
    (project() / "mine.py").write_text(MINE)
    model = {"student": "relu_sum", "tokens": 2, "learning_rate": 0.1} | change
    refused = compute(FAMILY, document("link_sgd", model, {"dimension": 20}, {"steps": 3}, 1))
    assert isinstance(refused, Refused)
    assert any(words in problem for problem in refused.problems), refused.problems


def test_link_sgd_has_the_flow_beside_it():
    """The matched student of order 2: escape step and path of the closed drift."""
    from attention_limits.sequence_single_index.large_dimension.fixed_students_flow import (
        escape_time,
        hermite_drift,
        integrate,
    )

    # 1 / sqrt(M k!), the normalised sum.
    weight = 0.5
    model = {
        "student": "hermite",
        "degree": 2,
        "weights": [weight],
        "tokens": 2,
        "learning_rate": 0.05,
        "threshold": 0.25,
    }
    # The flow escapes after 10 867 steps, within the runs.
    d, steps = 400, 12000
    found = compute(
        FAMILY, document("link_sgd", model, {"dimension": d}, {"steps": steps, "records": 5, "stop": False}, 1)
    )
    found = found["link_sgd"].isel(dimension=0, replica=0)

    def drift(m):
        return hermite_drift(float(np.ravel(m)[0]), 2, 0.05, 2)

    assert float(found.flow_step) == pytest.approx(d * escape_time(drift, d**-0.5, 0.5), rel=1e-3)
    path = integrate(drift, d**-0.5, found.step.values / d)[:, 0]
    np.testing.assert_allclose(found.semantic_size_flow, path, atol=1e-4)
    assert np.all(found.positional_size_flow == 0.0)
