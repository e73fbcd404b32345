"""Promises of the Potts family: ridge regression, replica theory against many digits and simulation against dense algebra."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sampled_potts_mlm import FAMILY
from slow_potts_mlm import replica_errors
from specifications import Refused, compute, document, node, whole_range

pytestmark = pytest.mark.slow


@settings(max_examples=12)
@given(
    gamma=whole_range(node(FAMILY, "replica", "grid", "gamma")),
    ridge=whole_range(node(FAMILY, "replica", "grid", "ridge")),
    alpha=whole_range(node(FAMILY, "replica", "grid", "alpha")),
)
@example(gamma=2.000000000001, ridge=1e-12, alpha=1.0)
@example(gamma=2.5, ridge=1e-60, alpha=1.0)
@example(gamma=2.5, ridge=1e-100, alpha=1.0)
@example(gamma=2.000000000248207, ridge=1e-9, alpha=1.7e-10)
@example(gamma=1000.0, ridge=1e6, alpha=1e-9)
@example(gamma=2.000001, ridge=0.0, alpha=0.999999)
@example(gamma=2.5, ridge=0.0, alpha=1e6)
def test_replica_is_right_over_the_whole_range(gamma, ridge, alpha):
    """Against hundreds of digits, relative to 1e-9; q relative to 1e-9 or to a rounding of m. Without ridge: a ridge of 1e-40."""
    grid = {"gamma": gamma, "ridge": ridge, "alpha": alpha}
    # The specification rounds to 12 digits, which at the edge moves gamma, and refuses what it rounds to the edge.
    found = compute(FAMILY, document("replica", {}, grid))
    if isinstance(found, Refused):
        assert gamma - 2.0 < 1e-11 or alpha < 1e-300
        return
    part = found["replica"]
    gamma, ridge, alpha = (float(part[name][0]) for name in ("gamma", "ridge", "alpha"))
    part = part.isel(gamma=0, ridge=0, alpha=0, replica=0)
    names = ("generalization_error", "training_error", "overlap", "norm", "variance")
    values = [float(part[name]) for name in names]
    if ridge == 0.0 and alpha == 1.0:
        assert np.isinf(values[0])
        return
    if 0.0 < ridge < 1e-150 or alpha < 1e-150:
        assert np.isfinite(values[0])
        return
    expected = replica_errors(gamma, ridge or 1e-40, alpha)
    if ridge == 0.0:
        close = 1e-9 + 1e-40 / min(1.0, (alpha - 1.0) ** 2)
        assert values[0] == pytest.approx(expected[0], rel=close)
        assert values[2:4] == pytest.approx(expected[2:4], rel=1e-9)
        return
    for name, value, exact in zip(names, values, expected, strict=True):
        slack = 1e-14 * abs(expected[2]) if name == "norm" else 0.0
        assert value == pytest.approx(exact, rel=1e-9, abs=slack), name
    assert_best(gamma, alpha, float(part.optimal_ridge), float(part.optimal_error))


def assert_best(gamma, alpha, best, error):
    """One per cent to either side is worse by the digits of the slow computation, and the error is that at this ridge."""
    below, at, above = (replica_errors(gamma, best * factor, alpha)[0] for factor in (0.99, 1.0, 1.01))
    assert error == pytest.approx(at, rel=1e-9)
    assert at <= min(below, above) * (1.0 + 1e-15)


@settings(max_examples=6)
@given(
    gamma=whole_range(node(FAMILY, "ridge_simulation", "grid", "gamma")),
    ridge=whole_range(node(FAMILY, "ridge_simulation", "grid", "ridge")),
    alpha=whole_range(node(FAMILY, "ridge_simulation", "grid", "alpha")),
    sites=st.integers(2, 30),
)
@example(gamma=2.5, ridge=0.0, alpha=0.5, sites=21)
@example(gamma=2.5, ridge=0.1, alpha=2.0, sites=21)
@example(gamma=2.0001, ridge=0.1, alpha=2.0, sites=10)
@example(gamma=2.5, ridge=0.1, alpha=1e-6, sites=10)
@example(gamma=2.5, ridge=0.1, alpha=1e6, sites=200)
def test_ridge_simulation_is_dense_linear_algebra(gamma, ridge, alpha, sites):
    """The same draws, the estimator by a least-squares solver with the ridge as additional rows; sizes as realised."""
    written = document("ridge_simulation", {}, {"gamma": gamma, "ridge": ridge, "alpha": alpha}, {"sites": sites})
    found = compute(FAMILY, written)
    if isinstance(found, Refused):
        assert gamma - 2.0 < 1e-11 or alpha * sites * (sites - 1) > 1e8
        return
    part = found["ridge_simulation"]
    gamma, ridge, alpha = (float(part[name][0]) for name in ("gamma", "ridge", "alpha"))
    part = part.isel(gamma=0, ridge=0, alpha=0, replica=0)
    count = max(1, round(alpha * (sites - 1)))
    assert int(part.realised_samples) == count
    assert float(part.realised_alpha) == pytest.approx(count / (sites - 1), rel=1e-15)
    K, X, y = _drawn(gamma, alpha, sites, count)
    values = [float(part.simulated_generalization_error), float(part.simulated_training_error)]
    if np.linalg.eigvalsh(K)[0] <= 0.0:
        assert np.isnan(values).all()
        return
    rows = np.concatenate([X, np.sqrt(ridge * (sites - 1)) * np.eye(sites - 1)]) if ridge else X
    target = np.concatenate([y, np.zeros(len(rows) - count)])
    v, _, _, singular = np.linalg.lstsq(rows, target, rcond=None)
    # The mean square of (-1, v) under the covariance of all sites.
    full = np.concatenate([[-1.0], v])
    expected = full @ np.linalg.solve(K, full)
    # Squared condition of the normal equations, times a thousand roundings.
    with np.errstate(divide="ignore"):
        slack = 1e-13 * (singular[0] / singular[-1]) ** 2 + 1e-9
    assert values[0] == pytest.approx(expected, rel=min(slack, 0.1))
    assert values[1] == pytest.approx(np.mean((y - X @ v) ** 2), rel=min(slack, 0.1), abs=slack)


def _drawn(gamma, alpha, sites, count):
    """The precision matrix and sequences of the streams, with the covariance by its inverse."""
    from attention_limits.pipeline.base.streams import Streams
    from attention_limits.potts_mlm.replica.simulation import draw_instance, draw_sequences

    streams = Streams(0, FAMILY, "promise")
    noise = streams.generator("matrix", 0, gamma=gamma).standard_normal((sites, sites))
    K = gamma * np.eye(sites) + (noise + noise.T) / np.sqrt(2.0 * sites)
    instance = draw_instance(gamma, sites, streams.generator("matrix", 0, gamma=gamma))
    if instance is None:
        return K, None, None
    sequences = draw_sequences(instance, count, streams.generator("sequences", 0, gamma=gamma, alpha=alpha))
    return K, sequences[:, 1:], sequences[:, 0]
