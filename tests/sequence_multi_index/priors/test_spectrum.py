"""Spectra of the covariance of a token: normalisation, participation ratio, files, and what is refused."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_limits.sequence_multi_index.priors.spectrum import (
    SMALLEST,
    load_spectrum,
    of_file,
    of_values,
    power_law,
    two_values,
)


@given(st.integers(2, 300), st.floats(0.01, 1.0))
def test_power_law_has_the_participation_ratio_or_is_refused(count, ratio):
    try:
        found = power_law(count, ratio)
    except ValueError as error:
        lowest = float(str(error).split(": ")[-1].split(" to ")[0])
        assert ratio < lowest
        return
    assert found.shares @ found.values == pytest.approx(1.0, abs=1e-12)
    assert 1.0 / found.second_moment == pytest.approx(ratio, rel=1e-9)
    logs = np.log(found.values[::-1])
    # A straight line against log k.
    slope = (logs[-1] - logs[0]) / np.log(count)
    np.testing.assert_allclose(logs, logs[0] + slope * np.log(np.arange(1, count + 1)), atol=1e-9)


@given(st.floats(0.01, 0.99), st.floats(0.01, 1.0))
def test_two_values_have_the_participation_ratio_or_are_refused(share, ratio):
    try:
        found = two_values(share, ratio)
    except ValueError:
        spread = 1.0 / ratio - 1.0
        assert ratio < share or 1.0 - np.sqrt(spread * share / (1.0 - share)) < SMALLEST
        return
    assert found.shares @ found.values == pytest.approx(1.0, abs=1e-12)
    assert 1.0 / found.second_moment == pytest.approx(ratio, rel=1e-6)


def test_dimensions_have_whole_numbers_of_each_eigenvalue():
    found = of_values([3.0, 0.5, 0.0], [0.25, 0.5, 0.25])
    np.testing.assert_array_equal(found.of_dimensions(8), [0, 0, 0.5, 0.5, 0.5, 0.5, 3, 3])
    with pytest.raises(ValueError, match=r"D = 10 .*whole number"):
        found.counts(10)
    with pytest.raises(ValueError, match="allowed: multiples of 3, the number of eigenvalues"):
        of_values([1.5, 1.0, 0.5]).counts(100)


def test_file_of_eigenvalues_with_shares_and_comments(tmp_path):
    path = tmp_path / "spectrum.txt"
    path.write_text("\ufeff# eigenvalue share\n3, 0.25\n\n0.5 0.75e0 # bulk\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"mean eigenvalue tr Sigma / D is 1\.125; allowed: 1; divide"):
        of_file(path)
    path.write_text("3 0.25\r\n0.3333333 0.75\r\n")
    found = of_file(path)
    np.testing.assert_allclose(found.values, [1 / 3, 3.0], rtol=1e-6)
    np.testing.assert_array_equal(found.shares, [0.75, 0.25])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "0 eigenvalues"),
        ("1\n1 2\n", "line 2: 2 numbers; allowed: 1 in every line"),
        ("1\none\n", "line 2: allowed: an eigenvalue"),
        ("nan\n", "line 1: allowed: an eigenvalue"),
        ("2\n-0.5\n1.5\n", "0, or at least 0.0001, got -0.5"),
        ("1.99999\n0.00001\n", "got 1e-05"),
        ("1 0.5\n1 0.4\n", "sum is one, got the sum 0.9"),
        ("0,5\n1,5\n", "line 1: '0,5': allowed: a decimal point; two numbers with a space"),
        ("1,1\n", "line 1: '1,1': allowed: a decimal point"),
    ],
)
def test_wrong_files_are_refused_by_name(tmp_path, text, says):
    path = tmp_path / "spectrum.txt"
    path.write_text(text)
    with pytest.raises(ValueError, match=says) as error:
        of_file(path)
    assert str(path) in str(error.value)


def test_participation_ratio_belongs_to_laws_that_need_it():
    with pytest.raises(ValueError, match="participation_ratio: missing"):
        load_spectrum({"name": "power_law", "count": 4}, None, Path())
    with pytest.raises(ValueError, match="participation_ratio: leave it out"):
        load_spectrum({"name": "eigenvalues", "values": [1.0]}, 0.5, Path())
    with pytest.raises(ValueError, match=r"allowed for two eigenvalues: 0.3"):
        load_spectrum({"name": "two_values", "share": 0.3}, 0.2, Path())
