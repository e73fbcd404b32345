import importlib

import pytest

# The benchmarks are scripts beside the package, not part of it.
table = importlib.import_module("table")


def test_ratios_are_shown_as_median_and_range():
    Spread = table.Spread
    assert table.spread_text(Spread.of([2100.0, 12345.0, 45678.0])) == "12 300 (2 100–45 700)"
    assert table.spread_text(Spread.of([0.5])) == "0.500"
    assert table.amount_text(Spread.of([2.5e-5]), "s") == "25.0 µs"
    assert table.amount_text(Spread.of([30.0, 60.0, 90.0]), "iterations") == "60.0 (30.0–90.0) iterations"
    assert table.amount_text(Spread.of([5.0]).scaled(3600.0), "s") == "5.00 h"
    assert table.amount_text(None, "s") == ""


def test_a_row_becomes_a_line_of_the_table_and_of_the_data():
    row = table.Row(
        "denoiser",
        ours=table.Spread.of([1e-5, 2e-5]),
        baseline=table.Spread.of([0.1, 0.3]),
        ratio=table.Spread.of([10000.0, 15000.0]),
        our_errors={"g": table.Spread.of([1e-9, 3e-9])},
    )
    fit = table.Growth.fit("cost", "D", [10, 100, 1000], [table.Spread.of([1e-6 * d**2]) for d in (10, 100, 1000)])
    assert fit.exponent == pytest.approx(2.0)
    roof = table.Roof("product", "row", table.Spread.of([4e-8]), 1e-8, 1200.0, 0.0, 7.0, 0.0, "one core")
    text = table.markdown([row], [fit], [roof], {"sizes": "quick"})
    assert (
        "| denoiser | 200 (100–300) ms | 15.0 (10.0–20.0) µs | 12 500 (10 000–15 000) |  | g 2.0e-09 (max 3.0e-09) |"
        in text
    )
    assert "| 2.00 ± 0.00 |" in text
    assert "- sizes: quick" in text
    assert "| product | row | 1 200 |  | 7 |  | 10.0 ns | 40.0 ns | 25 % | one core |" in text
    data = table.plain([row], [fit], [roof], {"sizes": "quick"})
    assert data["roofs"][0]["bound"] == 1e-8
    assert data["rows"][0]["ratio"] == {"median": 12500.0, "low": 10000.0, "high": 15000.0, "count": 2}
    assert data["growth"][0]["sizes"] == [10.0, 100.0, 1000.0]


def test_a_bound_is_the_larger_sum_of_times():
    """The arithmetic of `limits.roof` with rates that are powers of ten; the counts of the kernels are in their docstrings."""
    module = importlib.import_module("limits")
    single = module.SINGLE
    limits = module.Peaks({single: 1e-3}, {single: 1e-2}, 1e-1, 1.0)

    def bound(**counts):
        return module.roof("", "", 1, lambda: None, 1, limits, single, **counts).bound

    assert bound(operations=2, exponentials=3, normals=4) == pytest.approx(0.432)
    assert bound(operations=2, size=5, extra=7) == pytest.approx(12.0)


def test_growth_is_timed_per_unit_and_drawn(monkeypatch, tmp_path):
    cases, figure = table, importlib.import_module("scaling_figure")
    clock = {"now": 0.0}
    monkeypatch.setattr(cases.time, "perf_counter", lambda: clock["now"])

    def work(size):
        def run():
            clock["now"] += 3.0 * size**2

        return run

    fit = cases.growth("work, per unit", "size", [1, 2, 4], work, units=3, repeats=2)
    assert [spread.median for spread in fit.seconds] == [1.0, 4.0, 16.0]
    assert fit.exponent == pytest.approx(2.0)
    bent = cases.Growth.fit("bent", "size", [1, 10, 100], [table.Spread.of([x]) for x in (1.0, 1.1, 30.0)])
    drawn = []
    made = figure.new_figure
    monkeypatch.setattr(figure, "new_figure", lambda *sizes, **how: drawn.append(made(*sizes, **how)) or drawn[0])
    figure.draw([fit, bent], tmp_path / "scaling.png")
    assert (tmp_path / "scaling.png").read_bytes().startswith(b"\x89PNG")
    straight, curved = drawn[0][0].axes
    assert "exponent 2.00 ± 0.00" in straight.get_title()
    # No line of a power law stands where there is none.
    assert "no power law: 0.04 to 1.44" in curved.get_title()
    assert len(straight.get_lines()) == len(curved.get_lines()) + 1
