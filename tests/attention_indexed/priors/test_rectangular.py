"""Untied attention whose queries and keys have other dimensions: denoiser, state evolution, AMP, outputs on fresh data."""

import numpy as np
import pytest
from aim_tools import amp_settings

from agreement import assert_mean
from attention_limits.attention_indexed.amp import matrix_amp
from attention_limits.attention_indexed.amp.fresh_data import fresh_errors
from attention_limits.attention_indexed.channels.loading import make_channel
from attention_limits.attention_indexed.model.score_law import row_nodes
from attention_limits.attention_indexed.model.sizes import Sizes, samples, sides
from attention_limits.attention_indexed.priors.denoisers import product, rectangular
from attention_limits.attention_indexed.priors.denoisers.rectangular import RectangularLaw
from attention_limits.attention_indexed.priors.product import Product
from attention_limits.attention_indexed.priors.rectangular import RectangularProduct
from attention_limits.attention_indexed.state_evolution.curve import exact_recovery, solve
from attention_limits.attention_indexed.state_evolution.generalization import bayes_error

pytestmark = pytest.mark.slow

# rho, d_k / d_q, D: one bulk, two bulks, more columns than rows, long sequences.
LAWS = [(0.5, 4.0, 0.3), (0.2, 4.0, 0.05), (0.3, 0.5, 1.0), (1.5, 2.0, 0.4), (0.05, 100.0, 0.2)]
# Two bulks that have just merged, nearly square, and a width near the shorter side.
MERGED = [(0.3, 1.1, 0.31622776601683794), (0.1, 1.5, 3.1622776601683795), (0.5, 3.8, 1e-3)]
# Ends of the ranges of keys and laws.
ENDS = [(0.01, 1000.0, 1e-2), (10.0, 1000.0, 1e3), (10.0, 1.05, 1e3), (0.0316, 1000.0, 1e-3), (0.005, 1e4, 10.0)]


def law_of(ratio, aspect, noise):
    return RectangularLaw(ratio, np.sqrt(aspect) + 1.0 / np.sqrt(aspect), noise)


@pytest.mark.parametrize(("ratio", "aspect", "noise"), LAWS + MERGED + ENDS)
def test_moments_and_both_formulas_of_the_error(ratio, aspect, noise):
    """The number of singular values, tr Y Y^T / d = 1 + D, and D - int nu (lambda - xi)^2 = 1 - int nu xi^2."""
    law = law_of(ratio, aspect, noise)
    assert law.integrate(lambda value, xi: 1.0) == pytest.approx(min(np.sqrt(aspect), 1.0 / np.sqrt(aspect)), rel=1e-6)
    assert law.integrate(lambda value, xi: value**2) == pytest.approx(1.0 + noise, rel=1e-6)
    squares, steps = (law.integrate(f) for f in (lambda value, xi: xi**2, lambda value, xi: (value - xi) ** 2))
    assert noise - steps == pytest.approx(1.0 - squares, rel=1e-6)
    assert law.mmse() == pytest.approx(1.0 - squares, rel=1e-6)


def test_almost_square_matrices_have_the_error_of_square_ones():
    """s - 2 = 2.5e-7 at an aspect of 1.001; the error changes by the same order."""
    for ratio, noise in ((0.5, 0.3), (2.0, 0.1)):
        expected = float(product.mmse(ratio, noise))
        assert law_of(ratio, 1.001, noise).mmse() == pytest.approx(expected, rel=1e-4)


def test_limits_of_the_error():
    """2 nu D at small D, the parameters r (d_q + d_k) - r^2 per d^2 times D; 1 - 1/D at large D."""
    prior = RectangularProduct(0.2, 4.0)
    assert 2.0 * prior.effective_dimension == pytest.approx(0.2 * 2.5 - 0.04)
    assert float(prior.mmse(1e-4)) == pytest.approx(2.0 * prior.effective_dimension * 1e-4, rel=2e-3)
    assert (1.0 - float(prior.mmse(1e5))) * 1e5 == pytest.approx(1.0, rel=1e-2)
    assert float(prior.mmse(0.05)) == pytest.approx(law_of(0.2, 4.0, 0.05).mmse(), rel=1e-3)


