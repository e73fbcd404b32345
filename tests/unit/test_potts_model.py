import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from attention_limits.potts_mlm.alignment import read_alignment
from attention_limits.potts_mlm.gibbs import Ladder
from attention_limits.potts_mlm.potts import Potts, color_couplings, read_matrix, site_couplings
from attention_limits.potts_mlm.ridge import draw_instance

J = np.array([[0.0, 1.0, 0.5], [1.0, 0.0, -2.0], [0.5, -2.0, 0.0]])
U = np.array([[1.0, 0.2], [0.2, -1.0]])


def changed(matrix, index, value):
    copy = matrix.copy()
    copy[index] = value
    return copy


@pytest.mark.parametrize(
    ("sites", "colors", "message"),
    [
        (changed(J, (0, 1), 1.1), U, r"J: entry \[0, 1\] = 1.1: the matrix must be symmetric"),
        (changed(J, (1, 1), 3.0), U, r"J: entry \[1, 1\] = 3: the matrix must be zero on the diagonal"),
        (J, changed(U, (1, 0), np.nan), r"U: entry \[1, 0\] = nan: the matrix must be finite"),
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


def test_matrices_of_ones_own(tmp_path):
    np.save(tmp_path / "j.npy", J)
    xr.Dataset({"J": (("a", "b"), J)}).to_netcdf(tmp_path / "j.nc")
    for name in ("j.npy", "j.nc"):
        np.testing.assert_array_equal(read_matrix(tmp_path / name), J)
    xr.Dataset({"J": (("a", "b"), J), "K": (("a", "b"), J)}).to_netcdf(tmp_path / "two.nc")
    np.save(tmp_path / "text.npy", np.array([["a"]]))
    (tmp_path / "broken.npy").write_bytes(b"nothing")
    for name, message in (
        ("two.nc", "the variables J, K; one is allowed"), ("text.npy", "must be a real matrix"), ("broken.npy", "cannot be read"),
        ("missing.nc", "cannot be read"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=f"{name}.*{message}"):
            read_matrix(tmp_path / name)


@pytest.mark.parametrize("betas", [[0.5, 0.5], [1.0, 0.5], [-0.1, 0.2]])
def test_a_ladder_increases_from_zero_or_above(betas):
    with pytest.raises(ValueError, match="must be at least 0 and increase"):
        Ladder(Potts(J, U), betas, np.random.default_rng(0))


def test_sampling_does_not_depend_on_the_batches(monkeypatch):
    def sampled(batch):
        monkeypatch.setattr("attention_limits.potts_mlm.gibbs.BATCH", batch)
        return Ladder(Potts(J, U), [0.1, 0.4], np.random.default_rng(3)).sample(12, 3)

    np.testing.assert_array_equal(sampled(4).states, sampled(50).states)


def test_a_matrix_that_is_no_precision_matrix_is_none():
    assert draw_instance(0.5, 50, np.random.default_rng(0)) is None


ALPHABET = "-ACGT"


@given(st.lists(st.text(ALPHABET, min_size=4, max_size=4), min_size=2, max_size=8), st.integers(1, 4), st.booleans())
def test_alignments_are_read_as_they_were_written(tmp_path_factory, rows, width, windows):
    path = tmp_path_factory.mktemp("alignment") / "a.fasta"
    newline = "\r\n" if windows else "\n"
    lines = []
    for number, row in enumerate(rows):
        lines += [f">s{number} text", *(row[k : k + width] for k in range(0, 4, width)), ""]
    path.write_bytes(newline.join(lines).encode())
    found = read_alignment(path, ALPHABET)
    assert ["".join(ALPHABET[code] for code in row) for row in found.states] == rows
    assert found.names == tuple(f"s{number} text" for number in range(len(rows)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (">a\nAC\n>b\nAXC\n", "line 4, column 2: unknown letter 'X'; allowed: -ACGT"),
        (">a\nACG\n>b\nAC\n", "line 3: the sequence 'b' has 2 letters, the first one 3"),
        (">a\nACG\n>b\n>c\nACG\n", "line 3: the sequence 'b' has 0 letters"),
        ("ACG\n", "line 1: a header"),
        (">a\nACG\n", "1 sequences; at least 2"),
        ("", "0 sequences; at least 2"),
        (">a\nA\n>b\nC\n", "length 1; at least 2"),
        (">a\nacg\n>b\nACG\n", "line 2, column 1: unknown letter 'a'"),
    ],
)
def test_bad_alignments_are_named(tmp_path, text, message):
    path = tmp_path / "a.fasta"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_alignment(path, ALPHABET)
