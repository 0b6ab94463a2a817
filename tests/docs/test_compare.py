"""The page that compares sedano runs its program, and marks each measured row that sedano loses."""

import re
from typing import Any

from tests.docs.pages import page

PAGE = page("compare.md")


def test_the_program_of_the_page_runs() -> None:
    names: dict[str, Any] = {"__name__": "shop"}
    for block in PAGE.blocks:
        PAGE.run(block, names)


def test_a_row_is_in_italics_exactly_where_sedano_loses() -> None:
    rows = re.findall(r"^\| (\*?)[^|]*? \| \*?([\d ]+) \w+\*? \| \*?([\d ]+) \w+\*? \|$", PAGE.text, re.MULTILINE)
    assert len(rows) == 8
    for italics, ours, theirs in rows:
        assert (italics == "*") == (int(ours.replace(" ", "")) > int(theirs.replace(" ", ""))), (ours, theirs)
