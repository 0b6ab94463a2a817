"""The configuration of one process: when its layers are read, which version holds, and what is said of a change."""

import contextvars
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from sedano import COLD, memory
from sedano.engine.configuration import Configuration
from sedano.engine.task_context import CURRENT, TaskContext
from sedano.errors import ConfigurationError, Unavailable
from sedano.model.configuration.fields import fields_of
from sedano.model.configuration.layers import layer
from sedano.model.configuration.snapshots import ConfigRow
from sedano.ports import Ports
from tests.unit.engine.gated import advance, job
from tests.waiting import until


@dataclass(frozen=True)
class Shop:
    """A hot, a cold and a secret field."""

    sender: str = "shop"
    pool: int = field(default=1, metadata=COLD)
    password: str = field(default="", repr=False)


class Parameters(memory.MemoryParameters):
    """Parameters that count how often they are read; while they are *away*, they do not answer."""

    def __init__(self) -> None:
        """Be there, with one parameter."""
        super().__init__({"/shop/sender": "mail"})
        self.reads, self.is_away = 0, False
        self.meanwhile: Callable[[], object] = lambda: None

    def tree(self, path: str) -> Mapping[str, str]:
        """Read, after what happens *meanwhile*."""
        self.reads += 1
        self.meanwhile()
        if self.is_away:
            raise Unavailable("parameters: away")
        return super().tree(path)

    def write(self, **values: object) -> None:
        """Write each value as the parameter of a field."""
        for name, value in values.items():
            self.put(f"/shop/{name}", str(value))


class Stage:
    """A configuration, its ports, and the connections that it made itself."""

    def __init__(self, *layers: str) -> None:
        """Read the parameters, and *layers* after them."""
        self.parameters, self.connections = Parameters(), 0
        self.ports = replace(memory.ports(), parameters=self.parameters)
        self.settings = Configuration(Shop, fields_of(Shop), [layer(one) for one in ("ssm:/shop/", *layers)], self._connect)

    def _connect(self) -> Ports:
        self.connections += 1
        return self.ports

    def announced(self, seconds: float) -> str:
        """Return what the control record says of a version that was announced so many *seconds* after now."""
        return f"{int((self.ports.clock.now() + seconds) * 1_000_000)} nonce"

    def said(self) -> list[tuple[str, str, Mapping[str, Any]]]:
        """Return what was logged."""
        telemetry = self.ports.telemetry
        assert isinstance(telemetry, memory.MemoryTelemetry)
        return [(line.level, line.message, line.fields) for line in telemetry.lines]


@pytest.fixture
def stage() -> Stage:
    return Stage()


@pytest.fixture
def begun(stage: Stage) -> Stage:
    stage.settings.begin(stage.ports)
    return stage


def test_nothing_is_read_before_the_first_version_is_asked_for(stage: Stage) -> None:
    settings = stage.settings
    assert (settings.newest, settings.version, settings.is_waiting, stage.parameters.reads) == (None, "", False, 0)
    settings.begin(stage.ports)
    assert (settings.newest, settings.version, settings.is_waiting) == (Shop("mail"), "bf54fe52", False)
    assert (stage.parameters.reads, stage.connections, stage.said()) == (1, 0, [])


def test_a_program_connects_and_reads_once(stage: Stage) -> None:
    assert [stage.settings() for _ in range(3)] == [Shop("mail")] * 3
    assert (stage.parameters.reads, stage.connections) == (1, 1)


def test_a_second_begin_over_the_same_ports_reads_nothing(begun: Stage) -> None:
    begun.settings.begin(begun.ports)
    assert begun.parameters.reads == 1


def test_a_begin_that_failed_is_made_up_for_by_the_next(stage: Stage) -> None:
    stage.parameters.is_away = True
    with pytest.raises(Unavailable):
        stage.settings.begin(stage.ports)
    stage.parameters.is_away = False
    stage.settings.begin(stage.ports)
    assert (stage.settings.newest, stage.parameters.reads) == (Shop("mail"), 2)


def test_a_begin_over_other_ports_reads_anew_and_drops_the_version_that_waits(begun: Stage) -> None:
    assert begun.settings.enter()
    begun.parameters.write(pool=2)
    begun.settings.reload()
    assert begun.settings.is_waiting
    begun.settings.begin(Stage().ports)
    assert (begun.settings.newest, begun.settings.is_waiting) == (Shop("mail"), False)


def test_after_all_is_forgotten_the_next_use_connects_and_reads_anew(begun: Stage) -> None:
    announced = begun.announced(0)
    begun.settings.look(announced)
    assert begun.settings.enter()
    begun.parameters.write(pool=2)
    begun.settings.reload()
    begun.settings.forget()
    assert (begun.settings.newest, begun.settings.version, begun.settings.is_waiting) == (None, "", False)
    assert (begun.settings(), begun.connections, begun.parameters.reads) == (Shop("mail", 2), 1, 4)
    begun.settings.look(announced)
    assert begun.parameters.reads == 5


