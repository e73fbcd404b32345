"""Headless Chromium, which `make test-browser` installs; without it these tests are skipped."""

import shutil

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="session")
def browser():
    browsers = pytest.importorskip("playwright.sync_api", reason="playwright is missing: make test-browser installs it")
    if CHROMIUM is None:
        pytest.skip("Chromium is missing: make test-browser installs it")
    with browsers.sync_playwright() as program:
        running = program.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture
def opened(browser):
    """Opens an address in a tab that records errors and requests."""
    contexts = []

    def open_tab(address, width=1400, touch=False):
        contexts.append(browser.new_context(viewport={"width": width, "height": 900}, has_touch=touch, is_mobile=touch))
        tab = contexts[-1].new_page()
        tab.problems, tab.asked = [], []
        tab.on("console", lambda message: tab.problems.append(message.text) if message.type == "error" else None)
        tab.on("pageerror", lambda error: tab.problems.append(str(error)))
        tab.on("request", lambda request: tab.asked.append(request.url))
        tab.goto(address)
        return tab

    yield open_tab
    for context in contexts:
        context.close()
