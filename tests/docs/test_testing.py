"""The page about testing runs as it stands, in a folder of its own, and its test of a task that is not idempotent fails as it says."""

import re

from tests.docs.pages import page
from tests.plugins.pytest_runs import Elsewhere

PAGE = page("testing.md")


def test_the_page_runs_as_it_stands(elsewhere: Elsewhere) -> None:
    blocks = re.findall(r"```(?:python|toml)\n# (\S+)\n(.*?)```", PAGE.text, re.DOTALL)
    assert [name for name, _ in blocks] == ["pyproject.toml", "shop.py", "test_shop.py", "test_deaths.py"]
    assert len(PAGE.blocks) == 3
    elsewhere.write(dict(blocks))
    code, said = elsewhere.run()
    assert (code, "1 failed, 3 passed" in said) == (1, True), said
    (shown,) = re.findall(r"```text\n(.*?)```", PAGE.text, re.DOTALL)
    assert shown in said
