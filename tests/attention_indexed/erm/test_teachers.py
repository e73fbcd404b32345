"""Weight decay for untied, rectangular and given teachers: moments against matrices, limits, and minima of data sets."""

import re
from pathlib import Path

import numpy as np
import pytest

import attention_limits as al
from attention_limits.attention_indexed.erm.estimate import Task, linear_points, softmax_points
from attention_limits.attention_indexed.erm.linear import best, solve
from attention_limits.attention_indexed.erm.simulations.minimisation import minimise
from attention_limits.attention_indexed.erm.simulations.objective import draw_data, loss_and_gradient
from attention_limits.attention_indexed.erm.softmax import score_basis, score_nodes
from attention_limits.attention_indexed.erm.teachers import unsymmetric
from attention_limits.attention_indexed.erm.teachers.laws import OfSpectrum, Tied, Untied
from attention_limits.attention_indexed.erm.teachers.table import TableLaw
from attention_limits.attention_indexed.erm.thresholds import interpolation, recovery
from attention_limits.attention_indexed.model.sizes import Sizes, sizes
from attention_limits.attention_indexed.priors import spectra
from attention_limits.attention_indexed.priors.invariant import Invariant
from attention_limits.attention_indexed.priors.product import Product
from attention_limits.attention_indexed.priors.rectangular import RectangularProduct
from attention_limits.attention_indexed.schema.erm import MinimisationSolver

# Eigenvalues 0, 1 and 3, and a Wishart law of rho = 1/2 by its quantiles.
LEVELS = Invariant(spectra.of_values(np.repeat([0.0, 1.0, 3.0], [5, 3, 2])))
SQUARE, NARROW, WIDE = Untied(Product(0.5)), Untied(RectangularProduct(0.3, 4.0)), Untied(Product(1.5))
ALL = {"square": SQUARE, "rectangular": NARROW, "full rank": WIDE, "levels": OfSpectrum(LEVELS)}


def divergences(x, f, symmetric, longer):
    """Sum and sum of squares of the derivatives of f in all directions of a matrix, by its spectrum x."""
    different = np.where(np.eye(len(x)) > 0, 1.0, x[:, None] - x)
    quotients = np.where(np.eye(len(x)) > 0, f > 0, (f[:, None] - f) / different)
    if symmetric:
        return quotients.sum(), np.sum(quotients**2)
    sums = (f[:, None] + f) / (x[:, None] + x)
    np.fill_diagonal(sums, f > 0)
    rest = longer * (f / x)
    total = 0.5 * (quotients.sum() + sums.sum()) + rest.sum()
    return total, 0.5 * (np.sum(quotients**2) + np.sum(sums**2)) + longer * np.sum((f / x) ** 2)


@pytest.mark.parametrize("name", ALL)
def test_moments_are_those_of_large_matrices(name):
    """One matrix of d = 500: the moments scatter by about 2 / d."""
    teacher, delta, threshold, rng = ALL[name], 0.6, 0.5, np.random.default_rng(0)
    prior = teacher.prior
    size = Sizes(1, 500, round(getattr(prior, "ratio", 1.0) * 500))
    S = prior.draw(size, rng)
    d = np.sqrt(S.size)
    noise = rng.standard_normal(S.shape)
    noise = (noise + noise.T) / np.sqrt(2.0) if teacher.symmetric else noise
    Y = S + delta * noise / np.sqrt(d)
    if teacher.symmetric:
        x, left = np.linalg.eigh(Y)
        right = left.T
    else:
        left, x, right = np.linalg.svd(Y, full_matrices=False)
    f = np.maximum(x - threshold, 0.0)
    law = teacher.law([delta])
    found = law.moments([threshold])
    total, squares = divergences(x, f, teacher.symmetric, abs(S.shape[0] - S.shape[1]))
    expected = {
        "rank": np.sum(f > 0) / d, "A": f.sum() / d, "J": np.sum(f**2) / d, "theta": total / d**2,
        "error": np.sum(((left * f) @ right - S) ** 2) / d,
    }  # fmt: skip
    for key, value in expected.items():
        assert getattr(found, key)[0] == pytest.approx(value, abs=0.012), key
    assert law.squared_response(threshold) == pytest.approx(squares / d**2, abs=0.012)


def test_the_table_of_a_wishart_law_has_its_moments():
    """The closed form of tied S* against the general quadrature of its quantiles."""
    tied = Tied(1.5)
    values, masses = tied.law([1e-3]).density(0.0, 4001)
    values, masses = values[0][np.isfinite(values[0])], masses[0][np.isfinite(masses[0])]
    # Midpoints of 400 equal shares.
    order = np.argsort(values)
    mass = np.cumsum(np.gradient(values[order]) * masses[order])
    quantiles = np.interp((np.arange(400) + 0.5) / 400, mass / mass[-1], values[order])
    prior = Invariant(spectra.of_values(quantiles))
    table = OfSpectrum(prior).law([0.5]).moments([0.3])
    exact = tied.law([0.5]).moments([0.3])
    for key in ("rank", "A", "J", "theta", "error"):
        assert getattr(table, key)[0] == pytest.approx(getattr(exact, key)[0], abs=0.01), key


