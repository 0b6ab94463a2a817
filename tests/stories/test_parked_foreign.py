"""The parked queue is open to whoever may send to it: only what a function of the stage parked goes back without a question."""

import base64
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sedano import testing
from sedano.cli import main
from sedano.engine.parked.parking import SEAL, SEALED
from sedano.errors import Unavailable
from sedano.memory import MemoryKeyStore
from sedano.model.seals import key_set
from sedano.ports import PARKED, Outgoing, command_queue
from sedano.ports.seals import Seals
from tests.stories import vault
from tests.stories.terminals import items
from tests.stories.vault import app, command, plant, ran

APP = ["--app", "tests.stories.vault:app"]
DEFAULT, SECRET = command_queue("default"), command_queue("secret")
Said = tuple[int, str, str]
Run = Callable[..., Said]


@pytest.fixture
def world() -> Iterator[testing.World]:
    """The vault in memory."""
    ran.clear()
    with testing.world(app) as built:
        yield built


@pytest.fixture
def sedano(capsys: pytest.CaptureFixture[str]) -> Run:
    """`sedano parked …`: its exit code, stdout and stderr."""

    def run(*arguments: str) -> Said:
        status = main(["parked", *APP, *arguments])
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


def request(number: int) -> str:
    """A webhook's request as the webhook's function parks it."""
    body = base64.b64encode(json.dumps({"number": number}).encode()).decode()
    return json.dumps({"webhook": "door", "at": 1.0, "headers": {}, "body": body})


def test_a_planted_command_does_not_run_and_is_named(world: testing.World, sedano: Run) -> None:
    plant(world, command(world, "wipe", 7, "p1"), queue=SECRET, reason="unknown-task", field="subject", detail="-", message_id="m1")
    for asked in (("--all",), ("--why", "unknown-task"), ("p1",), ("m1",)):
        status, out, err = sedano("redrive", *asked)
        assert (status, out) == (1, "")
        assert "p1 stays parked: it has no valid mark of a function of this stage; look at it with `sedano parked show" in err
    world.drain()
    assert ran == []
    assert len(world.parked()) == 1


def test_a_planted_request_of_a_webhook_makes_no_event_whatever_is_asked(world: testing.World, sedano: Run) -> None:
    plant(world, request(7), queue="webhook:door", reason="webhook", field="body", detail="-", message_id="m1")
    for asked in (("--all",), ("m1",), ("--foreign", "m1")):
        assert sedano("redrive", *asked)[0] == 1
    assert "it has no proof that it was accepted" in sedano("redrive", "--foreign", "m1")[2]
    world.drain()
    assert (ran, len(world.parked())) == ([], 1)


def test_a_foreign_message_that_is_asked_for_goes_to_the_queue_of_its_task_alone(world: testing.World, sedano: Run) -> None:
    """Its attribute names the queue of another trust zone."""
    plant(world, command(world, "look", 7, "p1"), queue=SECRET, message_id="m1")
    status, out, err = sedano("redrive", "--foreign", "p1", "--yes")
    assert (status, out, err) == (0, f"p1 sent to {DEFAULT}\n", f"sedano parked: 1 of look to {DEFAULT}\n")
    assert (len(world.queues.peek(DEFAULT)), len(world.queues.peek(SECRET))) == (1, 0)
    world.drain()
    assert ran == [("look", 7)]


@pytest.mark.parametrize("body", ["{", "", "null", '{"timer":1}', "\x00"])
def test_a_foreign_message_of_which_nothing_is_known_goes_nowhere(world: testing.World, sedano: Run, body: str) -> None:
    world.queues.send(PARKED, [Outgoing(body or " ", attributes={"queue": SECRET, "message_id": "m1"})])
    for planted in world.parked():
        assert sedano("redrive", "--foreign", planted.attributes["message_id"])[0] == 1
    assert len(world.queues.peek(SECRET)) == 0


def test_an_unknown_task_is_foreign_and_has_no_queue(world: testing.World, sedano: Run) -> None:
    plant(world, command(world, "nobody", 7, "p1"), queue=SECRET)
    assert "has no task or event of its name" in sedano("redrive", "--foreign", "p1")[2]


def test_what_a_function_parked_goes_back_and_what_is_sent_is_said_before(world: testing.World, sedano: Run) -> None:
    for n in range(3):
        world.queues.send(SECRET, [Outgoing(command(world, "wipe", "seven", f"p{n}").replace('"args"', '"arg"'))])
    world.drain()
    assert len(world.parked()) == 3
    plant(world, command(world, "wipe", 7, "bad"), queue=SECRET)
    status, out, err = sedano("redrive", "--all", "--dry-run")
    assert (status, out) == (1, "")
    assert err.startswith(f"sedano parked: 3 of unreadable to {SECRET}\n")
    assert len(world.parked()) == 4
    status, out, err = sedano("redrive", "--all", "--yes")
    assert (status, out.count(f"sent to {SECRET}\n"), err.count("stays parked")) == (1, 3, 1)
    assert [message.body.count('"arg"') for message in world.queues.peek(SECRET)] == [1, 1, 1]


def honest(world: testing.World) -> Outgoing:
    """One message that a worker has parked, taken from the queue."""
    world.queues.send(SECRET, [Outgoing(command(world, "wipe", 7, "p1").replace('"args"', '"arg"'))])
    world.drain()
    (delivery,) = world.queues.receive(PARKED)
    world.queues.delete([delivery])
    return Outgoing(delivery.body, attributes=delivery.attributes)


