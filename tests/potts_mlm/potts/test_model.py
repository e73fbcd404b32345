import numpy as np
import pytest
import xarray as xr
from potts_tools import random_model

from attention_limits.potts_mlm.potts.model import Potts, color_couplings, read_matrix, site_couplings

J = np.array([[0.0, 1.0, 0.5], [1.0, 0.0, -2.0], [0.5, -2.0, 0.0]])
U = np.array([[1.0, 0.2], [0.2, -1.0]])


def changed(matrix, index, value):
    copy = matrix.copy()
    copy[index] = value
    return copy


@pytest.mark.parametrize(
    ("sites", "colors", "message"),
    [
        (changed(J, (0, 1), 1.1), U, r"J: row 1, column 2: 1.1: the matrix must be symmetric"),
        (changed(J, (1, 1), 3.0), U, r"J: row 2, column 2: 3: the matrix must be zero on the diagonal"),
        (J, changed(U, (1, 0), np.nan), r"U: row 2, column 1: nan: the matrix must be finite"),
        (J[:1, :1], U, r"J: shape \(1, 1\): must be square, at least 2 x 2"),
        (J, U[:1, :1], r"U: shape \(1, 1\)"),
        (J, np.zeros((2, 3)), r"U: shape \(2, 3\)"),
    ],
)
def test_bad_matrices_are_named(sites, colors, message):
    with pytest.raises(ValueError, match=message):
        Potts(sites, colors)


@pytest.mark.parametrize(
    ("states", "message"),
    [
        ([[0, 1, 2]], "state 0, site 2: colour 2: allowed: 0 to 1"),
        ([[0, 1]], r"must be \(n, 3\)"),
        ([[0, -1, 0]], "site 1: colour -1"),
    ],
)
def test_bad_states_are_named(states, message):
    with pytest.raises(ValueError, match=message):
        Potts(J, U).energy(states)


def test_energy_is_the_sum_over_pairs():
    states = np.array([[0, 1, 1], [1, 1, 0]])
    pairs = [(0, 1), (0, 2), (1, 2)]
    expected = [-sum(J[i, j] * U[row[i], row[j]] for i, j in pairs) for row in states]
    np.testing.assert_allclose(Potts(J, U).energy(states), expected)


def test_enumeration_has_a_limit():
    with pytest.raises(ValueError, match=r"20\*\*20 states"):
        Potts(np.zeros((20, 20)), np.zeros((20, 20))).enumerate(1.0)


def test_kinds_of_couplings():
    rng = np.random.default_rng(1)
    contact = site_couplings("contact", 40, rng, density=0.1)
    assert set(np.unique(contact)) == {0.0, 1.0}
    assert np.all(np.diag(contact, 1) == 1)
    # 741 pairs beyond the chain: 0.1 within 6 standard errors.
    assert np.triu(contact, 2).sum() / 741 == pytest.approx(0.1, abs=6 * np.sqrt(0.09 / 741))
    low = site_couplings("low_rank", 12, rng, rank=2)
    # The diagonal that makes it of rank 2 is not zero; off it every 3 x 3 minor of disjoint sites vanishes.
    assert np.linalg.det(low[np.ix_([0, 1, 2], [3, 4, 5])]) == pytest.approx(0.0, abs=1e-10)
    assert abs(np.linalg.det(low[np.ix_([0, 1], [3, 4])])) > 1e-3
    gaussian = site_couplings("gaussian", 60, rng)
    # 1770 entries of unit variance: 6 standard errors.
    assert gaussian[np.triu_indices(60, 1)].var() == pytest.approx(1.0, abs=6 * np.sqrt(2 / 1770))
    for matrix in (contact, low, gaussian, color_couplings("gaussian", 30, rng), color_couplings("identity", 5, rng)):
        Potts(np.zeros((2, 2)), matrix)
    for function in (site_couplings, color_couplings):
        with pytest.raises(ValueError, match="allowed"):
            function("ising", 4, rng)


def test_matrices_from_files(tmp_path):
    np.save(tmp_path / "j.npy", J)
    xr.Dataset({"J": (("a", "b"), J)}).to_netcdf(tmp_path / "j.nc")
    for name in ("j.npy", "j.nc"):
        np.testing.assert_array_equal(read_matrix(tmp_path / name), J)
    xr.Dataset({"J": (("a", "b"), J), "K": (("a", "b"), J)}).to_netcdf(tmp_path / "two.nc")
    np.save(tmp_path / "text.npy", np.array([["a"]]))
    (tmp_path / "broken.npy").write_bytes(b"nothing")
    (tmp_path / "empty.npy").touch()
    np.savetxt(tmp_path / "a.txt", J)
    for name, message in (
        ("two.nc", "the variables J, K; one is allowed"), ("text.npy", "must be a real matrix"),
        ("broken.npy", "cannot be read as a matrix: no file of numpy.save"),
        ("empty.npy", "cannot be read as a matrix: no file of numpy.save"),
        ("missing.nc", "cannot be read"),
        ("a.txt", "allowed: a .npy file of numpy.save, a NetCDF file of one variable"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=f"{name}.*{message}"):
            read_matrix(tmp_path / name)


def test_conditionals_are_those_of_the_enumerated_distribution():
    model, beta = random_model(3, 3, seed=7), 0.8
    states, probability = model.enumerate(beta)
    table = probability.reshape(3, 3, 3)
    conditionals = model.conditionals(states, beta)
    for site in range(3):
        exact = np.moveaxis(table / table.sum(axis=site, keepdims=True), site, -1)
        others = [states[:, j].astype(int) for j in range(3) if j != site]
        np.testing.assert_allclose(conditionals[:, site], exact[tuple(others)], rtol=1e-12)
