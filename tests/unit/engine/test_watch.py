"""The watch over a body's time limits, on a thread that is not the main one: what it leaves behind in the process, and in the thread."""

import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from sedano.engine.worker.time_limits import HardLimit, Watch
from sedano.errors import SoftTimeLimitExceeded
from sedano.model.messages.message import TimeLimits

BODIES = 400
LIBRARY = Path(__file__).parents[3] / "layers/sedano/python"
TRACED_AFTERWARDS = """
import faulthandler, sys, threading
from contextlib import suppress
from sedano.engine.worker.time_limits import HardLimit, Watch
from sedano.errors import SoftTimeLimitExceeded
from sedano.model.messages.message import TimeLimits

def body(limits):
    watch = Watch(limits, lambda: None)
    with suppress(SoftTimeLimitExceeded, HardLimit):
        try:
            watch.begin()
            while limits.soft == 0.01:
                pass
        finally:
            watch.close()

for soft in (60.0, 0.01):  # one that ends within its limit, one that meets it
    thread = threading.Thread(target=body, args=(TimeLimits(soft, None),))
    thread.start()
    thread.join()

def traced():
    return "traced"

faulthandler.dump_traceback_later(60, exit=True)
sys.settrace(lambda *_: None)
print(traced())
"""


def test_a_debugger_or_coverage_runs_in_a_process_whose_bodies_had_time_limits() -> None:
    """On Python 3.11 the first traced call never began, and no signal ended it."""
    command = [sys.executable, "-c", TRACED_AFTERWARDS]
    done = subprocess.run(command, env={"PYTHONPATH": str(LIBRARY)}, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("traced\n", 0), done.stderr


def close(watch: Watch) -> None:
    """Close it; the second limit may be met on the way into the call."""
    with suppress(SoftTimeLimitExceeded, HardLimit):
        watch.close()
    watch.close()


def met(number: int) -> bool:
    """Run a body that ends at about its limits; return whether it was met."""
    watch = Watch(TimeLimits(0.001, 0.002), lambda: None)
    try:
        try:
            watch.begin()
            spin(0.0001 * (number % 40))
        finally:
            watch.close()
    except (SoftTimeLimitExceeded, HardLimit):
        close(watch)
        return True
    return False


def test_nothing_meets_a_thread_after_its_watch_is_closed() -> None:
    """Bodies end at about their limits, so that some are asked to raise in the moment in which they end."""
    escaped: list[BaseException] = []
    found: list[bool] = []

    def bodies() -> None:
        for number in range(BODIES):
            found.append(met(number))
            try:
                for _ in range(2_000):
                    pass
            except BaseException as error:  # noqa: BLE001 - what must not come here is no Exception
                escaped.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(0.00001)  # the watch must come to its turn while a body runs
    try:
        thread = threading.Thread(target=bodies)
        thread.start()
        thread.join()
    finally:
        sys.setswitchinterval(before)
    assert escaped == []
    assert len(found) == BODIES
    assert 0 < sum(found) < BODIES, "some ended within their limits, some did not"


class Cached:
    """Something that a body remembers and forgets."""


def in_a_callback_of_python(dropped: Callable[[], None]) -> None:
    """Run *dropped* in the callback of a weak reference, as the garbage collector does in the middle of any body."""
    cached = Cached()
    reference = weakref.ref(cached, lambda _: dropped())
    del cached
    assert reference() is None


def in_a_destructor(dropped: Callable[[], None]) -> None:
    """Run *dropped* in the `__del__` of an object."""

    class Held:
        def __del__(self) -> None:
            dropped()

    Held()


def spin(seconds: float) -> None:
    """Run Python code for *seconds*, or until an exception ends it.

    A function of its own, because Python 3.13 skips the `finally` around a `while` that ends its block (CPython #130279).
    """
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


def told(dropping: Callable[[Callable[[], None]], None], limits: TimeLimits) -> str:
    """Return what a body of five seconds at most meets whose limit is over while Python would drop every exception."""
    watch = Watch(limits, lambda: None)
    try:
        try:
            watch.begin()
            dropping(lambda: spin(0.1))
            spin(5.0)
        finally:
            watch.close()
    except (SoftTimeLimitExceeded, HardLimit) as error:
        close(watch)
        return type(error).__name__
    return "nothing"


@pytest.mark.parametrize("where", ["main", "another thread"])
@pytest.mark.parametrize("dropping", [in_a_callback_of_python, in_a_destructor])
def test_a_soft_limit_is_met_though_python_drops_its_exception(dropping: Callable[[Callable[[], None]], None], where: str) -> None:
    """Python only reports an exception that a callback of the garbage collector meets: the body never saw its soft limit."""
    found: list[str] = []
    if where == "main":
        found.append(told(dropping, TimeLimits(0.05, None)))
    else:
        thread = threading.Thread(target=lambda: found.append(told(dropping, TimeLimits(0.05, None))))
        thread.start()
        thread.join()
    assert found == ["SoftTimeLimitExceeded"]


DROPPED_OF_OTHERS = """
import sys
from sedano.engine.worker.time_limits import Watch
from sedano.model.messages.message import TimeLimits

class Held:
    def __del__(self):
        raise ValueError("of the user")

sys.unraisablehook = lambda unraisable: print(unraisable.exc_value)
for _ in range(3):
    watch = Watch(TimeLimits(60.0, None), lambda: None)
    watch.begin()
    Held()
    watch.close()
"""


def test_what_python_drops_of_others_is_reported_as_before() -> None:
    """A watch takes its own exceptions only; the hook of the process gets the rest, each once."""
    command = [sys.executable, "-c", DROPPED_OF_OTHERS]
    done = subprocess.run(command, env={"PYTHONPATH": str(LIBRARY)}, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("of the user\n" * 3, 0), done.stderr
