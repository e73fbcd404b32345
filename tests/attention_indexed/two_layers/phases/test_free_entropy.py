"""Free entropy of two layers: its gradient, independence of the path, and the free entropies that are known in closed form."""

import numpy as np
import pytest
from scipy.special import entr

from attention_limits.attention_indexed.priors.denoisers.wishart import mmse
from attention_limits.attention_indexed.two_layers.hardmax import HardmaxLayers
from attention_limits.attention_indexed.two_layers.phases.free_entropy import cost, difference, gain, noise_at
from attention_limits.attention_indexed.two_layers.two_tokens.softmax import TwoLayers
from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes

OUTPUTS = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
UNINFORMED, INFORMED = (0.884, 0.292), (0.257, 0.170)


@pytest.mark.parametrize("ratio", [1e-9, 0.003, 0.5, 100.0])
def test_noise_of_an_error(ratio):
    V = np.array([1e-6, 0.01, 0.3, 0.9, 0.999])
    np.testing.assert_allclose(mmse(ratio, noise_at(ratio, V)), V, rtol=1e-9)


@pytest.mark.parametrize("V", [0.0, 1.0, np.nan])
def test_an_error_out_of_its_range_is_refused(V):
    with pytest.raises(ValueError, match="need 0 < V < 1"):
        noise_at(0.5, V)


def test_cost_is_that_of_a_gaussian_matrix_at_large_width():
    """rho -> infinity: S is of the Gaussian orthogonal ensemble, i = log(1 + 1 / D) / 4 and V = D / (1 + D); corrections are
    1 / sqrt(rho)."""

    def exact(D):
        return 0.25 * (np.log1p(1.0 / D) - 1.0 / (1.0 + D))

    assert abs(cost(100.0, 1e3, 0.01) / (exact(0.01) - exact(1e3)) - 1.0) < 0.1
    assert abs(cost(1e-2, 3.0, 0.2) + cost(1e-2, 0.2, 3.0)) < 1e-12


def test_cost_is_that_of_small_width():
    """rho -> 0 with D = t / rho: V = t (2 - t) for t < 1, so int dV / D = rho int (2 - 2 t) / t dt."""
    ratio, (first, last) = 1e-7, (0.9, 0.1)
    exact = 0.25 * ratio * 2.0 * (np.log(first / last) - (first - last))
    assert abs(cost(ratio, first / ratio, last / ratio) / exact - 1.0) < 1e-3


def log_probability(model, nodes, V):
    """E log P(y | omega) of a hardmax, the sum over the four outputs at the prior means of the nodes."""
    means = nodes.points.reshape(len(nodes), 2, 2) * np.sqrt(1.0 - np.asarray(V))[:, None]
    logs = [model.posterior(np.broadcast_to(signs, (len(nodes), 2)), means, np.asarray(V))[0] for signs in OUTPUTS]
    return -float(sum(np.mean(entr(np.exp(one))) for one in logs))


@pytest.mark.slow
def test_gain_is_the_change_of_the_log_probability():
    """Softmax and hardmax, c = 0, beta = 10, between both fixed points of width 0.01: the integral of k_l against the entropy of
    the four outputs itself, to 3 %. Over seven scramblings the deviation has the standard deviation 0.5 %: false-alarm rate
    1e-3 of Student's t of six degrees."""
    model = HardmaxLayers(0.0, 10.0)
    nodes = gaussian_nodes(4, 512, np.random.default_rng(0), 1.0)
    found = gain(lambda V: model.averages(V, nodes).information, UNINFORMED, INFORMED)
    direct = log_probability(model, nodes, INFORMED) - log_probability(model, nodes, UNINFORMED)
    assert abs(found / direct - 1.0) < 0.03


def test_gain_of_a_hardmax_does_not_depend_on_the_path():
    """Straight and along both corners, to 2 %. Over six scramblings the largest deviation is 0.8 %, which is error of the nodes:
    with 512 nodes it is 0.1 %."""
    model = HardmaxLayers(0.0, 10.0)
    nodes = gaussian_nodes(4, 64, np.random.default_rng(1), 1.0)

    def information(V):
        return model.averages(V, nodes).information

    straight = gain(information, UNINFORMED, INFORMED)
    for corner in ((UNINFORMED[0], INFORMED[1]), (INFORMED[0], UNINFORMED[1])):
        assert abs(gain(information, UNINFORMED, corner, INFORMED) / straight - 1.0) < 0.02


def test_gain_of_a_softmax_does_not_depend_on_the_path():
    """c = beta = 1. The law k_1 + k_2 -> 4 at small V makes A = -log V for both errors. To 1 %; the largest deviation of six
    scramblings is 0.26 %."""
    model = TwoLayers()
    nodes = gaussian_nodes(8, 512, np.random.default_rng(0), 1.0)

    def information(V):
        return model.averages(V, nodes).information

    first, last = (0.7, 0.5), (0.2, 0.03)
    straight = gain(information, first, last)
    for corner in ((first[0], last[1]), (last[0], first[1])):
        assert abs(gain(information, first, corner, last) / straight - 1.0) < 0.01
    small = np.array([1e-4, 1e-4])
    assert abs(gain(information, small, 0.1 * small) / np.log(10.0) - 1.0) < 0.01


def test_gradient_of_the_free_entropy():
    """(1 / D_l - alpha k_l / V_l) / 4, by differences: it vanishes where V_l = mmse(V_l / (alpha k_l))."""

    def information(V):
        return np.array([0.5 * V[0] ** 0.3 * V[1] ** 0.1, 0.9 * V[1] ** 0.2])

    ratio, alpha, V, step = 0.05, 0.3, np.array([0.5, 0.3]), 1e-4
    for layer in range(2):
        shift = step * np.eye(2)[layer]
        found = difference(information, ratio, alpha, V - shift, V + shift) / (2.0 * step)
        exact = 0.25 * (1.0 / noise_at(ratio, V[layer]) - alpha * information(V)[layer] / V[layer])
        assert abs(found - exact) < 1e-5


@pytest.mark.parametrize("ratio", [1e-9, 0.5])
def test_an_error_of_one_is_no_information(ratio):
    """The difference is continuous at V = 1, where D is infinite."""

    def information(V):
        return np.array([0.5 * V[0], 0.9])

    at, near = (difference(information, ratio, ratio, (V, 0.5), (0.6, 0.4)) for V in (1.0, 1.0 - 1e-6))
    assert abs(at - near) < 1e-5 * abs(at)
