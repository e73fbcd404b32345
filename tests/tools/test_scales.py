"""Differences between the scales, in units of their errors."""

import importlib
import math
import sys

import numpy as np
import pytest

from attention_limits.pipeline.audit import load_published
from toy import REPOSITORY, repository

# A script beside the package, not part of it.
sys.path.append(str(REPOSITORY / "tools"))
scales = importlib.import_module("scales")


def row(values):
    """Mean of the replicas with its standard error, as a row of the audit."""
    return {"ours": np.mean(values), "error": np.std(values, ddof=1) / math.sqrt(len(values))}


@pytest.mark.parametrize("nested", [True, False])
def test_differences_of_right_errors_are_standard_normal(nested):
    """100 and 400 replicas, 2000 numbers. False-alarm rate of the bounds: four standard errors each, 3e-4 in all."""
    rng = np.random.default_rng(5)
    found = []
    for _ in range(2000):
        many = rng.normal(size=400)
        few = many[:100] if nested else rng.normal(size=100)
        found.append(scales.distance(row(few), row(many), 4.0 if nested else None))
    assert abs(np.mean(found)) < 4 / math.sqrt(2000)
    assert abs(np.std(found) - 1) < 4 / math.sqrt(2 * 2000)
    # With the error of the other case the spread would be wrong by far more than the bound.
    wrong = [scales.distance(row(x[:100]), row(x), None) for x in rng.normal(size=(2000, 400))]
    assert abs(np.std(wrong) - math.sqrt(3 / 5)) < 0.05


def test_the_same_points_and_exact_numbers_have_no_difference():
    assert scales.distance({"ours": 1.0, "error": 0.1}, {"ours": 1.0, "error": 0.1}, 1.0) is None
    assert scales.distance({"ours": 1.0, "error": 0.0}, {"ours": 1.1, "error": 0.0}, None) is None


def test_growth_is_the_ratio_of_replicas_or_nothing():
    project = repository()
    found = {entry.quantity: scales.growth(entry, project) for entry in load_published(REPOSITORY, project.experiments)}
    # More scramblings of the same staircase.
    assert found["α₁ at c = 0.1"] > 1
    assert {type(value) for value in found.values()} <= {float, type(None)}
    assert None in found.values()


def test_the_page_lists_numbers_of_both_scales():
    few = [{"quantity": "a", "ours": 1.0, "error": 0.1}, {"quantity": "b", "ours": 2.0, "error": 0.0}]
    many = [
        {"quantity": "a", "ours": 1.1, "error": 0.05, "growth": 5.0},
        {"quantity": "b", "ours": 2.0, "error": 0.0, "growth": None},
    ]
    many += [{"quantity": "c", "ours": 3.0, "error": 0.1, "growth": None}]
    text = scales.page(few, many)
    assert "| a | 1.00(10) | 1.10(5) | +1.0 |" in text
    assert "| b | 2 | 2 |  |" in text
    assert "| c |" not in text
    assert "1 differences with an error." in text
    assert "Kolmogorov" in scales.summary([0.1, -1.0, 0.5])
