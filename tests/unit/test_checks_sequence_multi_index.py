"""Checks of the family before any job: the quick check of the link, for every kind that infers and every scanned value."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from attention_limits.sequence_multi_index.checks import problems


def estimator(name, model, grid=None):
    """Without sizes: the link alone is checked."""
    grid = grid or {"alpha": [1.0]}
    return SimpleNamespace(name=name, model=model, grid=grid, project=Path(), solver={}, reads=None)


THREE_WITHOUT_SKIP = {"link": "deep_attention", "depth": 3, "tokens": 3, "skip": 0.0, "beta": 1.0}


@pytest.mark.parametrize("kind", ["state_evolution", "staircase", "phase_comparison", "gamp", "held_overlap"])
def test_a_provided_link_whose_output_cannot_be_inverted_is_refused(kind):
    """Three layers without a skip: rounding loses what the output, nearly 1/M everywhere, says of the fields."""
    ((keys, message),) = problems(estimator(kind, THREE_WITHOUT_SKIP))
    assert keys == ("model",)
    assert "the true fields are not among the candidates" in message


def test_every_scanned_value_is_checked_and_named():
    model = {key: value for key, value in THREE_WITHOUT_SKIP.items() if key != "skip"}
    ((keys, message),) = problems(estimator("staircase", model, {"skip": [1.0, 0.5, 0.0]}))
    assert keys == ("grid", "skip")
    assert message.startswith("0.0: the true fields")


def test_what_runs_forward_alone_is_not_refused():
    assert problems(estimator("online_sgd", THREE_WITHOUT_SKIP)) == []


def test_too_many_rows_to_sample_are_refused_at_once():
    ((_, message),) = problems(estimator("gamp", {"link": "rescaled_attention", "depth": 1000}))
    assert "1000 rows: allowed: at most 128" in message
