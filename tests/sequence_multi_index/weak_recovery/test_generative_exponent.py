"""The order of the first moment of a field that an output has information on."""

import numpy as np
import pytest
from scipy.optimize import brentq

from attention_limits.sequence_multi_index.links.link import Link
from attention_limits.sequence_multi_index.links.loading import load_link
from attention_limits.sequence_multi_index.reports.thresholds import _next_order
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
    order, size = generative_exponent(load_link({"link": "sign_product", "rows": 1}, "."))
    # E[h | sign h] = +- sqrt(2 / pi).
    assert order == 1
    assert size == pytest.approx(2.0 / np.pi, rel=1e-5)
    # Even: E[He_4 | y] is the flux of He_3 through the ends of the band, over the probability of y.
    order, size = generative_exponent(Band())
    flux = (
        2.0 * ((0.125 - 1.5) * density(0.5) - (Band.upper**3 - 3.0 * Band.upper) * density(Band.upper)) / np.sqrt(24.0)
    )
    inside = 2.0 * (cumulative(Band.upper) - cumulative(0.5))
    assert order == 4
    assert size == pytest.approx(flux**2 * (1.0 / inside + 1.0 / (1.0 - inside)), rel=1e-4)


def cumulative(x):
    """Trapezes of the density from -10."""
    points = np.linspace(-10.0, x, 200_001)
    return np.trapezoid(density(points), points)


def test_links_of_more_fields_or_outputs_have_none():
    assert generative_exponent(load_link({"link": "sign_product", "rows": 2}, ".")) is None
    assert generative_exponent(load_link({"link": "phase_retrieval"}, ".")) is None


def test_the_order_in_words():
    assert "the next order with information is 4 (generative exponent)" in _next_order(Band())
    assert _next_order(load_link({"link": "sign_product", "rows": 3}, ".")) == ""
