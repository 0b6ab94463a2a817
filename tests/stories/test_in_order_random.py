"""Any schedule of deaths, outages, lost acknowledgements, copies and pauses: within a key nothing begins before what came earlier ended.

A schedule is decided by its seed, which a failure names. The oracle is what bodies saw: for each key the steps that began never go back,
and in the end every step has ended. Two planted faults show that it can tell.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest

from sedano import Breaker, Retry, Sedano, memory
from sedano.engine.worker.pipeline import Worker, WorkerSettings
from sedano.model import states
from sedano.model.history.run_rows import Host
from sedano.ports import PARKED, Delivery, command_queue
from sedano.result import AsyncResult
from tests.stories.processes import Mutation, untouched
from tests.stories.taps import OUTSIDE, SIDES, Crash, Watch, away, tapped

SCHEDULES = 40
ORDERS = command_queue("orders.fifo")
KEYS = ("a", "b", "c")
MOST_FAULTS, MOST_ROUNDS = 4, 400
WATCHED = OUTSIDE | {"limits", "memos"}
LIMITED: Mapping[str, Mapping[str, Any]] = {
    "plain": {},
    "a circuit": {"circuit": Breaker(failures=2, open_for=20.0)},
    "a shared circuit": {"circuit": Breaker(failures=3, open_for=20.0, shared=True)},
    "a permit": {"concurrency": 1},
    "a lease": {"singleton": True},
    "a permit for each two keys": {"concurrency": 2, "concurrency_key": lambda key, number: key > "a"},
}


class Schedule:
    """One app, one queue that keeps order, and what happens to its workers as *seed* decides."""

    def __init__(self, seed: int, mutate: Mutation, options: Mapping[str, Any]) -> None:
        """Publish some calls of each key of a task with *options*; *mutate* changes each worker: a planted fault."""
        self.random, self.faults, self.mutate = Random(seed), 0, mutate
        self.ports = memory.ports(("default", "orders.fifo"), seed=seed, visibility=60.0)
        self.queues: Any = self.ports.queues
        self.clock: Any = self.ports.clock
        self.began: dict[str, list[int]] = defaultdict(list)
        self.app = Sedano("warehouse", queues=("default", "orders.fifo"), retry=Retry(max_retries=4, interval_start=3.0))
        ship = self.app.task(name="ship", queue="orders.fifo", serial_key="{key}", **options)(self._ship)
        self.app.attach(self.ports)
        self.results: list[AsyncResult[Any]] = []
        for number in range(self.random.randint(2, 6)):
            self.results += [ship.delay(key, number) for key in KEYS if self.random.random() < 0.9]
        self.worker = self._started()

    def _ship(self, key: str, number: int) -> None:
        self.began[key].append(number)
        if self.random.random() < 0.2:
            raise ValueError("not yet")

    def _started(self) -> Worker:
        """Return a worker that knows nothing, and that may meet a fault at some call to the outside."""
        ports = self.ports
        if self.faults < MOST_FAULTS:
            self.faults += 1
            error = Crash if self.random.random() < 0.5 else away
            watch = Watch(self.random.randrange(60), self.random.choice(SIDES), error, WATCHED, times=self.random.choice((1, 1, 4)))
            ports = tapped(self.ports, watch)
        worker = Worker(self.app.registry, ports, Host(f"w.{self.faults}", 1), WorkerSettings(lanes=0, heartbeat=0.0), None)
        self.mutate(worker)
        return worker

    def play(self) -> None:
        """Let workers work until the queue is empty."""
        for _ in range(MOST_ROUNDS):
            self._meddle()
            deliveries = self.queues.receive(ORDERS)
            if deliveries:
                self._work(deliveries)
            elif (due := self.queues.next_visible(ORDERS)) is None:
                return
            else:
                self.clock.advance(max(0.0, due - self.clock.now()))
        raise AssertionError(f"not done after {MOST_ROUNDS} rounds: {self.queues.peek(ORDERS)}")

    def _meddle(self) -> None:
        """Pause or resume the queue now and then."""
        if self.faults < MOST_FAULTS and self.random.random() < 0.1:
            self.app.control.pause(queue="orders.fifo", until=datetime.fromtimestamp(self.clock.now() + 60.0, UTC))

    def _work(self, deliveries: list[Delivery]) -> None:
        if self.random.random() < 0.1:
            self.queues.duplicate(self.random.choice(deliveries))
        deadline = self.clock.now() + self.random.choice((0.5, 30.0, 30.0, 30.0))
        try:
            given_back = {one.message_id for one in self.worker.work(deliveries, deadline)}
        except Crash:
            self.worker = self._started()
            return
        if self.random.random() < 0.1:
            self.worker = self._started()
            return  # it died before its answer was heard: nothing is deleted
        self.queues.delete([one for one in deliveries if one.message_id not in given_back])

    def wrong(self) -> Iterator[str]:
        """Yield what broke the promise."""
        for key, numbers in self.began.items():
            if numbers != sorted(numbers):
                yield f"{key}: {numbers}"
        yield from (f"{one.id} is {one.state}" for one in self.results if one.state not in states.TERMINAL)
        yield from (f"parked: {one.attributes}" for one in self.queues.peek(PARKED) if one.attributes["reason"] != "poison")
        yield from (f"dead: {one.body}" for one in self.queues.dead(ORDERS))


def broken(seed: int, mutate: Mutation = untouched, limited: str = "plain") -> list[str]:
    """Return what is wrong with the schedule of *seed* when the task is *limited* so and workers are changed by *mutate*."""
    schedule = Schedule(seed, mutate, LIMITED[limited])
    schedule.play()
    return list(schedule.wrong())


@pytest.mark.parametrize("limited", LIMITED)
def test_no_schedule_lets_a_call_pass_another_of_its_key(limited: str) -> None:
    found = {seed: wrong for seed in range(SCHEDULES) if (wrong := broken(seed, limited=limited))}
    assert not found, f"seeds: {found}"


def _in_any_turn(worker: Any) -> None:
    """Walk a batch from its end, without regard to keys."""
    worker._admission.turns = lambda deliveries, jobs, batch: iter([[job] for job in reversed(jobs)])


def _past_who_stopped(worker: Any) -> None:
    """Walk on within a key behind a message that was given back."""
    worker._admission.turns = lambda deliveries, jobs, batch: iter([[job] for job in jobs])


@pytest.mark.parametrize("fault", [_in_any_turn, _past_who_stopped])
def test_a_planted_fault_is_seen(fault: Mutation) -> None:
    def sees(seed: int) -> bool:
        try:
            return bool(broken(seed, fault))
        except AssertionError:
            return True

    assert any(sees(seed) for seed in range(SCHEDULES))
