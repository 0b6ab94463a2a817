"""`sedano spool`: what waits on this machine is seen, sent and dropped, also when its stage is gone."""

import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sedano.api.backlog import backlog_of
from sedano.cli import main
from sedano.engine.drafts import Addressed
from sedano.engine.publisher import spool_folder
from sedano.engine.publisher.spool import Spool
from sedano.ports import Outgoing
from tests.conformance.test_backlog import table_of
from tests.conformance.worlds import session_of
from tests.plugins.resources import Resources
from tests.stories.terminals import items

NAMES = ("AWS_DEFAULT_REGION", "SEDANO_BACKLOG", "SEDANO_PUBLISHER", "SEDANO_SPOOL", "SEDANO_QUEUES", "SEDANO_STAGE", "SHELF")


@pytest.fixture(autouse=True)
def stage(tmp_path: Path) -> Iterator[Path]:
    """The environment of a stage, with two messages that wait for one that is gone; the app is loaded anew, so that it connects here."""
    sys.modules.pop("tests.stories.programs.shelf", None)
    before = {name: os.environ.get(name) for name in NAMES}
    os.environ |= {"SEDANO_SPOOL": str(tmp_path / "spool"), "SEDANO_STAGE": "gone", "SEDANO_QUEUES": '{"default":"gone"}'}
    keep("shelf", "{}", "{}")
    os.environ |= {"SEDANO_STAGE": "dev", "SEDANO_QUEUES": '{"default":"dev"}', "SHELF": str(tmp_path)}
    yield tmp_path
    for name, value in before.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value


def keep(app: str, *bodies: str) -> Path:
    """Let messages wait for *app* and the stage of the environment."""
    place = spool_folder.place(app)
    assert place is not None
    Spool(place).keep([Addressed("commands:default", Outgoing(body)) for body in bodies], 1_800_000_000.0)
    return place


def test_every_spool_is_listed_with_its_stage(capsys: pytest.CaptureFixture[str]) -> None:
    keep("other", "{}")
    assert main(["spool", "list", "--header"]) == 0
    head, first, second = capsys.readouterr().out.splitlines()
    assert head.split("\t") == ["spool", "app", "stage", "waiting", "unreadable", "oldest", "queues"]
    assert first.split()[1:5] == ["other", "dev", "1", "0"]
    assert second.split()[1:5] == ["shelf", "gone", "2", "0"]
    assert main(["spool", "list", "--json"]) == 0
    assert [one["waiting"] for one in items(capsys.readouterr().out)] == [1, 2]


def test_what_waits_for_a_stage_that_is_gone_is_dropped_by_its_number_alone(capsys: pytest.CaptureFixture[str]) -> None:
    main(["spool", "list", "--json"])
    name = items(capsys.readouterr().out)[0]["spool"]
    assert main(["spool", "drop", name, "--count", "3"]) == 1
    assert "has 2 messages, not 3; nothing was dropped" in capsys.readouterr().err
    assert main(["spool", "drop", name, "--count", "2", "--yes"]) == 0
    assert capsys.readouterr().out == "2 dropped\n"
    assert main(["spool", "drop", "nothing", "--count", "2"]) == 3
    assert "no spool is called nothing; `sedano spool list`" in capsys.readouterr().err


def test_what_waits_for_this_stage_is_sent_and_what_waits_for_another_is_not(stage: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep("shelf", '{"mine": 1}', '{"mine": 2}')
    asked = ["spool", "send", "--app", "tests.stories.programs.shelf:app"]
    assert [main(asked), main([*asked, "--dry-run"])] == [2, 0]
    assert "sedano spool: send 2 messages that wait on this machine for shelf\n" in capsys.readouterr().err
    assert not (stage / "sent").exists()
    (stage / "away").touch()
    assert main(["spool", "send", "--yes", "--app", "tests.stories.programs.shelf:app"]) == 1
    assert capsys.readouterr().out == "0 sent, 2 left\n"
    (stage / "away").unlink()
    assert main(["spool", "send", "--yes", "--app", "tests.stories.programs.shelf:app"]) == 0
    assert capsys.readouterr().out == "2 sent, 0 left\n"
    sent = (stage / "sent").read_text().splitlines()
    assert [line for line in sent if '"stage-changed"' not in line] == ['{"mine": 1}', '{"mine": 2}']
    assert len(sent) == 3, "the change itself is an event of the history"


def test_the_spool_of_a_program_behind_a_publisher_is_sent_after_the_variable_was_removed(
    stage: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.environ["SEDANO_PUBLISHER"] = publisher = f"unix:{stage / 'publisher.sock'}"
    keep("shelf", '{"behind": 1}')
    del os.environ["SEDANO_PUBLISHER"]
    keep("shelf", '{"own": 1}')
    assert main(["spool", "list", "--json"]) == 0
    assert [one["waiting"] for one in items(capsys.readouterr().out) if one["stage"] == "dev"] == [1, 1], "both are shown"
    asked = ["spool", "send", "--yes", "--app", "tests.stories.programs.shelf:app"]
    assert main(asked) == 0
    assert capsys.readouterr().out == "1 sent, 0 left\n"
    sys.modules.pop("tests.stories.programs.shelf")
    os.environ["SEDANO_PUBLISHER"] = publisher  # no process listens there
    assert main(asked) == 0
    assert capsys.readouterr().out == "1 sent, 0 left\n"
    bodies = (stage / "sent").read_text().splitlines()
    assert [line for line in bodies if '"stage-changed"' not in line] == ['{"own": 1}', '{"behind": 1}']


def test_an_empty_spool_and_a_host_without_one_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.environ["SEDANO_SPOOL"] = str(tmp_path / "empty")
    assert main(["spool", "list"]) == 0
    assert capsys.readouterr() == ("", f"no message waits in {tmp_path / 'empty'}\n")
    os.environ["SEDANO_SPOOL"] = "off"
    assert main(["spool", "send", "--app", "tests.stories.programs.shelf:app"]) != 0
    assert "this host has no spool" in capsys.readouterr().err


def test_a_backlog_that_is_not_on_this_machine_is_sent_without_its_number(resources: Resources, capsys: pytest.CaptureFixture[str]) -> None:
    table = table_of(session_of(resources).client("dynamodb"))
    os.environ |= {"SEDANO_BACKLOG": f"dynamodb:{table}", "AWS_DEFAULT_REGION": resources.session.region_name}
    asked = ["spool", "send", "--app", "tests.stories.programs.shelf:app"]
    assert main([*asked, "--dry-run"]) == 0
    assert f"sedano spool: send the messages of shelf that wait in dynamodb:{table}\n" in capsys.readouterr().err
    app = importlib.import_module("tests.stories.programs.shelf").app
    backlog = backlog_of(app.name, app.backlog, lambda _: None)
    assert backlog is not None
    backlog.keep([Addressed("commands:default", Outgoing('{"mine": 1}'))], 1_800_000_000.0)
    assert main([*asked, "--yes"]) == 0
    assert capsys.readouterr().out == "1 sent\n"
    os.environ["SEDANO_BACKLOG"] = "memory"
    assert main(asked) != 0
    assert "this host has no spool" in capsys.readouterr().err
