"""How far a batch of a stream gets, step by step: the groups, the time that is left, what a queue refuses, and what is parked of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from sedano import memory
from sedano.engine.drafts import CommandDraft
from sedano.engine.sources.streams import Record, Streams
from sedano.errors import ConfigurationError, MessageRefused, SedanoError, TooLarge, Unavailable
from sedano.memory.stream_records import kinesis_record, queue_record, table_record
from sedano.model import refusals
from sedano.model.history.run_rows import Host
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.message import Command
from sedano.model.sources.streams import call_id
from sedano.ports import PARKED, Outgoing, Ports, command_queue

QUEUE, OTHER = command_queue("default"), command_queue("other")
AWAY = Unavailable("away")
STANDING = {"clicks": {"count": []}, "orders": {"follow": [], "gone": ["REMOVE"]}, "twice": {"one": [], "two": []}}


class Queues(memory.MemoryQueues):
    """Queues that note each call of `send`, and refuse what a test says."""

    def __init__(self, clock: memory.VirtualClock) -> None:
        """Refuse nothing at first."""
        super().__init__(clock, [QUEUE, OTHER, PARKED])
        self.calls: list[tuple[str, int]] = []
        self.refuses: Callable[[str, str], SedanoError | None] = lambda queue, body: None

    def send(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        """Send what is not refused."""
        self.calls.append((queue, len(messages)))
        answers = [self.refuses(queue, one.body) for one in messages]
        return [error or super(Queues, self).send(queue, [one])[0] for error, one in zip(answers, messages, strict=True)]


class Reader:
    """The reader of two streams over queues in memory."""

    def __init__(self, telemetry: memory.MemoryTelemetry | None = None) -> None:
        """Call each task in the queue `default`; `gone` has one of its own."""
        ports = memory.ports()
        clock = ports.clock
        assert isinstance(clock, memory.VirtualClock)
        self.clock, self.queues = clock, Queues(clock)
        self.telemetry = telemetry or memory.MemoryTelemetry()
        self.ports: Ports = replace(ports, queues=self.queues, telemetry=self.telemetry)
        self.wrong: dict[str, BaseException] = {}
        lamport = LamportClock(lambda: int(clock.now() * 1_000_000))
        self.streams = Streams(STANDING, self.called, self.ports, Host("host", 1), lamport)

    def called(self, task: str, record: Record, task_id: str) -> CommandDraft:
        """Return the call of *task*, or raise what is *wrong* with the record."""
        wrong = self.wrong.get(record["id"].partition(":")[2].lstrip("0") or record["id"].lstrip("0"))
        if wrong is not None:
            raise wrong
        return CommandDraft("other" if task == "gone" else "default", Command("", task_id, task, args=(record["id"],)))

    def take(self, records: Sequence[Mapping[str, Any]], seconds: float = 60.0, stream: str = "clicks") -> int:
        """Return how many of *records* are finished in so many *seconds*."""
        return self.streams.take(stream, records, self.clock.now() + seconds)

    def parked(self) -> list[tuple[str, ...]]:
        """Return what was parked: the message, the queue, the reason, the field, the detail."""
        names = ("message_id", "queue", "reason", "field", "detail")
        return [tuple(one.attributes[name] for name in names) for one in self.queues.peek(PARKED)]

    def stopped(self) -> list[Mapping[str, Any]]:
        """Return what was logged of each batch that stopped."""
        words = "stream: the rest of the batch stays in it and is delivered again"
        lines = [line for line in self.telemetry.lines if line.message == words]
        assert self.telemetry.counted("StreamsStopped") == len(lines)
        assert {line.level for line in lines} <= {"warning"}
        return [line.fields for line in lines]


@pytest.fixture
def reader() -> Reader:
    return Reader()


def clicks(count: int, first: int = 1) -> list[dict[str, Any]]:
    """Return so many records of Kinesis."""
    return [kinesis_record(number, 0.0, b'"a"', "-") for number in range(first, first + count)]


def refusing(*numbers: int, error: SedanoError = AWAY, queue: str = QUEUE) -> Callable[[str, str], SedanoError | None]:
    """Return a refusal of the calls with the records *numbers*."""
    ids = [f"{number:056}" for number in numbers]
    return lambda where, body: error if where == queue and any(one in body for one in ids) else None


def test_a_hundred_records_are_published_together(reader: Reader) -> None:
    assert reader.take(clicks(200)) == 200
    assert sum(count for _, count in reader.queues.calls) == 200
    alone = Reader()
    assert alone.take(clicks(100)) == 100
    assert alone.queues.calls * 2 == reader.queues.calls
    assert reader.stopped() == []


@pytest.mark.parametrize(("seconds", "done"), [(10.0, 100), (20.0, 100), (20.5, 200), (31.0, 201), (0.0, 100)])
def test_ten_seconds_before_the_end_no_group_begins_but_the_first(seconds: float, done: int) -> None:
    reader = Reader()
    records = clicks(201)
    reader.queues.refuses = lambda queue, body: reader.clock.advance(10.0 * (f"{1:056}" in body or f"{101:056}" in body))
    assert reader.take(records, seconds) == done
    why = "the time of the invocation is over"
    told = {"stream": "clicks", "records": 201, "done": done, "next": f"{done + 1:056}", "error": why}
    assert reader.stopped() == [told] * (done < 201)


def test_a_batch_stops_at_the_first_record_that_a_queue_does_not_take(reader: Reader) -> None:
    reader.queues.refuses = refusing(3, 5)
    assert reader.take(clicks(6)) == 2
    assert reader.stopped() == [{"stream": "clicks", "records": 6, "done": 2, "next": f"{3:056}", "error": "away"}]
    reader.queues.refuses = refusing(101)
    assert reader.take(clicks(250)) == 100


def test_where_the_first_record_is_not_taken_the_reason_is_raised(reader: Reader) -> None:
    reader.queues.refuses = refusing(1)
    with pytest.raises(Unavailable, match="away"):
        reader.take(clicks(2))
    assert [line["done"] for line in reader.stopped()] == [0]
    with pytest.raises(ConfigurationError, match=r"stream lost: this app does not declare it; write @app.stream\('lost'\) above a task"):
        reader.take(clicks(1), stream="lost")
    assert reader.parked() == []


def changes() -> list[dict[str, Any]]:
    """Return four changes of a table: items are removed, and one is made."""
    gone = [table_record(number, 0.0, {"id": number}, None, {"id": number}) for number in (1, 2, 4)]
    return [*gone[:2], table_record(3, 0.0, {"id": 3}, {"id": 3}, None), gone[2]]


def calls(reader: Reader, queue: str) -> list[int]:
    """Return the numbers of the records with which the tasks of *queue* are called."""
    return [number for one in reader.queues.peek(queue) for number in range(1, 5) if f'"{number:032x}"' in one.body]


def test_a_task_is_called_with_the_operations_that_it_wants(reader: Reader) -> None:
    assert reader.take(changes(), stream="orders") == 4
    assert (calls(reader, QUEUE), calls(reader, OTHER)) == ([1, 2, 3, 4], [1, 2, 4])
    for task, queue in (("follow", QUEUE), ("gone", OTHER)):
        assert call_id("orders", task, f"{1:032x}") in reader.queues.peek(queue)[0].body


def test_the_queue_that_failed_last_is_tried_first_and_none_gets_what_lies_behind_its_stop(reader: Reader) -> None:
    reader.queues.refuses = lambda queue, body: AWAY if queue == OTHER and f"{2:032x}" in body else None
    for begun in (QUEUE, OTHER):
        reader.queues.calls.clear()
        assert reader.take(changes(), stream="orders") == 1
        assert reader.queues.calls[0][0] == begun
    assert [call for call in reader.queues.calls if call[0] == QUEUE] == [(QUEUE, 1)]


@pytest.mark.parametrize(
    ("error", "parked"),
    [
        (TooLarge("too large"), ("stream:clicks", "stream", "call", "too large")),
        (MessageRefused(refusals.SCHEMA, "args", "wrong"), ("stream:clicks", "stream", "call", "schema: args: wrong")),
        (MessageRefused(refusals.UNEXPECTED, "engine/x.py:1", "a defect"), ("stream:clicks", "unexpected", "engine/x.py:1", "a defect")),
    ],
)
def test_a_record_whose_call_is_refused_for_good_is_parked_and_the_next_goes_on(
    reader: Reader, error: SedanoError, parked: tuple[str, ...]
) -> None:
    reader.queues.refuses = refusing(2, error=error)
    assert reader.take(clicks(3)) == 3
    assert reader.parked() == [(f"{2:056}", *parked)]
    assert len(reader.queues.peek(QUEUE)) == 2


def test_of_refused_records_those_behind_the_stop_are_not_parked_yet(reader: Reader) -> None:
    reader.wrong = {"1": ValueError("one"), "3": ValueError("three"), "4": ValueError("four")}
    reader.queues.refuses = refusing(2)
    assert reader.take(clicks(4)) == 1
    assert reader.parked() == [(f"{1:056}", "stream:clicks", "stream", "call", "ValueError: one")]
    reader.queues.refuses = refusing()
    assert reader.take(clicks(3, 2)) == 3
    assert [one[4] for one in reader.parked()] == ["ValueError: one", "ValueError: three", "ValueError: four"]


@pytest.mark.parametrize(
    ("wrong", "detail"),
    [(SystemExit("enough"), "SystemExit: enough"), (TooLarge("more"), "TooLarge: more"), (KeyError("id"), "KeyError: 'id'")],
)
def test_a_record_that_has_no_call_is_parked_with_the_reason(reader: Reader, wrong: BaseException, detail: str) -> None:
    reader.wrong = {"1": wrong}
    assert reader.take(clicks(2)) == 2
    assert reader.parked() == [(f"{1:056}", "stream:clicks", "stream", "call", detail)]


def test_a_call_that_cannot_be_made_now_stops_the_batch(reader: Reader) -> None:
    reader.wrong = {"2": AWAY, "3": ValueError("behind")}
    assert reader.take(clicks(3)) == 1
    assert (len(reader.queues.peek(QUEUE)), reader.parked()) == (1, [])
    assert [line["error"] for line in reader.stopped()] == ["away"]


@pytest.mark.parametrize(
    ("record", "which"), [({}, "no sequence number"), ({"kinesis": {"sequenceNumber": "é"}}, "no sequence number"),
                          ({"kinesis": {"sequenceNumber": "\n"}}, "no sequence number"), ({"kinesis": {"sequenceNumber": "7"}}, "7")],
)  # fmt: skip
def test_what_is_parked_has_the_number_of_its_record(reader: Reader, record: dict[str, Any], which: str) -> None:
    assert reader.take([record, *clicks(1)]) == 2
    assert [one[:3] for one in reader.parked()] == [(which, "stream:clicks", "stream")]


def test_a_record_that_can_neither_be_read_nor_parked_stays_and_so_does_all_behind_it(reader: Reader) -> None:
    reader.wrong = {"2": ValueError("two"), "4": ValueError("four")}
    reader.queues.refuses = lambda queue, body: AWAY if queue == PARKED else None
    assert reader.take(clicks(4)) == 1
    assert [line["error"] for line in reader.stopped()] == ["a record cannot be read, and could not be parked"]
    with pytest.raises(Unavailable, match="could not be parked"):
        reader.take(clicks(3, 2))


class Counting(memory.MemoryTelemetry):
    """Telemetry that fails with these *errors*, one after the other, when a parked message is counted."""

    def __init__(self, *errors: Exception) -> None:
        """Fail as often as there are errors."""
        super().__init__()
        self.errors = list(errors)

    def count(self, metric: str, value: float = 1, **dimensions: str) -> None:
        """Count, or fail."""
        if metric == "MessagesParked" and self.errors:
            raise self.errors.pop(0)
        super().count(metric, value, **dimensions)


DEFECT = RuntimeError("a defect")


@pytest.mark.parametrize(
    ("errors", "done", "sent", "codes"),
    [
        ([DEFECT], 3, [1, 3, 1, 3], ["stream", "stream"]), ([DEFECT, DEFECT], 3, [1, 3, 1, 3], ["stream", "stream", "unexpected"]),
        ([AWAY], 3, [1, 3, 1, 3], ["stream", "stream"]), ([AWAY, AWAY], 1, [1, 3, 1], ["stream", "stream"]),
    ],
)  # fmt: skip
def test_a_batch_in_which_something_fails_that_nobody_foresaw_is_processed_record_by_record(
    errors: list[Exception], done: int, sent: list[int], codes: list[str]
) -> None:
    telemetry = Counting(*errors)
    reader = Reader(telemetry)
    reader.wrong = {"2": ValueError("two")}
    assert reader.take(clicks(3)) == done
    bodies = [one.body for one in reader.queues.peek(QUEUE)]
    assert [number for body in bodies for number in (1, 2, 3) if f"{number:056}" in body] == sent
    assert [one[2] for one in reader.parked()] == codes
    assert (telemetry.errors, telemetry.counted("UnexpectedErrors")) == ([], errors.count(DEFECT))
    assert [line["error"] for line in reader.stopped()] == ["away"] * (done < 3)


@pytest.mark.parametrize(("errors", "why"), [([DEFECT], None), ([AWAY], "away")])
def test_one_record_for_which_something_fails_is_parked_or_stays(errors: list[Exception], why: str | None) -> None:
    reader = Reader(Counting(*errors))
    reader.wrong = {"2": ValueError("two")}
    if why is None:
        assert reader.take(clicks(1, 2)) == 1
    else:
        with pytest.raises(Unavailable, match=why):
            reader.take(clicks(1, 2))
    assert [line["done"] for line in reader.stopped()] == [0] * (why is not None)
    assert [one[2] for one in reader.parked()] == ["stream", "unexpected"][: 1 + (why is None)]


def test_one_record_for_which_something_fails_and_that_cannot_be_parked_stays() -> None:
    reader = Reader(Counting(DEFECT))
    reader.wrong, sends = {"2": ValueError("two")}, list[str]()

    def refuses(queue: str, body: str) -> SedanoError | None:
        sends.append(queue)
        return AWAY if len(sends) > 1 else None

    reader.queues.refuses = refuses
    with pytest.raises(Unavailable, match="could not be parked"):
        reader.take(clicks(1, 2))
    assert [line["done"] for line in reader.stopped()] == [0]


@pytest.mark.parametrize("first", [AWAY, TooLarge("too large")])
def test_of_the_calls_of_one_record_the_first_that_is_not_taken_gives_the_reason_and_it_is_not_parked(first: SedanoError) -> None:
    reader, answers = Reader(), {"one": first, "two": Unavailable("gone")}
    reader.queues.refuses = lambda queue, body: next((error for task, error in answers.items() if f'"subject":"{task}"' in body), None)
    with pytest.raises(Unavailable, match="away" if first is AWAY else "gone"):
        reader.take(clicks(1), stream="twice")
    assert reader.parked() == []


def test_a_message_of_a_queue_is_read_as_it_is_where_its_stream_names_no_format(reader: Reader) -> None:
    assert reader.take([queue_record(1, 0.0, "plain text", {})]) == 1
    assert (len(reader.queues.peek(QUEUE)), reader.parked()) == (1, [])


def test_a_parked_record_is_processed_again_and_its_calls_are_counted(reader: Reader) -> None:
    text = '{"eventID":"s:1","kinesis":{"data":"ImEi","partitionKey":"-","sequenceNumber":"1"}}'
    assert reader.streams.again("clicks", text) == 1
    assert [one.body.count('"s:1"') for one in reader.queues.peek(QUEUE)] == [1]
    with pytest.raises(ConfigurationError) as refused:
        reader.streams.again("lost", text)
    assert str(refused.value) == "stream lost: this app does not declare it; name the app that does with --app"
    reader.queues.refuses = lambda queue, body: AWAY
    with pytest.raises(Unavailable, match="away"):
        reader.streams.again("clicks", text)