@pytest.mark.parametrize("name", ["body", SEAL, *SEALED])
def test_whatever_is_changed_in_what_was_parked_makes_it_foreign(world: testing.World, sedano: Run, name: str) -> None:
    parked = honest(world)
    if name == "body":
        parked = parked._replace(body=command(world, "wipe", 7, "p1"))
    else:
        parked = parked._replace(attributes={**parked.attributes, name: DEFAULT})
    world.queues.send(PARKED, [parked])
    status, out, err = sedano("redrive", "--all")
    assert (status, out, "it has no valid mark" in err) == (1, "", True)
    assert world.queues.peek(SECRET) == world.queues.peek(DEFAULT) == []


def test_the_mark_of_another_stage_is_none(world: testing.World, sedano: Run) -> None:
    other = Seals(MemoryKeyStore(key_set.written(key_set.first("00" * 32))), world.clock, world.ports.entropy, world.telemetry)
    body, said = command(world, "wipe", 7, "p1"), {"queue": SECRET, "message_id": "m1", "reason": "schema", "field": "-", "detail": "-"}
    plant(world, body, **said, seal=other.mark(PARKED, SECRET, "m1", "schema", "-", "-", "", "", body))
    assert sedano("redrive", "--all")[:2] == (1, "")


class Away(MemoryKeyStore):
    """A store that cannot be reached."""

    def read(self) -> str | None:
        """Answer nothing."""
        raise Unavailable("no way to the store")


def test_without_keys_a_message_is_parked_all_the_same_and_is_foreign(world: testing.World, sedano: Run) -> None:
    world.ports.seals.store = Away()
    world.queues.send(SECRET, [Outgoing("{")])
    world.drain()
    (parked,) = world.parked()
    assert SEAL not in parked.attributes
    status, _, err = sedano("redrive", "--all")
    assert (status, "the stage's keys cannot be read (ssm:GetParameter on /sedano/STAGE/keys)" in err) == (1, True)


def test_foreign_messages_are_asked_for_by_id(sedano: Run) -> None:
    status, _, err = sedano("redrive", "--foreign", "--all")
    assert (status, "--foreign: give the ids" in err) == (2, True)


HOSTILE: list[tuple[str, dict[str, str]]] = [
    ("{", {"blob": "0" * 64 + " ²"}),
    ("{", {"blob": "0" * 64 + " 99999999999999999999"}),
    ("{", {"blob": "../../x 1"}),
    ("{", {"blob": " "}),
    (request(7).replace("1.0", "1" + "0" * 400), {"queue": "webhook:door"}),
    (request(7).replace("1.0", "1e400"), {"queue": "webhook:door"}),
    ('{"webhook":[],"at":true,"headers":[],"body":5}', {"queue": "webhook:door"}),
    ("[" * 100_000, {"queue": "webhook:door"}),
    ("[]", {"queue": "webhook:door"}),
    ('{"eventID":"1","eventName":"INSERT","dynamodb":{"ApproximateCreationDateTime":1' + "0" * 400 + "}}", {"queue": "stream:x"}),
    ("[" * 100_000, {"queue": "stream:x"}),
    ('{"timer":1}', {"queue": DEFAULT}),
    ("\x9d52;c;AAAA\x9c\u202e", {"queue": DEFAULT, "detail": "\x9b2J\u202e"}),
]


def test_hostile_parked_messages_end_neither_show_nor_redrive(world: testing.World, sedano: Run) -> None:
    """Each bears an honest mark, so that it gets as far as it can."""
    digest = world.ports.blobs.put(b"\xff\xfe")
    hostile = [*HOSTILE, ("{", {"blob": f"{digest.digest} {digest.size}"})]
    for n, (body, more) in enumerate(hostile):
        said = {"queue": DEFAULT, "message_id": f"m{n}", "reason": "schema", "field": "-", "detail": "-", **more}
        mark = world.ports.seals.mark(PARKED, *(said.get(name, "") for name in SEALED), body)
        world.queues.send(PARKED, [Outgoing(body, attributes={**said, SEAL: mark})])
    world.queues.send(SECRET, [Outgoing("{")])
    world.drain()
    honest_id = world.parked()[-1].attributes["message_id"]
    assert sedano("list")[0] == 0
    for n in range(len(hostile)):
        status, out, _ = sedano("show", f"m{n}")
        assert status == 0
        assert all(letter == "\n" or letter.isprintable() for letter in out)
        assert items(sedano("show", f"m{n}", "--json")[1])[0]["message_id"] == f"m{n}"
    status, out, err = sedano("redrive", "--all", "--yes")
    assert f"{honest_id} sent to {SECRET}\n" in out
    assert all(f"m{n} " in out + err for n in range(len(hostile)))


ATTRIBUTES = st.dictionaries(st.sampled_from([*SEALED, SEAL, "other"]), st.text(min_size=1, max_size=20), max_size=8)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(min_size=1, max_size=60) | st.sampled_from([request(1), "{}"]), ATTRIBUTES, st.booleans())
def test_no_parked_message_ends_the_look_at_the_others(
    sedano: Run, body: str, attributes: dict[str, str], marked: bool
) -> None:  # fmt: skip
    ran.clear()
    with testing.world(vault.app) as world:
        said: dict[str, Any] = dict(attributes)
        if marked:
            said[SEAL] = world.ports.seals.mark(PARKED, *(said.get(name, "") for name in SEALED), body)
        world.queues.send(PARKED, [Outgoing(body, attributes=said)])
        redrives = (("redrive", "--all", "--yes"), ("redrive", "--foreign", "x", "--yes"))
        for arguments in (("list",), ("show", "--", said.get("message_id", "x")), *redrives):
            status, out, err = sedano(*arguments)
            assert status in (0, 1, 3)
            assert all(letter in "\n\t" or letter.isprintable() for letter in (out + err).replace("\xa0", "").replace("\u3000", ""))
        assert ran == []
