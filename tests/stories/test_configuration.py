"""Stories of an app's configuration: what a task sees, when a new version counts, and what an invalid one changes."""

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from sedano import COLD, Retry, Sedano, current, testing
from sedano.engine.configuration import Configuration
from sedano.errors import ConfigurationError, OptionError
from sedano.host import one_file
from sedano.host.engine_process import EngineProcess, ProcessSettings
from sedano.memory import MemoryTelemetry
from sedano.ports import Ports
from tests.stories.lanes_in_threads import VISIBILITY_S, Process
from tests.waiting import until

RELOADS = 1_000


@dataclass(frozen=True)
class Shop:
    """A configuration whose fields *left* and *right* always agree in its file."""

    left: int = 0
    right: int = 0
    sender: str = "shop"
    pool: int = field(default=1, metadata=COLD)
    password: str = field(default="", repr=False)


class ConfigFile:
    """A TOML file that is replaced as a whole."""

    def __init__(self, folder: Path) -> None:
        """Begin with an empty file."""
        self.path = folder / "shop.toml"
        self.write()

    def write(self, text: str = "", **values: object) -> None:
        """Write *values*, or the *text*."""
        other = self.path.with_suffix(".new")
        other.write_text(text or "".join(f"{name} = {value!r}\n" for name, value in values.items()), encoding="utf-8")
        other.replace(self.path)


@pytest.fixture
def file(tmp_path: Path) -> ConfigFile:
    return ConfigFile(tmp_path)


@pytest.fixture
def app() -> Sedano:
    return Sedano("configured")


@pytest.fixture
def settings(app: Sedano, file: ConfigFile) -> Configuration[Shop]:
    return app.configure(Shop, layers=[f"toml:{file.path}"])


@pytest.fixture
def telemetry() -> MemoryTelemetry:
    return MemoryTelemetry()


@pytest.fixture
def ports(tmp_path: Path, telemetry: MemoryTelemetry) -> Ports:
    return one_file.ports(tmp_path / "own" / "sedano.db", ("default",), VISIBILITY_S, telemetry)


@pytest.fixture
def start(app: Sedano, ports: Ports) -> Iterator[Callable[..., Process]]:
    """Start processes, which have ended when the test has."""
    made: list[Process] = []

    def started(**settings: Any) -> Process:
        made.append(Process(app, ports, **settings))
        return made[-1]

    yield started
    for one in made:
        one.end()


def test_a_task_sees_the_version_with_which_it_began(app: Sedano, file: ConfigFile, settings: Configuration[Shop]) -> None:
    seen: list[tuple[int, int, int]] = []

    @app.task(name="look")
    def look() -> None:
        before = current().config.left
        file.write(left=before + 1)
        settings.reload()
        seen.append((before, current().config.left, settings().left))

    with testing.world(app) as world:
        for _ in range(3):
            look.delay()
            world.drain()
        assert settings().left == 3  # outside of a body the newest counts
    assert seen == [(0, 0, 0), (1, 1, 1), (2, 2, 2)]


def test_async_bodies_that_run_together_each_keep_their_version(app: Sedano, file: ConfigFile, settings: Configuration[Shop]) -> None:
    @app.task(name="look")
    async def look(number: int) -> bool:
        before = current().config
        file.write(left=number)
        settings.reload()
        await asyncio.sleep(0)
        return current().config is before and settings() is before

    with testing.world(app):
        results = [look.delay(number) for number in range(3)]
        assert [result.get() for result in results] == [True] * 3


def test_announced_in_the_control_record_a_new_version_reaches_every_worker(
    app: Sedano, file: ConfigFile, settings: Configuration[Shop]
) -> None:
    look = app.task(name="look")(lambda: current().config.left)
    with testing.world(app) as world:
        assert look.delay().get() == 0
        file.write(left=5, pool=7)
        assert look.delay().get() == 0
        app.control.reload()
        world.elapse(61)
        assert look.delay().get() == 5
        assert settings().pool == 7
        reads = [line for line in world.telemetry.lines if line.message == "the configuration changed"]
        assert [line.fields["fields"] for line in reads] == [["left", "pool"]]
        world.elapse(200)
        assert look.delay().get() == 5
        assert len([line for line in world.telemetry.lines if line.message == "the configuration changed"]) == 1


