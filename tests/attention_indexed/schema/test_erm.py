"""Specifications of weight decay that are refused before any job, and the variables of small runs."""

import re

import numpy as np
import pytest
from aim_tools import computed, estimator, load

from attention_limits.pipeline.base.errors import SpecError

LINEAR = {"channel": "linear", "tokens": 2, "ratio": 0.5, "score_noise": 0.1}
SOFTMAX = {**LINEAR, "channel": "softmax"}


def theory(model, **grid):
    return estimator("erm_state_evolution", model, {"alpha": [0.1], **grid})


def fit(name="erm_minimisation", dimension=12, **grid):
    return estimator(name, LINEAR, {"alpha": [0.1], **grid}, solver={"dimension": dimension})


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (theory(LINEAR), "grid.weight_decay: missing; allowed: an axis here, or one value in model"),
        (theory(LINEAR, weight_decay=[-0.1]), "grid.weight_decay: -0.1: allowed: a number ≥ 0"),
        (theory(LINEAR, weight_decay=[1e-6]), "grid.weight_decay: 1e-06: allowed: 0, or 0.0001 to 1000"),
        (theory({**LINEAR, "weight_decay": -1.0}), "model.weight_decay: -1.0: allowed: a number ≥ 0"),
        (theory(SOFTMAX, weight_decay=[0.0, 0.1]), "0: a softmax with score noise has no known limit; allowed: at least 0.0001"),
        (theory({**SOFTMAX, "tokens": 7}, weight_decay=[0.1]), "softmax: allowed with at most 6 tokens, not 7"),
        (theory({**LINEAR, "channel": "hardmax"}, weight_decay=[0.1]), 'model.channel: "hardmax": allowed: one of "linear"'),
        (theory({**LINEAR, "score_noise": 1e-7}, weight_decay=[0.1]), "model.score_noise: 1e-07: allowed: 0, or 0.0001 to 10"),
        (fit(weight_decay=[0.0, 0.1]), "grid.weight_decay: 0.0: allowed: a number ≥ 0.0001"),
        (fit("erm_gamp", weight_decay=[0.0]), "grid.weight_decay: 0.0: allowed: a number ≥ 0.0001"),
        (fit(dimension=2, weight_decay=[0.1]), "allowed: at least 0.125 at dimension 2, or alpha d^2 sequences round to none"),
        (estimator("erm_optimal_decay", LINEAR, {"alpha": [0.1]}, solver={"least": 1.0, "largest": 0.5}), "more than least = 1"),
    ],
)  # fmt: skip
def test_refused_before_any_job(tmp_path, document, message):
    with pytest.raises(SpecError, match=re.escape(message)):
        load(tmp_path, document)


def test_all_decays_see_the_same_data(tmp_path):
    """The teachers are equal; more decay lowers rank and trace and raises the training loss."""
    document = estimator(
        "erm_minimisation", LINEAR, {"alpha": [0.2], "weight_decay": [0.1, 1.0]}, 2, solver={"dimension": 12}
    )
    found = computed(load(tmp_path, document).estimators["erm_minimisation"]).isel(alpha=0)
    weak, strong = found.isel(weight_decay=0), found.isel(weight_decay=1)
    np.testing.assert_array_equal(weak.eigenvalues_teacher, strong.eigenvalues_teacher)
    assert np.all(weak.learned_trace > strong.learned_trace)
    assert np.all(weak.training_loss < strong.training_loss)
    assert np.all(weak.learned_rank >= strong.learned_rank)


def test_state_evolution_of_linear_scores(tmp_path):
    """Thresholds, dimensions and the Bayes-optimal error 0.31108 at alpha K = 0.6."""
    document = theory(LINEAR, weight_decay=[0.0, 0.1])
    found = computed(load(tmp_path, document).estimators["erm_state_evolution"])
    assert found.spectrum_density.dims == ("alpha", "weight_decay", "replica", "bulk", "place")
    np.testing.assert_allclose(found.mse_bayes, 0.31108, rtol=5e-5)
    np.testing.assert_allclose(found.interpolation * 6, 0.657938, rtol=1e-5)
    assert np.isinf(found.exact_recovery).all()
    np.testing.assert_allclose(found.error_plug_in, 6 * found.mse, rtol=1e-9)
