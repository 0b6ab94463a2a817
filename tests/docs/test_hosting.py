"""The page about hosts: its app is deployed with its settings, its commands are taken, and its files are what hosts need."""

import json
import re
import shlex
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

from infra.application import application
from infra.config import StageConfig
from infra.context import from_context
from infra.fleet import SERVERS, Fleet
from sedano.cli.verbs.worker import command
from sedano.deploy.context import context
from sedano.model.settings import project, resolved
from sedano.testing import world
from tests.docs.pages import DOCS, page

PAGE = page("hosting.md")
CODE = re.findall(r"```python cdk_app.py\n(.*?)```", PAGE.text, re.DOTALL)[0]
IMAGE = DOCS.parent / "examples" / "hosting" / "Containerfile"


def _config() -> StageConfig:
    """The settings of the CDK app of the page."""
    names: dict[str, Any] = {}
    exec(CODE.replace("sedano.cdk", "infra"), names)  # noqa: S102 - the page is ours; installed, the constructs are sedano.cdk
    config = names["config"]
    assert isinstance(config, StageConfig)
    return config


def test_the_app_of_the_page_runs_and_fits_its_settings(tmp_path: Path) -> None:
    names: dict[str, Any] = {}
    PAGE.run(PAGE.blocks[0], names)
    with world(names["app"]):
        assert names["order"].delay(7).get() == "order 7"
    (tmp_path / "shop.py").write_text(PAGE.blocks[0])
    found = application("shop:app", tmp_path, _config())
    assert found.declared.longest() == ("shop.train", 14_400)
    assert found.declared.longest(but=_config().processes_serve) == ("shop.order", 0), "Lambda need not hold it"


def test_the_settings_of_a_project_a_clone_and_a_cdk_app_are_one(tmp_path: Path) -> None:
    (toml,) = re.findall(r"```toml\n(.*?)```", PAGE.text, re.DOTALL)
    settings = resolved({"stage": "prod"}, {}, project(tomllib.loads(toml)["tool"]["sedano"], "pyproject.toml"))
    values = {name: one.value for name, one in settings.items()}
    assert from_context(context(values, "shop:app", tmp_path, tmp_path, {})).config == _config()
    (line,) = re.findall(r'make deploy SET="(.*?)"', PAGE.text)
    given = dict(word.split("=", 1) for word in line.split())
    text = from_context({"app": "shop:app", "code": str(tmp_path), "stage": "prod", **given}).config
    assert (text.served_by, text.fleet and text.fleet.lanes) == (_config().served_by, 8)


def test_the_page_names_every_server_and_every_field() -> None:
    assert set(re.findall(r"^\| \w[\w ]* \| `(\w+)`", PAGE.text, re.MULTILINE)) == set(SERVERS)
    table = PAGE.text.split("| field of `fleet`")[1].split("\n\n")[0]
    rows = [row.split("|")[1] for row in table.splitlines()[2:]]
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == {field.name for field in fields(Fleet)}


def test_the_commands_of_the_page_are_taken() -> None:
    commands = re.findall(r"^\$ sedano worker (.*)", PAGE.text, re.MULTILINE)
    assert commands
    for words in commands:
        command.make_context("worker", shlex.split(words))


def test_the_image_runs_without_rights_and_its_command_gets_the_signal() -> None:
    lines = [line.split(maxsplit=1) for line in IMAGE.read_text(encoding="utf-8").splitlines() if line and line[0] not in "# "]
    said = dict(lines)
    assert set(said) <= {"FROM", "RUN", "ENV", "WORKDIR", "COPY", "USER", "STOPSIGNAL", "CMD"}, "no ENTRYPOINT: ECS gives the command"
    assert re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", said["USER"]), "a number: Kubernetes checks that it is not root's"
    assert [word for word, _ in lines].index("USER") > [word for word, _ in lines].index("RUN")
    words = json.loads(said["CMD"])
    assert (words[:2], said["STOPSIGNAL"]) == (["sedano", "worker"], "SIGTERM")
    command.make_context("worker", words[2:])
