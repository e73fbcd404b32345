"""Integrals over panels that are halved until two rules agree."""

import numpy as np
import pytest
from scipy.special import ndtr

from attention_limits.numerics.probability.adaptive import FIFTEEN, POINTS, SEVEN, adaptive_integrals


@pytest.mark.parametrize(("weights", "degree"), [(SEVEN, 13), (FIFTEEN, 22)])
def test_rules_are_exact_for_polynomials_up_to_their_degree(weights, degree):
    for power in range(0, degree + 1, 2):
        assert POINTS**power @ weights == pytest.approx(2.0 / (power + 1), abs=1e-14)
    assert abs(POINTS ** (degree + 1 + degree % 2) @ weights - 2.0 / (degree + 2 + degree % 2)) > 1e-9


def test_functions_share_panels_and_have_their_own_accuracy():
    """Normal densities cut at a jump, of widths from 1 to 1e-3, on common panels; a component of each is zero."""
    jumps, widths = np.array([0.3, -0.2, 0.1]), np.array([1.0, 0.1, 1e-3])
    seen = []

    def function(owner, place, x):
        seen.append(len(place))
        x = x[place]
        density = np.exp(-0.5 * (x / widths[owner, None]) ** 2) / (np.sqrt(2.0 * np.pi) * widths[owner, None])
        cut = np.where(x < jumps[owner, None], density, 0.0)
        return np.stack([density, cut, np.zeros_like(cut)], axis=2)

    ends = np.linspace(-9.0, 9.0, 37)
    owner, place = np.repeat(np.arange(3), 36), np.tile(np.arange(36), 3)
    total, error = adaptive_integrals(function, owner, place, ends[:-1], ends[1:], 3, 1e-10)
    wanted = np.stack([np.ones(3), ndtr(jumps / widths), np.zeros(3)], axis=1)
    np.testing.assert_allclose(total, wanted, atol=1e-8)
    assert np.all(np.abs(total - wanted).max(axis=1) <= error + 1e-12)
    # Only panels with a jump or a narrow peak are halved.
    assert sum(seen[1:]) < 3 * seen[0]
