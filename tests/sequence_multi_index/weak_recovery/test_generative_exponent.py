"""The order of the first moment of a field that an output has information on."""

import numpy as np
import pytest
from scipy.optimize import brentq

from attention_limits.sequence_multi_index.links.link import Link
from attention_limits.sequence_multi_index.links.loading import load_link
from attention_limits.sequence_multi_index.priors.gaussian import GaussianRows, standard_normal
from attention_limits.sequence_multi_index.reports.thresholds import _without_threshold
from attention_limits.sequence_multi_index.weak_recovery.generative_exponent import generative_exponent


def density(x):
    return np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi)


class Band(Link):
    """1 where 0.5 < |h| < b, else -1; with b phi(b) = 0.5 phi(0.5) the second moment of h is the same for both outputs."""

    rows, tokens, sign_symmetry = 1, 1, "rows"
    upper = brentq(lambda b: b * density(b) - 0.5 * density(0.5), 1.2, 4.0)

    def forward(self, h):
        size = np.abs(h[..., 0, 0])
        return np.where((size > 0.5) & (size < self.upper), 1.0, -1.0)

    def log_likelihood(self, observed, h):
        return np.where(self.forward(h) == observed[:, None], 0.0, -np.inf)


def test_the_exponents_of_signs_and_bands():
    found = generative_exponent(load_link({"link": "sign_product", "rows": 1}, "."))
    # E[h | sign h] = +- sqrt(2 / pi).
    assert found.order == 1
    assert found.size == pytest.approx(2.0 / np.pi, rel=1e-5)
    # Even: E[He_4 | y] is the flux of He_3 through the ends of the band, over the probability of y.
    found = generative_exponent(Band())
    flux = (
        2.0 * ((0.125 - 1.5) * density(0.5) - (Band.upper**3 - 3.0 * Band.upper) * density(Band.upper)) / np.sqrt(24.0)
    )
    inside = 2.0 * (cumulative(Band.upper) - cumulative(0.5))
    assert found.order == 4
    assert found.size == pytest.approx(flux**2 * (1.0 / inside + 1.0 / (1.0 - inside)), rel=1e-4)


def cumulative(x):
    """Trapezes of the density from -10."""
    points = np.linspace(-10.0, x, 200_001)
    return np.trapezoid(density(points), points)


@pytest.mark.parametrize("rows", [2, 3, 4])
def test_the_exponent_of_a_product_of_signs_is_their_number(rows):
    """E[h_1 ... h_P | y] = +- (2 / pi)^(P / 2), and every moment of lower order is that of no output."""
    found = generative_exponent(load_link({"link": "sign_product", "rows": rows}, "."))
    assert found.order == rows
    # Eight scramblings of 2^15 nodes: 0.3 % for four rows.
    assert found.size == pytest.approx((2.0 / np.pi) ** rows, rel=1e-2)
    assert found.zero < 1e-20


def test_correlated_rows_have_information_of_first_order():
    """Where h_2 and h_3 have mostly the same sign, the product of three signs is mostly that of h_1."""
    link, prior = load_link({"link": "sign_product", "rows": 3}, "."), GaussianRows(np.eye(3) + 0.3 * (1 - np.eye(3)))
    assert generative_exponent(link, prior).order == 1


def test_noise_and_continuous_outputs_have_none():
    assert generative_exponent(load_link({"link": "phase_retrieval"}, ".")) is None
    assert generative_exponent(load_link({"link": "sign_product", "rows": 7}, ".")) is None


def test_the_order_in_words():
    normal = standard_normal(1)
    assert (
        "the next order with information is 4 (generative exponent)" in _without_threshold(Band(), normal, 5.0)["text"]
    )
    of_three = _without_threshold(load_link({"link": "sign_product", "rows": 3}, "."), standard_normal(3), 700.0)
    assert of_three["text"].startswith(
        "1. none: one iteration multiplies a small overlap by alpha F, and F = 0 to 1e-16; "
    )
    assert "the next order with information is 3" in of_three["text"]
    assert of_three["bound"] == pytest.approx(1e16)
    # Two signs have a threshold: a bound of the nodes stays a bound.
    assert _without_threshold(load_link({"link": "sign_product", "rows": 2}, "."), standard_normal(2), 2.0) == {}
