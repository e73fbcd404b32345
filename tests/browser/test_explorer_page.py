"""The explorer in headless Chromium: no error, no network, a slider moves the curve, the CSV holds the numbers of the cube."""

import io
import shutil

import numpy as np
import pandas as pd
import pytest

import attention_limits as al

pytestmark = pytest.mark.slow
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
NAME = "attention_indexed.state_evolution"
GRID = {"alpha": np.linspace(0.0, 0.2, 9), "ratio": [0.25, 0.5], "tokens": [2, 3]}


@pytest.fixture(scope="module")
def cube(tmp_path_factory):
    path = tmp_path_factory.mktemp("cubes") / "curves.nc"
    from attention_limits.pipeline.cubes.cube_bytes import write_atomic

    write_atomic(al.compute(NAME, {"channel": "softmax"}, GRID), path)
    return path


@pytest.fixture(scope="module")
def page(cube):
    browsers = pytest.importorskip("playwright.sync_api", reason="playwright is missing: make test-browser installs it")
    if CHROMIUM is None:
        pytest.skip("Chromium is missing: make test-browser installs it")
    file = al.explore([cube], cube.with_suffix(".html"))
    with browsers.sync_playwright() as program:
        browser = program.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1400, "height": 900})
        tab.problems, tab.asked = [], []
        tab.on("console", lambda message: tab.problems.append(message.text) if message.type == "error" else None)
        tab.on("pageerror", lambda error: tab.problems.append(str(error)))
        tab.on("request", lambda request: tab.asked.append(request.url))
        tab.goto(file.as_uri())
        tab.wait_for_selector("#plot .scatterlayer", timeout=60_000)
        yield tab
        browser.close()


def table(page):
    with page.expect_download() as started:
        page.click("#csv")
    text = started.value.path().read_text(encoding="utf-8")
    return pd.read_csv(io.StringIO(text), comment="#")


def curves(page):
    return page.evaluate("document.getElementById('plot').data.map((one) => [one.name, one.y])")


def test_it_loads_without_errors_and_without_a_network(page, cube):
    assert page.problems == []
    assert page.asked == [cube.with_suffix(".html").as_uri()]
    assert page.text_content("#title").startswith(NAME)
    assert "n / d^2" in page.text_content("#plot")


def test_a_slider_moves_the_curve_and_the_csv_is_the_cube(page, cube):
    whole = al.open(cube)
    page.select_option("#variable", "mmse")
    page.select_option("#color", "ratio")
    seen = []
    for index, tokens in enumerate((2, 3)):
        page.locator("#sliders [name=tokens]").fill(str(index))
        page.wait_for_function("n => shown[0].points[0].place.tokens === n", arg=index)
        seen.append(curves(page))
        shown = table(page)
        assert list(shown) == ["alpha", "ratio", "tokens", "mmse", "mmse_error", "mmse_replicas", "passed"]
        assert len(shown) == 18
        assert set(shown.tokens) == {tokens}
        for row in shown.to_dict("records"):
            place = {key: row[key] for key in ("alpha", "ratio", "tokens")}
            assert row["mmse"] == whole.mmse.sel(place).item()
    assert seen[0] != seen[1]
    assert [name for name, _ in seen[0]] == ["ρ = 0.25", "ρ = 0.5"]
    assert page.problems == []


def test_every_choice_draws(page):
    for variable in page.eval_on_selector_all("#variable option", "all => all.map((one) => one.value)"):
        page.select_option("#variable", variable)
        for x in page.eval_on_selector_all("#x option", "all => all.map((one) => one.value)"):
            page.select_option("#x", x)
            page.check("#logy")
            page.check("[name=replicas][value=each]")
            page.check("[name=replicas][value=mean]")
            page.uncheck("#logy")
    assert page.problems == []


def test_the_picture_as_svg(page):
    with page.expect_download() as started:
        page.click("#svg")
    assert started.value.suggested_filename.endswith(".svg")
    assert started.value.path().read_text(encoding="utf-8").startswith("<svg")