@pytest.mark.parametrize(("ratio", "aspect", "noise"), LAWS)
def test_matrices_of_dimension_300(ratio, aspect, noise):
    """Error of the denoiser and D times its response on four random matrices, with 2/d of the limit allowed; false-alarm rate
    1e-4 each. The slope is that of differences."""
    prior, d, errors, responses = RectangularProduct(ratio, aspect), 300, [], []
    for rng in np.random.default_rng(21).spawn(4):
        S = prior.draw(Sizes(1, d, round(ratio * d)), rng)
        Y = S + np.sqrt(noise / d) * rng.standard_normal(S.shape)
        estimate, mean_slope = prior.denoise(Y, noise)
        errors.append(np.sum((estimate - S) ** 2) / d)
        responses.append(noise * mean_slope)
    expected = float(prior.mmse(noise))
    assert_mean(errors, expected, allowance=2.0 / d * expected + 1e-3 * expected)
    assert_mean(responses, expected, allowance=4.0 / d * expected)
    law = law_of(ratio, aspect, noise)
    values = law.bulks.mean(axis=1)
    moved = law.shrink(values * (1.0 + 1e-6))[0] - law.shrink(values * (1.0 - 1e-6))[0]
    np.testing.assert_allclose(law.shrink(values)[1], moved / (2e-6 * values), rtol=1e-5)


# Channel, tokens, aspect, alpha.
CASES = [("linear", 2, 4.0, 0.12), ("softmax", 3, 0.25, 0.08), ("hardmax", 2, 4.0, 0.6)]


@pytest.mark.parametrize(("name", "tokens", "aspect", "alpha"), CASES)
def test_amp_arrives_at_the_state_evolution(name, tokens, aspect, alpha):
    """rho = 0.4, d = 80, six data sets: errors, predictions, and errors of the posterior mean of the output on fresh data agree
    within three standard errors and 2/d, as for square S: a false-alarm rate of 0.03 each for Student's t of five degrees, if the
    correction is zero; the seeds are fixed."""
    channel, prior, d = make_channel(name, tokens, untied=True), RectangularProduct(0.4, aspect), 80
    found = []
    for rng in np.random.default_rng(22).spawn(6):
        data = matrix_amp.draw_dataset(channel, Sizes(samples(alpha, d), d, 32), rng, prior)
        assert data.teacher.shape == ((40, 160) if aspect > 1 else (160, 40))
        run = matrix_amp.run(channel, data, amp_settings(tolerance=1e-2))
        assert run.converged
        fresh = fresh_errors(channel, data.teacher, run.estimate, run.variance[run.best], 1000, rng)[1]
        found.append((run.error[run.best], run.variance[run.best], fresh))
    limit = float(solve(channel, prior, [alpha]).mmse[0])
    assert 0.05 < limit < 0.9
    nodes = row_nodes(tokens, [np.random.default_rng(seed) for seed in range(8)], channel.law)
    output, whole = bayes_error(channel, 1.0, limit, nodes)[0], bayes_error(channel, 1.0, 1.0, nodes)[0]
    for values, expected, scale in zip(np.transpose(found), (limit, limit, output), (1.0, 1.0, whole), strict=True):
        assert abs(values.mean() - expected) < 3.0 * values.std(ddof=1) / np.sqrt(6) + 2.0 / d * scale


def test_realised_sides_are_whole_numbers():
    """d_q = 2 and d_k = 40 at d = 10 and an aspect of 16; the law, n / d^2 and r / d are those of d = sqrt(80). At d = 10 an
    aspect of 1.05 is a square."""
    size = Sizes(8, 10, 5)
    assert sides(10, 16.0) == (2, 40)
    prior, rng = RectangularProduct(0.5, 16.0).realised(size), np.random.default_rng(0)
    assert (prior.ratio, prior.aspect) == (pytest.approx(5 / np.sqrt(80)), 20.0)
    assert RectangularProduct(0.5, 16.0).draw(size, rng).shape == (2, 40)
    assert size.realised(np.sqrt(80)) == {
        "width": 5,
        "realised_alpha": pytest.approx(0.1),
        "realised_ratio": prior.ratio,
    }
    assert RectangularProduct(0.5, 1.05).realised(size) == Product(0.5)


def test_exact_recovery_counts_the_parameters():
    """K alpha = 2 nu: as many equations as parameters."""
    prior = RectangularProduct(0.2, 4.0)
    assert exact_recovery(make_channel("linear", 2, untied=True), prior) == pytest.approx(0.46 / 4)


@pytest.mark.parametrize(
    ("ratio", "aspect"), [(0.0, 2.0), (0.5, 1.0), (0.5, 1.001), (0.5, 2e4), (0.5, -1.0), (np.nan, 2.0), (30.0, 2.0)]
)
def test_bad_parameters_are_named(ratio, aspect):
    with pytest.raises(ValueError, match="aspect"):
        RectangularProduct(ratio, aspect)
    with pytest.raises(ValueError, match="s > 2"):
        rectangular.RectangularLaw(0.5, 2.0, 1.0)
