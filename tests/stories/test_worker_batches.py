"""What lanes finish while a call is under way goes together: deletions, and lines of the history. Nothing is lost."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sedano import Retry, Sedano, memory
from sedano.errors import SedanoError, Unavailable
from sedano.host import one_file
from sedano.host.acknowledger import MOST_GATHERED, Acknowledger
from sedano.host.record_batches import RecordBatches
from sedano.memory import MemoryTelemetry
from sedano.ports import EVENTS, RECORDS, Delivery, Outgoing, Ports, command_queue
from tests.stories.lanes_in_threads import SECONDS, VISIBILITY_S, Process
from tests.stories.mutants import Delegating
from tests.waiting import until

QUEUE = command_queue("default")


class Paced(Delegating):
    """Queues whose deletions and lines of the history wait until they may go on, and may fail."""

    def __init__(self, inner: Any) -> None:
        """Note the calls of *inner*."""
        super().__init__(inner)
        self.deleted, self.sent, self.began, self.go = list[list[str]](), list[list[str]](), threading.Event(), threading.Event()
        self.fault: SedanoError | None = None

    def delete(self, deliveries: Sequence[Delivery]) -> None:
        """Note what is deleted."""
        self._wait()
        self.deleted.append([one.message_id for one in deliveries])
        if self.fault is not None:
            raise self.fault

    def send(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        """Refuse each message that says so, and note all."""
        if queue == RECORDS:
            self._wait()
        if self.fault is not None:
            raise self.fault
        self.sent.append([one.body for one in messages])
        return [Unavailable("away") if one.body == "refused" else None for one in messages]

    def _wait(self) -> None:
        self.began.set()
        assert self.go.wait(SECONDS)


@pytest.fixture
def telemetry() -> MemoryTelemetry:
    return MemoryTelemetry()


@pytest.fixture
def ports(telemetry: MemoryTelemetry) -> Ports:
    found = memory.ports()
    return replace(found, queues=Paced(found.queues), telemetry=telemetry)


def _message(name: object) -> Delivery:
    return Delivery(QUEUE, f"m-{name}", f"r-{name}", "")


def _thread(call: Callable[..., Any], *given: Any) -> threading.Thread:
    thread = threading.Thread(target=call, args=given)
    thread.start()
    return thread


def test_a_lane_hands_its_messages_to_the_one_that_deletes_and_goes_on(ports: Ports) -> None:
    acknowledger, queues = Acknowledger(ports), ports.queues
    deletes = _thread(acknowledger.delete, [_message("first")])
    queues.began.wait(SECONDS)
    for number in range(MOST_GATHERED):
        acknowledger.delete([_message(number)])  # returns although the first call is under way
    assert queues.deleted == []
    queues.go.set()
    deletes.join(SECONDS)
    assert queues.deleted == [["m-first"], [f"m-{number}" for number in range(MOST_GATHERED)]]


def test_no_more_messages_wait_than_go_with_the_next_call(ports: Ports) -> None:
    acknowledger, queues = Acknowledger(ports), ports.queues
    threads = [_thread(acknowledger.delete, [_message("first")])]
    queues.began.wait(SECONDS)
    for number in range(MOST_GATHERED):
        acknowledger.delete([_message(number)])
    threads.append(_thread(acknowledger.delete, [_message("one too many")]))
    threads[-1].join(0.2)
    assert threads[-1].is_alive(), "the lane waits: messages that are finished and not deleted are bounded"
    queues.go.set()
    for thread in threads:
        thread.join(SECONDS)
    assert sorted(name for call in queues.deleted for name in call) == sorted(
        ["m-first", "m-one too many", *(f"m-{number}" for number in range(MOST_GATHERED))]
    )


@pytest.mark.parametrize("lanes", [2, 8])
def test_when_all_lanes_have_ended_every_message_is_deleted_once(lanes: int, ports: Ports) -> None:
    acknowledger, queues = Acknowledger(ports), ports.queues
    queues.go.set()

    def work(lane: int) -> None:
        for number in range(200):
            acknowledger.delete([_message(f"{lane}-{number}")])

    for thread in [_thread(work, lane) for lane in range(lanes)]:
        thread.join(SECONDS)
    found = [name for call in queues.deleted for name in call]
    assert sorted(found) == sorted(f"m-{lane}-{number}" for lane in range(lanes) for number in range(200))


def test_a_deletion_that_fails_is_logged_and_the_next_one_is_made(ports: Ports, telemetry: MemoryTelemetry) -> None:
    acknowledger, queues = Acknowledger(ports), ports.queues
    queues.go.set()
    queues.fault = Unavailable("away")
    acknowledger.delete([_message(1)])
    queues.fault = None
    acknowledger.delete([_message(2)])
    assert queues.deleted == [["m-1"], ["m-2"]]
    assert telemetry.messages("warning") == ["finished messages were not deleted; they are delivered again"]


def test_lines_of_the_history_that_gather_go_with_one_call_and_each_lane_has_its_own_answers(ports: Ports) -> None:
    queues, answers = ports.queues, dict[str, list[SedanoError | None]]()
    together = RecordBatches(queues)

    def tell(*bodies: str) -> None:
        answers[bodies[0]] = together.send(RECORDS, [Outgoing(body) for body in bodies])

    threads = [_thread(tell, "first")]
    queues.began.wait(SECONDS)
    threads += [_thread(tell, "a", "refused"), _thread(tell, "b")]
    until(lambda: len(together._gathered) == 2)
    queues.go.set()
    for thread in threads:
        thread.join(SECONDS)
    assert [sorted(call) for call in queues.sent] == [["first"], ["a", "b", "refused"]]
    assert (answers["first"], answers["b"]) == ([None], [None])
    assert [answer is None for answer in answers["a"]] == [True, False]


def test_an_error_of_a_call_reaches_each_lane_whose_lines_it_had(ports: Ports) -> None:
    queues, raised = ports.queues, list[str]()
    together = RecordBatches(queues)

    def tell(body: str) -> None:
        try:
            together.send(RECORDS, [Outgoing(body)])
        except Unavailable as error:
            raised.append(str(error))

    queues.fault = Unavailable("away")
    threads = [_thread(tell, "first")]
    queues.began.wait(SECONDS)
    threads += [_thread(tell, "a"), _thread(tell, "b")]
    until(lambda: len(together._gathered) == 2)
    queues.go.set()
    for thread in threads:
        thread.join(SECONDS)
    assert raised == ["away"] * 3
    queues.fault = None
    assert together.send(RECORDS, [Outgoing("later")]) == [None], "the next call begins anew"


def test_what_is_sent_elsewhere_waits_for_no_other_lane(ports: Ports) -> None:
    queues = ports.queues
    together = RecordBatches(queues)
    held = _thread(together.send, RECORDS, [Outgoing("first")])
    queues.began.wait(SECONDS)
    assert together.send(EVENTS, [Outgoing("event")]) == [None]
    assert held.is_alive()
    queues.go.set()
    held.join(SECONDS)
    assert queues.sent == [["event"], ["first"]]


class Dying(Delegating):
    """Queues of a process that dies at its first deletion of a task's message: nothing of what it does from then on arrives."""

    dead = False

    def delete(self, deliveries: Sequence[Delivery]) -> None:
        """Die; before that, the records and events that the process takes itself are deleted."""
        type(self).dead = self.dead or any(one.queue == QUEUE for one in deliveries)
        if self.dead:
            raise Unavailable("this process is dead")
        self.inner.delete(deliveries)

    def hold(self, delivery: Delivery, seconds: float) -> None:
        """Change nothing once dead."""
        if not self.dead:
            self.inner.hold(delivery, seconds)

    def receive(self, *given: Any) -> Sequence[Delivery]:
        """Receive nothing once dead."""
        if self.dead:
            time.sleep(0.05)
            return []
        found: Sequence[Delivery] = self.inner.receive(*given)
        return found


def test_a_death_between_records_and_their_deletion_loses_and_doubles_nothing(tmp_path: Path, telemetry: MemoryTelemetry) -> None:
    app = Sedano("dying", retry=Retry(max_retries=0))
    ran = list[int]()
    count = app.task(name="count")(ran.append)
    file = one_file.ports(tmp_path / "own" / "dying.db", ("default",), VISIBILITY_S, telemetry)
    app.attach(file)
    with app.batch():
        results = [count.delay(number) for number in range(12)]
    first = Process(app, replace(file, queues=Dying(file.queues)), concurrency=4)
    until(lambda: "finished messages were not deleted; they are delivered again" in telemetry.messages("warning"))
    first.end()
    second = Process(app, file, concurrency=4)
    assert [result.get(timeout=SECONDS) for result in results] == [None] * 12
    until(lambda: not any(file.consumers.load(QUEUE)))
    second.end()
    assert sorted(ran) == list(range(12)), "each body ran once, whether its message was deleted or not"
