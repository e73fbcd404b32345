"""Promises of the learners of Figure 2 besides the encoders: each against its definition in plain arrays; seeds are fixed."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sampled_potts_mlm import FAMILY, POTTS, one, sampled, training, training_and_test
from slow_potts_mlm_proteins import full_pseudo_likelihood
from specifications import Refused, node, whole_range

from attention_limits.pipeline.base.streams import Streams

pytestmark = pytest.mark.slow


@settings(max_examples=4)
@given(
    samples=st.sampled_from([5, 60]),
    ridge=st.sampled_from([1e-6, 1e-3, 1.0, 1000.0]),
    fields=whole_range(node(FAMILY, "pseudo_likelihood", "solver", "field_ridge")),
)
def test_pseudo_likelihood_is_the_optimum_of_another_method(samples, ridge, fields):
    """A fit that converged has the test loss of BFGS on the conditionals of the sites, one by one.

    The objective curves at least like the smaller ridge, so 120 parameters are off by at most sqrt(120) 1e-7 / ridge in norm, and
    a logit, the sum of four of them, by twice that; 1e-3 nats are for the other method.
    """
    solver = {"field_ridge": fields, "coupling_ridge": ridge, "tolerance": 1e-7, "max_iterations": 3000}
    part = {"grid": {"samples": {"values": [samples]}}, "solver": solver}
    found = sampled(POTTS, 0.5, {"pseudo_likelihood": part, "equilibrium": {"grid": {}}})
    cube = one(found, "pseudo_likelihood").isel(samples=0)
    # Couplings of both signs have no contacts.
    assert np.isnan(cube.pseudo_likelihood_precision)
    if not bool(cube.pseudo_likelihood_converged):
        # Separable data have no minimum at tiny ridges, and only there may a fit give up.
        assert min(fields, ridge) < 1e-4
        return
    if min(fields, ridge) < 1e-5:
        # The bound says nothing.
        return
    sequences, test = training_and_test(found, samples)
    _, h, J = full_pseudo_likelihood(sequences, np.ones(samples), 3, fields, ridge)
    onehot, total = np.eye(3)[test], 0.0
    for i in range(4):
        logits = h[i] + np.einsum("njb,jba->na", onehot[:, [j for j in range(4) if j != i]], J[i])
        total += np.mean(np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(len(test)), test[:, i]])
    assert float(cube.pseudo_likelihood_loss) == pytest.approx(
        total / 4, abs=1e-3 + 4.0 * np.sqrt(120) * 1e-7 / min(fields, ridge)
    )


@settings(max_examples=4)
@given(
    samples=st.sampled_from([1, 7]),
    rate=whole_range(node(FAMILY, "factored_training", "solver", "learning_rate")),
    kind=st.sampled_from(["raw", "softmax"]),
)
@example(samples=7, rate=0.1, kind="raw")
@example(samples=7, rate=0.1, kind="softmax")
@example(samples=1, rate=10.0, kind="softmax")
def test_factored_training_descends_the_loss_of_plain_arrays(samples, rate, kind):
    """Three full-batch steps with gradients by complex steps of 1e-30, exact to rounding: losses to 1e-6 of their size."""
    solver = {
        "attentions": [kind],
        "learning_rate": rate,
        "batch": 100,
        "epochs": 3,
        "evaluations": 3,
        "test_sequences": 50,
    }
    part = {"grid": {"samples": {"values": [samples]}}, "solver": solver}
    found = sampled(POTTS, 0.5, {"factored_training": part, "equilibrium": {"grid": {}}})
    if isinstance(found, Refused):
        raise AssertionError(found.problems)
    cube = one(found, "factored_training").isel(samples=0, attention=0)
    _, test = training_and_test(found, samples)
    sequences = training(found, samples)
    (rng,) = Streams(0, FAMILY, "promise").generator("training", 0).spawn(1)
    flat = 0.1 * rng.standard_normal(25)
    if kind == "raw":
        flat[:16:5] = 0.0
    for step in range(3):
        slope = np.array([loss(flat + 1e-30j * d, sequences, kind).imag for d in np.eye(25)]) / 1e-30
        expected = loss(flat, sequences, kind)
        assert float(cube.factored_training_loss[step]) == pytest.approx(expected, rel=1e-6, abs=1e-9)
        # The cosine anneals the rate to zero; the loss that is descended is the sum over the four sites.
        flat = flat - 4 * rate * 0.5 * (1 + np.cos(np.pi * step / 3)) * slope
        assert float(cube.factored_test_loss[step]) == pytest.approx(loss(flat, test[:50], kind), rel=1e-6, abs=1e-9)


def loss(flat, sequences, kind):
    """Mean -log p(s_i | s_-i) of factored attention with logits sum_{j != i} A_ij V[s_j].

    The softmax of a row of W runs over all sites; the masked one takes its weight and adds nothing.
    """
    matrix, values = flat[:16].reshape(4, 4), flat[16:].reshape(3, 3)
    total = 0.0
    for i in range(4):
        others = [j for j in range(4) if j != i]
        row = matrix[i]
        attention = np.exp(row - row.real.max()) / np.exp(row - row.real.max()).sum() if kind == "softmax" else row
        logits = np.einsum("j,njc->nc", attention[others], values[sequences[:, others]])
        highest = logits.real.max(axis=1, keepdims=True)
        normaliser = np.log(np.exp(logits - highest).sum(axis=1)) + highest[:, 0]
        total += np.mean(normaliser - logits[np.arange(len(sequences)), sequences[:, i]])
    return total / 4
