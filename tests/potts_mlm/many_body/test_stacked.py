"""Stacked factored attention: what it is, and which interactions its depth allows."""

import itertools

import jax
import numpy as np
import pytest

from attention_limits.potts_mlm.attention import factored
from attention_limits.potts_mlm.many_body import stacked
from attention_limits.potts_mlm.many_body.model import make_model
from attention_limits.potts_mlm.many_body.orders import learned_fraction


def test_one_layer_and_one_head_is_factored_attention():
    """Attention A and values V^T of an embedding that is the identity: the losses of `attention.factored`."""
    rng = np.random.default_rng(0)
    A, V, sequences = rng.standard_normal((5, 5)), rng.standard_normal((3, 3)), rng.integers(0, 3, (40, 5))
    parameters = [{"embedding": np.eye(3)}, {"attention": A[None], "values": V.T[None]}]
    found = stacked.losses(stacked.every_site(parameters, sequences), sequences)
    hollow = A - np.diag(np.diag(A))
    np.testing.assert_allclose(found, factored.losses(hollow, V, sequences), atol=1e-5)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_the_logits_do_not_depend_on_the_masked_site(layers):
    rng = np.random.default_rng(1)
    parameters = stacked.initial(stacked.Shape(4, 3, layers, 2, 5), rng)
    sequences = rng.integers(0, 3, (10, 4))
    changed = sequences.copy()
    changed[:, 2] = (changed[:, 2] + 1) % 3
    first, second = (stacked.every_site(parameters, item)[:, 2] for item in (sequences, changed))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(("layers", "others"), [(1, 1), (2, 2), (3, 4)])
def test_the_depth_limits_the_order_of_interaction(layers, others):
    """Mixed differences of the logits over more than 2^(n-1) other sites are zero; those over 2^(n-1) are not.

    Single precision rounds the sum of at most 32 logits by 32 * 6e-8 = 2e-6 of the largest one; zero means below 1e-5, and not
    zero above ten times this bound.
    """
    shape = stacked.Shape(7, 2, layers, 2, 6)
    parameters = stacked.initial(shape, np.random.default_rng(2))
    # With larger weights the highest powers dominate the logits.
    for layer in parameters[1:]:
        layer["attention"] *= 4.0

    def difference(count):
        corners = np.array(list(itertools.product((0, 1), repeat=count)))
        states = np.zeros((len(corners), 7), dtype=int)
        states[:, 1 : 1 + count] = corners
        signs = (-1.0) ** (count - corners.sum(axis=1))
        logits = stacked.every_site(parameters, states)[:, 0, 0]
        return abs(signs @ logits) / np.abs(logits).max()

    assert difference(others + 1) < 1e-5
    assert difference(others) > 1e-4


def test_the_loss_of_a_batch_is_the_mean_over_its_masked_sites():
    rng = np.random.default_rng(3)
    sequences, masked = rng.integers(0, 3, (20, 4)), np.arange(20) % 4
    parameters = stacked.initial(stacked.Shape(4, 3, 2, 1, 4), rng)
    every = stacked.losses(stacked.every_site(parameters, sequences), sequences)
    found = float(stacked.loss(parameters, sequences, masked))
    assert found == pytest.approx(every[np.arange(20), masked].mean(), rel=1e-5)


def test_the_first_step_of_adam_moves_by_the_rate_against_the_gradient():
    """The first step is -rate g / (|g| + 1e-8); one batch of all sequences, the rate at step 0 is not annealed."""
    rng = np.random.default_rng(5)
    sequences = rng.integers(0, 3, (20, 4))
    parameters = stacked.initial(stacked.Shape(4, 3, 2, 1, 4), rng)
    masked = np.arange(20) % 4
    slope = jax.jit(jax.grad(stacked.loss))(parameters, sequences, masked)
    zeros = [jax.tree.map(np.zeros_like, parameters) for _ in range(2)]
    state = jax.tree.map(jax.numpy.array, (parameters, *zeros, 0))
    (moved, *_), _ = stacked._epoch(state, sequences, np.arange(20)[None], masked[None], np.array([0.01], np.float32))
    before, after, gradient = (
        np.concatenate([np.ravel(item) for item in jax.tree.leaves(tree)]) for tree in (parameters, moved, slope)
    )
    steep = np.abs(gradient) > 1e-5
    assert steep.sum() > 50
    np.testing.assert_allclose((before - after)[steep], 0.01 * np.sign(gradient)[steep], rtol=5e-3)


def test_the_share_of_an_order_is_one_for_the_true_fields_and_zero_for_another_order():
    model = make_model(
        {"sites": 6, "colors": 3, "terms": 5, "strength": 1.0}, (2, 3), lambda order: np.random.default_rng([4, order])
    )
    probes = np.array(list(itertools.product(range(3), repeat=6)))
    fields = model.fields(probes)
    for order in (2, 3):
        assert learned_fraction(fields, model, probes, order)[0] == pytest.approx(1.0)
        assert learned_fraction(model.fields(probes, order), model, probes, 5 - order)[0] == pytest.approx(
            0.0, abs=1e-12
        )


@pytest.mark.slow
def test_two_layers_learn_terms_of_three_sites_and_one_layer_does_not():
    """Excess losses beside those of independent sites; the margins are an order of magnitude above the spread of seeds."""
    from attention_limits.potts_mlm.many_body.gibbs import sample

    model = make_model(
        {"sites": 6, "colors": 3, "terms": 4, "strength": 1.5}, (3,), lambda order: np.random.default_rng([9, order])
    )
    states = sample(model, 6000, 60, np.random.default_rng(10)).states.astype(int)
    test, optimal = states[:1000], model.losses(states[:1000]).mean()
    settings = {"learning_rate": 0.01, "batch": 100, "epochs": 20, "evaluations": 1}
    excess = []
    for layers in (1, 2):
        shape = stacked.Shape(6, 3, layers, 2, 12)
        done = stacked.train(shape, states[1000:], test, test[:10], np.random.default_rng(11), settings)
        excess.append(done.test_loss[-1] - optimal)
    assert excess[1] < 0.2 * excess[0]
