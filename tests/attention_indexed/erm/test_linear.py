"""Weight decay at extensive width: spectral moments, state evolution, thresholds and limits.

Reference numbers are of an independent prototype of the state evolution, whose minimisations agree (tables in the tests).
"""

import numpy as np
import pytest

from attention_limits.attention_indexed.erm import linear
from attention_limits.attention_indexed.erm.estimate import PLACES, Task, linear_points
from attention_limits.attention_indexed.erm.simulations.minimisation import positive_part
from attention_limits.attention_indexed.erm.spectral import Law
from attention_limits.attention_indexed.erm.thresholds import interpolation, least_decay_of_nothing, recovery

RHO = 0.5


def solved(equations, score_noise, decay, ratio=RHO):
    return linear.solve(np.atleast_1d(np.asarray(equations, float)), ratio, score_noise, decay)


def test_the_positive_part_is_the_nearest_matrix_with_a_penalty_on_the_trace():
    """||S - M||^2 / 2 + shift tr S over S >= 0: the optimality conditions, and no better matrix among 200 random ones."""
    rng = np.random.default_rng(0)
    normal = rng.standard_normal((6, 6))
    M, shift = normal + normal.T, 0.4
    S = positive_part(M, shift)

    def objective(matrix):
        return 0.5 * np.sum((matrix - M) ** 2) + shift * np.trace(matrix)

    slack = S - M + shift * np.eye(6)
    assert np.linalg.eigvalsh(slack)[0] > -1e-12
    assert abs(np.sum(slack * S)) < 1e-12
    for size in (1e-3, 0.1) * 100:
        factor = np.linalg.cholesky(S + 1e-9 * np.eye(6)) + size * rng.standard_normal((6, 6))
        assert objective(factor @ factor.T) > objective(S)


@pytest.mark.parametrize(("ratio", "delta", "threshold"), [(0.5, 0.7, 0.4), (0.5, 0.05, 0.02), (2.0, 1.5, 1.0)])
def test_moments_are_those_of_large_matrices(ratio, delta, threshold):
    """Moments of f(Y) of one matrix with d = 1000: relative fluctuations are of order 1/d, the tolerance is 1 %.

    The mean of tr S Z is zero; without it the response fluctuates less.
    """
    rng, d = np.random.default_rng(1), 1000
    W = rng.standard_normal((d, round(ratio * d)))
    S = W @ W.T / np.sqrt(W.shape[1] * d)
    Z = rng.standard_normal((d, d))
    Z = (Z + Z.T) / np.sqrt(2.0 * d)
    eigenvalues, vectors = np.linalg.eigh(S + delta * Z)
    f = np.maximum(eigenvalues - threshold, 0.0)
    learned = (vectors * f) @ vectors.T
    found = Law(ratio, [delta]).moments([threshold])
    measured = {
        "rank": np.mean(f > 0), "A": f.mean(), "J": np.mean(f**2), "theta": np.sum((learned - S) * Z) / d / delta,
        "error": np.sum((learned - S) ** 2) / d,
    }  # fmt: skip
    for name, value in measured.items():
        assert getattr(found, name)[0] == pytest.approx(value, rel=0.01), name


def test_response_is_the_double_integral():
    """Theta = int int (f(x) - f(y)) / (x - y) mu mu, to 1e-11, and its square is at most Theta."""
    law, eps = Law(RHO, [0.6]), 0.5
    (x, mass), (y, rest) = (law._side(eps, above) for above in (True, False))
    double = mass.sum() ** 2 + 2.0 * mass @ ((x - eps)[:, None] / (x[:, None] - y)) @ rest
    assert law.moments([eps]).theta[0] == pytest.approx(double, rel=1e-11)
    assert law.squared_response(eps) < double


# mse, rank and tr S / d at lambda = 0.1.
TABLE = [
    (0.6, 0.1, 0.36899, 0.48642, 0.62074),
    (1.2, 0.1, 0.12047, 0.63198, 0.72982),
    (2.4, 0.1, 0.04497, 0.68357, 0.73177),
    (0.3, 0.1, 0.86468, 0.31713, 0.42887),
    (0.6, 0.0, 0.22627, 0.46825, 0.55667),
    (1.2, 0.0, 0.0098214, 0.52297, 0.66141),
]


