"""Settings of the documentation's site: `make docs` builds it from the pages in `docs/` and from the docstrings.

The pages stay plain Markdown that other readers show as well. Docstrings are written for `help()`. For the site, a name in single backticks
becomes a link where the reference has an entry of that name, and an indented block of code becomes a block of code.
"""

from __future__ import annotations

import importlib
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import infra

ROOT = Path(__file__).resolve().parents[2]
_SECTION = re.compile(r"(?:Args|Raises|Returns|Yields|Attributes|Example|Examples|Note|Notes):")
_FIELD = re.compile(r"[a-z_]+: ")
_LISTED = re.compile(r"(?:[-*+]|\d+\.|\|) ")

project = "sedano"
author = "the authors of sedano"
copyright = author  # noqa: A001 - the name that Sphinx reads
release = version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["README.md", "site"]
default_role = "py:obj"
templates_path = ["templates"]

myst_heading_anchors = 4
myst_links_external_new_tab = False

autodoc_member_order = "bysource"
autodoc_mock_imports = ["aws_cdk", "cdk_nag", "constructs"]
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True

html_theme = "pydata_sphinx_theme"
html_title = f"sedano {release}"
html_static_path = ["static"]
html_css_files = ["sedano.css"]
html_copy_source = False
html_show_sourcelink = False
html_sidebars = {"**": ["pages.html"]}
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": "sedano"},
    "navbar_center": [],
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "article_header_start": [],
    "footer_start": ["copyright"],
    "footer_end": [],
    "search_bar_text": "Search",
    "show_nav_level": 1,
    "show_toc_level": 2,
}
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True


def readable(lines: list[str]) -> list[str]:
    """Return the *lines* of a docstring as reStructuredText.

    - An indented block after a blank line is code, unless it belongs to a section (`Args:`), a list, or a marked block.
    - A paragraph of `name: text` is a list of fields.
    - A letter may follow a name in backticks: `Sig`s.
    """
    return list(_marked(_fields([re.sub(r"(?<!`)(`[^`\n]+`)(?=\w)", r"\1\\ ", line) for line in lines])))


def _fields(lines: list[str]) -> list[str]:
    """Return *lines* with each paragraph that has only fields at its margin written as fields."""
    starts = [n for n, line in enumerate(lines) if line.strip() and (n == 0 or not lines[n - 1].strip())]
    for start in starts:
        end = next((n for n in range(start, len(lines)) if not lines[n].strip()), len(lines))
        margin = [n for n in range(start, end) if not lines[n].startswith(" ")]
        if margin and all(_FIELD.match(lines[n]) for n in margin):
            for n in margin:
                lines[n] = f":{lines[n]}"
    return lines


def _marked(lines: list[str]) -> Iterator[str]:
    """Yield *lines* with `::` before each block of code."""
    section = code = False
    before = above = ""
    for line in lines:
        if line.strip() and not line.startswith(" "):
            section, code = bool(_SECTION.fullmatch(line.strip())), False
        elif line.strip() and not code and not section and not above.strip():
            code = not _LISTED.match(before.lstrip()) and not before.endswith("::") and not before.startswith(("..", ":"))
            yield from ("::", "") if code else ()
        yield line
        before, above = line if line.strip() else before, line


def _process(_app: Any, _what: str, _name: str, _subject: Any, _options: Any, lines: list[str]) -> None:
    lines[:] = readable(lines)


def setup(app: Any) -> None:
    """Let Sphinx read docstrings by `readable` before napoleon reads their sections, and the constructs by their installed name."""
    sys.modules["sedano.cdk"] = infra
    absent = importlib.import_module("sphinx.ext.autodoc.mock")._MockObject  # noqa: SLF001 - it has no public name
    absent.__or__ = absent.__ror__ = lambda one, _other: one  # an annotation such as `IKey | None`
    app.connect("autodoc-process-docstring", _process, priority=400)
