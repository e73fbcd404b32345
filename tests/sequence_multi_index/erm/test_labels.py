"""Targets whose labels ignore the fields: random labels, and Gaussian mixtures as tokens with a mean."""

import numpy as np
import pytest
from scipy.special import ndtr

import attention_limits as al
from attention_limits.sequence_multi_index.links.declarations import problems_of
from attention_limits.sequence_multi_index.links.loading import load_link
from toy import REPOSITORY


def test_a_target_that_ignores_the_fields_is_for_empirical_risk_alone():
    name = f"{REPOSITORY}/docs/models/labels.py:Labels"
    with pytest.raises(ValueError, match="reads_fields = False"):
        al.compute("sequence_multi_index.state_evolution", {"link": name}, {"alpha": [1.0]})
    link = load_link({"link": name}, REPOSITORY)
    assert problems_of(link) == []

    class Undeclared(type(link)):
        reads_fields = True

    assert "does not depend on the fields" in problems_of(Undeclared())[0]


def test_misclassification_of_a_mixture_at_a_large_ridge_is_bayes_optimal():
    """Mignacco et al. 2020 (arXiv:2002.11544): Phi(-B^2 sqrt(alpha) / sqrt(alpha B^2 + 1)); the ridge is finite, 1000."""
    name, B, alpha = f"{REPOSITORY}/docs/models/labels.py:Labels", 1.5, 0.7
    model = {
        "link": name, "parameters": {"share": 1.0}, "student": {"link": "linear"}, "loss": "square", "ridge": 1000.0,
        "positions": [[B]],
    }  # fmt: skip
    cube = al.compute("sequence_multi_index.erm_state_evolution", model, {"alpha": [alpha]})
    exact = ndtr(-(B**2) * np.sqrt(alpha) / np.sqrt(alpha * B**2 + 1))
    assert cube.misclassification.item() == pytest.approx(exact, abs=1e-3)
