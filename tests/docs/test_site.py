"""The documentation's site: every page is in it, every link and every name of the reference resolves, and every page has code that runs.

These promises are checked without the site's environment. Where it is installed (`make docs`), the site itself is built and read as well.
"""

import importlib
import re
import runpy
import subprocess
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import sedano
from requirements.install import ENVIRONMENTS, fingerprint, interpreter

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md")) + sorted((DOCS / "protocol").glob("*.md"))
LINKED = [*PAGES, ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]
REFERENCE = sorted((DOCS / "reference").glob("*.rst"))
SETTINGS = runpy.run_path(str(DOCS / "site" / "conf.py"))
INSTALLED = ENVIRONMENTS["docs"]
TESTS = {*Path(__file__).parent.glob("test_*.py"), ROOT / "tests/unit/test_protocol_documents.py"} - {Path(__file__)}
READERS = [path.read_text(encoding="utf-8") for path in TESTS]
WITHOUT_EXAMPLE = {
    "README.md": "about this folder; it is not a page of the site",
    "proof.md": "figures of `make prove`, each compared with its measurement by test_figures.py",
    "glossary.md": "a table of words, compared with the modules by tests/house/test_glossary.py",
    "protocol/transitions.md": "a table of writes, compared with the code by tests/unit/test_protocol_documents.py",
}
"""Which pages show no code that a test runs, and why."""


def name(page: Path) -> str:
    """Return the name of a page as links write it."""
    return page.relative_to(DOCS).as_posix() if page.is_relative_to(DOCS) else page.name


