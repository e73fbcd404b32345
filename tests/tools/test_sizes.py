"""Every estimator has a row of sizes or a reason, the rows fit their experiments, and their table shows what was measured."""

import importlib
import json
import math
import sys

import pytest

import attention_limits as al
from toy import REPOSITORY

sys.path.append(str(REPOSITORY / "tools"))
compute = importlib.import_module("attention_limits.interface.compute")
tables, cases, sizes = (importlib.import_module(name) for name in ("benchmark_tables", "size_cases", "sizes"))


def test_every_estimator_has_a_row_or_a_reason():
    rows = {case.estimator for case in cases.CASES}
    assert rows | cases.WITHOUT_SIZE.keys() == set(al.estimators().index)
    assert not rows & cases.WITHOUT_SIZE.keys()
    assert len({case.name for case in cases.CASES}) == len(cases.CASES)


@pytest.mark.parametrize("case", cases.CASES, ids=lambda case: case.name)
def test_a_row_fits_its_experiment_and_its_cube(case, monkeypatch):
    found, _ = sizes.sections_of(case)
    keys = {key for section in found.values() for key in section}
    assert set(case.changes) <= keys
    values = sizes.sizes_of(case, found)
    assert values == sorted(set(values))
    assert len(values) >= 2
    # A row that ends below ten times the size of `paper` says why, or is extrapolated by its time.
    assert max(case.factors) > 1 or case.limit
    described = al.describe(case.estimator)
    assert case.error is None or case.error in described.index[described.section == "variable"]

    class AllowedError(Exception):
        pass

    def refuse(*_):
        raise AllowedError

    # The specification allows each size.
    monkeypatch.setattr(compute, "_run", refuse)
    for value in values:
        with pytest.raises(AllowedError):
            al.compute(**sizes.request_of(case, value), project=REPOSITORY)
    # The request holds the size where the estimator reads it.
    request = sizes.request_of(case, values[-1])
    if case.size.startswith("points of "):
        assert request["grid"][case.size.removeprefix("points of ")]["num"] == values[-1]
    elif case.size == "replicas":
        assert request["replicas"] == values[-1]
    else:
        given = [request[name] for name in ("model", "grid", "solver")] + list((request["data"] or {}).values())
        held = [section[case.size] for section in given if case.size in section]
        assert held
        assert all(value in (values[-1], [values[-1]]) for value in held)


def row(measured, *, paper=100, limit=""):
    start = {"seconds": 2.0, "memory": 300}
    kept = [
        {"size": size, "seconds": seconds, "memory": memory, "error": {"flag": False, "value": 0.012}}
        for size, seconds, memory in measured
    ]
    return {
        "estimator": "family.name", "experiment": "one", "size": "nodes", "changes": {"alpha": 0.5}, "paper": paper,
        "variable": "mmse_error", "limit": limit, "start": start, "sizes": kept,
    }  # fmt: skip


def last_line(found):
    return tables.sizes_table(json.dumps({"row": found})).splitlines()[-1]


def test_the_exponent_leaves_out_the_start():
    """4 and 36 seconds after the start of 2: the exponent is 2."""
    measured = [(100, 6.0, 500), (300, 38.0, 900)]
    start = row(measured)["start"]
    assert tables.exponent(row(measured)["sizes"], start, "seconds") == pytest.approx(2.0)
    assert tables.exponent(row(measured)["sizes"], start, "memory") == pytest.approx(1.0)
    assert tables.exponent(row([(100, 2.1, 300), (300, 2.3, 300)])["sizes"], start, "seconds") is None


def test_what_was_not_measured_is_extrapolated():
    """36 seconds at 300 are 400 at 1000 for the exponent 2, with the start 402; 600 MB grow to 2000, with the start 2.3 GB."""
    line = last_line(row([(100, 6.0, 500), (300, 38.0, 900)]))
    assert line == (
        "| `name` of one, alpha = 0.5 | nodes = 100, 300 | 6, 38 | 500, 900 | mmse_error: 0.01, 0.01 | 2.0 "
        "| extrapolated: 6.7 min, 2.3 GB |"
    )
    assert last_line(row([(100, 6.0, 500), (300, 38.0, 900), (1000, 402.0, 2300)])).endswith("| measured |")
    assert last_line(row([(100, 2.1, 300), (300, 2.3, 300)])).endswith("| – | too short to extrapolate |")
    assert last_line(row([(100, 6.0, 500), (300, 38.0, 900)], limit="no more")).endswith("| 2.0 | no more |")


def test_a_size_beyond_the_limits_is_left_out():
    start = {"seconds": 2.0, "memory": 300}
    one, three = {"seconds": 6.0, "memory": 400}, {"seconds": 38.0, "memory": 600}
    assert sizes.fits([(100, one)], 10**9, start)
    largest = 300 * math.sqrt((sizes.MOST_SECONDS - 2.0) / 36.0)
    assert sizes.fits([(100, one), (300, three)], 0.99 * largest, start)
    assert not sizes.fits([(100, one), (300, three)], 1.01 * largest, start)
    assert not sizes.fits([(100, one), (300, {"seconds": 6.0, "memory": 6400})], 1000, start)


def test_the_page_shows_the_results():
    page = (REPOSITORY / "docs" / "speed.md").read_text(encoding="utf-8")
    table = tables.sizes_table((REPOSITORY / "benchmarks" / "sizes.json").read_text(encoding="utf-8"))
    assert tables.in_block(page, "sizes", table) == page