def test_an_invalid_version_is_refused_as_a_whole_and_the_last_one_stays(
    app: Sedano, file: ConfigFile, settings: Configuration[Shop]
) -> None:
    look = app.task(name="look")(lambda: [current().config.left, current().config.sender])
    with testing.world(app) as world:
        file.write(left="many", sender="new", password=7)
        app.control.reload()
        world.elapse(61)
        assert look.delay().get() == [0, "shop"]
        toml, text = f"toml:{file.path}", 'a string; write it in quotes, such as "a"'
        (line,) = [line for line in world.telemetry.lines if line.level == "error"]
        assert line.message == "a new configuration is refused as a whole; the last one stays"
        assert line.fields["error"].splitlines()[1:] == [
            f"  left (toml:{file.path}): 'many' is not valid; expected a whole number, such as 10; correct left in {file.path}",
            f"  password ({toml}): its value is not valid; expected {text}; correct password in {toml[5:]}",
        ]
        assert world.telemetry.counted("ConfigurationsRefused") == 1
        world.elapse(200)
        assert look.delay().get() == [0, "shop"]
        assert world.telemetry.counted("ConfigurationsRefused") == 1  # once for each announcement
        file.write(left=1)
        assert settings.reload() == "changed: left"
        assert look.delay().get() == [1, "shop"]


def test_a_worker_does_not_start_with_a_configuration_that_is_not_valid(app: Sedano, file: ConfigFile, ports: Ports) -> None:
    app.configure(Shop, layers=[f"toml:{file.path}"])
    file.write(left="many")
    with pytest.raises(ConfigurationError, match=r"left .*'many' is not valid"):
        EngineProcess(app, ports, ProcessSettings())


def test_boot_steps_and_programs_have_the_configuration_before_the_first_task(
    app: Sedano, file: ConfigFile, settings: Configuration[Shop]
) -> None:
    file.write(sender="boot")
    assert settings().sender == "boot"  # no deployment is needed for layers of this machine
    seen = list[str]()
    app.boot(name="mail")(lambda: seen.append(settings().sender))
    file.write(sender="later")
    with testing.world(app):
        assert seen == ["later"]
    assert settings.origins() == {
        "left": "default", "right": "default", "sender": f"toml:{file.path}", "pool": "default", "password": "default",
    }  # fmt: skip


def test_each_layer_of_the_machine_is_read_and_a_later_one_wins(app: Sedano, tmp_path: Path, file: ConfigFile) -> None:
    name = f"SEDANO_TEST_{os.getpid()}_"
    file.write("[tool.shop]\nleft = 2\nright = 2\n")
    layers = ["module:tests.stories.configured", f"toml:{file.path}#tool.shop", f"toml:{tmp_path}/no.toml?", f"env:{name}"]
    settings = app.configure(Shop, layers=layers)
    os.environ |= {f"{name}RIGHT": "3", f"{name}HOME": "another name"}
    try:
        found, origins = settings(), settings.origins()
    finally:
        for variable in ("RIGHT", "HOME"):
            del os.environ[name + variable]
    assert found == Shop(left=2, right=3, sender="module")
    assert [origins[path] for path in ("sender", "left", "right", "pool")] == [layers[0], layers[1], layers[3], "default"]


@pytest.mark.parametrize(
    ("layer", "instead"),
    [
        ("toml:no-such.toml", r"no such file in .*; create it, or write toml:no-such.toml\? if it may be missing"),
        ("toml:pyproject.toml#tool.none", r"the file has no table \[tool.none\]"), ("module:no.such", "No module named 'no'; create"),
        ("toml:README.md", "layer toml:README.md: .*; correct the file"),
    ],
)  # fmt: skip
def test_a_layer_that_cannot_be_read_says_what_to_write(app: Sedano, layer: str, instead: str) -> None:
    settings = app.configure(Shop, layers=[layer])
    with pytest.raises(ConfigurationError, match=instead):
        settings()


def test_a_body_of_an_app_without_a_configuration_learns_how_to_declare_one(app: Sedano) -> None:
    look = app.task(name="look", retry=Retry(max_retries=0))(lambda: current().config)
    with testing.world(app):
        assert "this app has no configuration; declare a frozen dataclass with app.configure" in str(look.delay().get(propagate=False))


def test_a_second_configuration_and_a_text_for_layers_are_refused(app: Sedano, settings: Configuration[Shop]) -> None:
    with pytest.raises(OptionError, match="has a configuration already"):
        app.configure(Shop, layers=[])
    with pytest.raises(OptionError, match=r"write \['env:SHOP_'\]"):
        Sedano("other").configure(Shop, layers="env:SHOP_")


