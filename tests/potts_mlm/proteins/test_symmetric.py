"""Symmetric pseudo-likelihood: its parameters, its minimum, and the model that it finds from exact probabilities."""

from types import SimpleNamespace

import numpy as np
import pytest

from attention_limits.potts_mlm.attention.pair import fit, losses, objective
from attention_limits.potts_mlm.attention.pair_parameters import Ridge, Shape
from attention_limits.potts_mlm.potts.contacts import zero_sum
from attention_limits.potts_mlm.potts.model import Potts
from attention_limits.potts_mlm.proteins.symmetric import fit_symmetric, folded, unfolded

SHAPE = Shape(4, 3, 0, full=True)
SETTINGS = SimpleNamespace(max_iterations=3000, tolerance=1e-8, pseudo_count=1.0)


def test_the_folded_gradient_is_that_of_the_objective():
    """Central differences of the objective in random directions of the symmetric parameters."""
    rng = np.random.default_rng(0)
    sequences, weights = rng.integers(0, 3, (30, 4)).astype(np.int8), rng.random(30) + 0.5
    flat = rng.standard_normal(4 * 3 + 6 * 9)

    def value(parameters):
        return objective(unfolded(parameters, SHAPE), SHAPE, sequences, weights, Ridge(0.1, 0.2))

    slope = folded(value(flat)[1], SHAPE)
    for _ in range(3):
        direction = rng.standard_normal(len(flat))
        ends = [value(flat + sign * 1e-5 * direction)[0] for sign in (1, -1)]
        assert (ends[0] - ends[1]) / 2e-5 == pytest.approx(slope @ direction, rel=1e-7)


def test_couplings_are_one_for_both_conditionals():
    flat = np.random.default_rng(1).standard_normal(4 * 3 + 6 * 9)
    couplings = SHAPE.split(unfolded(flat, SHAPE))[1]
    np.testing.assert_array_equal(couplings, couplings.transpose(1, 0, 3, 2))
    assert not couplings[range(4), range(4)].any()


def test_exact_probabilities_give_the_couplings_of_the_model():
    """All 81 states with their probabilities as weights: the minimum is the model, in the zero-sum gauge, and its loss the
    entropy of the conditionals. The ridge of 1e-9 moves it by less than 1e-5."""
    rng = np.random.default_rng(2)
    J, U = np.triu(rng.standard_normal((4, 4)), 1), rng.standard_normal((3, 3))
    model = Potts(J + J.T, U + U.T)
    states, probability = model.enumerate(0.4)
    found = fit_symmetric(states, probability, 3, Ridge(1e-9, 1e-9), SETTINGS)
    assert found.descent.converged
    truth = 0.4 * model.J[:, :, None, None] * model.U
    np.testing.assert_allclose(
        zero_sum(found.fields, found.couplings)[1], zero_sum(np.zeros((4, 3)), truth)[1], atol=1e-4
    )
    conditionals = model.conditionals(states, 0.4)
    own = np.take_along_axis(conditionals, states[..., None].astype(int), axis=2)[..., 0]
    assert found.loss == pytest.approx(-probability @ np.log(own).mean(axis=1), abs=1e-8)
    np.testing.assert_allclose(losses(found.fields, found.couplings, states), -np.log(own), atol=1e-4)


def test_the_joint_minimum_lies_above_the_asymmetric_one_and_below_its_average():
    """The asymmetric fit has more parameters; the average of its couplings is a point that the joint fit could choose."""
    rng = np.random.default_rng(3)
    sequences, weights, ridge = rng.integers(0, 3, (60, 4)).astype(np.int8), np.ones(60), Ridge(1e-3, 1e-2)
    free = fit(sequences, weights, SHAPE, ridge, rng, SETTINGS)
    joint = fit_symmetric(sequences, weights, 3, ridge, SETTINGS)
    couplings = 0.5 * (free.couplings + free.couplings.transpose(1, 0, 3, 2))
    average = objective(np.concatenate([free.fields.ravel(), couplings.ravel()]), SHAPE, sequences, weights, ridge)[0]
    assert free.descent.objective + 1e-9 < joint.descent.objective < average - 1e-9
