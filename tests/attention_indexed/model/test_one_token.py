"""One token, a quadratic network of extensive width: state evolution, channels of one score, AMP and weight decay."""

import itertools

import numpy as np
import pytest
from aim_tools import amp_settings, estimator, load
from channels_of_files import FirstScore, NoisyFirstScore
from scipy.integrate import quad
from scipy.optimize import brentq

from attention_limits.attention_indexed.amp import matrix_amp
from attention_limits.attention_indexed.channels.linear import Linear
from attention_limits.attention_indexed.channels.loading import make_channel
from attention_limits.attention_indexed.channels.output import GaussianNoise
from attention_limits.attention_indexed.channels.sampled import SampledChannel
from attention_limits.attention_indexed.erm import linear
from attention_limits.attention_indexed.erm.simulations import message_passing, minimisation
from attention_limits.attention_indexed.erm.simulations.objective import draw_data, loss_and_gradient
from attention_limits.attention_indexed.model.sizes import sizes
from attention_limits.attention_indexed.priors.product import Product
from attention_limits.attention_indexed.priors.rectangular import RectangularProduct
from attention_limits.attention_indexed.reports.check_channel import check_channel
from attention_limits.attention_indexed.schema.erm import ErmGampSolver, MinimisationSolver
from attention_limits.attention_indexed.state_evolution.curve import exact_recovery, solve
from attention_limits.pipeline.base.errors import SpecError

# Maillard, Troiani, Martin, Krzakala, Zdeborova 2024, arXiv:2408.03733: line_noise_0.5_0.25.csv of their code.
PUBLISHED = {0.18959842: 0.54148, 0.37033858: 0.25298, 0.49214173: 0.16772}


def published_equations(alpha, kappa, noise):
    """The error of equations (12) to (14) of Maillard et al. by quadratures over the roots of a cubic.

    Their S is W W^T / r: our S over sqrt(kappa), and our error is kappa times theirs. `noise` is that of our S.
    """
    noise /= kappa

    def density(x, q_hat):
        # z = 1/g + g / q_hat + kappa / (kappa - g) of the law of W W^T / r.
        z = x + 1e-9j
        roots = np.roots([1.0 / q_hat, -(z + kappa / q_hat), 1.0 - kappa + kappa * z, -kappa])
        return np.max(np.abs(roots.imag)) / np.pi

    def excess(log_q_hat):
        q_hat = np.exp(log_q_hat)
        places = np.linspace(-2.0 - 4.0 / np.sqrt(q_hat), 8.0 + 4.0 / np.sqrt(q_hat), 60)
        cubes = sum(
            quad(lambda x: density(x, q_hat) ** 3, *ends, epsabs=1e-7, limit=60)[0]
            for ends in itertools.pairwise(places)
        )
        return 4.0 * np.pi**2 / (3.0 * q_hat) * cubes - 0.5 * noise * q_hat - (1.0 - 2.0 * alpha)

    q_hat = np.exp(brentq(excess, np.log(0.1), np.log(100.0), xtol=1e-6))
    return kappa * (2.0 * alpha / q_hat - 0.5 * noise)


@pytest.mark.slow
def test_the_published_equations_and_numbers():
    """Quadratures are right to about 1e-4; published errors to the digits of their file."""
    found = solve(make_channel("linear", 1, noise=0.25), 0.5, list(PUBLISHED)).mmse
    np.testing.assert_allclose(found, list(PUBLISHED.values()), rtol=1e-4)
    assert published_equations(0.37033858, 0.5, 0.25) == pytest.approx(found[1], rel=1e-3)


# Erba, Troiani, Biggio, Maillard, Zdeborova 2024, arXiv:2410.18858, Figure 2, Delta = 0.1: beta, r over the short side, alpha.
BILINEAR = {(100.0, 0.5, 0.26): 0.47099, (1000.0, 2.0, 0.62): 0.38403, (10.0, 0.1, 0.26): 0.06563}


@pytest.mark.slow
@pytest.mark.parametrize(("aspect", "ratio", "alpha"), BILINEAR)
def test_published_numbers_of_bilinear_regression(aspect, ratio, alpha):
    channel, prior = make_channel("linear", 1, untied=True, noise=0.1), RectangularProduct(ratio / aspect**0.5, aspect)
    assert float(solve(channel, prior, [alpha]).mmse[0]) == pytest.approx(BILINEAR[aspect, ratio, alpha], abs=1e-5)


@pytest.mark.parametrize("noise", [0.0, 0.4])
@pytest.mark.parametrize("untied", [False, True])
def test_linear_scores_depend_on_the_number_of_equations_alone(noise, untied):
    """M tokens at alpha are one token at alpha K_M / K_1; K = M (M + 1), or M^2 where attention is untied."""
    one, three = (make_channel("linear", M, untied=untied, noise=noise) for M in (1, 3))
    prior, factor = Product(0.5) if untied else 0.5, 9 if untied else 6
    alpha = np.array([0.05, 0.2, 0.34])
    errors = solve(one, prior, alpha).mmse
    assert np.all((errors > 0.01) & (errors < 0.99))
    np.testing.assert_allclose(solve(three, prior, alpha / factor).mmse, errors, rtol=1e-9)
    if noise == 0:
        assert exact_recovery(one, prior) == pytest.approx(0.75 if untied else 0.375)