@pytest.mark.parametrize(("equations", "score_noise", "mse", "rank", "trace"), TABLE)
def test_linear_reference(equations, score_noise, mse, rank, trace):
    found = solved(equations, score_noise, 0.1)
    np.testing.assert_allclose([found.error[0], found.rank[0], found.A[0]], [mse, rank, trace], rtol=5e-5)


def test_limit_of_vanishing_decay():
    """Errors on both sides of the thresholds; those just below recovery have three digits in the reference."""
    np.testing.assert_allclose(solved([0.3, 0.6], 0.0, 0.0).error, [0.77919, 0.16100], rtol=5e-5)
    np.testing.assert_allclose(solved([0.84, 0.844], 0.0, 0.0).error, [4.73e-5, 3.04e-7], rtol=0.01)
    assert np.all(solved([0.85, 1.2], 0.0, 0.0).error == 0.0)
    np.testing.assert_allclose(solved([0.65, 0.69, 0.73], 0.05, 0.0).error, [0.35886, 0.72324, 0.52071], rtol=5e-5)


def test_best_decay_of_linear_outputs():
    found = linear.best(np.array([0.3, 0.6, 1.2, 2.4]), RHO, 0.1)
    np.testing.assert_allclose(found.error, [0.86468, 0.36784, 0.11275, 0.04247], rtol=2e-4)
    np.testing.assert_allclose(found.decay, [0.1013, 0.1208, 0.2004, 0.2814], atol=2e-4)


# rho, K alpha of recovery, kappa, and K alpha of interpolation with the error there at tau = 0.05 and 0.25.
THRESHOLDS = [
    (0.1, 0.315144, 0.856957, (0.547127, 2.2390), (0.526942, 10.402)),
    (0.5, 0.844350, 0.206455, (0.690000, 0.72324), (0.613928, 2.9774)),
    (0.8, 0.978395, 0.042320, (0.760435, 0.63093), (0.662608, 2.3798)),
    (2.0, 1.0, 0.0, (0.89033, 0.771366), (0.779439, 2.13463)),
]


@pytest.mark.parametrize(("ratio", "equations", "kappa", "weak", "strong"), THRESHOLDS)
def test_thresholds(ratio, equations, kappa, weak, strong):
    np.testing.assert_allclose(recovery(ratio), [equations, kappa], atol=6e-7)
    for noise, expected in ((0.05, weak), (0.25, strong)):
        found = interpolation(ratio, noise)
        np.testing.assert_allclose([found.equations, found.error], expected, rtol=5e-5)
    assert interpolation(ratio, 0.0).equations == 0.5 + (ratio - 0.5 * ratio**2 if ratio < 1 else 0.5)


def test_recovery_needs_more_than_the_bayes_optimal_estimate():
    for ratio in (0.01, 0.3, 0.9):
        assert recovery(ratio)[0] > 2.0 * ratio - ratio**2
    assert recovery(1.0)[0] == 1.0


def test_small_decay_above_recovery():
    """mse = c lambda^2: c = 11.2 at alpha K = 1; the limit continues the fixed points, and c is that of the limit to 1 %."""
    decays = np.array([1e-3, 3e-4, 1e-4, 1e-5])
    found = solved(np.ones(4), 0.0, decays)
    np.testing.assert_allclose(found.error / decays**2, [10.80, 11.09, 11.19, 11.23], rtol=2e-3)
    np.testing.assert_allclose(found.rank, 0.601, rtol=5e-3)


def test_many_samples():
    """mse alpha K / tau tends to 1/2 + nu for a fixed lambda and to K alpha_perf for the best one: references at alpha K =
    2000."""
    fixed, best = solved(2000.0, 0.1, 0.1).error[0], linear.best(np.array([2000.0]), RHO, 0.1).error[0]
    assert fixed * 2e4 == pytest.approx(0.8724, rel=2e-3)
    assert best * 2e4 == pytest.approx(0.8406, rel=2e-3)


