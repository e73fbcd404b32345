"""Full pseudo-likelihood with the ridges of plmDCA, against its objective written out in its own normalisation."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize

from attention_limits.potts_mlm.attention.pair import fit
from attention_limits.potts_mlm.attention.pair_parameters import Shape
from attention_limits.potts_mlm.potts.contacts import contact_scores, joint_model
from attention_limits.potts_mlm.proteins.alignment import Alphabet, read_alignment
from attention_limits.potts_mlm.proteins.fits import ridge_of
from attention_limits.potts_mlm.proteins.statistics import sequence_weights
from attention_limits.potts_mlm.schema.proteins import Alignment, Fitting

SITES, COLORS = 5, 4
PLMDCA = Fitting(field_ridge="plmdca", coupling_ridge="plmdca", tolerance=1e-9, max_iterations=3000)


def alignment():
    """150 sequences that copy site 0 to site 3, and site 1 to site 4 shifted by one letter, with errors, and their weights."""
    rng = np.random.default_rng(5)
    rows = rng.choice(COLORS, (150, SITES), p=[0.4, 0.3, 0.2, 0.1])
    for source, copy, shift, rate in ((0, 3, 0, 0.7), (1, 4, 1, 0.5)):
        copied = rng.random(150) < rate
        rows[copied, copy] = (rows[copied, source] + shift) % COLORS
    return rows.astype(np.int8), rng.uniform(0.2, 1.0, 150)


def plmdca(rows, weights, strength):
    """h (L, C) and J (L, L, C, C), [i, j, b, a], that minimise, for each site, the objective of the asymmetric plmDCA.

    sum_m w_m (-log p(s_mi | s_m,-i)) + B_eff lambda |h_i|^2 + B_eff (lambda / 2) sum_j |J_ij|^2 with B_eff = sum_m w_m
    (Ekeberg, Hartonen, Aurell 2014, J. Comput. Phys. 276, 341; halved as its program does).
    """
    onehot, total = np.eye(COLORS)[rows], weights.sum()
    fields, couplings = np.zeros((SITES, COLORS)), np.zeros((SITES, SITES, COLORS, COLORS))
    for i in range(SITES):
        others = [j for j in range(SITES) if j != i]

        def value(flat, i=i, others=others):
            h, J = flat[:COLORS], flat[COLORS:].reshape(SITES - 1, COLORS, COLORS)
            logits = h + np.einsum("mjb,jba->ma", onehot[:, others], J)
            p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
            residual = weights[:, None] * (p - onehot[:, i])
            slope_h = residual.sum(axis=0) + 2.0 * strength * total * h
            slope_J = np.einsum("mjb,ma->jba", onehot[:, others], residual) + strength * total * J
            loss = -weights @ np.log(p[np.arange(len(rows)), rows[:, i]])
            penalty = total * strength * (h @ h + 0.5 * np.sum(J**2))
            return loss + penalty, np.concatenate([slope_h, slope_J.ravel()])

        size = COLORS + (SITES - 1) * COLORS**2
        found = minimize(value, np.zeros(size), jac=True, method="BFGS", options={"gtol": 1e-6}).x
        fields[i], couplings[i, others] = found[:COLORS], found[COLORS:].reshape(SITES - 1, COLORS, COLORS)
    return fields, couplings


def scores_with(settings):
    """Fit of the full model, and its contact scores without the letter 0."""
    rows, weights = alignment()
    shape = Shape(SITES, COLORS, 0, full=True)
    found = fit(rows, weights, shape, ridge_of(SITES, settings), np.random.default_rng(0), settings)
    assert found.descent.converged
    return found, contact_scores(joint_model(found.fields, found.couplings)[1], 0)


def test_ridges_of_plmdca_give_its_fields_couplings_and_scores():
    found, scores = scores_with(PLMDCA)
    fields, couplings = plmdca(*alignment(), 0.01)
    np.testing.assert_allclose(found.fields, fields, atol=1e-5)
    np.testing.assert_allclose(found.couplings, couplings, atol=1e-5)
    # Scores of the pairs (0, 3), (1, 4) and (0, 1), computed once from the fields and couplings of `plmdca`. A ridge of 0.02 / L
    # on the couplings with one of 1e-5 on the fields gives 1.067, 0.699 and -0.166.
    np.testing.assert_allclose(scores[[0, 1, 0], [3, 4, 1]], [1.277049, 0.711354, -0.153949], atol=1e-5)


@pytest.mark.slow
def test_scores_of_the_kunitz_domain():
    """Scores from the 3617 distinct sequences of PF00014 with at most 90 % of gaps; their effective number is 2053.76 at 80 %.

    The literal scores come from a program that shares no code with the package: its own reader, weights, gauge and correction,
    and L-BFGS-B of scipy on the objective that `plmdca` states, to a gradient of 1e-7. All 1378 scores of both differ by at most
    7e-5 (correlation 1 - 3e-9) at the tolerance of this test. Ridges of 1e-5 on the fields and 4e-4 on the couplings give 1.703,
    1.174 and 0.319 for the first three pairs; the correlation is then 0.963.
    """
    path = Path(__file__).parents[3] / "config/potts_mlm/data/PF00014.a3m"
    read = read_alignment(path, Alphabet("protein"), Alignment.Solver(max_sequence_gaps=0.9))
    sequences = np.unique(read.states, axis=0)
    weights = sequence_weights(sequences, 0.8)
    assert sequences.shape == (3617, 53)
    assert weights.sum() == pytest.approx(2053.7564750, rel=1e-9)
    settings = PLMDCA.model_copy(update={"tolerance": 1e-7})
    found = fit(
        sequences, weights, Shape(53, 21, 0, full=True), ridge_of(53, settings), np.random.default_rng(0), settings
    )
    scores = contact_scores(joint_model(found.fields, found.couplings)[1], Alphabet("protein").gap)
    pairs = ([10, 20, 39, 16, 44, 13, 11, 7], [34, 27, 40, 40, 48, 32, 50, 41])
    literal = [2.191495, 1.339569, 0.459706, 1.203955, 1.115462, 0.325412, 0.063929, -0.292710]
    np.testing.assert_allclose(scores[pairs], literal, atol=5e-4)


def test_a_number_is_not_scaled_with_the_sites():
    settings = SimpleNamespace(field_ridge=0.3, coupling_ridge="plmdca")
    ridge = ridge_of(50, settings, 0.2)
    assert (ridge.fields, ridge.couplings, ridge.weights) == (0.3, 2e-4, 0.2)
