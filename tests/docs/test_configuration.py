"""The page about the configuration of an application runs as it stands."""

import re
from contextlib import chdir
from pathlib import Path
from typing import Any

from sedano import testing
from sedano.model.configuration.casts import FALSE, TRUE, fits
from sedano.model.configuration.layers import layer
from tests.docs.pages import page

PAGE = page("configuration.md")


def test_the_page_runs_from_top_to_bottom(tmp_path: Path) -> None:
    (tmp_path / "shop.toml").write_text(next(iter(re.findall(r"```toml\n(.*?)```", PAGE.text, re.DOTALL))), encoding="utf-8")
    names: dict[str, Any] = {"testing": testing, "shop_toml": (tmp_path / "shop.toml").write_text, "__name__": "page"}
    with chdir(tmp_path):
        for block in PAGE.blocks:
            PAGE.run(block, names)
    assert names["settings"]().sender == "new@example.com"


def test_the_layers_of_the_page_are_layers() -> None:
    found = re.findall(r"^\| `(\w+:[^`]*)` \|", PAGE.text, re.MULTILINE)
    assert len(found) >= 5
    assert [str(layer(one)) for one in found] == found


def test_the_page_names_every_truth_and_every_type() -> None:
    (line,) = [line for line in PAGE.text.splitlines() if line.startswith("| `bool` |")]
    assert all(f"`{one}`" in line for one in TRUE + FALSE)
    assert fits(tuple[str, ...])
    for name in ("str", "int", "float", "Decimal", "bool", "timedelta", "Enum", "Literal", "tuple", "frozenset", "None"):
        assert name in PAGE.text
