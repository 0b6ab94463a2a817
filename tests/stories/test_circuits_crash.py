"""Stories of shared circuits under crashes: whichever call a worker dies at, before or after it, every task has its one effect."""

import pytest

from sedano import Breaker, Retry, Sedano, testing
from sedano.engine.worker.pipeline import Worker
from sedano.model import states
from sedano.model.history.run_rows import Host
from sedano.ports import Ports
from tests.stories.kitchen import COMMANDS, SETTINGS
from tests.stories.taps import OUTSIDE, SIDES, Crash, Side, Watch, tapped

WATCHED = OUTSIDE | {"memos"}
MOST_CALLS = 60


class Harbour:
    """Three boats sail; the first tries fail and trip the circuit, whose check is shared too."""

    def __init__(self) -> None:
        self.app, self.tries, self.sailed = Sedano("harbour", retry=Retry(max_retries=5, interval_start=1, jitter=False)), 0, list[int]()
        sky = self.app.health_check("sky", every=5, shared=True)
        sky(lambda: "healthy")
        breaker = Breaker(failures=2, open_for=20, shared=True, checks={"sky": {"unhealthy": 1}})
        self.sail = self.app.task(name="sail", circuit=breaker)(self._sail)

    def _sail(self, boat: int) -> int:
        self.tries += 1
        if self.tries <= 2:
            raise ConnectionError("fog")
        self.sailed.append(boat)
        return boat


def play(watch: Watch) -> tuple[list[str], int]:
    """Sail under *watch*; every worker that dies is replaced. Return the states and how many messages were parked."""
    harbour = Harbour()
    with testing.world(harbour.app, settings=SETTINGS) as world:
        results = [harbour.sail.delay(boat) for boat in range(3)]
        workers = iter(range(100))
        worker = _worker(world, tapped(world.ports, watch), next(workers))
        for _ in range(2_000):
            if all(world.ports.ledger.read([r.id]).get(r.id, None) and r.ready() for r in results):
                break
            deliveries = world.ports.queues.receive(COMMANDS)
            if not deliveries:
                world.clock.advance(1)
                continue
            try:
                back = {d.message_id for d in worker.work(deliveries, world.clock.now() + 10)}
            except Crash:
                worker = _worker(world, world.ports, next(workers))
                continue
            world.ports.queues.delete([d for d in deliveries if d.message_id not in back])
        return [result.state for result in results], len(world.parked())


def _worker(world: testing.World, ports: Ports, number: int) -> Worker:
    return Worker(world.app.registry, ports, Host(f"memory.{number}.00000000", number), SETTINGS, None)


@pytest.mark.parametrize("side", SIDES)
def test_whatever_call_a_worker_dies_at_every_task_ends_well(side: Side) -> None:
    counted = Watch(-1, side, ports=WATCHED)
    assert play(counted) == ([states.SUCCESS] * 3, 0)
    calls = len(counted.calls)
    assert 15 < calls < MOST_CALLS
    assert sum(call == "memos.change" for call in counted.calls) >= 3
    for at in range(calls):
        watch = Watch(at, side, ports=WATCHED)
        assert play(watch) == ([states.SUCCESS] * 3, 0), f"died {side} call {at}, {counted.calls[at]}"
        assert watch.fired