def test_outside_of_a_body_of_this_app_the_newest_version_counts(begun: Stage) -> None:
    old, context = begun.settings(), TaskContext(job("a").command, 1, 30.0, 1)
    begun.parameters.write(sender="new")
    begun.settings.reload()
    for snapshot, seen in ((old, old), (None, Shop("new")), ("of another app", Shop("new"))):
        context.snapshot = snapshot
        within = contextvars.copy_context()
        within.run(CURRENT.set, context)
        assert within.run(begun.settings) is (seen if seen is old else begun.settings.newest)
        assert within.run(begun.settings) == seen


def test_the_rows_and_the_origins_are_those_of_the_newest_version(begun: Stage) -> None:
    begun.parameters.write(password="hunter2")
    begun.settings.reload()
    assert begun.settings.origins() == {"sender": "ssm:/shop/", "pool": "default", "password": "ssm:/shop/"}
    assert begun.settings.rows() == [
        ConfigRow("sender", "mail", "ssm:/shop/", cold=False), ConfigRow("pool", "1", "default", cold=True),
        ConfigRow("password", "(secret)", "ssm:/shop/", cold=False),
    ]  # fmt: skip


@pytest.mark.parametrize(("seconds", "reads"), [(-61, 1), (-60, 2), (0, 2)])
def test_what_was_announced_a_minute_before_the_first_read_is_known(begun: Stage, seconds: float, reads: int) -> None:
    announced = begun.announced(seconds)
    for _ in range(3):
        begun.settings.look(announced)
        assert begun.parameters.reads == reads


def test_each_announcement_is_read_once(begun: Stage) -> None:
    for seconds, reads in ((0, 2), (0, 2), (1, 3), (1, 3)):
        begun.settings.look(begun.announced(seconds))
        assert begun.parameters.reads == reads


def test_layers_that_did_not_answer_are_read_again_after_thirty_seconds(begun: Stage) -> None:
    begun.parameters.is_away = True
    advance(begun.ports, 5.0)
    announced = begun.announced(0)
    for seconds, reads in ((0.0, 2), (0.0, 2), (29.0, 2), (0.75, 2), (0.25, 3), (29.0, 3)):
        advance(begun.ports, seconds)
        begun.settings.look(announced)
        assert begun.parameters.reads == reads
    words = "a layer of the configuration did not answer; it is read again later"
    assert begun.said() == [("warning", words, {"error": "parameters: away"})] * 2


def test_a_look_does_not_wait_for_another_that_reads(begun: Stage) -> None:
    begun.parameters.meanwhile = lambda: begun.settings.look(begun.announced(1))
    begun.settings.look(begun.announced(0))
    assert begun.parameters.reads == 2


def test_a_call_does_not_wait_for_a_reload(begun: Stage) -> None:
    seen = list[Shop]()
    begun.parameters.write(sender="new")
    begun.parameters.meanwhile = lambda: seen.append(begun.settings())
    assert begun.settings.reload() == "changed: sender"
    assert [*seen, begun.settings()] == [Shop("mail"), Shop("new")]


def test_of_two_threads_that_ask_first_one_reads(stage: Stage) -> None:
    found = list[Shop]()
    other = threading.Thread(target=lambda: found.append(stage.settings()))

    def meanwhile() -> None:
        other.start()
        until(lambda: getattr(sys._current_frames().get(other.ident or 0), "f_code", None) is Configuration._current.__code__)

    stage.parameters.meanwhile = meanwhile
    assert stage.settings() == Shop("mail")
    other.join(60)
    assert (found, stage.parameters.reads) == ([Shop("mail")], 1)


def test_one_message_that_asks_to_reload_is_answered_alike_by_every_lane(begun: Stage) -> None:
    begun.parameters.write(sender="a")
    assert begun.settings.reload("m-1") == "changed: sender"
    begun.parameters.write(sender="b")
    assert [begun.settings.reload("m-1"), begun.settings().sender, begun.parameters.reads] == ["changed: sender", "a", 2]
    assert [begun.settings.reload("m-2"), begun.settings.reload()] == ["changed: sender", "nothing changed"]
    begun.parameters.is_away = True
    assert [begun.settings.reload(), begun.parameters.reads] == ["a layer did not answer; the last configuration stays", 5]
    assert begun.settings() == Shop("b")


def test_a_first_reload_changes_every_field(stage: Stage) -> None:
    assert stage.settings.reload() == "changed: sender, pool, password"
    assert (stage.settings(), stage.parameters.reads, stage.said()) == (Shop("mail"), 1, [])


