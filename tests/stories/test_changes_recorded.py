"""Who changed the stage, how, and why: each change of a verb or a page is an event of the history, and a list of them."""

import getpass
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from sedano.cli import main
from sedano.cli.exits import Exit
from sedano.errors import NotAllowed, SedanoError, Unavailable
from sedano.ports import EVENTS, RECORDS, Outgoing
from sedano.ports.absent import absent
from sedano.views.stage_changes import changes
from sedano.web.changes import Change
from tests.stories.forbidden_control import Forbidden
from tests.stories.shopfront import NASTY, Elements, Shop, app, charge, opened
from tests.stories.terminals import items

APP = ("--app", "tests.stories.shopfront:app")
ME = getpass.getuser()
PAUSE = Change("pause", "task", "shopfront.weigh").address


@pytest.fixture
def shop() -> Iterator[Shop]:
    """Pages that may change their world."""
    with opened(actions=True) as shop:
        yield shop


def recorded(shop: Shop) -> list[tuple[Any, ...]]:
    """Let the recorder work; return the changes that the history has, without their moments."""
    shop.world.drain()
    return [tuple(one)[1:] for one in changes(app, 1).rows]


def test_a_change_on_a_page_and_one_of_a_verb_are_listed_with_person_count_and_reason(shop: Shop) -> None:
    assert shop.change(PAUSE, reason="bad deploy").status == 200
    assert main(["revoke", *APP, "later", "odd", "--yes", "--reason", "wrong order"]) == Exit.REFUSED, "odd had ended"
    assert main(["purge", *APP, "mail", "--yes", "--reason", "old letters"]) == Exit.DONE
    assert recorded(shop) == [
        (ME, "purge", "mail", "old letters", 0, None, ""), (ME, "revoke", "later odd", "wrong order", 2, 1, ""),
        (ME, "pause", "task=shopfront.weigh", "bad deploy", 1, 0, ""),
    ]  # fmt: skip


def test_the_page_the_verb_and_its_json_agree(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    shop.change(PAUSE, reason=NASTY.replace("\x00", ""))
    shop.world.drain()
    page = Elements(shop.html("/changes?days=1"))
    assert f"{ME}pausetask=shopfront.weigh10" in page.text.replace("\n", "")
    assert "1 changes since" in page.text
    assert [one for tag, one in page.found if tag == "script"] == [{"type": "module", "src": "/-/app.js"}]
    capsys.readouterr()
    assert main(["changes", *APP, "--days", "1", "--json"]) == Exit.DONE
    (item,) = items(capsys.readouterr().out)
    (row,) = json.loads(shop.get("/changes.json?days=1").body)["rows"]
    assert (item["by"], item["what"], item["changed"], item["reason"]) == (row["by"], row["what"], row["changed"], row["reason"])
    assert main(["changes", *APP]) == Exit.DONE
    printed = capsys.readouterr().out
    assert ("task=shopfront.weigh" in printed, "\x1b" in printed) == (True, False)
    assert main(["tail", *APP, "stage-changed", "--json"]) == Exit.DONE
    assert '"stage-changed"' in capsys.readouterr().out


def test_a_preview_a_refusal_and_a_dry_run_are_not_changes(shop: Shop) -> None:
    shop.html(PAUSE)
    assert shop.change(PAUSE, reason=" ").status == 400
    assert main(["pause", *APP, "shopfront.weigh", "--dry-run"]) == Exit.DONE
    assert main(["resume", *APP, "shopfront.weigh", "--yes"]) == Exit.REFUSED
    assert recorded(shop) == []


def test_a_change_that_fails_is_recorded_with_its_error(shop: Shop) -> None:
    ports = shop.world.ports
    app.attach(replace(ports, control=Forbidden(ports.control)))
    assert main(["pause", *APP, "shopfront.weigh", "--yes", "--reason", "bad deploy"]) != Exit.DONE
    app.attach(ports)
    ((by, verb, what, reason, changed, left, error),) = recorded(shop)
    assert (by, verb, what, reason, changed, left) == (ME, "pause", "task=shopfront.weigh", "bad deploy", None, None)
    assert "dynamodb" in error


class Shut:
    """Queues that take no records."""

    def __init__(self, inner: Any, answer: SedanoError, *, raised: bool) -> None:
        """Send all else to *inner*."""
        self._inner, self._answer, self._raised = inner, answer, raised

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def send(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        """Refuse records."""
        if queue != RECORDS:
            found: list[SedanoError | None] = self._inner.send(queue, messages)
            return found
        if self._raised:
            raise self._answer
        return [self._answer for _ in messages]


@pytest.mark.parametrize("raised", [True, False])
def test_a_change_that_the_history_cannot_take_is_made_and_says_so(
    raised: bool, shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    ports = shop.world.ports
    refusal = NotAllowed("sqs.SendMessage: AccessDenied", "sqs:SendMessage") if raised else Unavailable("sqs.SendMessage", "timeout")
    app.attach(replace(ports, queues=Shut(ports.queues, refusal, raised=raised)))
    answer = shop.change(PAUSE)
    assert (answer.status, "it is not in the history" in answer.body.decode()) == (200, True)
    assert "disabled" not in shop.html("/queues"), "the right for the change itself is there"
    capsys.readouterr()
    assert main(["resume", *APP, "shopfront.weigh", "--yes", "--reason", "x"]) == Exit.DONE
    assert "sedano resume: the change was made, but it is not in the history" in capsys.readouterr().err
    lines = [one for one in shop.world.telemetry.lines if one.message == "change not in the history"]
    assert [(one.level, one.fields["verb"]) for one in lines] == [("warning", "pause"), ("warning", "resume")]
    app.attach(ports)
    assert recorded(shop) == []


def test_without_a_history_a_change_is_made_and_nothing_is_sent(shop: Shop) -> None:
    shop.world.drain()
    app.attach(replace(shop.world.ports, events=absent(EVENTS)))
    assert "it is not in the history" not in shop.change(PAUSE).body.decode()
    assert shop.world.queues.peek(RECORDS) == []


def test_a_change_of_very_many_ids_is_one_event_that_the_recorder_takes(shop: Shop) -> None:
    ids = [charge.apply_async((2,), countdown=3_600).id for _ in range(200)]
    assert main(["revoke", *APP, *ids, "--yes", "--reason", "x" * 5_000]) == Exit.DONE
    ((_, _, what, reason, changed, _, _),) = recorded(shop)
    assert (len(what), len(reason), changed) == (1_000, 500, 200)
    assert ids[0] in what
