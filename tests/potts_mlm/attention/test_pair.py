"""Attention with fields and heads: pseudo-likelihood, gradients, limits of no head, one head and all heads."""

import numba
import numpy as np
import pytest
from scipy.optimize import approx_fprime

from attention_limits.potts_mlm.attention import factored
from attention_limits.potts_mlm.attention.pair import fit, losses, objective, site_frequencies
from attention_limits.potts_mlm.attention.pair_parameters import Ridge, Shape, composed
from attention_limits.potts_mlm.schema.proteins import Fitting
from attention_limits.potts_mlm.schema.samples import Descent

pytestmark = pytest.mark.slow

SHAPES = [
    Shape(4, 3, 0),
    Shape(4, 3, 2),
    Shape(4, 3, 2, rank=2),
    Shape(4, 3, 2, attention="softmax"),
    Shape(4, 3, 2, rank=1, attention="softmax"),
    Shape(4, 3, 0, full=True),
]


def sample(sites, colors, count, seed):
    rng = np.random.default_rng(seed)
    return rng.integers(0, colors, (count, sites)).astype(np.int8), rng.uniform(0.2, 1.0, count)


def parameters_of(shape, seed):
    flat = np.random.default_rng(seed).standard_normal(shape.size)
    if shape.full:
        shape.split(flat)[1][range(shape.sites), range(shape.sites)] = 0.0
    return flat


