"""The page about boxed tasks runs as it stands, in a folder that has the program; its lines are those of the schema."""

import json
import os
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from sedano import testing
from sedano.api.boxes import OWN
from tests.docs.pages import DOCS, page

PAGE = page("boxes.md")


def test_the_page_runs_from_top_to_bottom(tmp_path: Path) -> None:
    declared, host, used, by_function = PAGE.blocks
    names: dict[str, Any] = {"__name__": "page"}
    PAGE.run(host, names)
    (tmp_path / "host.py").write_text(names["HOST"], encoding="utf-8")
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        PAGE.run(declared, names)
        with testing.world(names["app"]):
            PAGE.run(used, names)
        PAGE.run(by_function, names)
    finally:
        os.chdir(before)


def test_the_lines_of_the_page_are_those_of_the_schema() -> None:
    schema = Draft202012Validator(json.loads((DOCS / "protocol" / "box.schema.json").read_text(encoding="utf-8")))
    request, replies = PAGE.text.split("```json\n")[1:]
    lines = [request.split("```")[0].replace("\n", ""), *replies.split("```")[0].splitlines()]
    assert len(lines) == 3
    assert all(schema.is_valid(json.loads(line)) for line in lines)


def test_the_page_has_a_row_for_each_option_of_a_box() -> None:
    assert all(f"| `{option}` |" in PAGE.text for option in OWN)
