"""The engine keeps to the bounds of the queues that it is given: other delays, fewer bytes, smaller batches, no order."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from sedano import Retry, Sedano, memory
from sedano.engine.worker.pipeline import Worker, WorkerSettings
from sedano.errors import PortMissing, QueueUnfit, SedanoError, TooLarge
from sedano.memory import MemoryQueues
from sedano.model.history.run_rows import Host, unpack
from sedano.model.messages.message import TIMER_OPENING
from sedano.model.queues import LEAST_BYTES, SQS, QueueBounds, weigh
from sedano.ports import PARKED, RECORDS, Outgoing, Ports, command_queue
from sedano.ports.absent import absent

COMMANDS = command_queue("default")
STILL = SQS._replace(max_delay=0)
NARROW = SQS._replace(max_bytes=LEAST_BYTES)
ORDERLESS = SQS._replace(ordered=False)
MOST_ROUNDS = 1_000
PARTS: list[QueueBounds] = [SQS, SQS._replace(max_delay=60), STILL]


class Noted(MemoryQueues):
    """Queues that note what each call sends; dead letters begin as late as in the deployed stack."""

    def __init__(self, clock: memory.VirtualClock, bounds: QueueBounds) -> None:
        super().__init__(clock, memory.queue_keys(["default"]), max_receives=25, bounds=bounds)
        self.calls: list[tuple[str, Sequence[Outgoing]]] = []

    def send(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        """Note and send."""
        self.calls.append((queue, messages))
        return super().send(queue, messages)


class Deployment:
    """An app on queues with other bounds, worked off in virtual time."""

    def __init__(self, bounds: QueueBounds, without: Sequence[str] = ()) -> None:
        clock = memory.VirtualClock(memory.START)
        self.queues = Noted(clock, bounds)
        others = {name: absent(name) for name in without}
        self.ports: Ports = replace(
            memory.ports(), clock=clock, queues=self.queues, **{"timers": memory.MemoryTimers(clock, self.queues), **others}
        )
        self.app, self.ran = Sedano("shop"), list[float]()
        self.app.attach(self.ports)

    @property
    def since(self) -> float:
        """Seconds since the beginning."""
        return self.ports.clock.now() - memory.START

    def task(self, **options: Any) -> Any:
        """Declare a task that notes when it runs and returns its argument; "fail" fails at first."""

        @self.app.task(**{"name": "note", **options})
        def note(value: Any = None) -> Any:
            self.ran.append(self.since)
            if value == "fail" and len(self.ran) == 1:
                raise RuntimeError("not yet")
            return value

        return note

    def until(self, seconds: float) -> None:
        """Work off what comes until so many *seconds* have passed; each delivery meets a fresh worker."""
        for _ in range(MOST_ROUNDS):
            if (due := self.queues.next_visible(COMMANDS)) is None or due > memory.START + seconds:
                break
            self.ports.clock.sleep(max(0.0, due - self.ports.clock.now()))
            deliveries = self.queues.receive(COMMANDS)
            worker = Worker(self.app.registry, self.ports, Host("here", 1), WorkerSettings(lanes=0), self.app.run_loop())
            back = {one.message_id for one in worker.work(deliveries, self.ports.clock.now() + 900)}
            self.queues.delete([one for one in deliveries if one.message_id not in back])
            worker.leave()
        else:
            raise AssertionError(f"after {MOST_ROUNDS} rounds something still comes at once, again and again")
        self.ports.clock.sleep(max(0.0, memory.START + seconds - self.ports.clock.now()))


def test_a_countdown_becomes_a_timer_where_queues_cannot_delay() -> None:
    here = Deployment(STILL)
    result = here.task().apply_async(("a",), countdown=300)
    assert [timer.at for timer in here.ports.timers.list()] == [memory.START + 300]
    here.until(299)
    assert here.ran == []
    here.until(310)
    assert (here.ran, result.get()) == ([300.0], "a")


@pytest.mark.parametrize("bounds", PARTS, ids=lambda bounds: f"max_delay={bounds.max_delay}")
def test_a_long_retry_waits_in_steps_where_there_are_no_timers(bounds: QueueBounds) -> None:
    here = Deployment(bounds, without=["timers"])
    result = here.task(retry=Retry(1, interval_start=2_000, interval_max=2_000, jitter=False)).delay("fail")
    here.until(1_999)
    assert here.ran == [0.0]
    here.until(2_010)
    assert (here.ran, result.get()) == ([0.0, 2_000.0], "fail")
    assert here.ports.telemetry.messages("warning") == ["task failed and is tried again"]
    steps = [message.delay for _, call in here.queues.calls for message in call if message.body.startswith(TIMER_OPENING)]
    assert steps == [bounds.max_delay] * (2_000 // bounds.max_delay if bounds.max_delay else 1)


@pytest.mark.parametrize("delivery", ["claimed", "at_least_once"])
def test_what_waits_in_a_queue_that_cannot_delay_is_neither_lost_nor_asked_all_the_time(delivery: str) -> None:
    here = Deployment(STILL)
    here.task(delivery=delivery, ignore_result=delivery != "claimed").delay("a")
    here.app.control.pause_queue("default")
    here.until(86_400)
    assert here.ran == []
    assert here.queues.dead(COMMANDS) == []
    assert here.queues.peek(PARKED) == []
    assert sum(queue == COMMANDS for queue, _ in here.queues.calls) < 86_400 / 900 / 2
    here.app.control.resume_queue("default")
    here.until(2 * 86_400)
    assert len(here.ran) == 1


@pytest.mark.parametrize("option", [{"rate": "1/s"}, {"debounce": 5}], ids=["rate", "debounce"])
def test_what_is_sent_anew_for_its_moment_is_refused_where_queues_cannot_delay(option: dict[str, Any]) -> None:
    says = r"the queues of this deployment cannot delay a message: required by the task note \((rate|debounce)=\); connect to"
    with pytest.raises(QueueUnfit, match=says):
        Deployment(STILL).task(**option)
    later = Sedano("later")
    later.task(name="note", **option)(lambda: None)
    with pytest.raises(QueueUnfit, match=says):
        later.attach(Deployment(STILL).ports)
    here = Deployment(STILL)
    here.task()
    with pytest.raises(QueueUnfit, match="required by a rate of the task note"):
        here.app.control.rate_limit("note", "1/s")


def test_a_slot_beyond_the_longest_delay_is_waited_for_in_stretches() -> None:
    here = Deployment(SQS._replace(max_delay=60))
    note = here.task(rate="12/h")
    for number in range(2):
        note.delay(number)
    here.until(299)
    assert here.ran == [0.0]
    here.until(310)
    assert here.ran == [0.0, 300.0]
    assert here.ports.telemetry.messages("warning") == []


def test_a_basket_beyond_the_longest_delay_is_fetched_by_a_timer() -> None:
    here, found = Deployment(SQS._replace(max_delay=60)), list[int]()

    @here.app.task(name="collect", batch=(10, 600))
    def collect(calls: list[Any]) -> None:
        found.append(len(calls))

    for number in range(2):
        collect.delay(number)
    here.until(1_300)
    assert found == [2]
    assert here.ports.telemetry.messages("warning") == []


@pytest.mark.parametrize("text", ["x", "😀", '"', "é", "<aws."])
@pytest.mark.parametrize("countdown", [0, 3_600])
def test_longer_data_goes_to_the_blob_store_where_a_message_has_fewer_bytes(text: str, countdown: int) -> None:
    here, sizes = Deployment(NARROW), []
    note = here.task()
    later = here.queues.later
    here.queues.later = lambda queue, message, seconds: sizes.append(len(message.body)) or later(queue, message, seconds)  # type: ignore[assignment,func-returns-value]
    values = [text * times for times in (1, 300, 999 // len(text), 3_000, 60_000)]
    results = [note.apply_async((value,), countdown=countdown) for value in values]
    here.until(countdown + 10)
    assert [result.get() for result in results] == values
    assert max([weigh(message.body, message.attributes) for _, call in here.queues.calls for message in call] + sizes) <= LEAST_BYTES
    assert here.ports.telemetry.messages("warning") == here.ports.telemetry.messages("error") == []


def test_the_history_of_a_batch_is_split_where_a_message_has_fewer_bytes() -> None:
    here = Deployment(NARROW)
    note = here.task(name="n" * 250)
    for number in range(10):
        note.apply_async((number,), task_id=f"{number}".rjust(100, "t"), stamps={"from": "x" * 250})
    here.until(10)
    bodies = [message.body for message in here.queues.peek(RECORDS)]
    assert max(map(len, bodies)) <= LEAST_BYTES
    told = [event["uuid"] for body in bodies for event in unpack(body) if event["type"] == "task-succeeded"]
    assert len(bodies) > 1
    assert len(set(told)) == len(told) == 10


def test_what_is_set_aside_fits_where_a_message_has_fewer_bytes() -> None:
    here = Deployment(NARROW)
    here.task()
    here.queues.send(COMMANDS, [Outgoing("{" + "x" * (LEAST_BYTES - 2))])
    here.until(10)
    (parked,) = here.queues.peek(PARKED)
    assert (parked.body[:5], parked.attributes["reason"]) == ("blob:", "malformed")


def test_what_fits_nowhere_is_refused_to_whom_it_concerns() -> None:
    here = Deployment(NARROW._replace(max_bytes=64))
    with pytest.raises(TooLarge, match="a message may have 64"):
        here.task().delay()


def test_batches_are_as_large_as_the_queues_take() -> None:
    here = Deployment(SQS._replace(max_batch=3))
    note = here.task()
    with here.app.batch():
        for number in range(10):
            note.delay(number)
    assert [len(call) for _, call in here.queues.calls] == [3, 3, 3, 1]


ORDERED: dict[str, Callable[[Sedano], Any]] = {
    "declared": lambda app: app.task(name="ship", queue="orders.fifo", serial_key="{order}")(lambda order: order),
    "called": lambda app: app.signature("elsewhere", ("a",)).apply_async(queue="orders.fifo", serial_key="a"),
}


@pytest.mark.parametrize("how", ORDERED)
def test_an_order_key_is_refused_where_queues_keep_no_order(how: str) -> None:
    app = Sedano("shop", queues=("default", "orders.fifo"))
    app.attach(Deployment(ORDERLESS).ports)
    with pytest.raises(QueueUnfit, match=r"keep no order: required by .+; connect to a deployment whose Queues port has bounds\.ordered"):
        ORDERED[how](app)


def test_an_app_with_an_order_key_is_refused_when_it_is_connected() -> None:
    app = Sedano("shop", queues=("default", "orders.fifo"))
    ORDERED["declared"](app)
    with pytest.raises(QueueUnfit, match=r"required by the task ship \(serial_key=\)"):
        app.attach(Deployment(ORDERLESS).ports)
    app.attach(memory.ports(("default", "orders.fifo")))


def test_a_deployment_without_a_history_is_sent_no_records() -> None:
    here = Deployment(SQS, without=["events"])
    here.task().delay()
    here.until(10)
    assert here.queues.peek(RECORDS) == []


def test_a_countdown_beyond_the_queues_is_refused_inside_a_batch_and_inside_a_task_where_there_are_no_timers() -> None:
    here = Deployment(SQS, without=["timers"])
    note, heard = here.task(), list[str]()

    @here.app.task(name="spawn", retry=False)
    def spawn() -> None:
        try:
            note.apply_async(countdown=901)
        except PortMissing as missing:
            heard.append(str(missing))

    with here.app.batch():
        note.apply_async(countdown=900)
        with pytest.raises(PortMissing, match="required by a delay of 901 s, which is more than the 900 s that a queue can delay"):
            note.apply_async(countdown=901)
    spawn.delay()
    here.until(10)
    assert [text.partition(":")[0] for text in heard] == ["this deployment has no timers"]
