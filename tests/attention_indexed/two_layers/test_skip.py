"""Two layers with a skip strength below one: the posterior on both sides of the line where the mixing matrix is singular.

Stochastic comparisons are t-tests of `agreement`, false-alarm rate 1e-4 each.
"""

import numpy as np
import pytest

from agreement import assert_mean
from attention_limits.attention_indexed.two_layers.two_tokens.softmax import SPREADS, TwoLayers
from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes

pytestmark = pytest.mark.slow


def draw(model, V, count, seed):
    """(a, means, whitened deviations) of outputs of raw scores with prior means drawn as in the state evolution."""
    rng, V = np.random.default_rng(seed), np.asarray(V)[:, None]
    means, truth = np.sqrt(1.0 - V) * SPREADS * rng.standard_normal((count, 2, 2)), rng.standard_normal((count, 2, 2))
    fields = means + np.sqrt(V) * SPREADS * truth
    # h = [[h_11, 0], [0, h_22]] has the contrasts (h_11 + h_22, h_11 - h_22).
    h = np.zeros((count, 2, 2, 2))
    h[..., 0, 0], h[..., 1, 1] = 0.5 * (fields[..., 0] + fields[..., 1]), 0.5 * (fields[..., 0] - fields[..., 1])
    return model.observed(h[:, 0], h[:, 1]), means, truth


def inner_nodes(centre, half, cut):
    """Gauss-Legendre nodes and weights in u_1: panels that shrink geometrically towards the cut, if there is one."""
    x, w = np.polynomial.legendre.leggauss(8)
    low, high = centre - half, centre + half
    if cut is None or not low < cut < high:
        edges = np.linspace(low, high, 200)
    else:
        distances = np.geomspace(1e-9, 2.0 * half, 90)
        edges = np.unique(np.clip(np.concatenate([cut - distances, [cut], cut + distances]), low, high))
    middle, radius = 0.5 * (edges[1:] + edges[:-1]), 0.5 * np.diff(edges)
    return (middle[:, None] + radius[:, None] * x).ravel(), (radius[:, None] * w).ravel()


def slow_posterior(model, a, means, V, points=600):
    """log Z, whitened posterior means (2, 2) and variances by layer (2,) of one output, integrated over u_1 at each u_2."""
    skip, beta = model.skip, model.beta
    half = 7.5 * np.sqrt(3.0 * V[0])
    widths = (np.sqrt(np.asarray(V))[:, None] * SPREADS).ravel()
    centre = 0.5 * (means[0, 0] + means[0, 1])
    logs, values = [], []
    for u_2 in 0.5 * (means[0, 0] - means[0, 1]) + half * ((np.arange(points) + 0.5) / points * 2.0 - 1.0):
        s_2 = 1.0 / (1.0 + np.exp(-beta * u_2))
        wanted = 1.0 - skip - s_2
        cut = np.log(wanted / (1.0 - wanted)) / beta if wanted > 0 else None
        u_1, weight = inner_nodes(centre, half, cut)
        s_1 = 1.0 / (1.0 + np.exp(-beta * u_1))
        e = skip + s_1 + s_2 - 1.0
        e = np.where(np.abs(e) > 1e-12, e, 1e-12)
        v_s = a[0] / e**2
        v_d = (a[1] / e + (s_2 - s_1) * v_s) / (skip + 1.0)
        x = np.stack([u_1 + u_2, u_1 - u_2, v_s, v_d]) - means.ravel()[:, None]
        x /= widths[:, None]
        logs.append(np.log(weight) - 0.5 * np.sum(x**2, axis=0) - 3.0 * np.log(np.abs(e)))
        values.append(x)
    logs, x = np.concatenate(logs), np.concatenate(values, axis=1)
    density = np.exp(logs - logs.max())
    log_z = logs.max() + np.log(density.sum() * 2.0 * 2.0 * half / points / (skip + 1.0))
    log_z -= 2.0 * np.log(2.0 * np.pi) + np.log(widths).sum()
    seen = density > 0
    density, x = density[seen] / density.sum(), x[:, seen]
    mean = x @ density
    return log_z, mean.reshape(2, 2), ((x**2) @ density - mean**2).reshape(2, 2).sum(axis=1)


@pytest.mark.parametrize(
    ("skip", "beta", "V"),
    [(0.0, 1.0, [1.0, 1.0]), (0.3, 1.0, [0.5, 0.2]), (0.7, 2.0, [0.9, 0.05]), (0.95, 1.0, [1.0, 0.5])],
)
def test_the_lattices_of_both_sides_find_what_slow_integration_does(skip, beta, V):
    """Four outputs each; the accuracy of 2e-3 is that of the imbalance which the lattice accepts."""
    model = TwoLayers(skip, beta)
    a, means, _ = draw(model, V, 4, seed=1)
    log_z, z, spread, resolved = model.posterior(a, means, V)
    assert np.all(resolved)
    for k in range(4):
        slow = slow_posterior(model, a[k], means[k], V)
        assert log_z[k] == pytest.approx(slow[0], abs=2e-3)
        np.testing.assert_allclose(z[k], slow[1], atol=2e-3)
        np.testing.assert_allclose(spread[k], slow[2], atol=4e-3)


@pytest.mark.parametrize(("skip", "V"), [(0.0, [1.0, 1.0]), (0.5, [0.3, 0.6]), (0.8, [0.02, 0.1])])
def test_nishimori_identities_hold_below_skip_one(skip, V):
    """E |z_l|^2 = E z_l . truth = 2 - E spread_l, over 2000 outputs; at most one of 200 is not resolved."""
    model = TwoLayers(skip)
    a, means, truth = draw(model, V, 2000, seed=2)
    _, z, spread, resolved = model.posterior(a, means, V)
    assert np.mean(resolved) >= 0.995
    assert_mean(np.sum(z**2 - z * truth, axis=2))
    assert_mean(np.sum(z**2, axis=2) - 2.0 + spread)


def test_the_posterior_is_continuous_where_the_line_leaves_the_prior():
    """At c = 1 - 1e-6 the line is where beta u_s / 2 < -13, further out than the scores of these outputs."""
    V = [0.6, 0.3]
    a, means, _ = draw(TwoLayers(1.0), V, 50, seed=3)
    found, limit = (TwoLayers(skip).posterior(a, means, V) for skip in (1.0 - 1e-6, 1.0))
    for one, other in zip(found[:3], limit[:3], strict=True):
        np.testing.assert_allclose(one, other, atol=4e-3)


@pytest.mark.parametrize("skip", [0.0, 0.5])
def test_an_output_gives_two_equations_where_little_is_unknown(skip):
    """k_1 + k_2 -> 4; next to the line the scores of layer 1 remain uncertain at any V, at a rate proportional to sqrt(V)."""
    model = TwoLayers(skip)
    found = [
        model.averages([1e-6, 1e-6], gaussian_nodes(8, 256, np.random.default_rng(seed))).information.sum()
        for seed in range(8)
    ]
    assert_mean(found, 4.0, allowance=0.02)