def test_a_hot_change_counts_at_once_and_is_told_with_its_layers(tmp_path: Any) -> None:
    file = tmp_path / "shop.toml"
    file.write_text("")
    stage = Stage(f"toml:{file}")
    stage.settings.begin(stage.ports)
    assert stage.settings.enter()
    file.write_text("pool = 1\nsender = 'file'\n")
    stage.parameters.write(password="new")
    assert stage.settings.reload() == "changed: sender, password"
    assert (stage.settings(), stage.settings.is_waiting) == (Shop("file", 1, "new"), False)
    told = {"fields": ["sender", "password"], "origins": ["ssm:/shop/", f"toml:{file}"]}
    assert stage.said() == [("info", "the configuration changed", told)]


def test_a_cold_change_waits_until_the_last_lane_is_over_and_lets_none_begin(begun: Stage) -> None:
    settings = begun.settings
    assert [settings.enter(), settings.enter()] == [True, True]
    begun.parameters.write(pool=2, sender="new")
    assert settings.reload() == "changes when no body runs: sender, pool"
    assert settings.reload() == "nothing changed"
    waits = ("info", "a new configuration waits until no body runs", {"fields": ["sender", "pool"]})
    assert begun.said() == [waits]
    for newest in (Shop("mail"), Shop("new", 2)):
        assert [settings.is_waiting, settings.enter()] == [True, False]
        settings.leave()
        assert settings.newest == newest
    assert [settings.is_waiting, settings.enter()] == [False, True]
    told = {"fields": ["sender", "pool"], "origins": ["ssm:/shop/"]}
    assert begun.said() == [waits, ("info", "the configuration changed", told)]


def test_a_newer_version_takes_the_place_of_the_one_that_waits(begun: Stage) -> None:
    assert begun.settings.enter()
    begun.parameters.write(pool=2)
    begun.settings.reload()
    begun.parameters.write(pool=3)
    assert begun.settings.reload() == "changes when no body runs: pool"
    begun.parameters.write(sender="new")
    assert begun.settings.reload() == "changes when no body runs: sender"
    begun.settings.leave()
    assert begun.settings.newest == Shop("new", 3)


def test_where_no_body_runs_a_cold_change_counts_at_once(begun: Stage) -> None:
    begun.parameters.write(pool=2)
    assert begun.settings.reload() == "changed: pool"
    assert (begun.settings.newest, begun.settings.is_waiting) == (Shop("mail", 2), False)
    assert [message for _, message, _ in begun.said()] == ["the configuration changed"]


def test_a_change_that_is_taken_back_waits_no_longer(begun: Stage) -> None:
    assert begun.settings.enter()
    begun.parameters.write(pool=2)
    begun.settings.reload()
    begun.parameters.write(pool=1)
    assert begun.settings.reload() == "changed: pool"
    assert (begun.settings.newest, begun.settings.is_waiting, begun.settings.enter()) == (Shop("mail"), False, True)


def test_a_wrong_version_is_refused_and_counted_and_the_last_one_stays(begun: Stage) -> None:
    begun.parameters.write(pool="many")
    why = begun.settings.reload()
    error = why.removeprefix("refused: ")
    assert error.startswith("configuration Shop is refused as a whole:\n  pool (ssm:/shop/): 'many' is not valid; ")
    assert begun.said() == [("error", "a new configuration is refused as a whole; the last one stays", {"error": error})]
    telemetry = begun.ports.telemetry
    assert isinstance(telemetry, memory.MemoryTelemetry)
    assert (telemetry.counted("ConfigurationsRefused"), begun.settings()) == (1, Shop("mail"))
    announced = begun.announced(0)
    for _ in range(2):
        begun.settings.look(announced)
    assert begun.parameters.reads == 3


def test_a_program_learns_of_a_wrong_version_from_the_answer_alone(stage: Stage) -> None:
    stage.parameters.write(pool="many")
    assert stage.settings.reload().startswith("refused: configuration Shop is refused as a whole:")
    assert stage.said() == []
    with pytest.raises(ConfigurationError, match="'many' is not valid"):
        stage.settings()


def test_a_worker_does_not_wait_for_a_pause_of_the_program_before_it(stage: Stage) -> None:
    stage.parameters.is_away = True
    assert stage.settings.reload() == "a layer did not answer; the last configuration stays"
    stage.parameters.is_away = False
    stage.settings.begin(stage.ports)
    stage.parameters.write(sender="new")
    stage.settings.look(stage.announced(0))
    assert (stage.settings(), stage.said()[0][2]["fields"]) == (Shop("new"), ["sender"])


def test_layers_of_this_machine_need_no_connection(tmp_path: Any) -> None:
    connected = list[str]()

    def connect() -> Ports:
        connected.append("once")
        return memory.ports()

    layers = [layer(f"toml:{tmp_path}/none.toml?"), layer("module:tests.stories.configured"), layer("env:SEDANO_UNSET_")]
    assert Configuration(Shop, fields_of(Shop), layers, connect)() == Shop("module")
    assert connected == []
    assert Configuration(Shop, fields_of(Shop), [*layers, layer("stage:")], connect)() == Shop("module")
    assert connected == ["once"]