def test_channels_of_a_file_are_those_of_linear_scores():
    """An exact posterior recovers at 2 nu / K within its bound; noise by a likelihood or by quadrature gives the same error."""
    exact = SampledChannel(FirstScore(tokens=1))
    assert exact_recovery(exact, 0.5) == pytest.approx(0.375, rel=exact.small_errors(1.5)[1])
    noisy, alpha = make_channel("linear", 1, noise=0.5), np.array([0.2, 0.6])
    expected = solve(noisy, 0.5, alpha).mmse
    by_quadrature = SampledChannel(GaussianNoise(Linear(1), 0.5))
    by_samples = SampledChannel(NoisyFirstScore(tokens=1))
    for channel in (by_quadrature, by_samples):
        found = solve(channel, 0.5, alpha).mmse
        bound = channel.uncertainty(expected, 1.5)
        assert np.all(bound < 0.05)
        assert np.all(np.abs(found / expected - 1.0) < 2.0 * bound)


@pytest.mark.parametrize(
    "channel",
    [make_channel("linear", 1), make_channel("linear", 1, noise=0.3), make_channel("linear", 1, untied=True),
     SampledChannel(NoisyFirstScore(tokens=1))],
    ids=["linear", "noisy", "untied", "file"],
)  # fmt: skip
def test_channel_identities(channel):
    assert [check.name for check in check_channel(channel, 1024) if not check.passed] == []


@pytest.mark.slow
@pytest.mark.parametrize(("untied", "noise", "alpha"), [(False, 0.25, 0.37), (False, 0.0, 0.28), (True, 0.25, 0.6)])
def test_amp_arrives_at_the_state_evolution(untied, noise, alpha):
    """rho = 0.5, d = 80, eight data sets: errors and predictions within three standard errors and 2/d; a false-alarm rate of
    0.02 each for Student's t of seven degrees, if the correction is zero; the seeds are fixed."""
    channel, d = make_channel("linear", 1, untied=untied, noise=noise), 80
    prior, found = Product(0.5) if untied else None, []
    for rng in np.random.default_rng(7).spawn(8):
        data = matrix_amp.draw_dataset(channel, sizes(alpha, 0.5, d), rng, prior)
        run = matrix_amp.run(channel, data, amp_settings(tolerance=1e-2))
        assert run.converged
        found.append((run.error[run.best], run.variance[run.best]))
    limit = float(solve(channel, prior or 0.5, [alpha]).mmse[0])
    for values in np.transpose(found):
        assert abs(values.mean() - limit) < 3.0 * values.std(ddof=1) / np.sqrt(8) + 2.0 / d


@pytest.mark.slow
def test_weight_decay_of_one_token():
    """Two algorithms reach one minimum, stationary in S; the mean error of eight sets at d = 80 is that of the theory within
    three standard errors and 2/d; a false-alarm rate of 0.02 if the correction is zero; the seeds are fixed."""
    alpha, decay, noise, errors = 0.4, 0.3, 0.125, []
    for rng in np.random.default_rng(8).spawn(8):
        data = draw_data(sizes(alpha, 0.5, 80), 1, None, noise, rng)
        fit = minimisation.minimise(data, decay, MinimisationSolver())
        assert fit.converged
        errors.append(np.sum((fit.S - data.teacher) ** 2) / 80)
    other = message_passing.run(data, decay, ErmGampSolver())
    assert other.converged
    assert np.linalg.norm(other.S - fit.S) < 2e-3 * np.linalg.norm(fit.S)
    gradient = loss_and_gradient(data, fit.S)[1] + decay * 80 * np.eye(80)
    assert abs(np.vdot(gradient, fit.S)) < 1e-3 * np.linalg.norm(gradient) * np.linalg.norm(fit.S)
    expected = float(linear.solve([2.0 * alpha], 0.5, noise, decay).error[0])
    assert abs(np.mean(errors) - expected) < 3.0 * np.std(errors, ddof=1) / np.sqrt(8) + 2.0 / 80


MODEL = {"tokens": 1, "ratio": 0.5}
DECAY = {"weight_decay": 0.1, **MODEL}


@pytest.mark.parametrize(
    "document",
    [
        estimator("state_evolution", {"channel": "softmax", **MODEL}, {"alpha": [0.1]}),
        estimator("state_evolution", {"channel": "hardmax", "ratio": 0.5}, {"alpha": [0.1], "tokens": [1, 2]}),
        estimator("matrix_amp", {"channel": "softmax", "untied": True, **MODEL}, {"alpha": [0.1]}),
        estimator("small_width_limit", {"channel": "hardmax_published", **MODEL}, {"rescaled_alpha": [0.1]}),
        estimator("erm_state_evolution", {"channel": "softmax", **DECAY}, {"alpha": [0.1]}),
    ],
)
def test_constant_outputs_of_one_token_are_refused(tmp_path, document):
    with pytest.raises(SpecError, match="allowed with at least 2 tokens, not 1: the output of one score is constant"):
        load(tmp_path, document)
    with pytest.raises(ValueError, match="at least 2 tokens, got 1"):
        make_channel("hardmax", 1)
