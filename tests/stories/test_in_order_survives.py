"""Stories of order where workers die at any call, circuits trip and permits are taken: of a key nothing begins before what came earlier
has ended, nothing is lost, and each effect stands once.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from sedano import Breaker, Retry, Sedano, current, memory, testing
from sedano.engine.worker.pipeline import Worker, WorkerSettings
from sedano.errors import RemoteError
from sedano.model import states
from sedano.model.history.run_rows import Host
from sedano.ports import PARKED, RECORDS, Ports, command_queue
from sedano.testing import World
from tests.stories.audit import AuditedLedger
from tests.stories.processes import Mutation, untouched
from tests.stories.taps import OUTSIDE, SIDES, Crash, Side, Watch, tapped

ORDERS, COMMANDS = command_queue("orders.fifo"), command_queue("default")
SETTINGS = WorkerSettings(lanes=0, heartbeat=0.0)
WATCHED = OUTSIDE | {"limits", "memos"}
KEYS, STEPS = ("a", "b"), 3
VISIBILITY_S, INVOCATION_S = 20.0, 30.0
"""What a dead worker held comes again while its claim stands."""
MOST_ROUNDS = 500
LIMITED: Mapping[str, Mapping[str, Any]] = {
    "plain": {},
    "circuit": {"circuit": Breaker(failures=2, open_for=15, shared=True)},
    "concurrency": {"concurrency": 1},
    "singleton": {"singleton": True},
}


class Yard:
    """An app whose `ship` runs in order, fails twice at one step, and causes a `note` each time it ends well; and its workers."""

    def __init__(self, options: Mapping[str, Any], watch: Watch, mutate: Mutation = untouched) -> None:
        """Declare the tasks with these *options*, publish the calls, and let the first worker go under *watch*.

        *mutate* changes each worker: a planted fault.
        """
        self.mutate = mutate
        self.app = Sedano("yard", queues=("default", "orders.fifo"), retry=Retry(max_retries=3, interval_start=3.0, jitter=False))
        ports = memory.ports(("default", "orders.fifo"), visibility=VISIBILITY_S, max_receives=25)
        self.queues: Any = ports.queues
        self.clock: Any = ports.clock
        self.ledger = AuditedLedger(ports.ledger)
        self.ports = replace(ports, ledger=self.ledger)
        self.began: list[tuple[str, int]] = []
        self.notes: dict[str, tuple[str, int]] = {}
        self.failures = 2
        self.ship = self.app.task(name="ship", queue="orders.fifo", serial_key="{key}", **options)(self._ship)
        self.note = self.app.task(name="note")(self._note)
        self.app.attach(self.ports)
        self.calls = {self.ship.delay(key, step).id: (key, step) for step in range(STEPS) for key in KEYS}
        self.generation = 0
        self.worker = self._worker(tapped(self.ports, watch))

    def _ship(self, key: str, step: int) -> None:
        self.began.append((key, step))
        if (key, step) == ("a", 1) and self.failures:
            self.failures -= 1
            raise ConnectionError("the lorry is late")
        self.note.delay(key, step)

    def _note(self, key: str, step: int) -> None:
        self.notes[current().id] = (key, step)

    def _worker(self, ports: Ports) -> Worker:
        self.generation += 1
        worker = Worker(self.app.registry, ports, Host(f"yard.{self.generation}", self.generation), SETTINGS, None)
        self.mutate(worker)
        return worker

    def play(self) -> None:
        """Let workers work until nothing is left; one that dies is replaced by another, which knows nothing."""
        for _ in range(MOST_ROUNDS):
            if not sum(self._deliver(queue) for queue in (ORDERS, COMMANDS)):
                due = [at for queue in (ORDERS, COMMANDS) if (at := self.queues.next_visible(queue)) is not None]
                if not due:
                    return
                self.clock.advance(max(0.0, min(due) - self.clock.now()))
        raise AssertionError(f"not done after {MOST_ROUNDS} rounds: {self.queues.peek(ORDERS)}")

    def _deliver(self, queue: str) -> bool:
        deliveries = self.queues.receive(queue)
        try:
            back = {one.message_id for one in self.worker.work(deliveries, self.clock.now() + INVOCATION_S)} if deliveries else set()
        except Crash:
            self.worker = self._worker(self.ports)
        else:
            self.queues.delete([one for one in deliveries if one.message_id not in back])
        return bool(deliveries)

    def wrong(self) -> Iterator[str]:
        """Yield what broke a promise."""
        every = {(key, step): 1 for key in KEYS for step in range(STEPS)}
        ended = [self.calls[end.task_id] for end in self.ledger.ends if end.name == "ship"]
        for told, happened in (("began", self.began), ("ended", ended)):
            for key in KEYS:
                steps = [step for one, step in happened if one == key]
                if steps != sorted(steps):
                    yield f"{key} {told} out of order: {steps}"
        if Counter(ended) != every or Counter(self.notes.values()) != every:
            yield f"not each effect once: {ended}, {self.notes}"
        effects = self.ledger.effects()
        if effects != {("ship", states.SUCCESS): len(every), ("note", states.SUCCESS): len(every)}:
            yield f"not all ended well: {effects}"
        kept = [self.queues.peek(PARKED), *(look(queue) for queue in (ORDERS, COMMANDS) for look in (self.queues.peek, self.queues.dead))]
        yield from (f"left: {one}" for some in kept for one in some)


def played(options: Mapping[str, Any], watch: Watch) -> list[str]:
    """Return what is wrong after a yard with *options* was worked off, a worker of which died as *watch* says."""
    yard = Yard(options, watch)
    yard.play()
    return list(yard.wrong())


@pytest.mark.parametrize("limited", LIMITED)
@pytest.mark.parametrize("side", SIDES)
def test_whatever_call_a_worker_dies_at_each_key_keeps_its_order_and_each_effect_stands_once(limited: str, side: Side) -> None:
    counted = Watch(-1, side, ports=WATCHED)
    assert played(LIMITED[limited], counted) == []
    calls = counted.calls
    assert 40 < len(calls) < 400
    asked = {"plain": "ledger.claim", "circuit": "memos.change", "concurrency": "limits.take", "singleton": "leases.take"}
    assert asked[limited] in calls
    for at in range(len(calls)):
        watch = Watch(at, side, ports=WATCHED)
        assert played(LIMITED[limited], watch) == [], f"died {side} call {at}, {calls[at]}"
        assert watch.fired


def test_a_worker_that_walks_on_behind_who_was_given_back_is_seen_and_an_effect_that_stands_twice() -> None:
    def walks_on(worker: Any) -> None:
        worker._admission.turns = lambda deliveries, jobs, batch: iter([[job] for job in jobs])

    yard = Yard({}, Watch(), walks_on)
    yard.play()
    assert [wrong.partition(":")[0] for wrong in yard.wrong()] == ["a began out of order", "a ended out of order"]
    yard = Yard({}, Watch())
    yard.play()
    yard.notes["another"] = ("b", 1)
    assert [wrong.partition(":")[0] for wrong in yard.wrong()] == ["not each effect once"]


class Shed:
    """A world with one task that runs in order, limited by *options*; *down*: it fails; *inside* is called in its body."""

    def __init__(self, **options: Any) -> None:
        self.app = Sedano("shed", queues=("default", "orders.fifo"), retry=Retry(max_retries=0))
        self.done: list[tuple[str, int]] = []
        self.down = False
        self.inside: Any = None
        self.ship = self.app.task(name="ship", queue="orders.fifo", serial_key="{key}", **options)(self._ship)

    def _ship(self, key: str, step: int) -> None:
        if self.down:
            raise ConnectionError("the road is closed")
        inside, self.inside = self.inside, None
        if inside is not None:
            inside()
        self.done.append((key, step))

    def of(self, key: str) -> list[int]:
        """Return the steps of *key* that ended well, in the order in which they did."""
        return [step for one, step in self.done if one == key]


def works(world: World, name: str, most: int = 10) -> None:
    """Let a worker of this *name* work on the orders that it is given, *most* of them."""
    worker = Worker(world.app.registry, world.ports, Host(name, 7), SETTINGS, None)
    deliveries = world.ports.queues.receive(ORDERS, most)
    back = {one.message_id for one in worker.work(deliveries, world.clock.now() + 60.0)}
    world.ports.queues.delete([one for one in deliveries if one.message_id not in back])


def test_an_open_circuit_holds_the_first_of_each_key_in_its_place_and_those_behind_it_do_not_overtake() -> None:
    shed = Shed(circuit=Breaker(failures=2, open_for=3_600))
    with testing.world(shed.app, settings=SETTINGS) as world:
        shed.down = True
        results = {(key, step): shed.ship.delay(key, step) for step in range(4) for key in KEYS}
        world.step()
        shed.down = False
        states_now = Counter(result.state for result in results.values())
        assert (states_now[states.FAILURE], states_now[states.PENDING]) == (2, 6)
        published = list(world.queues.sent)
        for _ in range(20):
            world.clock.advance(150)
            world.step()
        assert shed.done == []
        assert (len(world.queues.peek(ORDERS)), world.queues.sent) == (6, published), "nothing was sent anew"
        explain = shed.app.control.explain
        assert explain(results["a", 1].id).sentence.startswith("circuit ship is open since 2026-01-01 00:00:00Z: 2 × failure")
        assert "of the same serial key a" in explain(results["a", 2].id).sentence
        world.drain()
        assert (shed.of("a"), shed.of("b")) == ([1, 2, 3], [1, 2, 3])
        assert world.parked() == []


def test_a_circuit_that_is_declared_to_fail_ends_the_calls_of_a_key_one_after_the_other_and_blocks_none() -> None:
    shed = Shed(circuit=Breaker(failures=1, open_for=60, on_open="fail"))
    with testing.world(shed.app, settings=SETTINGS) as world:
        shed.down = True
        results = [shed.ship.delay("a", step) for step in range(3)]
        world.drain()
        shed.down = False
        for result in results[1:]:
            with pytest.raises(RemoteError, match="circuit ship is open since"):
                result.get()
        world.clock.advance(61)
        assert shed.ship.delay("a", 3).get() is None
        assert shed.of("a") == [3]


def test_who_finds_no_permit_waits_in_its_place_and_is_woken_before_those_behind_it() -> None:
    shed = Shed(concurrency=1)
    with testing.world(shed.app, settings=SETTINGS) as world:
        results = {(key, step): shed.ship.delay(key, step) for key in KEYS for step in range(3)}

        def meanwhile() -> None:
            works(world, "shed.2")
            assert shed.done == [], "the one permit is taken"

        shed.inside, began = meanwhile, world.clock.now()
        works(world, "shed.1", most=1)
        assert shed.done == [("a", 0)]
        told = world.queues.receive(RECORDS)
        assert world.recorder.record(told, world.clock.now() + 60.0) == []
        world.queues.delete(told)
        explain = shed.app.control.explain
        assert explain(results["b", 0].id).sentence.startswith(f"permit held by ship {results['a', 0].id} on shed.1")
        assert "of the same serial key b" in explain(results["b", 1].id).sentence
        world.drain()
        assert (shed.of("a"), shed.of("b")) == ([0, 1, 2], [0, 1, 2])
        assert world.clock.now() - began < 5, "who waits is woken when the permit is given back, and not left until its end"


def test_a_suspended_task_keeps_the_order_of_each_key_until_it_goes_on() -> None:
    shed = Shed(concurrency=0)
    with testing.world(shed.app, settings=SETTINGS) as world:
        results = [shed.ship.delay(key, step) for step in range(3) for key in KEYS]
        for _ in range(10):
            world.step()
            world.clock.advance(3_600)
        assert (shed.done, len(world.queues.peek(ORDERS))) == ([], 6)
        shed.app.control.concurrency("ship", None)
        world.drain()
        assert (shed.of("a"), shed.of("b")) == ([0, 1, 2], [0, 1, 2])
        assert {result.state for result in results} == {states.SUCCESS}
