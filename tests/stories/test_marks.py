"""Nobody steers a limit by attributes: a slot or a quiet period counts only when a worker of this stage wrote it, for this message."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest

from sedano import Sedano, testing
from sedano.errors import Unavailable
from sedano.memory import MemoryKeyStore
from sedano.model.limits.task_limits import QUIET, SLOT
from sedano.ports import Outgoing, command_queue
from sedano.ports.seals import Seals

COMMANDS = command_queue("default")
HOUR_S = 3_600.0
RULE = "3600000000x1"

Forge = Callable[[testing.World, str], str]


@pytest.fixture
def ran() -> list[tuple[float, Any]]:
    """When each body began, and with what."""
    return []


@pytest.fixture
def world(ran: list[tuple[float, Any]]) -> Iterator[testing.World]:
    """An app with a task that may start once an hour, and one that waits for quiet."""
    app = Sedano("marks")
    app.task(name="send", rate="1/h")(lambda n: ran.append((built.clock.now(), n)))
    app.task(name="index", debounce="60s")(lambda n: ran.append((built.clock.now(), n)))
    with testing.world(app) as built:
        yield built


def send(world: testing.World, name: str, n: int, attributes: dict[str, str]) -> str:
    """Send a command as a stranger who may send to the queue does, with *attributes*; its id."""
    message_id, moment = f"stranger-{name}-{n}", datetime.fromtimestamp(world.clock.now(), UTC).isoformat().replace("+00:00", "Z")
    body = {
        "specversion": "1.0", "type": "sedano.command.v1", "source": "stranger", "subject": name, "id": message_id,
        "time": moment, "clock": str(now_us(world) + n), "data": {"args": [n]},
    }  # fmt: skip
    world.queues.send(COMMANDS, [Outgoing(json.dumps(body), attributes=attributes)])
    return message_id


def now_us(world: testing.World) -> int:
    """What its clock shows, as slots do."""
    return int(world.clock.now() * 1_000_000)


def stranger(world: testing.World) -> Seals:
    """What signs by a key of somebody else's stage."""
    return Seals(MemoryKeyStore('{"sign":"k1","keys":{"k1":"' + "00" * 32 + '"}}'), world.clock, world.ports.entropy, world.telemetry)


FORGERIES: dict[str, Forge] = {
    "as versions before this one wrote it": lambda world, text: text,
    "an empty mark": lambda world, text: f";;{text}",
    "no mac": lambda world, text: f"k1;{text}",
    "a mac of zeros": lambda world, text: f"k1;{'0' * 32};{text}",
    "another stage's key": lambda world, text: stranger(world).attached(SLOT, text, COMMANDS, "1", "1", f"send/{RULE}/"),
    "an unknown key": lambda world, text: f"k9;{'0' * 32};{text}",
    "a mark of another message": lambda world, text: world.ports.seals.attached(SLOT, text, COMMANDS, "1", "1", f"send/{RULE}/"),
    "no text": lambda world, text: "x",
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_twenty_of_twenty_forged_slots_do_not_get_past_a_rate(world: testing.World, ran: list[Any], forgery: str) -> None:
    for n in range(20):
        send(world, "send", n, {SLOT: FORGERIES[forgery](world, f"{now_us(world)}/0/{RULE}")})
    world.elapse(10)
    assert len(ran) == 1
    world.drain()
    moments = [moment for moment, _ in ran]
    assert len(moments) == 20
    assert all(later - one >= HOUR_S - 0.001 for one, later in pairwise(moments))


@pytest.mark.parametrize("forgery", FORGERIES)
def test_forged_quiet_does_not_get_past_a_debounce(world: testing.World, ran: list[Any], forgery: str) -> None:
    for n in range(20):
        send(world, "index", n, {QUIET: FORGERIES[forgery](world, f"{now_us(world)}")})
    world.elapse(10)
    assert ran == []
    world.drain()
    assert [n for _, n in ran] == [19]


def test_a_forged_mark_is_counted_and_an_honest_one_is_not(world: testing.World, ran: list[Any]) -> None:
    for n in range(3):
        send(world, "send", n, {})
    world.drain()
    assert len(ran) == 3
    assert world.telemetry.counted("MarksRefused", kind=SLOT) == 0
    send(world, "send", 3, {SLOT: f"k1;{'0' * 32};{now_us(world)}/0/{RULE}"})
    world.drain()
    assert world.telemetry.counted("MarksRefused", kind=SLOT) == 1


def test_a_slot_that_was_given_to_one_message_is_of_no_use_to_another(world: testing.World, ran: list[Any]) -> None:
    for n in range(3):
        send(world, "send", n, {})
    world.step()
    given = [one.attributes[SLOT] for one in world.queues.peek(COMMANDS)]
    assert len(given) == 2
    world.clock.advance(HOUR_S)
    for n in range(3, 13):
        send(world, "send", n, {SLOT: given[0]})
    world.step()
    assert len(ran) == 2
    world.drain()
    moments = [moment for moment, _ in ran]
    assert len(moments) == 13
    assert all(later - one >= HOUR_S - 0.001 for one, later in pairwise(moments))


class Away(MemoryKeyStore):
    """A store that cannot be reached."""

    def read(self) -> str | None:
        """Answer nothing."""
        raise Unavailable("no way to the store")


@pytest.fixture
def keyless(ran: list[tuple[float, Any]]) -> Iterator[testing.World]:
    """The same app where no worker can have keys."""
    app = Sedano("keyless")
    app.task(name="send", rate="1/m")(lambda n: ran.append((built.clock.now(), n)))
    app.task(name="index", debounce="60s")(lambda n: ran.append((built.clock.now(), n)))
    with testing.world(app) as built:
        built.ports.seals.store = Away()
        yield built


def test_without_keys_limited_tasks_keep_their_limit_and_all_of_them_run(keyless: testing.World, ran: list[Any]) -> None:
    for n in range(12):
        keyless.app.send_task("send", [n])
    keyless.drain()
    moments = [moment for moment, _ in ran]
    assert sorted(n for _, n in ran) == list(range(12))
    assert all(later - one >= 59.999 for one, later in pairwise(moments))
    assert moments[-1] - moments[0] <= 12 * 62
    assert keyless.telemetry.counted("KeysUnavailable") > 0


def test_without_keys_a_forged_slot_does_not_get_past_a_rate_either(keyless: testing.World, ran: list[Any]) -> None:
    for n in range(20):
        send(keyless, "send", n, {SLOT: f"k1;{'0' * 32};{now_us(keyless)}/0/60000000x1"})
    keyless.elapse(10)
    assert len(ran) == 1


def test_without_keys_the_latest_of_debounced_calls_runs_once(keyless: testing.World, ran: list[Any]) -> None:
    for n in range(5):
        keyless.app.send_task("index", [n])
        keyless.elapse(5)
    keyless.drain()
    assert [n for _, n in ran] == [4]