def test_a_large_decay_learns_nothing():
    least = least_decay_of_nothing(np.array([0.6]), RHO, 0.1)
    above, below = solved(0.6, 0.1, 1.001 * least), solved(0.6, 0.1, 0.95 * least)
    assert above.rank[0] == 0.0
    assert above.error[0] == pytest.approx(1.5, rel=1e-9)
    assert below.rank[0] > 0.0


def test_tokens_enter_through_the_number_of_equations():
    first, second = (linear_points(Task(RHO, 0.1, M, None), [1.2 / (M * (M + 1))], [0.1])[0] for M in (2, 5))
    for name in ("mse", "learned_rank", "objective", "free_energy", "replicon"):
        assert second[name] == pytest.approx(first[name], rel=1e-12), name


@pytest.mark.parametrize("score_noise", [0.0, 0.1])
def test_free_energy_is_the_objective(score_noise):
    """At the fixed point both are equal, and the replicon is below one."""
    for row in linear_points(Task(RHO, score_noise, 2, None), [0.05, 0.1, 0.2, 1.0], np.full(4, 0.2)):
        assert row["free_energy"] == pytest.approx(row["objective"], rel=1e-9)
        assert 0 < row["replicon"] < 1


def test_training_loss_of_the_reference():
    """train / K of the table, M = 2."""
    rows = linear_points(Task(RHO, 0.1, 2, None), [0.1, 0.2, 0.4], np.full(3, 0.1))
    np.testing.assert_allclose([row["training_loss"] / 6 for row in rows], [0.010932, 0.036691, 0.065932], rtol=5e-5)


def test_spectrum():
    """The density integrates to the rank, the trace and the norm; the fractions of the reference are met to 3e-4.

    Trapezoidal rule in 101 points: its error is below 1e-3.
    """
    (row,) = linear_points(Task(RHO, 0.1, 2, None), [0.1], [0.1])
    x, density = row["spectrum_value"], row["spectrum_density"]
    assert x.shape == (2, PLACES)
    for power, name in enumerate(("learned_rank", "learned_trace", "learned_norm")):
        integral = sum(-np.trapezoid(d * v**power, v) for v, d in zip(x, density, strict=True) if np.isfinite(v).all())
        assert integral == pytest.approx(row[name], rel=1e-3)
    assert 1.0 - row["learned_rank"] == pytest.approx(0.51358, abs=1e-5)
    for low, high, fraction in ((0.0, 0.19474, 0.05364), (0.97368, 1.1684, 0.033387), (3.5053, 3.7, 0.0060291)):
        fine = np.linspace(low, high, 2001)
        inside = 0.0
        for v, d in zip(x, density, strict=True):
            inside += np.trapezoid(np.interp(fine, v[::-1], d[::-1], left=0.0, right=0.0), fine)
        assert inside == pytest.approx(fraction, abs=3e-4)


@pytest.mark.parametrize("score_noise", [0.0, 0.1])
def test_a_fixed_point_does_not_depend_on_the_others(score_noise):
    """To the last bit, however many steps the others need."""
    equations = np.linspace(0.05, 3.0, 20)
    together = solved(equations, score_noise, 0.1)
    alone = [solved(value, score_noise, 0.1).error[0] for value in equations]
    assert together.error.tolist() == alone


def test_bad_parameters_are_refused():
    for equations, noise, decay in ((0.0, 0.1, 0.1), (1.0, -0.1, 0.1), (1.0, 0.1, -0.1), (np.inf, 0.1, 0.1)):
        with pytest.raises(ValueError, match="alpha K > 0"):
            solved(equations, noise, decay)


def test_strong_noise_is_fitted_up_to_the_threshold_of_random_ellipsoids():
    """K alpha = 1/2 as tau grows: d^2 / 4 points with two equations each (Saunderson et al. 2012, arXiv:1204.1220), to 1 %."""
    assert interpolation(0.05, 1000.0).equations == pytest.approx(0.5, rel=0.01)
