"""Published numbers are read, compared with cubes and judged as the audit describes."""

import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from attention_limits.numerics.probability.statistics import student
from attention_limits.pipeline.audit import (
    Published,
    compare,
    full_table,
    load_published,
    number_text,
    reading,
)
from attention_limits.pipeline.base.errors import SpecError
from attention_limits.pipeline.cubes.readings import value
from toy import REPOSITORY, repository

CUBE = xr.Dataset(
    {
        "overlap": (
            ("estimator", "alpha", "replica"),
            np.array([[[0.1, 0.3], [0.5, np.nan]], [[0.0, 0.0], [1.0, 3.0]]]),
        ),
        "line": (("name",), [0.25]),
        "spread": (("name",), [0.5]),
    },
    coords={"estimator": ["theory", "amp"], "alpha": [0.1, 0.1 + 0.2], "name": ["only"]},
)


def published(**changes):
    entry = {
        "family": "sequence_multi_index", "quantity": "Q", "published": 0.5, "precision": 0.1, "source": "Figure 1",
        "cubes": ["curve"], "reading": "value", "arguments": {"variable": "overlap"}, "reason": "", "evidence": "true",
    }  # fmt: skip
    return Published(**{**entry, **changes})


def test_a_value_is_the_mean_over_replicas_with_its_standard_error():
    assert value(CUBE, "overlap", estimator="theory", alpha=0.1) == pytest.approx((0.2, 0.1 * student(2)))
    # Rounding of the grid is forgiven, another point is not.
    assert value(CUBE, "overlap", estimator="amp", alpha=0.3) == pytest.approx((2.0, 1.0 * student(2)))
    for wrong in ({"estimator": "theory", "alpha": 0.2}, {"estimator": "none", "alpha": 0.1}):
        with pytest.raises(KeyError):
            value(CUBE, "overlap", **wrong)
    with pytest.raises(ValueError, match="alpha, replica left open"):
        value(CUBE, "overlap", estimator="theory")
    assert value(CUBE, "line", name="only") == (0.25, 0.0)
    assert value(CUBE, "line", error="spread", name="only") == (0.25, 0.5)


def row(ours, error, **changes):
    """A row whose reading gives these numbers."""
    cube = xr.Dataset({"x": (("name",), [ours]), "spread": (("name",), [error])}, {"name": ["only"]})
    arguments = {"variable": "x", "error": "spread", "name": "only"}
    return compare(published(arguments=arguments, **changes), {"curve": cube})


@pytest.mark.parametrize(
    ("ours", "error", "reason", "distance", "verdict"),
    [
        (0.5, 0.0, "", 0.0, "agrees"),
        (0.79, 0.0, "", 2.9, "agrees"),
        (0.81, 0.0, "", 3.1, "unexplained"),
        (0.81, 0.0, "another model", 3.1, "differs"),
        (1.0, 0.3, "another model", 0.5 / np.hypot(0.1, 0.3), "agrees"),
        (np.nan, 0.1, "another model", None, "not computed"),
    ],
)
def test_verdicts(ours, error, reason, distance, verdict):
    found = row(ours, error, reason=reason)
    assert found["distance"] == (None if distance is None else pytest.approx(distance))
    assert found["verdict"] == verdict


def test_points_that_are_missing_or_not_finite_are_not_computed():
    here = {"curve": CUBE}
    for point in ({"alpha": 0.7}, {"alpha": 0.3}):
        arguments = {"variable": "overlap", "estimator": "theory", **point}
        # The second has one finite replica: no error.
        assert compare(published(arguments=arguments), here)["verdict"] == "not computed"
    arguments = {"variable": "overlap", "estimator": "theory", "alpha": 0.1}
    assert compare(published(arguments=arguments), here)["ours"] == pytest.approx(0.2)


@given(st.floats(-1e4, 1e4), st.floats(1e-6, 10.0))
def test_numbers_are_written_with_one_or_two_digits_of_their_error(number, error):
    text = number_text(number, error)
    digits, _, rest = text.partition("(")
    places = len(digits.partition(".")[2])
    shown = int(rest.rstrip(")"))
    assert 2 <= shown <= 20 or places == 0
    assert abs(shown * 10.0**-places - error) <= 0.51 * 10.0**-places
    assert abs(float(digits) - number) <= 0.51 * 10.0**-places


