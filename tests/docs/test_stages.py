"""The page about stages has settings that are read as it says, and commands that exist."""

import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from infra.config import StageConfig
from infra.context import from_context
from sedano.deploy.context import context
from sedano.model.settings import Value, project, resolved
from tests.docs.pages import page
from tests.docs.shown_commands import wrong_commands

PAGE = page("stages.md")


def settings(stage: str | None, **environment: str) -> dict[str, Value]:
    """Return the settings of a stage by the file of the page."""
    (shown,) = re.findall(r"```toml pyproject\.toml\n(.*?)```", PAGE.text, re.DOTALL)
    found = project(tomllib.loads(shown)["tool"]["sedano"], "pyproject.toml")
    return dict(resolved({"stage": stage}, environment, found, "pyproject.toml"))


def test_each_stage_has_its_settings_and_those_of_all_stages(tmp_path: Path) -> None:
    for stage, memory, permanent in (("dev", 256, False), ("prod", 1024, True)):
        values = {name: one.value for name, one in settings(stage).items()}
        config = from_context(context(values, values["app"], tmp_path, tmp_path, {})).config
        assert (config.stage, values["region"], config.memory, config.permanent) == (stage, "eu-central-1", memory, permanent)


def test_without_a_name_the_stage_is_dev_and_a_variable_wins_over_the_file() -> None:
    assert settings(None)["stage"].value == "dev"
    assert settings(None, SEDANO_STAGE="prod")["stage"].value == "prod"
    assert settings("pr-42", SEDANO_STAGE="prod")["stage"].value == "pr-42"
    assert settings("prod", SEDANO_REGION="us-east-1", AWS_REGION="us-east-1")["region"].value == "us-east-1"


def test_every_command_of_the_page_exists() -> None:
    assert wrong_commands(PAGE.text) == []


def test_the_block_asks_for_the_stage_by_its_variable() -> None:
    names: dict[str, Any] = {}
    (block,) = PAGE.blocks
    PAGE.run(block, names)
    before = os.environ.get("SEDANO_STAGE")
    try:
        for stage, expected in (("prod", True), ("dev", False)):
            os.environ["SEDANO_STAGE"] = stage
            assert names["is_production"]() is expected
    finally:
        os.environ.pop("SEDANO_STAGE")
        if before is not None:
            os.environ["SEDANO_STAGE"] = before


def test_a_name_of_sixteen_characters_is_the_longest() -> None:
    assert StageConfig(stage="a" * 16).stage == "a" * 16
    with pytest.raises(ValueError, match="at most 16"):
        StageConfig(stage="a" * 17)
