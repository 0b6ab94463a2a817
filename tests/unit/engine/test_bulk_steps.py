"""The steps of a bulk change: when it stops for its next attempt, what it keeps, and that its end is reported once."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from sedano import memory
from sedano.engine.bulk import TRIES, BulkChange, BulkRequest, progress
from sedano.errors import SedanoError, TooLarge, Unavailable
from sedano.memory import START, MemoryQueues, MemoryTelemetry, VirtualClock
from sedano.memory.memos import MemoryMemos
from sedano.model import states
from sedano.model.bulk import PAGE, RETRY, REVOKE, SLOTS, BulkProgress, slot, text_of
from sedano.model.history.run_rows import MICRO, unpack
from sedano.model.ledger.records import Claim, Outcome, Posted
from sedano.model.memos import BULK, Memo, MemoChanged, memo_name
from sedano.model.messages import codec
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.message import Command
from sedano.ports import RECORDS, Outgoing, Ports, command_queue
from sedano.ports.absent import Absent

IDS = tuple(f"odd-{n}" for n in range(250))
ASKED = BulkRequest(REVOKE, IDS, "250 tasks", "a wrong price", "ada")
FOREVER = START + 1e9
COMMANDS = command_queue("default")


class Once(MemoryQueues):
    """Queues that end the process at the first record of the history."""

    dies = True

    def send(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        """Send it, unless it is the first record."""
        if self.dies and queue == RECORDS:
            self.dies = False
            raise KeyboardInterrupt
        return super().send(queue, messages)


class Away(MemoryQueues):
    """Queues without a history."""

    def send(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        """Refuse records."""
        return [Unavailable("away") for _ in messages] if queue == RECORDS else super().send(queue, messages)


class Contended(MemoryMemos):
    """Memos that another process changes before each of the first *many* changes."""

    def __init__(self, many: int) -> None:
        super().__init__()
        self.many, self.changes = many, 0

    def change(self, memo: Memo, seen: Memo) -> MemoChanged:
        """Change it, after another process."""
        self.changes += 1
        if self.changes <= self.many:
            found = self.read([memo.name]).get(memo.name, Memo(memo.name))
            super().change(memo._replace(text="", nonce=f"other-{self.changes}"), found)
        return super().change(memo, seen)


def ported(queues: type[MemoryQueues] = MemoryQueues, **others: Any) -> Ports:
    """A stage in memory."""
    clock = VirtualClock(START)
    own = {"clock": clock, "queues": queues(clock, memory.queue_keys(("default",))), "telemetry": MemoryTelemetry()}
    return replace(memory.ports(), **{**own, **others})


def change(ports: Ports, deadline: float = FOREVER, check: Callable[[], None] = lambda: None) -> BulkProgress:
    """Make the change, or continue it."""
    return BulkChange(ports, LamportClock(lambda: int(ports.clock.now() * 1_000_000)), "c", deadline, check).run(ASKED)


def reports(ports: Ports) -> int:
    """How many records of the history were sent."""
    return len(ports.queues.peek(RECORDS))  # type: ignore[attr-defined]


def test_near_the_end_of_its_claim_it_stops_after_a_page_and_the_next_attempt_continues() -> None:
    ports, pages = ported(), list[float]()

    def check() -> None:
        ports.clock.advance(5.0)  # type: ignore[attr-defined]
        pages.append(ports.clock.now() - START)

    with pytest.raises(Unavailable, match=r"200 of 250 tasks are done: 200 changed, 0 unchanged\. The next attempt continues"):
        change(ports, START + 20.0, check)
    assert pages == [5.0, 10.0, 15.0], "a page begins ten seconds before the end, and none after that"
    assert change(ports, FOREVER, check).done == 250
    assert len(pages) == 4


def test_a_page_that_would_begin_within_ten_seconds_of_the_end_is_left_to_the_next_attempt() -> None:
    ports = ported()
    with pytest.raises(Unavailable, match="200 of 250"):
        change(ports, START + 24.5, lambda: ports.clock.advance(5.0))  # type: ignore[attr-defined]


def test_the_first_page_is_made_however_short_the_claim_is() -> None:
    ports = ported()
    with pytest.raises(Unavailable):
        change(ports, START)
    found = progress(ports, "c")
    assert found is not None
    assert found.done == PAGE


def test_each_attempt_makes_a_page_so_claims_that_are_always_short_end_too() -> None:
    ports = ported()
    for done in ("100 of 250", "200 of 250"):
        with pytest.raises(Unavailable, match=done):
            change(ports, ports.clock.now() + 5.0)
    assert change(ports, ports.clock.now() + 5.0).done == 250


def test_its_end_is_reported_once_however_often_it_is_delivered() -> None:
    ports = ported()
    assert change(ports) == change(ports) == progress(ports, "c")
    assert reports(ports) == 1


def test_a_process_that_dies_at_the_report_leaves_a_change_that_has_ended() -> None:
    ports = ported(Once)
    with pytest.raises(KeyboardInterrupt):
        change(ports)
    assert change(ports).reported
    assert reports(ports) == 0, "it is reported at most once"


def test_a_report_that_is_refused_is_logged_and_one_that_is_taken_is_not() -> None:
    for queues, lines in ((Away, ["change not in the history"]), (MemoryQueues, [])):
        ports = ported(queues)
        assert change(ports).done == 250
        assert ports.telemetry.messages("warning") == lines  # type: ignore[attr-defined]


def test_a_task_that_has_ended_otherwise_is_left_with_its_state() -> None:
    ports = ported()
    for task, state in (("odd-1", states.SUCCESS), ("odd-2", states.REVOKED)):
        ports.ledger.claim([Claim(task, 0, "m", "n", START + 60, 7, "f")])
        ports.ledger.record([Outcome(task, state, "n", 1, "m", 0, 8, "f", START)])
    ports.ledger.claim([Claim("odd-3", 0, "m", "n", START + 60, 7, "f")])
    found = change(ports)
    assert (found.changed, found.left, found.reasons) == (249, 1, ("odd-1 had ended as SUCCESS",)), "odd-3 runs, and is asked to end"


class NoCommands(MemoryQueues):
    """Queues that take no commands, for now or at all."""

    error: SedanoError = Unavailable("throttled")

    def send(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        """Refuse commands."""
        return [self.error for _ in messages] if queue == COMMANDS else super().send(queue, messages)


def failed(ports: Ports) -> None:
    """Let two tasks fail whose calls are kept."""
    for number in range(2):
        body = codec.encode(Command(f"m-{number}", f"odd-{number}", "f", "me", START, 7))
        ports.ledger.claim([Claim(f"odd-{number}", 0, "m", "n", START + 60, 7, "f")])
        end = Outcome(f"odd-{number}", states.FAILURE, "n", 1, "m", 0, 8, "f", START, call=Posted(COMMANDS, body))
        ports.ledger.record([end])


def test_while_the_queue_is_away_the_page_is_left_to_the_next_attempt() -> None:
    ports = ported(NoCommands)
    failed(ports)
    retry = ASKED._replace(verb=RETRY, ids=("odd-0", "odd-1", "odd-9"))
    one = BulkChange(ports, LamportClock(lambda: 1), "c", FOREVER, lambda: None)
    with pytest.raises(Unavailable, match="throttled"):
        one.run(retry)
    assert progress(ports, "c") is None
    ports.queues.error = TooLarge("body", "it is too large")  # type: ignore[attr-defined]
    found = one.run(retry)
    assert (found.changed, found.left) == (0, 3)
    assert "no task is recorded under it" in found.reasons[0]
    assert "it is too large" in found.reasons[1]


def test_the_report_has_the_clock_and_the_process() -> None:
    ports = ported()
    change(ports)
    (record,) = ports.queues.peek(RECORDS)  # type: ignore[attr-defined]
    (event,) = [event for event in unpack(record.body) if event["type"] == "stage-changed"]
    assert (event["pid"], event["by"]) == (os.getpid(), "ada")
    assert event["clock"] >= START * MICRO


def test_a_stage_without_memos_keeps_no_progress_and_makes_the_change() -> None:
    ports = ported(memos=Absent("memos"))
    assert change(ports).done == 250
    assert progress(ports, "c") is None


@pytest.mark.parametrize(("many", "kept"), [(TRIES - 1, True), (TRIES, False)])
def test_a_progress_is_written_again_when_another_process_was_faster(many: int, kept: bool) -> None:
    memos = Contended(many)
    with pytest.raises(Unavailable):
        change(ported(memos=memos), START)
    assert (memos.changes, memos.read([memo_name(BULK, slot("c"))])[memo_name(BULK, slot("c"))].text != "") == (TRIES, kept)


def test_a_delivery_that_is_further_is_not_set_back() -> None:
    name = memo_name(BULK, slot("c"))
    for further in (BulkProgress("c", 250, 250, 250, 0, (), True), BulkProgress("c", 250, 200, 200), BulkProgress("c", 250, 100, 100)):
        memos = Contended(0)
        ports, first = ported(memos=memos), [Memo(name, text_of(further), "other")]

        def late(memos: Contended = memos, first: list[Memo] = first) -> None:
            """Another delivery was faster, once."""
            while first:
                memos.change(first.pop(), Memo(name))

        with pytest.raises(Unavailable):
            change(ports, START, late)
        assert progress(ports, "c") == further
        assert memos.changes == 1, "the other delivery's"


def test_the_slots_are_64_and_each_is_used() -> None:
    assert SLOTS == 64
    assert {slot(str(number)) for number in range(2_000)} == {str(number) for number in range(64)}
    assert (slot("c"), slot("odd"), slot("\ud800")) == ("30", "29", "46"), "the same on every machine"
