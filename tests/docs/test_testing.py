"""The page about testing runs as it stands, in a folder of its own; its tests of planted faults fail as it says."""

import re

from tests.docs.pages import page
from tests.plugins.pytest_runs import Elsewhere

PAGE = page("testing.md")


def test_the_page_runs_as_it_stands(elsewhere: Elsewhere) -> None:
    blocks = re.findall(r"```(?:python|toml)\n# (\S+)\n(.*?)```", PAGE.text, re.DOTALL)
    assert [name for name, _ in blocks] == ["pyproject.toml", "shop.py", "test_shop.py", "test_deaths.py", "table.py", "test_table.py"]
    assert len(PAGE.blocks) == 5
    elsewhere.write(dict(blocks))
    code, said = elsewhere.run()
    assert (code, "2 failed, 5 passed" in said) == (1, True), said
    assert [line for line in said.splitlines() if line.startswith("ERROR")] == []
    for shown in re.findall(r"```text\n(.*?)```", PAGE.text, re.DOTALL):
        assert all(line.removeprefix("E   ").strip() in said for line in shown.splitlines())
