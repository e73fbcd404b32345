"""Gibbs sampling of terms of several sites against enumeration of all states."""

import numpy as np
import pytest
from scipy import stats

from agreement import FALSE_ALARM
from attention_limits.potts_mlm.many_body.gibbs import sample
from attention_limits.potts_mlm.many_body.model import make_model


@pytest.mark.parametrize("orders", [(3,), (2, 3, 4)])
def test_gibbs_samples_the_enumerated_distribution(orders):
    """Pearson's chi-squared of 20 000 independent chains, false-alarm rate FALSE_ALARM = 1e-4; rare states are pooled."""
    model = make_model(
        {"sites": 4, "colors": 3, "terms": 1, "strength": 1.0}, orders, lambda order: np.random.default_rng([5, order])
    )
    states, probability = model.enumerate()
    found = sample(model, 20_000, 60, np.random.default_rng(6))
    index = found.states.astype(int) @ 3 ** np.arange(4)[::-1]
    expected, observed = 20_000 * probability, np.bincount(index, minlength=len(states))
    rare = expected < 5.0
    pooled = [np.append(item[~rare], item[rare].sum()) if rare.any() else item for item in (observed, expected)]
    assert stats.chisquare(*pooled).pvalue > FALSE_ALARM
    assert found.converged


def test_chains_that_have_not_forgotten_their_start_are_flagged():
    """Pairs that prefer equal colours, sampled for no more than one sweep: half of the chains begin with one colour."""
    model = make_model(
        {"sites": 8, "colors": 3, "terms": 20, "strength": 6.0}, (2,), lambda order: np.random.default_rng([7, order])
    )
    assert not sample(model, 4000, 1, np.random.default_rng(8)).converged
