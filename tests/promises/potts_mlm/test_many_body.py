"""Promises on terms of two, three and more sites, and on single chains; seeds are fixed.

Statistical comparisons allow five standard errors, a false-alarm rate below 1e-5 per comparison.
"""

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sampled_potts_mlm import FAMILY, POTTS, one, sampled
from specifications import Refused, compute, compute_data, node, whole_range

pytestmark = pytest.mark.slow

MODEL = {"sites": 4, "colors": 3, "terms": 2, "strength": 1.0}


def document(order, model=MODEL, *, solver=None, learner=None):
    data = {
        "grid": {"order": {"values": [order]}},
        "replicas": 1,
        "solver": {"samples": 400, "test_samples": 400} | (solver or {}),
    }
    part = {
        "reads": "many_body_samples", "replicas": 1,
        "grid": {"order": {"values": [order]}, "samples": {"values": [200]}, "depth": {"values": [1]}},
        "solver": {"epochs": 1, "evaluations": 1, "probes": 20, "test_sequences": 300, "batch": 50, **(learner or {})},
    }  # fmt: skip
    return {
        "title": "Promise", "description": "Drawn.", "model": model, "data": {"many_body_samples": data},
        "estimators": {"stacked_attention": part},
    }  # fmt: skip


def terms_of(order, model):
    """(sites, tensor) of all terms, from the streams of the specification."""
    from attention_limits.pipeline.base.streams import Streams
    from attention_limits.potts_mlm.estimators.many_body.many_body_samples import instance_of

    full = {"instance": 0, "lower_orders": False, **model}
    return instance_of(full, FAMILY, order, Streams(0, FAMILY, "promise"), 0).terms


def energies_of(states, terms):
    """H by loops over terms and states."""
    return np.array([-sum(p.tensor[tuple(s[i] for i in e)] for p in terms for e in p.sites) for s in states])


@settings(max_examples=4)
@given(
    order=whole_range(node(FAMILY, "many_body_samples", "grid", "order")),
    colors=st.integers(2, 4), terms=st.integers(1, 4), lower=st.booleans(),
    strength=st.floats(0.1, 1.5), seed=st.integers(0, 3),
)  # fmt: skip
@example(order=3, colors=3, terms=4, lower=True, strength=1.0, seed=0)
def test_many_body_samples_have_the_enumerated_energy(order, colors, terms, lower, strength, seed):
    """The mean energy of both halves of the chains by enumeration, or no job begins."""
    model = {
        "sites": 4,
        "colors": colors,
        "terms": terms,
        "strength": strength,
        "lower_orders": lower,
        "instance": seed,
    }
    found = compute_data(FAMILY, document(order, model), "many_body_samples")
    if any(terms > math.comb(4, one) for one in (range(2, order + 1) if lower else [order])):
        assert isinstance(found, Refused)
        assert all("model.terms" in problem for problem in found.problems)
        return
    states = np.array(list(itertools.product(range(colors), repeat=4)))
    energies = energies_of(states, terms_of(order, model))
    probability = np.exp(energies.min() - energies)
    exact = probability @ energies / probability.sum()
    cube = found.isel(order=0, replica=0)
    assert bool(cube.many_body_converged)
    for half in (0, 1):
        error = float(cube.half_energy_error[half])
        assert float(cube.half_energy[half]) == pytest.approx(exact, abs=5.0 * error + 1e-12)
    assert cube.training_states.shape == cube.test_states.shape == (400, 4)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"terms": 5, "sites": 4}, "model.terms: 5: allowed: ≤ 4, the sets of 3 of 4 sites"),
        ({"colors": 33}, "model.colors: 33: allowed"),
        ({"strength": 0.0}, "model.strength: 0.0: allowed: a number > 0"),
    ],
)
def test_many_body_samples_out_of_range_are_refused(keys, message):
    found = compute(FAMILY, document(3, MODEL | keys))
    assert isinstance(found, Refused)
    assert any(message in problem for problem in found.problems), found.problems


