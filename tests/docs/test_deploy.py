"""The page about deploying says what is so: its application is discovered as shown, its commands and settings exist."""

import ast
import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

from infra.config import StageConfig
from infra.context import from_context

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
README = (ROOT / "infra" / "README.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"```python (\S+)\n(.*?)```", PAGE, re.DOTALL))
USE = "import shop, sedano.testing\nwith sedano.testing.world(shop.app):\n    print(shop.price.delay('tea', 2).get())\n"


def _run(directory: Path, *words: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "layers" / "sedano" / "python")}
    return subprocess.run([sys.executable, *words], cwd=directory, env=environment, capture_output=True, text=True, check=True).stdout


def test_the_application_declares_what_the_page_shows(tmp_path: Path) -> None:
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "shop.py").write_text(BLOCKS["shop.py"])
    (shown,) = re.findall(r"```console\n\$ python (.*?)\n(.*?)```", PAGE, re.DOTALL)
    said = _run(tmp_path, *shown[0].split())
    assert [line.rstrip() for line in said.splitlines()] == shown[1].splitlines()


def test_its_task_returns_what_the_page_says(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(BLOCKS["shop.py"])
    assert f'`shop.price.delay("tea", 2).get()` is {_run(tmp_path, "-c", USE).strip()}' in PAGE


def test_every_command_is_one() -> None:
    named = set(re.findall(r"^ +make ([a-z]+)|`make ([a-z]+)`", PAGE, re.MULTILINE))
    targets = {next(filter(None, pair)) for pair in named}
    assert {"local", "bootstrap", "diff", "deploy", "destroy"} <= targets
    assert all(re.search(rf"^{target}:.*## ", MAKEFILE, re.MULTILINE) for target in targets)


def test_every_setting_that_is_given_is_understood() -> None:
    given = re.findall(r'SET="([^"]+)"', PAGE)
    assert len(given) == 2
    for words in given:
        settings = dict(word.split("=", 1) for word in words.replace("\\\n", " ").split())
        assert from_context({"app": "shop:app", "code": "demo", **settings}).config != StageConfig()


def test_the_list_of_settings_is_complete() -> None:
    listed = {name for row in re.findall(r"^\| (`.*?) \|", README, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    assert listed == {"app", "code", "requirements"} | {field.name for field in fields(StageConfig)}


def test_the_app_of_ones_own_composes_what_is_installed() -> None:
    tree = ast.parse(BLOCKS["app.py"])
    (call,) = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "SedanoStacks"]
    assert [word.arg for word in call.keywords] == ["app", "code", "config"]
