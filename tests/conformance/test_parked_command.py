"""`sedano parked` over memory, moto and a real endpoint: it shows what was set aside, and sends it again to where it came from."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from sedano import memory
from sedano.cli import main
from sedano.engine.batch import Batch
from sedano.engine.parked.parking import ATTRIBUTES_BYTES, ParkingLot
from sedano.model.history.run_rows import Chronicle, Host
from sedano.model.messages import codec
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.message import Command
from sedano.model.queues import SQS
from sedano.ports import PARKED, Delivery, Ports
from tests.conformance.worlds import COMMANDS, World
from tests.stories import bakery
from tests.stories.terminals import items

BODY_BYTES = SQS.max_bytes - ATTRIBUTES_BYTES
APP = ["--app", "tests.stories.bakery:app"]
KNOWN = Command("m-1", "t-1", "bakery.gone", "test", 1_767_225_600.0, 1)


@pytest.fixture
def ports(world: World) -> Iterator[Ports]:
    """The bakery over the world's queues and blobs."""
    ports = replace(memory.ports(), queues=world.queues, blobs=world.blobs)
    bakery.app.attach(ports)
    yield ports
    bakery.app.attach(None)


def park(ports: Ports, body: str, reason: str, queue: str = COMMANDS, message_id: str = "m") -> None:
    """Set a message aside as a worker does."""
    batch = Batch(0.0, Chronicle(Host("h", 1)))
    batch.park(Delivery(queue, message_id, "r", body), reason, "subject", f"because of {reason}")
    ParkingLot(ports, LamportClock(lambda: 1)).settle(batch)
    assert batch.given_back == []


def ran(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """The exit code, stdout and stderr of `sedano parked …`."""
    status = main(["parked", *APP, *arguments])
    said = capsys.readouterr()
    return status, said.out, said.err


def bodies(ports: Ports, queue: str) -> list[str]:
    """What lies in a queue now."""
    return [d.body for _ in range(3) for d in ports.queues.receive(queue)]


def test_it_tells_how_many_lie_there_for_which_reason_and_leaves_them_there(ports: Ports, capsys: pytest.CaptureFixture[str]) -> None:
    assert ran(capsys, "list") == (0, "", "nothing is parked\n")
    park(ports, codec.encode(KNOWN), "unknown-task")
    park(ports, codec.encode(KNOWN._replace(id="m-2", task_id="t-2")), "unknown-task")
    park(ports, "{", "malformed", message_id="broken-1")
    for _ in range(2):
        status, out, _ = ran(capsys, "list", "--json")
        found = items(out)
        assert status == 0
        assert [(f["reason"], f["number"], f["queue"]) for f in found] == [("unknown-task", 2, COMMANDS), ("malformed", 1, COMMANDS)]
        assert found[1]["sample"]["message_id"] == "broken-1"
    assert "because of malformed" in ran(capsys, "list", "--reason", "malformed")[1]


def test_it_shows_one_message_whole_also_a_long_one(ports: Ports, capsys: pytest.CaptureFixture[str]) -> None:
    park(ports, "{" + " " * BODY_BYTES, "too-large", message_id="long-1")
    park(ports, codec.encode(KNOWN), "unknown-task")
    status, out, _ = ran(capsys, "show", "t-1")
    assert status == 0
    assert "bakery.gone t-1: unknown-task, subject: because of unknown-task" in out
    assert codec.encode(KNOWN) in out
    assert len(ran(capsys, "show", "long-1")[1]) > BODY_BYTES
    status, _, err = ran(capsys, "show", "nobody")
    assert (status, "no parked message has the id nobody; `sedano parked list`" in err) == (3, True)


def test_it_sends_messages_again_to_the_queue_that_they_came_from(ports: Ports, capsys: pytest.CaptureFixture[str]) -> None:
    park(ports, codec.encode(KNOWN), "unknown-task")
    park(ports, codec.encode(KNOWN._replace(id="m-2", task_id="t-2")), "arguments", queue="commands:bulk")
    assert ran(capsys, "redrive", "t-1", "--yes") == (0, f"t-1 sent to {COMMANDS}\n", f"sedano parked: 1 of bakery.gone to {COMMANDS}\n")
    assert bodies(ports, COMMANDS) == [codec.encode(KNOWN)]
    assert ran(capsys, "redrive", "--why", "unknown-task")[0] == 3
    assert ran(capsys, "redrive", "--all", "--yes")[1] == "t-2 sent to commands:bulk\n"
    assert ran(capsys, "list")[2] == "nothing is parked\n"


def test_what_cannot_be_sent_again_stays_and_says_why(ports: Ports, capsys: pytest.CaptureFixture[str]) -> None:
    park(ports, "{", "malformed", queue="", message_id="lost-1")
    park(ports, "{", "malformed", queue="commands:gone", message_id="gone-1")
    status, out, err = ran(capsys, "redrive", "--all", "--yes")
    assert (status, out) == (1, "")
    assert "lost-1 stays parked: it does not name its queue" in err
    assert "gone-1 stays parked: queue: 'gone' is not known to this deployment, which has 'bulk', 'default', 'orders.fifo';" in err
    assert len(bodies(ports, PARKED)) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("redrive",), "redrive what? give ids, or --why CODE, or --all"), (("redrive", "--all", "t"), "redrive what?"),
        (("--most", "0", "list"), "Invalid value for '--most': 0: give a whole number, 1 or more"),
    ],
)  # fmt: skip
def test_a_command_that_makes_no_sense_says_what_to_do(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = ran(capsys, *arguments)
    assert (status, out) == (2, "")
    assert message in err
