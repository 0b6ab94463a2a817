"""Stories of boot steps and services: what starts before the first task, what a failure costs, and in which order all of it ends."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from sedano import Sedano, WorkerSettings, testing
from sedano.engine.boot import Boot
from sedano.errors import BootFailed, OptionError
from sedano.host import one_file
from sedano.host.engine_process import EngineProcess, ProcessSettings
from sedano.host.worker_process import LaneSettings, WorkerProcess
from sedano.memory import MemoryTelemetry
from sedano.model.boot import BLOCKED, FAILED, GIVEN_UP, STARTED, WAITING
from sedano.ports import Ports, command_queue

SECONDS = 60.0


class Diary:
    """An app whose boot steps write down when they start and stop; those in *broken* fail."""

    def __init__(self) -> None:
        """Declare nothing yet."""
        self.app = Sedano("boot")
        self.lines: list[str] = []
        self.broken: set[str] = set()

    def step(self, name: str, *after: str, **options: Any) -> None:
        """Declare the step *name*, with a start and a stop."""

        def both() -> Iterator[None]:
            if name in self.broken:
                self.lines.append(f"{name} fails")
                raise OSError(f"{name} is away")
            self.lines.append(name)
            yield
            self.lines.append(f"-{name}")

        self.app.boot(name=name, after=after, **options)(both)

    def task(self) -> Any:
        """Declare a task that writes its name down."""
        return self.app.task(name="work")(lambda: self.lines.append("work"))


def begun(app: Sedano) -> None:
    """Begin a world of *app*, and end it."""
    with testing.world(app):
        pass


def lanes(diary: Diary, ports: Ports) -> WorkerProcess:
    """A process of two lanes that runs the tasks of *diary*."""
    return WorkerProcess(diary.app, ports, ProcessSettings(visibility=SECONDS), LaneSettings(2, 2.0, 0.05))


@pytest.fixture
def diary() -> Diary:
    """An app without boot steps."""
    return Diary()


@pytest.fixture
def telemetry() -> MemoryTelemetry:
    """The log of a process."""
    return MemoryTelemetry()


@pytest.fixture
def ports(tmp_path: Path, telemetry: MemoryTelemetry) -> Ports:
    """A deployment over one file."""
    return one_file.ports(tmp_path / "sedano.db", visibility=SECONDS, telemetry=telemetry)


def test_steps_start_before_the_first_task_and_stop_in_reverse_after_the_last(diary: Diary) -> None:
    diary.step("cache", "database")
    diary.step("database")
    work = diary.task()
    with testing.world(diary.app) as world:
        assert diary.lines == ["database", "cache"]
        work.delay()
        world.drain()
        assert world.boot.states() == {"database": STARTED, "cache": STARTED}
        assert not world.boot.is_degraded
    assert diary.lines == ["database", "cache", "work", "-cache", "-database"]


def test_a_mandatory_failure_refuses_to_start_and_stops_in_reverse_what_had_started(diary: Diary) -> None:
    for name, after in (("a", ()), ("b", ("a",)), ("c", ("b",)), ("d", ("c",))):
        diary.step(name, *after)
    diary.broken.add("c")
    with pytest.raises(BootFailed, match=r"boot step c: OSError: c is away; this worker does not start") as refused:
        begun(diary.app)
    assert refused.value.step == "c"
    assert isinstance(refused.value.__cause__, OSError)
    assert diary.lines == ["a", "b", "c fails", "-b", "-a"]


def test_an_optional_failure_blocks_its_descendants_alone_and_is_tried_again_later(diary: Diary) -> None:
    diary.step("cache", optional=True)
    diary.step("warm", "cache", optional=True)
    diary.step("other", optional=True)
    diary.broken.add("cache")
    work = diary.task()
    with testing.world(diary.app) as world:
        assert world.boot.states() == {"cache": FAILED, "warm": BLOCKED, "other": STARTED}
        assert world.boot.is_degraded
        line = next(one for one in world.telemetry.lines if one.message == "a boot step failed; it is tried again later")
        assert (line.level, line.fields["step"], line.fields["blocked"]) == ("warning", "cache", ["warm"])
        assert line.fields["error"] == "OSError: cache is away"
        assert world.telemetry.counted("BootStepsFailed", step="cache") == 1
        diary.broken.clear()
        work.delay()
        world.step()
        assert diary.lines == ["cache fails", "other", "work"]  # the pause of a second is not over
        world.elapse(1)
        assert world.boot.states() == {"cache": STARTED, "warm": STARTED, "other": STARTED}
    assert diary.lines[3:] == ["cache", "warm", "-warm", "-cache", "-other"]


def test_an_optional_step_is_given_up_after_its_attempts(diary: Diary) -> None:
    diary.step("cache", optional=True, attempts=3)
    diary.step("warm", "cache", optional=True)
    diary.broken.add("cache")
    with testing.world(diary.app) as world:
        world.elapse(3_600)
        assert world.boot.states() == {"cache": GIVEN_UP, "warm": BLOCKED}
        assert world.telemetry.messages("error") == ["a boot step failed and is not tried again"]
    assert diary.lines == ["cache fails"] * 3


def test_a_mandatory_step_with_attempts_is_waited_for(diary: Diary) -> None:
    tries: list[float] = []

    def database() -> None:
        tries.append(world.clock.now())
        if len(tries) < 3:
            raise OSError("away")

    diary.app.boot(attempts=3)(database)
    world = testing.World(diary.app, 0, WorkerSettings())
    world.boot.begin()
    assert [late - early for early, late in pairwise(tries)] == [1.0, 2.0]


def test_a_stop_that_fails_is_logged_and_the_others_stop(diary: Diary) -> None:
    diary.step("first")

    @diary.app.boot(after=["first"])
    def bad() -> Iterator[None]:
        yield
        raise OSError("the pool is gone")

    @diary.app.boot(after=["bad"])
    def twice() -> Iterator[None]:
        yield
        yield

    with testing.world(diary.app) as world:
        pass
    assert diary.lines == ["first", "-first"]
    told = [(line.fields["step"], line.fields["error"]) for line in world.telemetry.lines if line.level == "error"]
    assert [step for step, _ in told] == ["twice", "bad"]
    assert "a second yield" in told[0][1]
    assert told[1][1] == "OSError: the pool is gone"


def test_a_step_beyond_its_timeout_has_failed_and_counts_as_started_once_it_ends(diary: Diary) -> None:
    gate, over = threading.Event(), threading.Event()

    def slow() -> Iterator[None]:
        assert gate.wait(SECONDS)
        yield
        over.set()

    diary.app.boot(optional=True, timeout=0.01, attempts=1)(slow)
    with testing.world(diary.app) as world:
        assert world.boot.states() == {"slow": GIVEN_UP}
        assert "TimeoutError: it has not ended after its timeout of 0.01 s" in str(world.telemetry.lines)
        gate.set()
        next(one for one in threading.enumerate() if one.name == "sedano-boot-slow").join(SECONDS)
        world.step()
        assert world.boot.states() == {"slow": STARTED}
    assert over.wait(SECONDS)


def test_a_try_that_goes_on_is_not_tried_again_beside_itself(diary: Diary) -> None:
    gate, calls = threading.Event(), list[int]()

    def slow() -> None:
        calls.append(1)
        assert gate.wait(SECONDS)

    diary.app.boot(optional=True, timeout=0.01)(slow)
    with testing.world(diary.app) as world:
        world.elapse(600)
        assert calls == [1]
        assert world.boot.states() == {"slow": FAILED}
    assert "a boot step has not ended; its code after yield does not run" in world.telemetry.messages("warning")
    gate.set()


def test_a_mandatory_step_beyond_its_timeout_refuses_to_start(diary: Diary) -> None:
    gate = threading.Event()
    diary.app.boot(name="slow", timeout=0.01, attempts=9)(lambda: gate.wait(SECONDS))
    with pytest.raises(BootFailed, match=r"boot step slow: TimeoutError: it has not ended after its timeout of 0\.01 s"):
        begun(diary.app)
    gate.set()


def test_a_step_may_publish_tasks(diary: Diary) -> None:
    work = diary.task()
    diary.app.boot(name="ask")(lambda: work.delay() and None)
    with testing.world(diary.app) as world:
        world.drain()
    assert diary.lines == ["work"]


def test_unknown_names_are_refused_before_the_first_step(diary: Diary) -> None:
    diary.step("a")
    diary.step("b", "c")
    with pytest.raises(OptionError, match=r"after='c' is not one of the steps"):
        begun(diary.app)
    assert diary.lines == []


def test_a_circle_is_refused_at_the_declaration_that_closes_it(diary: Diary) -> None:
    diary.step("a", "c")
    diary.step("b", "a")
    with pytest.raises(OptionError, match="boot steps wait for one another: "):
        diary.step("c", "b")
    assert list(diary.app.registry.boot) == ["a", "b"]


async def coroutine() -> None:
    """Do nothing."""


def needy(what: int) -> None:
    """Need an argument."""


@pytest.mark.parametrize(
    ("declare", "words"),
    [
        (lambda app: app.boot(coroutine), "an async function; write `def`, or declare it with @app.service"),
        (lambda app: app.boot(needy), "it is called without arguments but requires what"),
        (lambda app: app.boot(lambda: None), "has no name; declare a function with `def`"),
        (lambda app: app.boot(name="")(lambda: None), "has no name"),
        (lambda app: app.boot(7), "7 cannot be called"),
        (lambda app: [app.boot(name="a")(dict), app.boot(name="a")(dict)], "boot step a: declared twice"),
        (lambda app: app.service(dict), "service dict: not an `async def` function"),
        (lambda app: [app.service(coroutine), app.service(coroutine)], "service coroutine: declared twice"),
    ],
)
def test_a_declaration_that_cannot_be_honoured_is_refused(declare: Callable[[Sedano], Any], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        declare(Sedano("wrong"))


def test_a_process_boots_before_it_receives_and_stops_last(diary: Diary, ports: Ports) -> None:
    diary.step("database")
    work = diary.task()
    process = EngineProcess(diary.app, ports, ProcessSettings())
    assert process.boot.states() == {"database": WAITING}
    work.delay()
    assert process.drain(0.0)
    assert diary.lines == ["database", "work", "-database"]


def test_a_process_whose_mandatory_step_fails_receives_nothing(diary: Diary, ports: Ports) -> None:
    diary.step("database")
    diary.broken.add("database")
    work = diary.task()
    process = EngineProcess(diary.app, ports, ProcessSettings())
    work.delay()
    with pytest.raises(BootFailed):
        process.run()
    assert diary.lines == ["database fails"]
    assert len(ports.queues.receive(command_queue("default"))) == 1


def test_a_running_process_retries_an_optional_step_with_the_machines_time(diary: Diary, ports: Ports) -> None:
    tries: list[int] = []

    def cache() -> None:
        tries.append(1)
        if len(tries) == 1:
            raise OSError("away")
        process.stop()

    diary.app.boot(optional=True)(cache)
    process = EngineProcess(diary.app, ports, ProcessSettings())
    process.run()  # returns because the second try stops it
    assert process.boot.states() == {"cache": STARTED}


def test_a_process_of_lanes_boots_retries_and_stops_as_well(diary: Diary, ports: Ports) -> None:
    diary.step("database")
    tries: list[int] = []

    def cache() -> None:
        tries.append(1)
        if len(tries) == 1:
            raise OSError("away")
        process.stop()

    diary.app.boot(optional=True)(cache)
    process = lanes(diary, ports)
    process.run()  # returns because the second try stops it
    assert process.boot.states() == {"database": STARTED, "cache": STARTED}
    assert diary.lines == ["database", "-database"]


def test_a_process_of_lanes_whose_mandatory_step_fails_is_broken(diary: Diary, ports: Ports, telemetry: MemoryTelemetry) -> None:
    diary.step("database")
    diary.broken.add("database")
    process = lanes(diary, ports)
    with pytest.raises(BootFailed) as refused:
        process.run()
    assert process.broken is refused.value
    assert "the worker does not start" in telemetry.messages("error")


def test_a_service_runs_from_the_start_to_the_end_and_may_clean_up(diary: Diary) -> None:
    began = threading.Event()
    diary.step("database")

    @diary.app.service
    async def prices() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            diary.lines.append("-prices")

    work = diary.task()
    with testing.world(diary.app) as world:
        assert began.wait(SECONDS)
        work.delay()
        world.drain()
    assert diary.lines == ["database", "work", "-prices", "-database"]


def test_a_second_begin_and_a_second_end_do_nothing(diary: Diary) -> None:
    diary.step("a")
    with testing.world(diary.app) as world:
        world.boot.begin()
        world.boot.end()
        world.boot.end()
        world.boot.look()
    assert diary.lines == ["a", "-a"]


def test_without_steps_nothing_is_done() -> None:
    app, before = Sedano("bare"), {*threading.enumerate()}
    with testing.world(app) as world:
        assert world.boot.states() == {}
        assert not world.boot.is_degraded
        assert "sedano-services" not in {thread.name for thread in {*threading.enumerate()} - before}
    assert isinstance(world.boot, Boot)


def test_steps_that_failed_or_were_given_up_are_tried_again_when_that_is_asked(diary: Diary) -> None:
    diary.step("cache", optional=True, attempts=1)
    diary.step("warm", "cache", optional=True)
    diary.step("other", optional=True)
    diary.broken |= {"cache", "other"}
    with testing.world(diary.app) as world:
        assert world.boot.states() == {"cache": GIVEN_UP, "warm": BLOCKED, "other": FAILED}
        diary.broken.clear()
        world.boot.look()
        assert world.boot.states()["cache"] == GIVEN_UP
        world.boot.hasten()
        world.boot.look()
        assert world.boot.states() == {"cache": STARTED, "warm": STARTED, "other": STARTED}
