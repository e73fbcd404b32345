"""The explorer in headless Chromium at three widths: no error, no network, a slider moves the curve, the CSV is the cube."""

import io

import numpy as np
import pandas as pd
import pytest

import attention_limits as al
from attention_limits.interface import explorer
from attention_limits.pipeline.cubes.cube_bytes import write_atomic

pytestmark = pytest.mark.slow
NAME = "attention_indexed.state_evolution"
GRID = {"alpha": np.linspace(0.0, 0.2, 9), "ratio": [0.25, 0.5], "tokens": [2, 3]}


@pytest.fixture(scope="module")
def cubes(tmp_path_factory):
    """Two cubes with one variable in common; the page opens on the second one."""
    folder, paths = tmp_path_factory.mktemp("cubes"), []
    for channel in ("linear", "softmax"):
        paths.append(folder / f"{channel}.nc")
        cube = al.compute(NAME, {"channel": channel}, GRID)
        write_atomic(cube.assign_attrs(title=f"Curves of {channel} attention"), paths[-1])
    return paths


@pytest.fixture(scope="module")
def file(cubes, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(explorer, "OPENS", ("attention_indexed", "softmax"))
        return al.explore(cubes, tmp_path_factory.mktemp("page") / "explorer.html")


@pytest.fixture
def shown(opened):
    """A tab that shows the picture of the explorer at an address."""

    def show(*arguments, **options):
        tab = opened(*arguments, **options)
        tab.wait_for_selector("#plot .scatterlayer .trace", state="attached", timeout=60_000)
        return tab

    return show


@pytest.fixture
def page(shown, file):
    tab = shown(file.as_uri())
    yield tab
    assert tab.problems == []
    tab.context.close()


def table(page):
    with page.expect_download() as started:
        page.click("#csv")
    text = started.value.path().read_text(encoding="utf-8")
    return pd.read_csv(io.StringIO(text), comment="#")


def curves(page):
    return page.evaluate("document.getElementById('plot').data.map((one) => [one.name, one.y])")


def test_it_loads_without_a_network_on_a_result_of_its_first_cube(page, file):
    assert page.asked == [file.as_uri()]
    assert page.text_content("#title") == "Curves of softmax attention"
    assert page.input_value("#variable") == "mmse"
    titles = page.eval_on_selector_all("#cube option", "all => all.map((one) => one.text)")
    assert titles == ["Curves of linear attention", "Curves of softmax attention"]
    picture = page.text_content("#plot")
    assert "n / d²" in picture
    assert "S_hat" not in picture
    assert (
        page.eval_on_selector_all("#x option", "all => all.map((one) => one.text)")[0]
        == "samples per squared dimension, α"
    )


@pytest.mark.parametrize("width", [1400, 1100, 500])
def test_the_picture_fills_each_width(shown, file, width):
    """No sideways scroll; the curves are in the window without a scroll, and take most of the width of the picture."""
    page = shown(file.as_uri(), width, touch=width == 500)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    plot, curve = (page.locator(name).first.bounding_box() for name in ("#plot", "#plot .scatterlayer"))
    assert plot["height"] > 300
    assert plot["width"] > (0.9 if width == 500 else 0.45) * width
    assert curve["y"] < 700
    assert curve["width"] > 0.6 * plot["width"]
    assert page.locator("#key").bounding_box()["height"] < 0.3 * plot["height"]
    if width == 500:
        # A finger hits what is at least 36 pixels high, and scrolls the page over the picture.
        heights = page.eval_on_selector_all(
            "select, button:not(.modebar-btn)", "all => all.map((one) => one.getBoundingClientRect().height)"
        )
        assert min(heights) >= 36
        assert page.evaluate("document.getElementById('plot').layout.dragmode") is False
        page.locator("#key button").first.tap()
        assert page.locator("#key [aria-pressed=false]").count() == 1
    assert page.problems == []
    page.context.close()


def test_a_slider_moves_the_curve_and_the_csv_is_the_cube(page, cubes):
    whole = al.open(cubes[1])
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


def test_the_address_remembers_the_state(page, shown):
    """A link shows the same picture in a new tab; an address with names that the page does not have opens as without."""
    page.select_option("#cube", label="Curves of linear attention")
    page.select_option("#variable", "mmse")
    page.select_option("#x", "ratio")
    page.select_option("#color", "tokens")
    page.locator("#sliders [name=alpha]").fill("6")
    page.check("#logy")
    page.check("[name=replicas][value=each]")
    page.wait_for_function("location.hash.includes('replicas=each')")
    state, drawn = page.evaluate("location.hash"), curves(page)
    assert state == (
        "#cube=attention_indexed/linear&variable=mmse&x=ratio&color=tokens&at.alpha=6&replicas=each&logy=1"
    )
    other = shown(page.url)
    assert (other.evaluate("location.hash"), curves(other)) == (state, drawn)
    assert other.is_checked("#logy")
    other.evaluate("location.hash = '#cube=attention_indexed/softmax&variable=mmse'")
    other.wait_for_function("document.getElementById('title').textContent.includes('softmax')")
    other.context.close()
    lost = shown(page.url.partition("#")[0] + "#cube=a/b&variable=c&at.alpha=x")
    assert lost.text_content("#title") == "Curves of softmax attention"
    assert "This page has no cube a/b; it shows attention_indexed/softmax." in lost.text_content("#notes")
    assert lost.problems == other.problems == []
    lost.context.close()


def test_a_flag_does_not_stick_and_a_result_stays(page):
    for left, then in (("unique", "mmse"), ("error_bayes_uncertainty", "mmse"), ("error_bayes", "error_bayes")):
        page.select_option("#variable", left)
        other = page.eval_on_selector("#cube", "it => [...it.options].find((one) => !one.selected).text")
        page.select_option("#cube", label=other)
        page.wait_for_function("title => document.getElementById('title').textContent === title", arg=other)
        assert page.input_value("#variable") == then


def test_by_keyboard(page):
    """Every control is reached with Tab and works with keys; the search finds a cube."""
    page.focus("#find")
    page.keyboard.type("LINEAR curves")
    assert page.text_content("#title") == "Curves of linear attention"
    reached = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate(
                "document.activeElement.id || document.activeElement.name || document.activeElement.parentNode.id"
            )
        )
    # No button of Plotly stands between the variable and the axes.
    assert page.locator("#plot .modebar-btn").count() > 0
    assert page.locator("#plot .modebar-btn:not([tabindex='-1'])").count() == 0
    assert {"cube", "variable", "key", "x", "color", "replicas", "logx", "logy", "csv", "svg"} <= reached
    page.focus("#key button")
    page.keyboard.press("Enter")
    assert page.evaluate("document.getElementById('plot').data[0].visible") is False
    # The hidden curve stays hidden while a slider moves.
    page.focus("#sliders input")
    before = page.input_value("#sliders input")
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("value => document.querySelector('#sliders input').value !== value", arg=before)
    page.wait_for_function("document.getElementById('plot').data[0].visible === false")