def test_a_table_groups_by_reason():
    rows = [
        row(0.5, 0.01, quantity="a"),
        row(0.9, 0.01, quantity="b", reason="why"),
        row(0.7, 0.02, quantity="c", reason="why", published=2.0),
        row(np.nan, 0.1, quantity="d"),
    ]
    full = full_table(rows)
    assert "4 published numbers: 1 agrees, 2 differ, 1 not computed." in full
    assert "| a | 0.5 ± 0.1 | 0.500(10) | +0.0 | agrees | Figure 1 |" in full
    assert "- b; c: why. Evidence: `true`" in full
    assert "- a; d. Evidence: `true`" in full
    assert full_table(json.loads(json.dumps(rows))) == full


def test_independent_computations_have_their_own_table():
    """Neither the counts nor the table of the published numbers contain them."""
    rows = [row(0.5, 0.01, quantity="a"), row(0.9, 0.01, quantity="b", kind="independent", source="program")]
    first, second = full_table(rows).split("## Independent computations: sequence_multi_index")
    assert "1 published numbers: 1 agrees." in first
    assert "| a | 0.5 ± 0.1 |" in first
    assert "| b |" not in first
    assert "1 independent numbers: 1 unexplained." in first
    assert "| Quantity | Independent | Ours |" in second
    assert "| b | 0.5 ± 0.1 | 0.900(10) |" in second


def test_no_independent_program_is_called_published(experiments):
    entries = load_published(REPOSITORY, experiments)
    assert [entry.quantity for entry in entries if "independent" in entry.source and entry.kind == "published"] == []


@pytest.fixture(scope="module")
def experiments():
    return repository().experiments


def test_every_reading_of_the_repository_exists(experiments):
    entries = load_published(REPOSITORY, experiments)
    assert len(entries) > 20
    assert all(callable(reading(entry)) for entry in entries)
    with pytest.raises(SpecError, match="'median': no such function"):
        reading(published(reading="median"))


def test_a_wrong_table_is_refused_with_all_its_problems(tmp_path, experiments):
    good = "{quantity: Q, published: 1.0, precision: 0.1, source: S, cubes: [fig1_onset], reading: value, evidence: E}"
    path = tmp_path / "config" / "sequence_multi_index" / "published.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(f"numbers:\n  - {good}\n  - {good.replace('fig1_onset', 'fig9')}\n")
    with pytest.raises(SpecError) as caught:
        load_published(tmp_path, experiments)
    assert [problem.partition(".yaml: ")[2][:26] for problem in caught.value.problems] == [
        "Q: has two entries",
        "Q: cubes: 'fig9': allowed:",
    ]
    path.write_text(f"numbers:\n  - {good.replace('precision: 0.1', 'precision: 0')}\n")
    with pytest.raises(SpecError, match=r"numbers\.0\.precision: 0"):
        load_published(tmp_path, experiments)
    path.write_text(f"numbers:\n  - {good.replace('evidence: E', 'evidence: E, arguments: {variable: overlpa}')}\n")
    with pytest.raises(
        SpecError, match=r"Q: arguments\.variable: 'overlpa': no variable of sequence_multi_index; did you mean overlap"
    ):
        load_published(tmp_path, experiments)
    assert load_published(Path(tmp_path), {}) == []


def test_arguments_that_a_reading_does_not_take_are_named():
    """One line in place of the traceback of numpy or xarray."""
    cube = xr.Dataset({"overlap": (("alpha", "replica"), [[0.1, 0.3], [0.5, 0.7]])}, {"alpha": [1.0, 2.0]})
    for arguments in (
        {"variable": "overlap", "depth": 3},
        {"variable": "overlap", "alpha": 1.0, "twice": [1]},
        {"word": "x"},
    ):
        with pytest.raises(SpecError, match=r"^Q: value with cubes \['a'\] and \{.*\}: "):
            compare(published(quantity="Q", cubes=["a"], reading="value", arguments=arguments), {"a": cube})
