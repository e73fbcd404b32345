"""Priors of S from the law of its eigenvalues: the Wishart law as a special case, exact limits, finite matrices, AMP."""

import math
from pathlib import Path

import numpy as np
import pytest
from aim_tools import amp_settings, computed, estimator, load

from attention_limits.attention_indexed.amp.matrix_amp import draw_dataset
from attention_limits.attention_indexed.amp.matrix_amp import run as iterate
from attention_limits.attention_indexed.channels.linear import Linear
from attention_limits.attention_indexed.model.sizes import Sizes
from attention_limits.attention_indexed.priors.denoisers import wishart
from attention_limits.attention_indexed.priors.invariant import Invariant
from attention_limits.attention_indexed.priors.loading import load_prior
from attention_limits.attention_indexed.priors.spectra import mixture, of_density, of_values
from attention_limits.attention_indexed.priors.wishart import Wishart
from attention_limits.attention_indexed.state_evolution.curve import exact_recovery, solve
from attention_limits.pipeline.base.errors import SpecError

FILE = Path(__file__).parents[1] / "spectra_of_files.py"


class MarchenkoPastur:
    """The law of W W^T / sqrt(r d): its transform solves w g^2 + (rho - 1 - w sqrt(rho)) g + sqrt(rho) = 0, a quadratic."""

    variance = 1.0

    def __init__(self, ratio):
        self.ratio, self.mean = ratio, math.sqrt(ratio)
        self.point_masses = np.array([max(1.0 - ratio, 0.0)])
        self.low, self.high = ((1.0 + sign * math.sqrt(ratio)) ** 2 / math.sqrt(ratio) for sign in (-1, 1))

    def scaled(self, factor):
        assert factor == 1.0
        return self

    @property
    def support(self):
        return np.array([[0.0, 0.0], [self.low, self.high]][self.ratio >= 1.0 :])

    def transform(self, w):
        root = math.sqrt(self.ratio)
        b = self.ratio - 1.0 - w * root
        g = (-b - root * np.sqrt(w - self.low) * np.sqrt(w - self.high)) / (2.0 * w)
        return g, -(g**2 - root * g) / (2.0 * w * g + b)

    def inverse_squares(self, u, v):
        return -self.transform(u + 1j * v)[0].imag / v


def prior_of(name, ratio=0.2):
    return load_prior({"ratio": ratio, "spectrum": f"{FILE}:{name}"}, Path())


def moments(law, w):
    """g, g' and E 1/|w - x|^2 by 20 000 quantiles."""
    x = law.values(20_000)
    return np.mean(1.0 / (w - x)), -np.mean(1.0 / (w - x) ** 2), np.mean(1.0 / abs(w - x) ** 2)


@pytest.mark.parametrize("ratio", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("noise", [3.0, 0.5, 0.1, 1e-3])
def test_the_wishart_law_is_a_special_case(ratio, noise):
    """Error to 1e-8 and denoiser to the linear interpolation between its nodes, against the explicit formulas of `denoiser`."""
    prior = Invariant(MarchenkoPastur(ratio))
    assert prior.exact_mmse(noise) == pytest.approx(float(wishart.mmse(ratio, noise)), rel=1e-8)
    S = Wishart(ratio).draw(Sizes(1, 60, round(60 * ratio)), np.random.default_rng(3))
    noisy = np.random.default_rng(4).standard_normal(S.shape)
    eigenvalues = np.linalg.eigvalsh(S + math.sqrt(noise / 120) * (noisy + noisy.T))
    low, high = wishart.panels(ratio, noise)
    ends = wishart.spectrum(np.stack([low, high]), ratio, noise).eigenvalue
    inside = np.any((eigenvalues[:, None] > ends[1]) & (eigenvalues[:, None] < ends[0]), axis=1)
    ours, exact = prior.shrink(eigenvalues, noise)[0], wishart.shrink(eigenvalues, ratio, noise)[0]
    np.testing.assert_allclose(ours[inside], exact[inside], atol=0.01)
    assert prior.effective_dimension == pytest.approx(float(wishart.effective_dimension(ratio)))


def test_a_semicircle_stays_gaussian():
    """S Gaussian: mmse = D / (1 + D) and xi = lambda / (1 + D); 400 uniform pieces are right to 5e-4, in the table too."""
    prior = prior_of("semicircle")
    for noise in (1e4, 3.0, 0.5, 0.01, 1e-6):
        check_semicircle(prior, noise)


def check_semicircle(prior, noise):
    assert prior.exact_mmse(noise) == pytest.approx(noise / (1.0 + noise), rel=5e-4)
    assert prior.mmse(noise) == pytest.approx(noise / (1.0 + noise), rel=5e-4)
    eigenvalues = np.linspace(-1.9, 1.9, 9) * math.sqrt(1.0 + noise)
    xi, slope = prior.shrink(eigenvalues, noise)
    np.testing.assert_allclose(xi, eigenvalues / (1.0 + noise), atol=0.01)
    np.testing.assert_allclose(slope, 1.0 / (1.0 + noise), atol=0.02)


def test_two_eigenvalues_have_the_small_noise_of_their_parameters():
    """Masses p_j at different points: mmse -> D (1 - sum p_j^2); exact recovery counts half of it, times d^2, parameters."""
    prior = Invariant(of_values([1.0, 1.0, 1.0, -1.0]))
    assert prior.exact_mmse(1e-4) == pytest.approx(1e-4 * (1.0 - 10 / 16), rel=1e-3)
    assert prior.mmse(1e-9) == pytest.approx(1e-9 * 6 / 16, rel=1e-3)
    assert exact_recovery(Linear(2), prior) == pytest.approx(2 * (3 / 16) / 6)


def test_a_law_agrees_with_its_quantiles():
    law = mixture([of_density(lambda x: 1.0 + x, 0.0, 2.0), of_values([-1.0, 4.0])], [3.0, 1.0])
    w = 1.3 + 0.2j
    g, slope = law.transform(np.array(w))
    expected = moments(law, w)
    np.testing.assert_allclose([g, slope, law.inverse_squares(w.real, w.imag)], expected, rtol=2e-3)
    assert law.mean == pytest.approx(law.values(20_000).mean(), abs=1e-3)
    assert law.variance == pytest.approx(law.values(20_000).var(), rel=1e-3)
    h = 1e-5
    difference = (law.transform(np.array(w + h))[0] - law.transform(np.array(w - h))[0]) / (2 * h)
    np.testing.assert_allclose(slope, difference, rtol=1e-8)


def test_drawn_matrices_have_the_law():
    prior = prior_of("spiked")
    S = prior.draw(Sizes(1, 50, 10), np.random.default_rng(1))
    np.testing.assert_allclose(np.linalg.eigvalsh(S), prior.law.values(50), atol=1e-10)
    assert np.trace(S) / 50 == pytest.approx(prior.mean, abs=0.02)
    assert np.trace(S @ S) / 50 == pytest.approx(prior.Q, rel=0.02)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("constant", "the eigenvalues must differ"),
        ("number", "must return a Law"),
        ("drawn_anew", "is random: two calls differ"),
        ("absent", "defines no function 'absent'"),
    ],
)
def test_a_specification_refuses_wrong_spectra(tmp_path, name, words):
    model = {"tokens": 2, "ratio": 0.5, "channel": "linear", "spectrum": f"{FILE}:{name}"}
    with pytest.raises(SpecError) as caught:
        load(tmp_path, estimator("state_evolution", model, {"alpha": [0.1]}))
    assert words in str(caught.value)