@pytest.mark.parametrize("shape", SHAPES)
def test_loss_is_the_weighted_pseudo_likelihood(shape):
    """Against -log p(s_i | s_-i) with J_ij(a, b) written out as a sum over heads."""
    sequences, weights = sample(4, 3, 20, 1)
    flat = parameters_of(shape, 2)
    fields, couplings = composed(flat, shape)
    if not shape.full and shape.heads:
        *attention, values = shape.split(flat)[1:]
        scores = attention[0] if len(attention) == 1 else np.einsum("hir,hjr->hij", *attention)
        if shape.attention == "softmax":
            scores = np.exp(scores) / np.exp(scores).sum(axis=2, keepdims=True)
        off = 1.0 - np.eye(4)
        np.testing.assert_allclose(couplings, np.einsum("hij,ij,hba->ijba", scores, off, values), atol=1e-12)
    expected = np.zeros(sequences.shape)
    for m, s in enumerate(sequences):
        for i in range(4):
            logits = fields[i] + sum(couplings[i, j, s[j]] for j in range(4) if j != i)
            expected[m, i] = np.log(np.exp(logits).sum()) - logits[s[i]]
    np.testing.assert_allclose(losses(fields, couplings, sequences), expected, rtol=1e-12)
    mean = weights @ expected.mean(axis=1) / weights.sum()
    assert objective(flat, shape, sequences, weights, Ridge())[0] == pytest.approx(mean, rel=1e-12)
    ridged = objective(flat, shape, sequences, weights, Ridge(0.3, 0.2, 0.1))[0]
    own = 0.0 if shape.full else 0.1 * sum(np.sum(part**2) for part in shape.split(flat)[1:])
    assert ridged == pytest.approx(mean + 0.5 * (0.3 * np.sum(fields**2) + 0.2 * np.sum(couplings**2) + own), rel=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_gradient_is_that_of_the_objective(shape):
    """Against forward differences with step 1e-7, whose error is below 2e-6 for losses of order one and these ridges."""
    sequences, weights = sample(4, 3, 30, 3)
    flat, ridge = parameters_of(shape, 4), Ridge(0.1, 0.05, 0.02)
    _, gradient = objective(flat, shape, sequences, weights, ridge)
    numeric = approx_fprime(flat, lambda x: objective(x, shape, sequences, weights, ridge)[0], 1e-7)
    if shape.full:
        # The diagonal is no parameter: it stays zero.
        assert not shape.split(gradient)[1][range(4), range(4)].any()
        shape.split(numeric)[1][range(4), range(4)] = 0.0
    np.testing.assert_allclose(gradient, numeric, atol=2e-6)


def test_one_head_without_fields_is_factored_attention():
    """Same objective and gradient as `factored_attention.objective`, with equal weights."""
    sequences, _ = sample(5, 4, 40, 5)
    shape = Shape(5, 4, 1)
    flat = parameters_of(shape, 6)
    fields, attention, _ = shape.split(flat)
    fields[:] = 0.0
    attention[0, range(5), range(5)] = 0.0
    value, gradient = objective(flat, shape, sequences, np.ones(40), Ridge(weights=0.1))
    expected, slope = factored.objective(flat[20:], sequences, 4, "raw", 0.1)
    assert value == pytest.approx(expected, rel=1e-13)
    np.testing.assert_allclose(gradient[20:], slope, atol=1e-14)


def test_fields_alone_are_the_weighted_frequencies():
    sequences, weights = sample(4, 3, 50, 7)
    found = fit(
        sequences,
        weights,
        Shape(4, 3, 0),
        Ridge(),
        np.random.default_rng(0),
        Fitting(pseudo_count=5.0, tolerance=1e-10),
    )
    probability = np.exp(found.fields) / np.exp(found.fields).sum(axis=1, keepdims=True)
    counts = np.array([[weights[sequences[:, i] == a].sum() for a in range(3)] for i in range(4)])
    np.testing.assert_allclose(probability, counts / weights.sum(), atol=1e-8)
    assert not found.couplings.any()
    with_counts = site_frequencies(sequences, weights, 3, 2.0)
    np.testing.assert_allclose(with_counts, (counts + 2.0 / 3.0) / (weights.sum() + 2.0), rtol=1e-13)


def test_as_many_heads_as_pairs_of_colours_are_full_pseudo_likelihood():
    """C^2 heads can be any J. The full problem is convex: no start of the heads ends lower, and the best of three within 1e-6."""
    rng = np.random.default_rng(8)
    sequences = (rng.integers(0, 3, (200, 1)) + rng.integers(0, 2, (200, 5))).astype(np.int8) % 3
    weights = rng.uniform(0.5, 1.0, 200)
    ridge = Ridge(1e-3, 1e-3)
    full = fit(sequences, weights, Shape(5, 3, 9, full=True), ridge, rng, Fitting(tolerance=1e-8))
    heads = [
        fit(sequences, weights, Shape(5, 3, 9), ridge, child, Fitting(tolerance=1e-8, max_iterations=5000))
        for child in rng.spawn(3)
    ]
    best = min(heads, key=lambda item: item.descent.objective)
    assert full.descent.converged
    assert best.descent.objective >= full.descent.objective - 1e-9
    assert best.descent.objective == pytest.approx(full.descent.objective, abs=1e-6)
    assert best.loss == pytest.approx(full.loss, abs=1e-6)
    one = fit(sequences, weights, Shape(5, 3, 1), ridge, rng, Fitting())
    assert one.descent.objective > full.descent.objective + 1e-4


def conserved(seed):
    """Training and test sequences of 10 sites that differ in their frequencies, with two coupled pairs."""
    rng = np.random.default_rng(seed)
    frequency = rng.dirichlet(np.full(5, 0.4), 10)
    states = np.stack([rng.choice(5, 1500, p=row) for row in frequency], axis=1)
    copied = rng.random((1500, 2)) < 0.3
    states[:, 5:7] = np.where(copied, states[:, :2], states[:, 5:7])
    return states[:500].astype(np.int8), states[500:].astype(np.int8)


def test_fields_mend_attention_on_conserved_sites():
    """Without fields one head is worse than independent sites; with fields it is better. Paired over 1000 test sequences: the
    differences must exceed four standard errors, a false-alarm rate of 3e-5 each."""
    training, test = conserved(9)
    independent = factored.independent_losses(training, test, 5).mean(axis=1)
    rng = np.random.default_rng(1)
    old = min(
        (factored.fit(training, 5, rng, "raw", 1e-4, Descent()) for _ in range(2)),
        key=lambda item: item.descent.objective,
    )
    without = factored.losses(old.attention, old.values, test).mean(axis=1)
    ridge = Ridge(1e-3, 1e-3)
    new = min(
        (fit(training, np.ones(500), Shape(10, 5, 1), ridge, child, Fitting()) for child in rng.spawn(2)),
        key=lambda item: item.descent.objective,
    )
    with_fields = losses(new.fields, new.couplings, test).mean(axis=1)
    for better, worse in ((independent, without), (with_fields, independent)):
        gain = worse - better
        assert gain.mean() > 4.0 * gain.std(ddof=1) / np.sqrt(len(gain))


def test_bytes_do_not_depend_on_the_threads():
    sequences, weights = sample(5, 4, 30, 10)
    shape = Shape(5, 4, 3)
    flat = parameters_of(shape, 11)
    before = numba.get_num_threads()
    found = []
    for threads in (1, min(2, numba.config.NUMBA_NUM_THREADS)):
        numba.set_num_threads(threads)
        found.append(objective(flat, shape, sequences, weights, Ridge(couplings=0.1)))
    numba.set_num_threads(before)
    assert found[0][0] == found[1][0]
    np.testing.assert_array_equal(found[0][1], found[1][1])


@pytest.mark.parametrize(
    ("sequences", "weights", "message"),
    [
        (np.zeros((3, 5)), np.ones(3), r"shape \(3, 5\): must be \(M, 4\)"),
        (np.full((3, 4), 3), np.ones(3), "colours 3 to 3: allowed: 0 to 2"),
        (np.zeros((3, 4)), np.ones(2), r"weights of shape \(2,\): must be \(3,\)"),
        (np.zeros((3, 4)), np.zeros(3), "positive"),
    ],
)
def test_bad_sequences_are_refused(sequences, weights, message):
    with pytest.raises(ValueError, match=message):
        fit(sequences, weights, Shape(4, 3, 1), Ridge(), np.random.default_rng(0), Fitting())
