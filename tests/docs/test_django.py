"""The page about Django runs over the project of tests/frameworks, and says of its settings what they are."""

import re
import shlex
from types import ModuleType
from typing import Any

from sedano.cli.verb_table import VERBS
from sedano.testing import World
from tests.docs.pages import page
from tests.frameworks.conftest import SETTINGS, project, stage
from tests.frameworks.django_shop import settings
from tests.frameworks.test_django import ran

PAGE = page("django.md")
__all__ = ["project", "stage"]
COMMAND = "call_command("
"""What the block about manage.py has; it imports the worker, so it runs in a process of its own."""


def test_the_blocks_run_over_the_project(project: ModuleType, stage: World) -> None:
    names: dict[str, Any] = {"__name__": "page", "ship": project.ship, "add": project.add}
    for block in PAGE.blocks:
        if COMMAND not in block:
            PAGE.run(block, names)
    names["order"](7)
    assert [sent["args"] for sent in stage.sent("shop.ship")] == [[7], [7]]
    stage.drain()
    assert names["finished"]() == 5


def test_the_settings_are_those_of_the_project() -> None:
    assert '"sedano.django"' in PAGE.text
    assert settings.INSTALLED_APPS[0] == "sedano.django"
    assert f'"BACKEND": "{settings.TASKS["default"]["BACKEND"]}"' in PAGE.text


def test_the_block_about_manage_py_publishes() -> None:
    (block,) = [block for block in PAGE.blocks if COMMAND in block]
    program = f"""
import django
django.setup()
from sedano.django import configured_app
from sedano.testing import world
with world(configured_app()) as stage:
    exec({block!r})
    print([sent["args"] for sent in stage.sent("shop.ship")])
"""
    done = ran(program, DJANGO_SETTINGS_MODULE=SETTINGS)
    assert done.stdout.splitlines()[1:] == ["[[4711]]"], done.stderr


def test_the_commands_of_manage_py_are_verbs_with_their_options() -> None:
    lines = [shlex.split(line) for line in re.findall(r"^    python manage\.py sedano (.*)$", PAGE.text, re.MULTILINE)]
    assert [verb for verb, *_ in lines] == ["dev", "call", "failures"]
    for verb, *words in lines:
        known = {name for one in VERBS[verb].load().params for name in one.opts} | {"--settings"}
        assert {word for word in words if word.startswith("--")} <= known