def test_stacked_attention_is_compared_with_the_true_conditionals():
    """The optimal loss by normalised energies, and shares of missing orders; an untrained model contains nothing of order 3."""
    model = MODEL | {"lower_orders": True}
    found = compute_with_data(document(3, model, learner={"learning_rate": 1e-9}))
    cube = found.isel(order=0, samples=0, depth=0, replica=0)
    terms = terms_of(3, model)
    test = data_of(document(3, model)).isel(order=0, replica=0).test_states.values[:300].astype(int)
    losses = []
    for site in range(4):
        energies = []
        for color in range(3):
            changed = test.copy()
            changed[:, site] = color
            energies.append(energies_of(changed, terms))
        weights = np.exp(-np.array(energies))
        losses.append(-np.log(weights[test[:, site], np.arange(300)] / weights.sum(axis=0)))
    assert float(cube.stacked_optimal_loss) == pytest.approx(np.mean(losses), rel=1e-9)
    shares = cube.stacked_fraction.isel(epoch=-1)
    assert np.isfinite(shares.sel(interaction=[2, 3])).all()
    assert np.isnan(shares.sel(interaction=[4, 5])).all()
    # One layer is linear in the other sites; the estimate scatters by its error.
    error = float(cube.stacked_fraction_error.isel(epoch=-1).sel(interaction=3))
    assert abs(float(shares.sel(interaction=3))) <= 5.0 * error


def data_of(written):
    return compute_data(FAMILY, written, "many_body_samples")


def compute_with_data(written):
    return compute(FAMILY, written)["stacked_attention"]


def test_single_chains_agree_with_the_tempered_run_at_a_high_temperature():
    """Energies within five errors of independent configurations; 5 sweeps apart they are independent at this temperature."""
    reader = {"grid": {}, "solver": {"samples": 400, "gap": 5, "chains": 3, "starts": 1, "max_iterations": 50}}
    found = sampled(POTTS, 0.62, {"single_chains": reader, "equilibrium": {"grid": {}}})
    chains = one(found, "single_chains")
    assert bool(chains.chains_converged)
    J, U = (one(found, "equilibrium")[name].values for name in ("couplings", "color_couplings"))
    states = np.array(list(itertools.product(range(3), repeat=4)))
    energies = np.array([-sum(J[i, j] * U[s[i], s[j]] for i in range(4) for j in range(i)) for s in states])
    weights = np.exp(-float(one(found, "equilibrium").beta) * energies)
    mean = weights @ energies / weights.sum()
    error = np.sqrt(weights @ (energies - mean) ** 2 / weights.sum() / 400)
    np.testing.assert_allclose(4 * chains.chain_energy, mean, atol=5.0 * error)
    assert chains.chain_site_error.dims == ("attention", "learned_chain")


def test_single_chains_that_stay_apart_are_flagged():
    """At a large inverse temperature chains from random colours end in different states, and do not leave them."""
    model = POTTS | {
        "sites": 8,
        "colors": 4,
        "color_couplings": {"kind": "identity"},
        "couplings": {"kind": "contact", "density": 1.0},
    }
    reader = {"grid": {}, "solver": {"samples": 60, "gap": 1, "chains": 6, "starts": 1, "max_iterations": 5}}
    found = sampled(model, 0.1, {"single_chains": reader}, unreachable="keep", beta_max=5.0)
    chains = one(found, "single_chains")
    assert not bool(chains.chains_converged)
    # Within a chain all configurations are alike, between the chains and the tempered run they are not.
    assert float(chains.chain_hamming.max()) < 0.2 < float(chains.chain_cross.max())


def test_single_chains_learn_from_chains_that_are_there():
    reader = {"grid": {}, "solver": {"samples": 60, "chains": 2, "learned": 3}}
    found = sampled(POTTS, 0.5, {"single_chains": reader})
    assert isinstance(found, Refused)
    assert "solver.learned: 3: allowed: ≤ 2, the value of solver.chains" in found.problems[0]