@pytest.mark.parametrize("name", ALL)
def test_theta_is_the_derivative_of_the_moments(name):
    """d J / d delta = 2 delta Theta, for every law: the differences have errors below 1e-5."""
    teacher, delta, step = ALL[name], 0.5, 1e-4
    up, down, at = (teacher.law([delta + s * step]).moments([0.4]) for s in (1, -1, 0))
    assert (up.J[0] - down.J[0]) / (2 * step) == pytest.approx(2 * delta * at.theta[0], abs=1e-5)
    assert isinstance(teacher.law([delta]), TableLaw)


def test_the_block_of_noise_has_the_law_of_marchenko_and_pastur():
    zeroth, _, second = unsymmetric.block(0.2, 0.7, np.zeros(()))
    assert zeroth == pytest.approx(0.2, rel=1e-10)
    assert second == pytest.approx(0.14, rel=1e-10)


def test_exact_recovery_of_the_nuclear_norm():
    """Statistical dimension of low rank matrices over d^2 (Amelunxen, Lotz, McCoy, Tropp 2014, equation D.10): it is the least of

    rho (2 - rho + tau^2) + (1 - rho) (1 - rho) E (s - tau / sqrt(1 - rho))_+^2 with the quarter circle of s on [0, 2], here by
    summation. With more samples a small decay leaves an error of the order of its square.
    """
    s = (np.arange(200_000) + 0.5) / 100_000
    density = np.sqrt(4.0 - s**2) / np.pi / 100_000
    taus = np.linspace(0.0, 2.0, 4001)
    b = 0.5
    values = [1 - b**2 + 0.5 * t**2 + b**2 * np.sum(density * np.maximum(s - t / np.sqrt(b), 0.0) ** 2) for t in taus]
    equations, kappa = recovery(SQUARE)
    assert equations == pytest.approx(min(values), rel=1e-5)
    assert kappa == pytest.approx(taus[np.argmin(values)], abs=1e-3)
    assert recovery(WIDE) == (1.0, 0.0)
    first, second = (solve(np.array([1.2 * equations]), SQUARE, 0.0, decay).error[0] for decay in (2e-3, 1e-3))
    assert first / second == pytest.approx(4.0, rel=0.05)
    assert solve(np.array([1.01 * equations]), SQUARE, 0.0, 0.0).error[0] == 0.0
    assert solve(np.array([0.95 * equations]), SQUARE, 0.0, 0.0).error[0] > 1e-4


def test_without_decay_the_estimate_is_least_squares():
    """K alpha > 1: delta^2 = tau / (K alpha - 1), the error of least squares; at 1 the estimate interpolates."""
    found = solve(np.array([1.5, 3.0]), SQUARE, 0.3, 0.0)
    np.testing.assert_allclose(found.error, 0.3 / (np.array([1.5, 3.0]) - 1.0), rtol=1e-6)
    assert interpolation(SQUARE, 0.3).equations == 1.0


def test_the_best_decay_is_a_minimum():
    found = best(np.array([1.0]), NARROW, 0.1)
    near = [solve(np.array([1.0]), NARROW, 0.1, factor * found.decay).error[0] for factor in (0.8, 1.25)]
    assert found.error[0] < min(near)


