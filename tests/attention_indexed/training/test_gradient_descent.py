"""Gradient descent on extensive-width attention: the loss it descends, its gradient, and averages over starts."""

from itertools import combinations

import jax
import numpy as np
import optax
import pytest

from attention_limits.attention_indexed.model.scores import (
    attention,
    attention_matrix,
    draw_sequences,
    draw_weights,
    scores,
)
from attention_limits.attention_indexed.schema.one_layer import GradientDescent
from attention_limits.attention_indexed.training import gradient_descent
from attention_limits.attention_indexed.training.gradient_descent import (
    TrainingLoss,
    average_sizes,
    averages,
    descend,
)

pytestmark = pytest.mark.slow


def problem(tokens=2, dimension=12, rank=5, count=40, starts=3, seed=0):
    """(sequences, outputs, teacher S, starts), double precision."""
    rng = np.random.default_rng(seed)
    _, S = draw_weights(dimension, rank, rng)
    sequences = draw_sequences(count, tokens, dimension, rng)
    return sequences, attention(scores(sequences, S)), S, rng.standard_normal((starts, dimension, rank))


@pytest.mark.parametrize(("tokens", "beta"), [(2, 1.0), (3, 0.7)])
def test_loss_is_that_of_the_model_and_its_gradient_is_that_of_finite_differences(tokens, beta):
    sequences, outputs, _, starts = problem(tokens)
    dimension = sequences.shape[2]

    def loss(weights):
        y = attention(scores(sequences, attention_matrix(weights)), beta)
        return np.sum((y - outputs) ** 2) / dimension

    values, gradients = TrainingLoss(sequences, outputs, beta, float)(np.ascontiguousarray(starts.transpose(1, 0, 2)))
    # Central differences of fourth order along random directions: truncation 1e-12, rounding 1e-12 of the loss over the step.
    step = 1e-3
    for W, value, gradient in zip(starts, values, gradients.transpose(1, 0, 2), strict=True):
        assert value == pytest.approx(loss(W), rel=1e-12)
        for direction in np.random.default_rng(1).standard_normal((3, *W.shape)):
            near = [loss(W + k * step * direction) for k in (-2, -1, 1, 2)]
            difference = (near[0] - 8 * near[1] + 8 * near[2] - near[3]) / (12 * step)
            assert np.sum(gradient * direction) == pytest.approx(difference, rel=1e-7, abs=1e-8)


def test_pieces_of_the_data_add_up(monkeypatch):
    sequences, outputs, _, starts = problem()
    weights = np.ascontiguousarray(starts.transpose(1, 0, 2))
    whole = TrainingLoss(sequences, outputs, 1.0, float)(weights)
    # Seven of the forty sequences in each piece.
    monkeypatch.setattr(gradient_descent, "_NUMBERS", 7 * 2 * 3 * 5)
    for one, other in zip(TrainingLoss(sequences, outputs, 1.0, float)(weights), whole, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-15)


def test_the_teacher_is_a_minimum_of_zero_loss():
    rng = np.random.default_rng(2)
    W, S = draw_weights(10, 4, rng)
    sequences = draw_sequences(30, 2, 10, rng)
    outputs = attention(scores(sequences, S))
    value, gradient = TrainingLoss(sequences, outputs, 1.0, float)(W[:, None])
    assert value[0] < 1e-28
    assert np.max(np.abs(gradient)) < 1e-14


def test_single_precision_ends_where_double_precision_does():
    sequences, outputs, S, starts = problem(count=80, seed=3)
    descent = GradientDescent.Solver(steps=200, record_every=100)
    single = descend(sequences, outputs, starts.astype(np.float32), 1.0, descent)
    double = descend(sequences, outputs, starts, 1.0, descent)
    assert single.weights.dtype == np.float32
    assert double.weights.dtype == np.float64
    np.testing.assert_allclose(single.training_error[:, 0], double.training_error[:, 0], rtol=1e-5)
    errors = [averages(run.weights, S, [1]).by_start for run in (single, double)]
    np.testing.assert_allclose(*errors, rtol=1e-2)


def test_steps_are_those_of_optax():
    sequences, outputs, _, starts = problem(seed=9)
    found = descend(sequences, outputs, starts, 1.0, GradientDescent.Solver(steps=3, record_every=3)).weights
    loss, optimiser = TrainingLoss(sequences, outputs, 1.0, float), optax.adam(0.1)
    with jax.enable_x64():
        weights = starts.transpose(1, 0, 2)
        state = optimiser.init(weights)
        for _ in range(3):
            updates, state = optimiser.update(loss(np.ascontiguousarray(weights))[1], state)
            weights = weights + np.asarray(updates)
    np.testing.assert_allclose(found, weights.transpose(1, 0, 2), rtol=1e-12)


def test_diverging_weights_stay_missing():
    sequences, outputs, _, starts = problem(seed=10)
    starts[1] = np.nan
    run = descend(sequences, outputs, starts.astype(np.float32), 1.0, GradientDescent.Solver(steps=4, record_every=2))
    assert np.all(np.isnan(run.weights[1]))
    assert np.all(np.isfinite(run.weights[[0, 2]]))


