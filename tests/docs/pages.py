"""A page of docs/: its text, its blocks of Python, and how one of them is run."""

import re
from pathlib import Path
from typing import Any, NamedTuple

DOCS = Path(__file__).parents[2] / "docs"


class Page(NamedTuple):
    """A page by its *name*, its *text*, and its *blocks* of Python in order."""

    name: str
    text: str
    blocks: list[str]

    def run(self, block: str, names: dict[str, Any]) -> None:
        """Run *block* with *names*, which are what it leaves behind then."""
        exec(compile(block, f"docs/{self.name}", "exec"), names)  # noqa: S102 - the page is ours


def page(name: str) -> Page:
    """Return the page *name*, such as ``flow.md``."""
    text = (DOCS / name).read_text(encoding="utf-8")
    return Page(name, text, re.findall(r"```python\n(.*?)```", text, re.DOTALL))
