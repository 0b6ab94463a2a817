"""The page about Django runs over the project of tests/frameworks, and says of its settings what they are."""

from types import ModuleType
from typing import Any

from sedano.testing import World
from tests.docs.pages import page
from tests.frameworks.conftest import project, stage
from tests.frameworks.django_shop import settings

PAGE = page("django.md")
__all__ = ["project", "stage"]


def test_the_blocks_run_over_the_project(project: ModuleType, stage: World) -> None:
    names: dict[str, Any] = {"__name__": "page", "ship": project.ship, "add": project.add}
    for block in PAGE.blocks:
        PAGE.run(block, names)
    names["order"](7)
    assert [sent["args"] for sent in stage.sent("shop.ship")] == [[7], [7]]
    stage.drain()
    assert names["finished"]() == 5


def test_the_settings_are_those_of_the_project() -> None:
    assert '"sedano.django"' in PAGE.text
    assert settings.INSTALLED_APPS[0] == "sedano.django"
    assert f'"BACKEND": "{settings.TASKS["default"]["BACKEND"]}"' in PAGE.text
