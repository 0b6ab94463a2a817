"""`sedano check --deploy` refuses what `sedano deploy` refuses, by the same synthesis."""

from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path

import pytest

from sedano.cli import main
from sedano.cli.exits import Exit
from tests.plugins.resources import APP, CODE

Checked = Callable[[str], tuple[int, str]]


@pytest.fixture
def checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Checked]:
    """What `sedano check --deploy` with a setting answers, in an empty folder."""

    def run(setting: str) -> tuple[int, str]:
        status = main(["check", "--deploy", "--app", APP, "--code", str(CODE), "--set", setting])
        return status, capsys.readouterr().out

    with chdir(tmp_path):
        yield run


def test_a_setting_that_the_synthesis_refuses_is_a_fault(checked: Checked) -> None:
    status, out = checked("queue_concurrency=nowhere=2")
    assert status == Exit.PROBLEMS
    assert "fault    deploy: queue_concurrency: 'nowhere'" in out


def test_an_app_that_can_be_deployed_is_told_its_cost(checked: Checked) -> None:
    status, out = checked("memory=256")
    assert status == Exit.DONE
    assert "ok       deploy: the templates of the stage dev can be made; an idle month costs about" in out
