"""The tuned temperature against enumeration of all states, and the ladder below it."""

from types import SimpleNamespace

import numpy as np
import pytest
from potts_tools import random_model

from attention_limits.potts_mlm.potts.model import Potts, site_couplings
from attention_limits.potts_mlm.potts.tuning import UnreachableError, spaced, tune

pytestmark = pytest.mark.slow


def test_ladder_is_cut_evenly_in_the_barrier():
    """Rejection 0.2 per step below beta = 0.5 and 0.1 above add up to 1.5: a swap rate of 0.625 cuts it into four."""
    betas = spaced(np.linspace(0.0, 1.0, 11), np.repeat([0.2, 0.1], 5), 1.0, 0.625)
    np.testing.assert_allclose(betas, [0.0, 0.1875, 0.375, 0.625, 1.0])


@pytest.mark.parametrize("target", [0.6, 0.3])
def test_tuned_temperature_has_the_wanted_distance_exactly(target):
    """By enumeration: d_H = 1 - mean_i sum_a p_ia^2 at the beta found. The search promises tolerance plus one standard error of
    its own estimate, which is off by its error again: 5 errors are allowed (false-alarm rate below 1e-4)."""
    model = random_model(5, 4, seed=13)
    search = SimpleNamespace(
        tolerance=0.005, swap_rate=0.4, beta_max=20.0, tuning_samples=1000, tuning_gap=10, tuning_rounds=3
    )
    found = tune(model, target, np.random.default_rng(14), search)
    states, probability = model.enumerate(found.betas[-1])
    frequency = np.stack([(states == color).T @ probability for color in range(model.colors)])
    exact = np.mean(1.0 - np.sum(frequency**2, axis=0))
    assert exact == pytest.approx(target, abs=0.005 + 5 * found.distance_error)


def test_a_distance_that_symmetry_forbids_is_named():
    """Identity U: all colours are equivalent, so d_H >= 1 - 1/C at any temperature."""
    model = Potts(site_couplings("contact", 4, np.random.default_rng(15)), np.eye(3))
    search = SimpleNamespace(
        tolerance=0.01, swap_rate=0.4, beta_max=2.0, tuning_samples=200, tuning_gap=5, tuning_rounds=2
    )
    with pytest.raises(UnreachableError, match=r"largest allowed; the target is 0\.3"):
        tune(model, 0.3, np.random.default_rng(16), search)


def test_no_temperature_beyond_the_largest_allowed():
    """The first ladder ends there too: at beta = 0.05 two random sequences hardly approach each other."""
    search = SimpleNamespace(
        tolerance=0.01, swap_rate=0.4, beta_max=0.05, tuning_samples=200, tuning_gap=5, tuning_rounds=2
    )
    with pytest.raises(UnreachableError, match=r"at beta = 0\.05, the largest allowed"):
        tune(random_model(5, 4, seed=13), 0.6, np.random.default_rng(17), search)
