"""What meets a body at its limits meets nothing else: bodies that end at that very moment, over and over, on either kind of thread."""

import random
import sys
import threading
import time

import pytest

from sedano.aws.machine import SystemClock
from sedano.engine.task_context import TaskContext
from sedano.engine.worker.time_limits import Limited
from sedano.errors import SoftTimeLimitExceeded
from sedano.model.ledger.outcome import Run
from sedano.model.messages.message import Command, TimeLimits

ROUNDS, SOFT = 150, 0.002


def close_to_the_limit(dice: random.Random) -> list[str]:
    """Run bodies that end about when their soft limit is over; return what each came to, as it is recorded."""
    found, clock = list[str](), SystemClock()

    def body() -> Run:
        until = time.perf_counter() + dice.uniform(0.0, 2 * SOFT)
        try:
            while time.perf_counter() < until:
                pass
        except SoftTimeLimitExceeded:
            return Run("met")
        return Run("ended")

    for _ in range(ROUNDS):
        context = TaskContext(Command("m", "t", "body", "test@host", 0.0, 1), 1, 30.0, 1)
        run = Limited(TimeLimits(SOFT, 60.0), clock, context, lambda _: found.append("late")).run(body)
        found.append(run.value if run.error is None else run.error.type_name)
    return found


@pytest.mark.parametrize("place", ["the main thread", "another thread"])
def test_a_body_that_ends_at_its_limit_is_met_or_has_ended(place: str) -> None:
    seed, found = random.randrange(1_000_000), list[str]()
    print(f"seed {seed}")
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # threads take turns all the time, so that a body is met at any step
    try:
        if place == "the main thread":
            found = close_to_the_limit(random.Random(seed))
        else:
            thread = threading.Thread(target=lambda: found.extend(close_to_the_limit(random.Random(seed))))
            thread.start()
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert len(found) == ROUNDS
    assert set(found) <= {"ended", "met", "SoftTimeLimitExceeded"}
    assert {"ended", "met"} <= set(found)
