"""Transformers on exact samples of a small Potts model: between independent sites and the optimal loss."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from attention_limits.potts_mlm.attention.factored import independent_losses, losses
from attention_limits.potts_mlm.potts.model import Potts, color_couplings, site_couplings
from attention_limits.potts_mlm.transformer.transformer import (
    Schedule,
    Shape,
    evaluate,
    final_attention,
    gradient,
    initial,
    mean_couplings,
    positions,
    train,
)

pytestmark = pytest.mark.slow

SHAPE = Shape(sites=6, colors=3, layers=1, width=12, hidden=16)


@pytest.fixture(scope="module")
def weights():
    return initial(SHAPE, np.random.default_rng(0))


@pytest.fixture(scope="module")
def sequences():
    return np.random.default_rng(1).integers(0, 3, (40, 6)).astype(np.int32)


def test_the_masked_colour_enters_only_as_the_target(weights, sequences):
    """Over all colours at the masked site the probabilities add up to one."""
    total = np.zeros(40)
    for color in range(3):
        recolored = sequences.copy()
        recolored[:, 2] = color
        total += np.exp(-evaluate(weights, SHAPE, recolored)[0][:, 2])
    np.testing.assert_allclose(total, 1.0, rtol=1e-5)


def test_evaluation_masks_every_site_once(weights, sequences):
    """Site by site against the training loss of that site; attention rows add up to one."""
    found, looks = evaluate(weights, SHAPE, sequences)
    for site in range(6):
        expected, _ = gradient(weights, SHAPE, sequences, np.arange(40), np.full(40, site))
        assert found[:, site].mean() == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(looks.sum(axis=-1), 1.0, rtol=1e-5)


@pytest.mark.parametrize(("layers", "mean"), [(1, 0.0), (2, 0.5), (3, 1.5), (5, 3.5)])
def test_maps_average_the_final_two_layers(layers, mean):
    """Layer k has the attention k: the mean over layers 2 and 3 of three, over both of two, and the only one of one."""
    attention = np.broadcast_to(np.arange(layers)[None, :, None, None], (4, layers, 6, 6))
    np.testing.assert_array_equal(final_attention(attention), np.full((4, 6, 6), mean))


def test_positions_are_orthogonal_waves():
    """|p_i|^2 = width / 2, and p_i . p_j depends on i - j alone."""
    waves = positions(7, 12)
    products = waves @ waves.T
    np.testing.assert_allclose(np.diag(products), 6.0)
    np.testing.assert_allclose(products[:-1, :-1], products[1:, 1:], atol=1e-12)


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_training_ends_between_independent_sites_and_the_optimum(optimizer):
    """Correlated sites: the gap between the two is over 0.15 nats. On 1000 test sequences the optimum has a standard error of
    about 0.02, mostly shared with the model's loss: 0.01 below it would be a leak of the masked colour."""
    rng = np.random.default_rng(2)
    model = Potts(site_couplings("gaussian", 6, rng), color_couplings("gaussian", 3, rng))
    states, probability = model.enumerate(1.0)
    training, test = (states[rng.choice(len(states), count, p=probability)] for count in (2000, 1000))
    optimal = losses(model.J, model.U, test).mean()
    independent = independent_losses(training, test, 3).mean()
    assert independent - optimal > 0.15
    rate = {"sgd": 0.2, "adam": 0.01}[optimizer]
    done = train(SHAPE, training, test, rng, Schedule(optimizer, rate, batch=50, epochs=30, evaluations=3))
    assert optimal - 0.01 < done.test_loss[-1] < 0.5 * (independent + optimal)
    np.testing.assert_array_equal(done.epochs, [10, 20, 30])


def test_training_is_reproducible_and_depends_on_the_stream(sequences):
    schedule = Schedule("adam", 0.01, batch=20, epochs=2, evaluations=1)
    runs = [train(SHAPE, sequences, sequences, np.random.default_rng(seed), schedule) for seed in (3, 3, 4)]
    assert runs[0].test_loss == runs[1].test_loss != runs[2].test_loss


def test_trainings_side_by_side_give_the_same_bytes(sequences):
    """Two at once on two threads against one after the other."""
    schedules = [Schedule(optimizer, 0.01, 16, 4, 2) for optimizer in ("sgd", "adam")]

    def trained(schedule):
        return train(SHAPE, sequences, sequences, np.random.default_rng(3), schedule)

    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(trained, schedules))
    for one, other in zip(together, map(trained, schedules), strict=True):
        np.testing.assert_array_equal(one.test_loss, other.test_loss)
        np.testing.assert_array_equal(one.attention, other.attention)


def test_another_optimizer_is_refused():
    with pytest.raises(ValueError, match="allowed: sgd, adam"):
        Schedule("lion", 1.0, batch=1, epochs=1, evaluations=1)


def test_the_response_to_a_colour_is_that_of_the_losses(weights, sequences):
    """[i, j, b, a] is the mean of log p(s_i = a) over the sequences in which site j has the colour b, by `evaluate`."""
    found = mean_couplings(weights, SHAPE, sequences[:5])
    assert found.shape == (6, 6, 3, 3)
    assert not found[range(6), range(6)].any()
    for i, j, b, a in ((0, 1, 2, 0), (4, 2, 0, 1), (5, 0, 1, 2)):
        changed = sequences[:5].copy()
        changed[:, i], changed[:, j] = a, b
        assert found[i, j, b, a] == pytest.approx(-evaluate(weights, SHAPE, changed)[0][:, i].mean(), abs=1e-5)


def test_weights_choose_the_sequences_of_a_step(sequences):
    """All weight on two sequences: the training is that of these two alone would be, and its loss falls below that of all."""
    chosen = np.zeros(40)
    chosen[[3, 8]] = [1.0, 3.0]
    schedule = Schedule("adam", 0.01, 20, 40, 2)
    done = train(SHAPE, sequences, sequences[[3, 8]], np.random.default_rng(2), schedule, chosen)
    assert done.losses.shape == (2, 2)
    np.testing.assert_allclose(done.losses.mean(axis=1), done.test_loss, rtol=1e-12)
    assert done.test_loss[-1] < 0.1 < evaluate(done.parameters, SHAPE, sequences)[0].mean()