def test_rows_of_untied_scores_sum_to_zero():
    basis = score_basis(3, symmetric=False)
    assert basis.shape == (6, 3, 3)
    np.testing.assert_allclose(basis.sum(axis=2), 0.0, atol=1e-12)
    np.testing.assert_allclose(np.einsum("kab,lab->kl", basis, basis), np.eye(6), atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("beta", [None, 1.3])
def test_gradient(beta):
    """Central differences along a random direction, step 1e-5, to 1e-7."""
    rng = np.random.default_rng(0)
    prior = RectangularProduct(0.5, 3.0).realised(Sizes(30, 7, 4))
    data = draw_data(Sizes(30, 7, 4), 3, beta, 0.1, rng, prior)
    S, direction = rng.standard_normal((2, *data.teacher.shape))
    up, down = (loss_and_gradient(data, S + s * 1e-5 * direction)[0] for s in (1, -1))
    assert np.vdot(loss_and_gradient(data, S)[1], direction) == pytest.approx((up - down) / 2e-5, rel=1e-7)


CASES = {
    "linear": (SQUARE, None, 0.25, 0.1, 0.2),
    "softmax": (SQUARE, 1.0, 0.6, 0.1, 0.05),
    "rectangular": (Untied(RectangularProduct(0.4, 3.0)), None, 0.25, 0.1, 0.2),
    "levels": (OfSpectrum(LEVELS), None, 0.15, 0.1, 0.2),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_state_evolution_is_the_limit_of_minima(name):
    """The objective of minima at d = 60, whose finite-size correction is small, and their error, whose correction is c / d.

    Six data sets; four standard errors, and for the error 1 / d of the squared norm of the teacher: larger corrections than met
    for tied S, 0.75 / d at an error of 0.12.
    """
    teacher, beta, alpha, tau, decay = CASES[name]
    task, prior = Task(teacher, tau, 2, beta), teacher.prior
    if beta is None:
        (row,) = linear_points(task, np.array([alpha]), np.array([decay]))
    else:
        nodes = score_nodes(2, 1024, np.random.default_rng(0), teacher.symmetric)
        (row,) = softmax_points(task, np.array([alpha]), decay, nodes, 1e-5, 100)
    assert row["converged"]
    assert row["free_energy"] == pytest.approx(row["objective"], rel=1e-4)
    size, found = sizes(alpha, getattr(prior, "ratio", 0.5), 60), []
    for seed in range(6):
        law = prior.realised(size)
        data = draw_data(size, 2, beta, tau, np.random.default_rng(seed), law)
        fit = minimise(data, decay, MinimisationSolver(tolerance=1e-5))
        assert fit.converged
        norm = data.norm(fit.S)
        objective = loss_and_gradient(data, fit.S)[0] / data.side**2 + decay * norm
        rank = np.sum(np.abs(law.spectrum(fit.S)) > 1e-6) / data.side
        found.append([objective, norm, rank, np.sum((fit.S - data.teacher) ** 2) / data.side])
    mean, error = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / np.sqrt(6)
    theory = [row[key] for key in ("objective", "learned_trace", "learned_rank", "mse")]
    # Four standard errors with Student's factor of six samples: 1e-3 for each entry; 1 / d for finite size.
    allowed = 6.9 * error + np.array([0.02 * theory[0], 0.03, 0.03, teacher.Q / 60])
    assert np.all(np.abs(mean - theory) < allowed), (mean, error, theory)


@pytest.mark.slow
def test_weight_decay_of_a_given_spectrum(tmp_path):
    """The file of docs/erm.md against the fixed point with sums over the spectrum of one matrix of d = 300.

    mse = |S - S*|^2 / d, delta^2 = (mse + tau) / (K alpha), eps = lambda / (2 (K alpha - Theta)). Sums over one matrix have
    errors of the order of 1 / d.
    """
    text = (Path(__file__).parents[3] / "docs" / "erm.md").read_text(encoding="utf-8")
    (block,) = re.findall(
        r"^```python\n(import numpy as np\n\nfrom attention_limits[^`]*def law.*?)^```", text, re.S | re.M
    )
    (tmp_path / "levels.py").write_text(block, encoding="utf-8")
    model = {"channel": "linear", "tokens": 2, "ratio": 0.5, "spectrum": "levels.py:law", "score_noise": 0.1}
    cube = al.compute(
        "attention_indexed.erm_state_evolution",
        {**model, "weight_decay": 0.2},
        {"alpha": [0.25, 0.5]},
        project=tmp_path,
    )
    assert cube.mse.values.ravel() == pytest.approx([0.0916, 0.0347], abs=1e-4)
    d, equations, tau, decay = 300, 1.5, 0.1, 0.2
    x = np.repeat([0.0, 1.0, 3.0], [d // 2, 3 * d // 10, d // 5])
    S, noise = np.diag(x / x.std()), np.random.default_rng(0).standard_normal((d, d))
    noise, delta, threshold = (noise + noise.T) / np.sqrt(2 * d), 0.4, 0.1
    for _ in range(15):
        y, vectors = np.linalg.eigh(S + delta * noise)
        f = np.maximum(y - threshold, 0.0)
        mse, theta = np.sum(((vectors * f) @ vectors.T - S) ** 2) / d, divergences(y, f, True, 0)[0] / d**2
        delta, threshold = np.sqrt((mse + tau) / equations), decay / (2 * (equations - theta))
    assert cube.mse.sel(alpha=0.25).item() == pytest.approx(mse, rel=0.03)
    assert cube.learned_rank.sel(alpha=0.25).item() == pytest.approx(np.mean(f > 0), abs=0.015)


@pytest.mark.slow
def test_both_algorithms_reach_one_minimum():
    law = RectangularProduct(0.4, 3.0).realised(sizes(0.25, 0.4, 30))
    data = draw_data(sizes(0.25, 0.4, 30), 2, None, 0.1, np.random.default_rng(1), law)
    factor, proximal = (
        minimise(data, 0.2, MinimisationSolver(method=m, tolerance=1e-6)) for m in ("factor", "proximal")
    )
    assert np.linalg.norm(factor.S - proximal.S) < 1e-3 * np.linalg.norm(factor.S)