@pytest.mark.parametrize("make", [lambda: of_values([]), lambda: of_values([np.nan]), lambda: of_density(np.sin, -1.0, 1.0),
                                  lambda: of_density(np.cos, 1.0, 1.0), lambda: mixture([of_values([1.0])], [0.0]),
                                  lambda: of_values([1.0 + 1.0j, 2.0]), lambda: of_values([1e200, 0.0]), lambda: of_values(["1"]),
                                  lambda: of_values(np.arange(5001)), lambda: of_density(lambda x: -1.0, 0.0, 1.0)])  # fmt: skip
def test_wrong_laws_are_refused(make):
    with pytest.raises(ValueError, match=r"need|must|at most 5000"):
        make()


def test_a_density_may_read_one_number():
    """A function of `math` or with a branch, as a user writes it, and a constant."""
    branch = of_density(lambda x: math.sqrt(1.0 - x**2) if abs(x) < 1 else 0.0, -1.0, 1.0)
    np.testing.assert_allclose(branch.masses, of_density(lambda x: np.sqrt(1.0 - x**2), -1.0, 1.0).masses, rtol=1e-12)
    np.testing.assert_allclose(of_density(lambda x: 3.0, 0.0, 1.0).variance, 1.0 / 12.0, rtol=1e-12)


def test_the_estimator_reads_the_spectrum(tmp_path):
    model = {"tokens": 2, "ratio": 0.2, "channel": "softmax", "spectrum": f"{FILE}:semicircle"}
    part = load(tmp_path, estimator("state_evolution", model, {"alpha": [0.1, 0.2]})).estimators["state_evolution"]
    found = computed(part)
    # D = V / (alpha K) and V = D / (1 + D): V = 1 - alpha K, K = 4.
    np.testing.assert_allclose(found.mmse.squeeze(), [0.6, 0.2], rtol=2e-3)
    assert FILE in part.specification.code_files(part)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["semicircle", "spiked"])
def test_message_passing_agrees_with_state_evolution(name):
    """Linear scores, two data sets of d = 80 at half of the error: within 15 %, for the scatter and the finite dimension."""
    prior, channel, runs = prior_of(name), Linear(2), []
    alpha = 0.5 * exact_recovery(channel, prior)
    for seed in range(2):
        data = draw_dataset(channel, Sizes(round(alpha * 6400), 80, 16), np.random.default_rng(seed), prior)
        runs.append(iterate(channel, data, amp_settings(max_iterations=200)))
    assert all(run.converged for run in runs)
    limit = float(solve(channel, prior, [alpha]).mmse[0])
    assert 0.05 < limit < 0.8
    for values in ([run.error[-1] for run in runs], [run.variance[-1] for run in runs]):
        assert np.mean(values) == pytest.approx(limit, rel=0.15)