def prose(text: str) -> str:
    """Return the *text* of a page without its code."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub and the site make them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#{1,4} (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def links(page: Path) -> Iterator[tuple[str, str]]:
    """Yield the path and the anchor of each link of a page to another file, or to a place in itself."""
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page.read_text(encoding="utf-8"))):
        if not urlsplit(target).scheme:
            path, _, anchor = target.partition("#")
            yield path, anchor


def listed() -> list[str]:
    """Return the pages that the tree of the site lists, in order."""
    return re.findall(r"^[^`:\n]*<([\w/]+)>$", (DOCS / "index.md").read_text(encoding="utf-8"), re.MULTILINE)


def targets(page: Path) -> list[tuple[str, str]]:
    """Return each directive of a page of the reference with the name that it documents."""
    return re.findall(r"^\.\. auto(class|function|exception|module|data):: (\S+)$", page.read_text(encoding="utf-8"), re.MULTILINE)


def test_the_tree_of_the_site_lists_every_page_once() -> None:
    pages = {page.relative_to(DOCS).with_suffix("").as_posix() for page in [*PAGES, *REFERENCE]} - {"README", "index"}
    assert sorted(listed()) == sorted(pages)


def test_the_list_of_pages_says_a_line_about_every_guide() -> None:
    said = re.findall(r"^- \[[^\]]+\]\(([\w/]+)\.md\): ", (DOCS / "index.md").read_text(encoding="utf-8"), re.MULTILINE)
    guides = {page.relative_to(DOCS).with_suffix("").as_posix() for page in PAGES} & set(listed())
    apart = {"protocol/transitions"}  # the line of the protocol links it
    assert guides - set(said) - apart == set(), "add a line about the page to the list in docs/index.md"


@pytest.mark.parametrize("page", LINKED, ids=name)
def test_every_link_leads_to_a_file_and_to_a_heading_in_it(page: Path) -> None:
    wrong = []
    for path, anchor in links(page):
        there = (page.parent / path).resolve() if path else page
        if not there.exists() or (anchor and anchor not in anchors(there)):
            wrong.append(f"{path}#{anchor}" if anchor else path)
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_page_shows_code_that_a_test_runs_or_says_why_not(page: Path) -> None:
    read = any(f'"{page.name}"' in text or f"docs/{name(page)}" in text for text in READERS)
    shows = re.search(r"^```(?:python|console|sh|json)\b", page.read_text(encoding="utf-8"), re.MULTILINE) is not None
    assert (shows and read) != (name(page) in WITHOUT_EXAMPLE), f"shows code: {shows}; read by a test: {read}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_column_of_a_table_has_a_header(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    headers = re.findall(r"^\|(.*)\|\n\|[-:| ]+\|$", text, re.MULTILINE)
    assert [header for header in headers if not all(cell.strip() for cell in re.split(r"(?<!\\)\|", header))] == []


def found(path: str) -> object:
    """Return what a dotted name of the reference stands for."""
    parts = path.replace("sedano.cdk", "infra").split(".")
    for end in range(len(parts), 0, -1):
        try:
            thing: object = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            thing = getattr(thing, part)
        return thing
    raise AssertionError(f"{path} does not exist")


@pytest.mark.parametrize("page", REFERENCE, ids=lambda page: page.stem)
def test_every_name_of_the_reference_exists_and_is_documented(page: Path) -> None:
    assert targets(page)
    for kind, path in targets(page):
        thing = found(path)
        assert kind == "data" or getattr(thing, "__doc__", None), path


def test_every_public_name_of_the_package_is_in_the_reference() -> None:
    documented = [target for page in REFERENCE for target in targets(page)]
    modules = {path for kind, path in documented if kind == "module"}
    things = [found(path) for _, path in documented]
    missing = [one for one in sedano.__all__ if (thing := getattr(sedano, one)) not in things and thing.__module__ not in modules]
    assert missing == []


@pytest.mark.parametrize(
    ("docstring", "expected"),
    [
        (["Do it.", "", "    app.run()", "", "It is done."], ["Do it.", "", "::", "", "    app.run()", "", "It is done."]),
        (["Do it.", "", "Args:", "    one: the first.", "", "    two: the second."], None),
        (["Do it.", "", "- one", "", "  more of one"], None),
        (["Do it::", "", "    app.run()"], None),
        (["name: its name,", "    in short.", "queue: its queue."], [":name: its name,", "    in short.", ":queue: its queue."]),
        (["Note: this is a sentence.", "And another."], None),
        (["a group of `Sig`s, ``x``y"], ["a group of `Sig`\\ s, ``x``y"]),
    ],
    ids=["code", "sections", "lists", "marked code", "fields", "a sentence with a colon", "a plural"],
)
def test_docstrings_become_what_the_site_reads(docstring: list[str], expected: list[str] | None) -> None:
    assert SETTINGS["readable"](list(docstring)) == (docstring if expected is None else expected)


class Document(HTMLParser):
    """The ids, the links and the loaded files of one page."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what the tag has."""
        said = {key: value or "" for key, value in attrs}
        self.ids |= {said["id"]} if "id" in said else set()
        self.links += [said["href"]] if tag == "a" and "href" in said else []
        self.loaded += [said[key] for key in ("src", "href") if key in said and tag in ("script", "img", "link", "iframe")]


def test_the_built_site_resolves_every_link_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    made = interpreter(INSTALLED).parents[1] / "made-from"
    if not made.exists() or made.read_text() != fingerprint(INSTALLED):
        pytest.skip("the environment of the site is not installed: `make docs` does that")
    command = [str(interpreter(INSTALLED)), "-m", "sphinx", "-q", "-W", "-c", str(DOCS / "site"), "-d", str(tmp_path / "doctrees")]
    done = subprocess.run([*command, str(DOCS), str(tmp_path / "site")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    pages = {page: Document(page) for page in (tmp_path / "site").rglob("*.html") if "_static" not in page.parts}
    assert (tmp_path / "site" / "index.html") in pages
    assert [one for read in pages.values() for one in read.loaded if urlsplit(one).scheme not in ("", "data")] == []
    every = [(page, link) for page, read in pages.items() for link in [*read.links, *read.loaded]]
    assert [f"{page.name}: {link}" for page, link in every if broken(page, link, pages)] == []


def broken(page: Path, link: str, pages: Mapping[Path, Document]) -> bool:
    """Whether a *link* of a built page leads to a file that is missing, or to a place that its page does not have."""
    parts = urlsplit(link)
    there = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    known = not parts.fragment or there not in pages or unquote(parts.fragment) in pages[there].ids
    return not parts.scheme and not (there.exists() and known)