def test_recovers_the_teacher_where_there_are_many_more_equations_than_parameters():
    """n = 300 sequences of two tokens give 600 equations for r d - r (r - 1) / 2 = 50 parameters."""
    sequences, outputs, S, starts = problem(count=300, seed=4)
    run = descend(
        sequences, outputs, starts.astype(np.float32), 1.0, GradientDescent.Solver(steps=600, record_every=300)
    )
    assert np.min(averages(run.weights, S, [1]).by_start) < 1e-3


def test_ends_at_the_first_record_at_which_all_starts_are_below_the_tolerance():
    sequences, outputs, _, starts = problem(seed=5)
    starts = starts.astype(np.float32)
    whole = descend(sequences, outputs, starts, 1.0, GradientDescent.Solver(steps=60, record_every=20))
    assert whole.steps == 60
    assert np.all(np.isfinite(whole.training_error))
    assert np.all(whole.training_error[:, 1] < whole.training_error[:, 0])
    limit = float(whole.training_error[:, 1].max())
    stopped = descend(
        sequences, outputs, starts, 1.0, GradientDescent.Solver(steps=60, record_every=20, tolerance=limit)
    )
    assert stopped.steps == 20
    np.testing.assert_array_equal(stopped.training_error[:, :2], whole.training_error[:, :2])
    assert np.all(np.isnan(stopped.training_error[:, 2:]))


def test_a_start_does_not_depend_on_the_others():
    """Up to rounding: the products are of all starts at once."""
    sequences, outputs, _, starts = problem(seed=6)
    descent = GradientDescent.Solver(steps=10, record_every=10)
    together = descend(sequences, outputs, starts, 1.0, descent).weights
    alone = descend(sequences, outputs, starts[1:2], 1.0, descent).weights
    np.testing.assert_allclose(together[1:2], alone, rtol=1e-8, atol=1e-8)


def test_averages_are_means_over_all_sets_of_starts_and_the_jackknife_leaves_out_one():
    _, _, S, weights = problem(starts=5, seed=7)
    estimates = attention_matrix(weights)

    def mean_error(members, size):
        sets = combinations(members, size)
        return np.mean([np.sum((np.mean(estimates[list(chosen)], axis=0) - S) ** 2) / len(S) for chosen in sets])

    found = averages(weights, S, [1, 2, 4, 5])
    np.testing.assert_allclose(found.average, [mean_error(range(5), m) for m in (1, 2, 4, 5)], rtol=1e-12)
    np.testing.assert_allclose(found.by_start, [mean_error([k], 1) for k in range(5)], rtol=1e-12)

    def limit(members, m):
        members = list(members)
        return (m * mean_error(members, m) - mean_error(members, 1)) / (m - 1)

    for m in (2, 4):
        assert found.extrapolated == pytest.approx(limit(range(5), m), rel=1e-12)
    left_out = np.array([limit([j for j in range(5) if j != k], 2) for k in range(5)])
    assert found.extrapolated_error == pytest.approx(np.sqrt(4 / 5 * np.sum((left_out - left_out.mean()) ** 2)))


def test_extrapolation_and_its_error_are_unbiased_for_independent_errors():
    """S_k = S + mean + noise: the extrapolation is ||mean||^2 / d for any noise. Over 400 repetitions, at 5 standard
    errors: false-alarm rate 6e-7; the jackknife error squared is the variance within a factor 1.5 (it is known to 10 %)."""
    rng = np.random.default_rng(8)
    S, found = np.zeros((2, 2)), []
    for _ in range(400):
        # W W^T of 2 x 1 weights of mean 1: E S_k is the same for all starts.
        W = 1.0 + 0.5 * rng.standard_normal((6, 2, 1))
        found.append(averages(W, S, [1]))
    mean = (np.ones((2, 2)) + 0.25 * np.eye(2)) / np.sqrt(2.0)
    values, errors = np.array([[one.extrapolated, one.extrapolated_error] for one in found]).T
    assert values.mean() == pytest.approx(np.sum(mean**2) / 2, abs=5 * values.std() / 20)
    assert 1 / 1.5 < np.mean(errors**2) / values.var() < 1.5


def test_sizes_of_averages():
    assert average_sizes(1) == [1]
    assert average_sizes(8) == [1, 2, 4, 8]
    assert average_sizes(6) == [1, 2, 4, 6]
    _, _, S, weights = problem(starts=1)
    alone = averages(weights, S, [1])
    assert alone.average[0] == alone.by_start[0]
    assert np.isnan(alone.extrapolated)
    with pytest.raises(ValueError, match="number of starts 1"):
        averages(weights, S, [2])


def test_refuses_what_makes_no_sense():
    sequences, outputs, _, starts = problem()
    with pytest.raises(ValueError, match="beta"):
        descend(sequences, outputs, starts, np.inf, GradientDescent.Solver())
    with pytest.raises(ValueError, match="shapes"):
        descend(sequences, outputs[:-1], starts, 1.0, GradientDescent.Solver())