def test_every_choice_draws(page):
    for variable in page.eval_on_selector_all("#variable option", "all => all.map((one) => one.value)"):
        page.select_option("#variable", variable)
        for x in page.eval_on_selector_all("#x option", "all => all.map((one) => one.value)"):
            page.select_option("#x", x)
            page.check("#logy")
            page.check("[name=replicas][value=each]")
            page.check("[name=replicas][value=mean]")
            page.uncheck("#logy")


def test_the_picture_as_svg_has_a_legend(page):
    with page.expect_download() as started:
        page.click("#svg")
    assert started.value.suggested_filename.endswith(".svg")
    text = started.value.path().read_text(encoding="utf-8")
    assert text.startswith("<svg")
    assert 'class="legend"' in text


def test_a_variable_without_values_says_so(shown, cubes, tmp_path):
    cube = al.open(cubes[0])
    write_atomic(cube.assign(mmse=cube.mmse * np.nan), tmp_path / "empty.nc")
    page = shown(al.explore(tmp_path / "empty.nc").as_uri())
    page.select_option("#variable", "mmse")
    page.wait_for_function(
        "document.getElementById('notes').textContent.startsWith('This variable has no value here.')"
    )
    assert page.evaluate("document.getElementById('plot').layout.xaxis.visible") is False
    assert page.problems == []