def test_a_hot_change_counts_from_the_next_task_while_others_run(
    app: Sedano, file: ConfigFile, settings: Configuration[Shop], start: Callable[..., Process]
) -> None:
    go, begun = threading.Event(), threading.Event()

    @app.task(name="slow")
    def slow() -> list[int]:
        before = current().config.left
        begun.set()
        go.wait(60)
        return [before, current().config.left]

    look = app.task(name="look")(lambda: current().config.left)
    start(concurrency=2)
    waits = slow.delay()
    assert begun.wait(60)
    file.write(left=9)
    app.control.reload()
    until(lambda: look.delay().get(timeout=60) == 9)
    go.set()
    assert waits.get(timeout=60) == [0, 0]


def test_a_cold_change_waits_for_the_bodies_that_run_and_begins_none_meanwhile(
    app: Sedano, file: ConfigFile, settings: Configuration[Shop], start: Callable[..., Process], telemetry: MemoryTelemetry
) -> None:
    go, begun, early = threading.Event(), threading.Semaphore(0), list[int]()

    @app.task(name="slow")
    def slow() -> int:
        begun.release()
        go.wait(60)
        return int(settings().pool)

    @app.task(name="look")
    def look() -> int:
        early.extend([] if go.is_set() else [settings().pool])
        return int(settings().pool)

    one = start(concurrency=3)
    waits = [slow.delay(), slow.delay()]
    assert [begun.acquire(timeout=60) for _ in waits] == [True] * 2
    file.write(left=4, pool=2)
    assert settings.reload() == "changes when no body runs: left, pool"
    later = [look.delay() for _ in range(5)]
    file.write(left=5, pool=2)
    app.control.reload()  # a newer version takes the place of the one that waits
    until(lambda: sum(line.message == "a new configuration waits until no body runs" for line in telemetry.lines) == 2)
    assert (settings().left, settings.is_waiting, early) == (0, True, [])
    go.set()
    assert [result.get(timeout=60) for result in waits] == [1, 1]
    assert [result.get(timeout=60) for result in later] == [2] * 5
    assert (settings().left, settings.is_waiting, one.end() < 10) == (5, False, True)


def test_in_a_process_of_one_batch_at_a_time_a_cold_change_counts_after_the_batch(
    app: Sedano, file: ConfigFile, settings: Configuration[Shop], ports: Ports
) -> None:
    @app.task(name="look")
    def look() -> list[object]:
        file.write(pool=2)
        answer = settings.reload()
        return [answer, settings().pool]

    process = EngineProcess(app, ports, ProcessSettings(visibility=VISIBILITY_S))
    first = look.delay()
    assert process.drain(0.0)
    assert first.get() == ["changes when no body runs: pool", 1]
    assert settings().pool == 2


class Watched:
    """A `def` and an `async def` task that look at the configuration again and again while they run; *wrong*: what differed."""

    def __init__(self, app: Sedano, settings: Configuration[Shop]) -> None:
        """Declare the tasks."""
        self.wrong, self.ran, self.done = list[object](), count(), threading.Event()
        self._settings = settings
        self._tasks = [app.task(name="thread")(self._thread), app.task(name="loop")(self._loop)]

    def publish(self) -> None:
        """Publish until it is *done*."""
        while not self.done.is_set():
            results = [task.delay() for task in self._tasks for _ in range(10)]
            for result in results:
                result.get(timeout=60)

    def _look(self, first: Shop) -> None:
        if not first is current().config is self._settings() or first.left != first.right:
            self.wrong.append(first)

    def _thread(self) -> None:
        first: Shop = current().config
        for _ in range(20):
            self._look(first)
            time.sleep(0)
        next(self.ran)

    async def _loop(self) -> None:
        first: Shop = current().config
        for _ in range(20):
            self._look(first)
            await asyncio.sleep(0)
        next(self.ran)


@pytest.mark.parametrize("kind", ["hot", "cold"])
def test_of_a_thousand_reloads_under_load_no_task_sees_two_versions(
    app: Sedano, file: ConfigFile, settings: Configuration[Shop], start: Callable[..., Process], kind: str
) -> None:
    watched = Watched(app, settings)
    start(concurrency=4)
    load = threading.Thread(target=watched.publish)
    load.start()
    versions = set[int]()
    for number in range(1, RELOADS + 1):
        file.write(left=number, right=number, pool=number if kind == "cold" else 1)
        assert settings.reload().startswith("change")
        versions.add(settings().left)
    until(lambda: settings().left == RELOADS)
    watched.done.set()
    load.join(60)
    assert not load.is_alive()
    assert watched.wrong == []
    assert next(watched.ran) >= 20
    assert len(versions) >= (RELOADS if kind == "hot" else 2)
