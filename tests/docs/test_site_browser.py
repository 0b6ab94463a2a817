"""The built site in a real browser, on a desk in the dark and on a phone by day: no axe violation, no page wider than its window.

Each page is as narrow as its window in both looks; axe takes seconds a page, so it reads each page once, in one look or the other. The
tests need the environment of the site (`make docs`) and the browser of `make test`.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from requirements.install import fingerprint, interpreter
from tests.docs.test_site import DOCS, INSTALLED
from tests.pipeline.browser import ANYWHERE, chromium, tool

CHROMIUM = chromium()
playwright = tool("playwright.sync_api")
axe = tool("axe_playwright_python")
AXE = (Path(axe.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
LOOKS = {"a desk in the dark": ("dark", 1_280), "a phone by day": ("light", 390)}
STILL = "*, *::before, *::after { transition: none !important; animation: none !important }"
"""A colour that is on its way to another one has a contrast of its own."""
VIOLATIONS = "async () => (await axe.run()).violations.map(one => [one.id, one.nodes.map(node => node.html)])"
WIDE = """() => document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll('body *')]
  .filter(one => one.getBoundingClientRect().right > innerWidth + 1).slice(0, 3).map(one => one.outerHTML.slice(0, 120))"""


class Site(NamedTuple):
    """The pages of the site, and a window of the browser."""

    pages: list[Path]
    window: Any


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site, built from this tree."""
    made = interpreter(INSTALLED).parents[1] / "made-from"
    if not made.exists() or made.read_text() != fingerprint(INSTALLED):
        pytest.skip("the environment of the site is not installed: `make docs` does that")
    folder = tmp_path_factory.mktemp("site")
    command = [str(interpreter(INSTALLED)), "-m", "sphinx", "-q", "-c", str(DOCS / "site"), "-d", str(folder / "doctrees")]
    subprocess.run([*command, str(DOCS), str(folder / "html")], capture_output=True, check=True)
    return folder / "html"


@pytest.fixture(scope="module")
def site(built: Path) -> Iterator[Site]:
    """The site in a window."""
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=ANYWHERE)
        pages = sorted(page for page in built.rglob("*.html") if "_static" not in page.parts and page.name != "genindex.html")
        yield Site(pages, browser.new_page())
        browser.close()


def opened(site: Site, look: str, page: Path) -> None:
    """Open a page in a look."""
    scheme, width = LOOKS[look]
    site.window.emulate_media(color_scheme=scheme)
    site.window.set_viewport_size({"width": width, "height": 800})
    site.window.goto(page.as_uri())
    site.window.add_style_tag(content=STILL)


@pytest.mark.parametrize("look", LOOKS)
def test_no_page_of_the_site_is_wider_than_its_window(site: Site, look: str) -> None:
    wrong = {}
    for page in site.pages:
        opened(site, look, page)
        wrong[page.name] = site.window.evaluate(WIDE)
    assert len(site.pages) > 40
    assert {name: wide for name, wide in wrong.items() if wide} == {}


@pytest.mark.timeout(600)
def test_no_page_of_the_site_has_an_axe_violation(site: Site) -> None:
    wrong = {}
    for number, page in enumerate(site.pages):
        opened(site, list(LOOKS)[number % len(LOOKS)], page)
        site.window.evaluate(AXE)
        wrong[page.name] = site.window.evaluate(VIOLATIONS)
    assert {name: found for name, found in wrong.items() if found} == {}


def test_a_planted_fault_is_found(site: Site) -> None:
    opened(site, "a phone by day", site.pages[0])
    assert site.window.evaluate(WIDE) == []
    site.window.evaluate("document.body.insertAdjacentHTML('beforeend', '<div style=\"width:900px\"><img src=\"x.png\"></div>')")
    site.window.evaluate(AXE)
    assert site.window.evaluate(WIDE) != []
    assert "image-alt" in [name for name, _ in site.window.evaluate(VIOLATIONS)]
