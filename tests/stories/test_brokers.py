"""Brokers: what the preferred one does not accept goes to the next one, with few failing calls and one probe for each pause."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sedano import Retry, Sedano, memory
from sedano.engine.publisher.sender import PAUSES
from sedano.engine.worker.pipeline import Worker
from sedano.engine.worker.settings import WorkerSettings
from sedano.errors import ConfigurationError, NotAllowed, PublishError, SedanoError, TooLarge, Unavailable, UnknownQueue
from sedano.host import one_file
from sedano.model.history.run_rows import Host
from sedano.ports import EVENTS, RECORDS, Delivery, Outgoing, Ports, Queues, command_queue, deadlines
from sedano.ports.brokers import Broker, Brokers, sources
from tests.stories.lanes_in_threads import SECONDS, VISIBILITY_S, Process
from tests.unit.engine.test_publisher import Kept

NAMES = ("default", "mail", "orders.fifo")
QUEUE, MAIL, ORDERS = map(command_queue, NAMES)
AWAY = "eu-west-1"
SLOW_S = 2.0


class Faulty:
    """The queues of one broker. *fault*: the error of each send; *once*: that of the next send alone; *is_silent*: a send takes until its
    deadline, is accepted, and its answer is lost."""

    def __init__(self, inner: Queues, clock: memory.VirtualClock) -> None:
        """Be well."""
        self.inner, self.clock, self.bounds = inner, clock, inner.bounds
        self.fault: SedanoError | None = None
        self.once: SedanoError | None = None
        self.is_silent = False
        self.calls, self.failing, self.waits = list[float](), list[float](), list[float | None]()

    def send(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        """Send, or fail."""
        self.calls.append(self.clock.monotonic())
        self.waits.append(deadlines.left(self.clock.monotonic()))
        if self.fault is not None or self.is_silent:
            self.failing.append(self.clock.monotonic())
        if self.is_silent:
            self.inner.send(queue, messages)
            self.clock.advance(min(SLOW_S, self.waits[-1] or SLOW_S))
            return [Unavailable("no answer")] * len(messages)
        fault, self.once = self.once or self.fault, None
        return self.inner.send(queue, messages) if fault is None else [fault] * len(messages)

    def receive(self, queue: str, most: int = 10, wait: float = 0.0) -> list[Delivery]:
        """Receive."""
        return self.inner.receive(queue, most, wait)

    def delete(self, deliveries: Sequence[Delivery]) -> None:
        """Acknowledge."""
        self.inner.delete(deliveries)

    def hold(self, delivery: Delivery, seconds: float) -> None:
        """Hold."""
        self.inner.hold(delivery, seconds)


class Shop:
    """An app over two brokers in memory and one ledger."""

    def __init__(self, *, backlog: Any = None, patience: float | None = None) -> None:
        """Be well."""
        ports = memory.ports(NAMES)
        clock: Any = ports.clock
        self.clock: memory.VirtualClock = clock
        self.home = Faulty(ports.queues, self.clock)
        self.away = Faulty(memory.MemoryQueues(self.clock, memory.queue_keys(NAMES)), self.clock)
        self.brokers = Brokers([Broker("home", self.home), Broker(AWAY, self.away)], self.clock, ports.telemetry)
        self.ports = replace(ports, queues=self.brokers)
        self.telemetry: Any = ports.telemetry
        self.ran = list[int]()
        self.app = Sedano("shop", queues=NAMES)
        self.task = self.app.task(name="shop.note")(self.ran.append)
        self.app.attach(self.ports, backlog=backlog)
        if patience is not None:
            self.app.outlet._patience = patience

    def work(self) -> None:
        """Run what waits at all brokers."""
        worker = Worker(self.app.registry, self.ports, Host("memory.1.00000000", 1), WorkerSettings(lanes=0), None)
        for _, source in sources(self.brokers, NAMES):
            while found := self.brokers.receive(source):
                back = {delivery.receipt for delivery in worker.work(found, self.clock.now() + SECONDS)}
                self.brokers.delete([delivery for delivery in found if delivery.receipt not in back])

    def depths(self) -> tuple[int, int]:
        """Return how many messages wait at home and away."""
        home, away = self.home.inner, self.away.inner
        assert isinstance(home, memory.MemoryQueues)
        assert isinstance(away, memory.MemoryQueues)
        return home.depth(QUEUE), away.depth(QUEUE)


def test_while_the_preferred_broker_is_well_no_other_is_called() -> None:
    shop = Shop()
    for number in range(20):
        shop.task.delay(number)
    assert (len(shop.home.calls), shop.away.calls) == (20, [])
    shop.work()
    assert sorted(shop.ran) == [*range(20)]


def test_a_dead_broker_gets_at_most_three_failing_calls_and_then_one_probe_for_each_pause() -> None:
    shop = Shop()
    shop.task.delay(-1)
    shop.home.fault = Unavailable("the Region is down")
    for number in range(100):
        shop.task.delay(number)
    assert 1 <= len(shop.home.failing) <= 3
    for number in range(100, 1_300):  # two minutes, ten calls a second
        shop.clock.advance(0.1)
        shop.task.delay(number)
    pauses = [later - earlier for earlier, later in zip(shop.home.failing, shop.home.failing[1:], strict=False)]
    assert [round(pause) for pause in pauses] == [1, 2, 4, 8, 16, 30, 30]
    assert shop.telemetry.messages("warning") == ["a broker accepts nothing: its circuit is open"]
    assert shop.telemetry.counted("MessagesFailedOver") == 1_300
    shop.work()
    assert sorted(shop.ran) == [*range(-1, 1_300)]


def test_the_preferred_broker_is_used_again_after_one_probe_that_it_accepts() -> None:
    shop = Shop()
    shop.home.fault = Unavailable("down")
    shop.task.delay(0)
    shop.home.fault = None
    shop.task.delay(1)
    assert shop.depths() == (0, 2)
    shop.clock.advance(1.0)
    for number in range(2, 5):
        shop.task.delay(number)
    assert shop.depths() == (3, 2)
    assert shop.telemetry.messages("info") == ["a broker accepts messages again"]
    shop.work()
    assert sorted(shop.ran) == [*range(5)]


def test_a_message_whose_answer_was_lost_is_at_both_brokers_and_runs_once() -> None:
    shop = Shop(patience=5.0)
    shop.home.is_silent = True
    begun = shop.clock.monotonic()
    result = shop.task.delay(7)
    assert shop.depths() == (1, 1)
    assert shop.clock.monotonic() - begun == SLOW_S
    assert (shop.home.waits, shop.away.waits) == ([2.5], [3.0])
    shop.task.delay(8)
    assert shop.clock.monotonic() - begun == SLOW_S
    shop.work()
    shop.clock.advance(60)
    shop.work()
    assert sorted(shop.ran) == [7, 8]
    assert result.get(timeout=0) is None
    assert shop.depths() == (0, 0)


def test_of_a_batch_only_what_was_not_accepted_moves_on() -> None:
    shop = Shop()
    good, bad, large = Outgoing("{}"), Outgoing("bad"), Outgoing("x" * 2_000_000)

    def send(queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        inner = shop.home.inner.send(queue, [message for message in messages if message.body != "bad"])
        return [Unavailable("busy") if message.body == "bad" else inner.pop(0) for message in messages]

    class Picky(Faulty):
        def send(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
            self.calls.append(0.0)
            return send(queue, messages)

    home = Picky(shop.home.inner, shop.clock)
    brokers = Brokers([Broker("home", home), Broker(AWAY, shop.away)], shop.clock, shop.telemetry)
    for _ in range(3):
        first, second, third = brokers.send(QUEUE, [good, bad, large])
        assert (first, second, type(third)) == (None, None, TooLarge)
    assert shop.depths() == (3, 3)
    assert len(home.calls) == 3
    assert shop.telemetry.messages("warning") == []


def test_what_no_broker_accepts_is_stored_and_sent_when_one_is_well() -> None:
    kept = Kept()
    shop = Shop(backlog=kept)
    shop.home.fault = shop.away.fault = Unavailable("down")
    for number in range(30):
        shop.task.delay(number)
    assert len(kept) == 30
    assert len(shop.home.failing) < 10
    assert len(shop.away.failing) == 30 * (1 + len(PAUSES))
    shop.away.fault = None
    shop.task.delay(30)
    assert kept == []
    shop.work()
    assert sorted(shop.ran) == [*range(31)]


def test_without_a_backlog_what_no_broker_accepts_raises() -> None:
    shop = Shop()
    shop.home.fault = shop.away.fault = Unavailable("down")
    for number in range(2):
        with pytest.raises(PublishError, match="not published: down"):
            shop.task.delay(number)


@pytest.mark.parametrize("fault", [ConfigurationError("the queue does not exist"), NotAllowed("denied", "sqs:SendMessage")])
def test_a_second_broker_that_cannot_be_used_loses_nothing_and_is_logged_once(fault: SedanoError) -> None:
    kept = Kept()
    shop = Shop(backlog=kept)
    shop.home.fault, shop.away.fault = Unavailable("down"), fault
    for number in range(5):
        shop.task.delay(number)
    assert len(kept) == 5
    assert shop.telemetry.messages("error") == ["a broker cannot be used"]


def test_a_fault_of_the_preferred_brokers_configuration_is_raised() -> None:
    shop = Shop()
    shop.home.fault = NotAllowed("denied", "sqs:SendMessage")
    with pytest.raises(NotAllowed):
        shop.task.delay(0)
    assert shop.away.calls == []
    shop.home.fault = None
    with pytest.raises(UnknownQueue):
        shop.brokers.send("commands:none", [Outgoing("{}")])


def test_a_queue_that_keeps_order_and_the_stages_own_queues_have_the_home_alone() -> None:
    shop = Shop()
    shop.home.fault = Unavailable("down")
    for _ in range(3):
        answers = [*shop.brokers.send(ORDERS, [Outgoing("{}", serial_key="k")]), *shop.brokers.send(EVENTS, [Outgoing("{}")])]
        assert answers == [shop.home.fault] * 2
    assert (len(shop.home.calls), shop.away.calls) == (6, [])
    assert shop.brokers.sources(ORDERS) == [ORDERS]
    assert shop.brokers.sources(QUEUE) == [QUEUE, f"{QUEUE}@{AWAY}"]


def test_a_broker_without_names_warns_once_of_each_queue_that_only_the_home_takes() -> None:
    shop = Shop()
    for _ in range(2):
        shop.brokers.send(ORDERS, [Outgoing("{}", serial_key="k")])
        shop.brokers.send(EVENTS, [Outgoing("{}")])
        shop.brokers.send(QUEUE, [Outgoing("{}")])
        shop.brokers.send(RECORDS, [Outgoing("{}")])
    lines = [line for line in shop.telemetry.lines if line.level == "warning"]
    assert [line.fields for line in lines] == [{"queue": ORDERS, "brokers": AWAY}, {"queue": EVENTS, "brokers": AWAY}]
    assert lines[0].message == (
        "brokers: a queue that keeps order is sent to the stage's own Region alone; name the queues that another broker takes: "
        "sqs('mail', …)"
    )
    assert lines[1].message.startswith("brokers: a queue of events is sent to the stage's own Region alone")


@pytest.mark.parametrize(("keys", "chosen", "warnings"), [((QUEUE, MAIL), True, 0), ((QUEUE, MAIL), False, 1)])
def test_a_broker_whose_queues_the_app_names_is_not_expected_to_take_events(
    keys: tuple[str, ...], chosen: bool, warnings: int
) -> None:
    shop = Shop()
    brokers = Brokers([Broker("home", shop.home), Broker(AWAY, shop.away, frozenset(keys), chosen)], shop.clock, shop.telemetry)
    brokers.send(EVENTS, [Outgoing("{}")])
    assert len(shop.telemetry.messages("warning")) == warnings
    Brokers([Broker("home", shop.home)], shop.clock, shop.telemetry).send(EVENTS, [Outgoing("{}")])
    assert len(shop.telemetry.messages("warning")) == warnings


def test_a_broker_takes_the_queues_that_it_names() -> None:
    shop = Shop()
    brokers = Brokers(
        [Broker(AWAY, shop.away, frozenset({MAIL})), Broker("home", shop.home)], shop.clock, shop.telemetry
    )  # fmt: skip
    assert brokers.send(MAIL, [Outgoing("{}")]) == brokers.send(QUEUE, [Outgoing("{}")]) == [None]
    assert (len(shop.home.calls), len(shop.away.calls)) == (1, 1)
    assert sources(brokers, NAMES) == [(QUEUE, QUEUE), (MAIL, f"{MAIL}@{AWAY}"), (MAIL, MAIL), (ORDERS, ORDERS)]
    assert sources(shop.home.inner, NAMES) == [(key, key) for key in (QUEUE, MAIL, ORDERS)]
    with pytest.raises(ConfigurationError, match=rf"brokers: none of {AWAY} is called 'home'; give one this name"):
        Brokers([Broker(AWAY, shop.away)], shop.clock, shop.telemetry)


def test_a_received_message_is_held_and_deleted_at_its_broker() -> None:
    shop = Shop()
    shop.home.inner.send(QUEUE, [Outgoing("at home")])
    shop.away.inner.send(QUEUE, [Outgoing("away")])
    (home,), (away,) = shop.brokers.receive(QUEUE), shop.brokers.receive(QUEUE)
    assert (home.body, away.body, home.queue, away.queue) == ("at home", "away", QUEUE, QUEUE)
    assert shop.brokers.receive(QUEUE) == shop.brokers.receive(f"{QUEUE}@{AWAY}") == []
    shop.brokers.hold(away, 0)
    (again,) = shop.brokers.receive(f"{QUEUE}@{AWAY}")
    shop.brokers.delete([home, again])
    assert shop.depths() == (0, 0)


def test_a_broker_whose_messages_cannot_be_deleted_spares_those_of_the_others() -> None:
    class Deaf(Faulty):
        def delete(self, deliveries: Sequence[Delivery]) -> None:
            raise Unavailable("no answer")

    shop = Shop()
    brokers = Brokers([Broker("home", Deaf(shop.home.inner, shop.clock)), Broker(AWAY, shop.away)], shop.clock, shop.telemetry)
    shop.home.inner.send(QUEUE, [Outgoing("at home")])
    shop.away.inner.send(QUEUE, [Outgoing("away")])
    with pytest.raises(Unavailable, match="no answer"):
        brokers.delete([*brokers.receive(QUEUE), *brokers.receive(QUEUE)])
    assert shop.depths() == (1, 0)


def test_after_its_deadline_no_broker_is_called_and_no_circuit_opens() -> None:
    shop = Shop()
    with deadlines.within(0.0, shop.clock.monotonic()):
        (answer,) = shop.brokers.send(QUEUE, [Outgoing("{}")])
    assert isinstance(answer, Unavailable)
    assert shop.home.calls == shop.away.calls == []
    assert shop.brokers.send(QUEUE, [Outgoing("{}")]) == [None]
    assert shop.away.calls == []


def test_without_a_deadline_of_the_caller_a_send_ends_in_the_time_of_the_brokers() -> None:
    shop = Shop()
    ordered = [Broker("home", shop.home), Broker(AWAY, shop.away)]
    brokers = Brokers(ordered, shop.clock, shop.telemetry, seconds=2.0)
    shop.home.is_silent = True
    assert brokers.send(QUEUE, [Outgoing("{}")]) == [None]
    assert (shop.home.waits, shop.away.waits) == ([1.0], [1.0])


def test_a_worker_process_runs_what_waits_at_all_brokers(tmp_path: Path) -> None:
    telemetry = memory.MemoryTelemetry()
    places = {name: one_file.ports(tmp_path / name / "sedano.db", ("default",), VISIBILITY_S, telemetry) for name in ("home", AWAY)}
    ports: Ports = places["home"]
    brokers = Brokers([Broker(name, place.queues) for name, place in places.items()], ports.clock, telemetry)
    app = Sedano("shop", retry=Retry(max_retries=0))
    add = app.task(name="shop.add")(lambda a, b: a + b)
    app.attach(replace(ports, queues=brokers))
    at_home = add.delay(1, 2)
    app.attach(replace(ports, queues=places[AWAY].queues))
    away = add.delay(3, 4)
    process = Process(app, replace(ports, queues=brokers))
    try:
        assert (at_home.get(timeout=SECONDS), away.get(timeout=SECONDS)) == (3, 7)
    finally:
        process.end()
    assert [places[name].queues.receive(QUEUE) for name in places] == [[], []]


def test_a_stored_message_keeps_its_id_for_whichever_broker_takes_it() -> None:
    kept = Kept()
    shop = Shop(backlog=kept)
    shop.home.is_silent, shop.away.fault = True, Unavailable("down")
    shop.task.delay(1)
    (stored,) = kept
    home: Any = shop.home.inner
    assert stored.outgoing.body in {message.body for message in home.peek(QUEUE)}


def test_what_waits_in_memory_is_sent_in_order_when_a_broker_is_well() -> None:
    backlog = memory.MemoryBacklog()
    shop = Shop(backlog=backlog)
    shop.home.fault = shop.away.fault = Unavailable("down")
    for number in range(250):
        shop.task.delay(number)
    shop.home.fault = None
    shop.clock.advance(30.0)
    shop.task.delay(250)
    assert backlog.exists()
    shop.app.close()
    assert not backlog.exists()
    home: Any = shop.home.inner
    assert home.depth(QUEUE) == 251
    shop.work()
    assert shop.ran == [250, *range(250)]


def test_what_is_left_in_memory_at_the_end_is_reported_as_lost() -> None:
    shop = Shop(backlog=memory.MemoryBacklog())
    shop.home.fault = shop.away.fault = Unavailable("down")
    for number in range(120):
        shop.task.delay(number)
    shop.app.close()
    (line,) = [line for line in shop.telemetry.lines if line.level == "error"]
    assert line.message == "messages that were neither sent nor stored beyond this process are lost"
    assert line.fields["count"] == 120
