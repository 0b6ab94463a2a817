"""The section about `sedano deploy` says what is so: its settings are read as shown, and its commands and options exist."""

import re
import shlex
import tomllib
from pathlib import Path

from infra.context import from_context
from sedano.cli.verb_table import VERBS
from sedano.deploy.account import STACKS
from sedano.deploy.bootstrap import STACK
from sedano.deploy.cdk_environment import OWN
from sedano.deploy.context import context
from sedano.deploy.smoke import LONGEST_S
from sedano.model.settings import project, resolved
from tests.docs.pages import page

TEXT = page("deploy.md").text
SECTION = TEXT.partition("## From the folder of your project\n")[2].partition("\n## ")[0]


def test_the_settings_of_the_page_are_those_that_the_constructs_read(tmp_path: Path) -> None:
    (shown,) = re.findall(r"```toml pyproject.toml\n(.*?)```", SECTION, re.DOTALL)
    found = resolved({"stage": "prod"}, {}, project(tomllib.loads(shown)["tool"]["sedano"], "pyproject.toml"))
    values = {name: one.value for name, one in found.items()}
    wanted = from_context(context(values, values["app"], tmp_path, tmp_path, {}))
    config = wanted.config
    assert (wanted.app, config.stage, config.account, config.region) == ("shop.tasks:app", "prod", "123456789012", "eu-central-1")
    assert config.memory == 1024


def test_every_command_of_the_section_exists_with_its_options() -> None:
    (shown,) = re.findall(r"```sh\n(.*?)```", SECTION, re.DOTALL)
    lines = [shlex.split(line.partition("#")[0].replace('eval "$(', "").replace(')"', "")) for line in shown.splitlines()]
    assert [words[1] for words in lines] == ["bootstrap", "diff", "deploy", "outputs", "logs", "destroy"]
    for _, verb, *options in lines:
        known = {name for one in VERBS[verb].load().params for name in one.opts}
        assert set(options) <= known
    every = {name for words in lines for one in VERBS[words[1]].load().params for name in one.opts}
    assert {word for word in re.findall(r"`(--[a-z-]+)", SECTION) if word != "--app"} <= every


def test_names_and_figures_of_the_section_are_those_of_the_code() -> None:
    assert f"`{OWN}`" in SECTION
    assert f"`{STACK}`" in SECTION
    assert f"no result after {LONGEST_S:g} s" in SECTION
    assert all(f"`sedano-dev-{part}`" in TEXT or f"`-{part}`" in TEXT for part in STACKS)
