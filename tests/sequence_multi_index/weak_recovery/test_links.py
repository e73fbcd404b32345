"""Weak-recovery thresholds of links that have them in closed form."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import k0, k1

from agreement import assert_mean
from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.sequence_multi_index.channels.averages import node_dimension
from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.links.attention.large_depth import LargeDepth
from attention_limits.sequence_multi_index.links.one_token import (
    Committee,
    SignProduct,
    SumOfSquares,
    phase_retrieval,
    product,
)
from attention_limits.sequence_multi_index.weak_recovery.first_threshold import first_threshold

pytestmark = pytest.mark.slow


def thresholds(link, nodes=1024, replicas=8):
    found = []
    for child in np.random.default_rng(11).spawn(replicas):
        points, scramble = child.spawn(2)
        channel = Channel(link, 0.5, scramble)
        found.append(first_threshold(channel, gaussian_nodes(node_dimension(link), nodes, points)))
    return found


def product_of_two():
    """1 / (1 + E t^2), t = E[h_1^2 | y] - 1 = |y| K_1(|y|) / K_0(|y|) - 1, with y of density K_0(|y|) / pi.

    In the basis (h_1 +- h_2) / sqrt(2) the posterior covariance is diagonal, 1 + t +- y, and E y^2 = 1.
    """
    squares = quad(lambda y: 2.0 / np.pi * k0(y) * (y * k1(y) / k0(y) - 1.0) ** 2, 0.0, 60.0)[0]
    return 1.0 / (1.0 + squares)


def product_of_three():
    """1 / E t^2: given h_3 the other two are a product of two, y / h_3, and E[h_p h_q | y] = 0 for p != q.

    Trapezoid rules in log y and log |h_3|, which converge geometrically.
    """
    s = np.linspace(-25.0, 5.0, 1201)
    step = s[1] - s[0]
    x = np.exp(s)
    ratio = np.exp(np.minimum(s[:, None] - s[None, :], 6.0))
    weight = np.sqrt(2.0 / np.pi) * np.exp(-0.5 * x**2) * step
    density, second = k0(ratio) / np.pi @ weight, ratio * k1(ratio) / np.pi @ weight
    squares = np.sum(2.0 * density * (second / density - 1.0) ** 2 * x) * step
    return 1.0 / squares


# F is a multiple of E (y/P - 1)^2 = 2/P for P squares; E[h_1 h_2 | y] = 2 y / pi for the sign of a product of two.
KNOWN = {
    "phase retrieval": (phase_retrieval(), 0.5),
    "two squares": (SumOfSquares(2), 1.0),
    "three squares": (SumOfSquares(3), 1.5),
    "product of two": (product(2), product_of_two()),
    "product of three": (product(3), product_of_three()),
    "sign of a product of two": (SignProduct(2), 0.25 * np.pi**2),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_thresholds(name):
    link, alpha = KNOWN[name]
    # 1 / ||F|| of an unbiased F: the bias is of the order of its squared relative error, below 1 % with these nodes.
    assert_mean([1.0 / step.alpha for step in thresholds(link)], 1.0 / alpha, allowance=0.01 / alpha)


def test_the_committee_is_learned_from_any_alpha_on_along_its_mean():
    step = thresholds(Committee(3), nodes=4096, replicas=1)[0]
    assert step.alpha == 0.0
    assert np.allclose(step.direction, 1.0 / 3.0, atol=0.05)


def test_many_layers_have_the_threshold_of_one():
    one = thresholds(DeepAttention(depth=1), replicas=2)
    many = thresholds(LargeDepth(ratio=1.5), replicas=2)
    assert np.allclose([step.alpha for step in one], [step.alpha for step in many], rtol=1e-6)
