"""Potts models with terms of q sites: identities of energies, fields and tensors."""

import itertools
import re

import numpy as np
import pytest

from attention_limits.potts_mlm.many_body.model import ManyBody, Terms, make_model, pure_tensor, random_terms

SMALL = {"sites": 5, "colors": 3, "terms": 4, "strength": 0.8}


def small(orders=(2, 3, 4), seed=0):
    return make_model(SMALL, orders, lambda order: np.random.default_rng([seed, order]))


def test_fields_are_differences_of_the_energy():
    """H(s with s_i = b) - H(s with s_i = a) = h_ia - h_ib, for all sites and colours."""
    model, rng = small(), np.random.default_rng(1)
    states = rng.integers(0, 3, (6, 5))
    fields = model.fields(states)
    for site, a, b in itertools.product(range(5), range(3), range(3)):
        energies = []
        for color in (a, b):
            changed = states.copy()
            changed[:, site] = color
            energies.append(model.energy(changed))
        np.testing.assert_allclose(energies[1] - energies[0], fields[:, site, a] - fields[:, site, b], atol=1e-12)


def test_losses_are_those_of_the_enumerated_conditionals():
    model = small()
    states, probability = model.enumerate()
    table = probability.reshape((3,) * 5)
    losses = model.losses(states)
    for site in range(5):
        conditional = table / table.sum(axis=site, keepdims=True)
        np.testing.assert_allclose(losses[:, site], -np.log(conditional.ravel()), atol=1e-12)


@pytest.mark.parametrize("order", [2, 3, 4, 5])
def test_a_pure_tensor_is_symmetric_and_has_zero_sums(order):
    tensor = pure_tensor(order, 4, np.random.default_rng(order))
    assert np.mean(tensor**2) == pytest.approx(1.0)
    np.testing.assert_allclose(tensor.sum(axis=0), 0.0, atol=1e-12)
    for axes in itertools.permutations(range(order)):
        np.testing.assert_allclose(tensor.transpose(axes), tensor, atol=1e-12)


@pytest.mark.parametrize("order", [2, 3, 4])
def test_the_field_of_each_order_has_the_standard_deviation_strength(order):
    """Exact: the mean over all states of the squared field of a site, averaged over the sites, is strength^2."""
    model = small((order,))
    states = np.array(list(itertools.product(range(3), repeat=5)))
    assert np.mean(model.fields(states) ** 2) == pytest.approx(0.8**2, rel=1e-12)


def test_the_fields_of_two_orders_are_orthogonal_at_random_colours():
    model = small()
    states = np.array(list(itertools.product(range(3), repeat=5)))
    for first, second in itertools.combinations((2, 3, 4), 2):
        assert np.mean(model.fields(states, first) * model.fields(states, second)) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(("order", "count", "sites"), [(2, 10, 5), (3, 10, 10), (5, 1, 5), (4, 8, 9)])
def test_random_terms_are_different_sets(order, count, sites):
    found = random_terms(order, count, sites, np.random.default_rng(3))
    assert found.shape == (count, order)
    assert len({frozenset(row) for row in found.tolist()}) == count
    assert all(len(set(row)) == order for row in found.tolist())


def test_random_terms_are_spread_over_the_sites():
    counts = np.bincount(random_terms(3, 10, 10, np.random.default_rng(4)).ravel(), minlength=10)
    assert counts.max() - counts.min() <= 2


@pytest.mark.parametrize(
    ("sites", "tensor", "message"),
    [
        ([[0, 5]], np.zeros((3, 3)), "must be (n, q) and lie in 0 to 4"),
        ([[1, 1]], np.zeros((3, 3)), "names a site twice"),
        ([[0, 1]], np.zeros((2, 2)), "must be (3, 3)"),
        ([[0, 1]], np.triu(np.ones((3, 3))), "must be symmetric"),
    ],
)
def test_bad_terms_are_refused(sites, tensor, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        ManyBody(5, 3, (Terms(np.array(sites), tensor),))


def test_too_many_terms_are_refused():
    with pytest.raises(ValueError, match="5 terms of order 3: 4 sites have 4"):
        random_terms(3, 5, 4, np.random.default_rng(0))
