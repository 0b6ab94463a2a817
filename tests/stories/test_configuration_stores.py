"""Stories of layers that a deployment keeps: parameters, profiles, and values that are set in the stage itself."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import pytest

from sedano import Sedano, current, testing
from sedano.engine.configuration import AGAIN_S
from sedano.errors import ConfigurationError, OptionError, Unavailable
from sedano.host import one_file
from sedano.memory import MemoryMemos, MemoryTelemetry
from sedano.model.memos import Memo, MemoChanged
from sedano.ports import Ports
from tests.stories.lanes_in_threads import VISIBILITY_S, Process
from tests.waiting import until


@dataclass(frozen=True)
class Smtp:
    """A table."""

    host: str = "localhost"


@dataclass(frozen=True)
class Shop:
    """A configuration."""

    pool: int = 1
    smtp: Smtp = Smtp()
    password: str = field(default="", repr=False)


PARAMETERS = {"/shop/pool": "2", "/shop/smtp/host": "mail", "/shop/password": "hunter2", "shop/prod/flags": json.dumps({"pool": 3})}


@pytest.fixture
def app() -> Sedano:
    return Sedano("stores")


def test_parameters_and_profiles_are_layers_like_others(app: Sedano) -> None:
    settings = app.configure(Shop, layers=["ssm:/shop/", "appconfig:shop/prod/flags"])
    look = app.task(name="look")(lambda: [current().config.pool, current().config.smtp.host, current().config.password])
    with testing.world(app, parameters=PARAMETERS) as world:
        assert look.delay().get() == [3, "mail", "hunter2"]
        assert settings.origins() == {"pool": "appconfig:shop/prod/flags", "smtp.host": "ssm:/shop/", "password": "ssm:/shop/"}
        parameters: Any = world.ports.parameters
        parameters.put("shop/prod/flags", "{}")
        assert settings.reload() == "changed: pool"
        assert look.delay().get() == [2, "mail", "hunter2"]
        assert "hunter2" not in str(world.telemetry.lines)


@pytest.mark.parametrize(("text", "instead"), [("[1]", "its text is not a JSON object"), ("pool=1", "deploy a JSON object")])
def test_a_profile_of_another_form_is_refused(app: Sedano, text: str, instead: str) -> None:
    app.configure(Shop, layers=["appconfig:shop/prod/flags"])
    with (
        pytest.raises(ConfigurationError, match=f"layer appconfig:shop/prod/flags: .*{instead}"),
        testing.world(app, parameters={"shop/prod/flags": text}),
    ):
        pass


def test_a_value_that_is_set_in_the_stage_reaches_every_worker_and_can_be_taken_away(app: Sedano) -> None:
    app.configure(Shop, layers=["ssm:/shop/", "stage:"])
    look = app.task(name="look")(lambda: current().config.pool)
    with testing.world(app, parameters=PARAMETERS) as world:
        assert look.delay().get() == 2
        for value, meant in (("7", 7), ("8", 8), (None, 2)):
            app.control.set_config("pool", value)
            world.elapse(61)
            assert look.delay().get() == meant


@pytest.mark.parametrize(
    ("path", "value", "instead"),
    [
        ("pol", "1", "no field has this name; the fields are pool, smtp.host, password"), ("pool", "many", "expected a whole number"),
        ("password", "hunter2", "a secret must not be stored in the stage's table; write it to a layer ssm:"),
    ],
)  # fmt: skip
def test_a_value_that_cannot_hold_is_refused_before_it_is_written(app: Sedano, path: str, value: str, instead: str) -> None:
    settings = app.configure(Shop, layers=["stage:"])
    with testing.world(app):
        app.control.set_config("pool", "2")
        with pytest.raises(OptionError, match=instead) as refused:
            app.control.set_config(path, value)
        assert "hunter2" not in str(refused.value)
        assert settings.reload() == "changed: pool"


def test_without_a_layer_of_the_stage_nothing_can_be_set_there(app: Sedano) -> None:
    with testing.world(app), pytest.raises(OptionError, match="reads no layer stage:; declare it"):
        app.control.set_config("pool", "1")
    app.configure(Shop, layers=["ssm:/shop/"])
    with testing.world(app), pytest.raises(OptionError, match="reads no layer stage:; declare it"):
        app.control.set_config("pool", "1")


def test_values_of_another_version_of_sedano_are_refused_and_the_last_configuration_stays(app: Sedano) -> None:
    settings = app.configure(Shop, layers=["stage:"])
    with testing.world(app) as world:
        for text in ('{"pool": 1}', "[]", "x"):
            seen = world.ports.memos.read(["config:stage"]).get("config:stage", Memo("config:stage"))
            world.ports.memos.change(Memo("config:stage", text, world.ports.entropy.nonce()), seen)
            assert settings.reload().startswith("refused: layer stage: ")
        assert settings().pool == 1


class Away(MemoryMemos):
    """Memos that do not answer while they are away, and lose the first race."""

    def __init__(self) -> None:
        """Be there."""
        super().__init__()
        self.is_away, self.races = False, 0

    def read(self, names: Sequence[str]) -> dict[str, Memo]:
        """Read, unless they are away."""
        if self.is_away:
            raise Unavailable("memos: away")
        return super().read(names)

    def change(self, memo: Memo, seen: Memo) -> MemoChanged:
        """Change, after another one that is quicker."""
        if self.races:
            self.races -= 1
            super().change(Memo(memo.name, '{"smtp.host":"quicker"}', f"rival{self.races}"), seen)
        return super().change(memo, seen)


def test_a_layer_that_does_not_answer_is_read_again_later(app: Sedano) -> None:
    settings, memos = app.configure(Shop, layers=["stage:"]), Away()
    with testing.world(app) as world:
        ports = replace(world.ports, memos=memos)
        settings.begin(ports)
        app.attach(ports)
        app.control.set_config("pool", "5")
        memos.is_away = True
        announced = ports.control.read().config
        for _ in range(3):
            settings.look(announced)
        assert settings.reload() == "a layer did not answer; the last configuration stays"
        memos.is_away = False
        settings.look(announced)
        assert settings().pool == 1  # not before the pause is over
        world.clock.advance(AGAIN_S)
        settings.look(announced)
        assert settings().pool == 5
        warned = [line for line in world.telemetry.lines if line.message.startswith("a layer of the configuration did not answer")]
        assert len(warned) == 2


def test_two_who_set_values_at_once_lose_neither(app: Sedano) -> None:
    settings, memos = app.configure(Shop, layers=["stage:"]), Away()
    with testing.world(app) as world:
        app.attach(replace(world.ports, memos=memos))
        memos.races = 1
        app.control.set_config("pool", "5")
        settings.begin(replace(world.ports, memos=memos))
        assert settings() == Shop(5, Smtp("quicker"))


@pytest.fixture
def ports(tmp_path: Path) -> Ports:
    return one_file.ports(tmp_path / "own" / "sedano.db", ("default",), VISIBILITY_S, MemoryTelemetry())


@pytest.fixture
def start(app: Sedano, ports: Ports) -> Iterator[Callable[[], Process]]:
    """Start processes, which have ended when the test has."""
    made: list[Process] = []

    def started() -> Process:
        made.append(Process(app, ports))
        return made[-1]

    yield started
    for one in made:
        one.end()


def test_a_process_over_one_file_takes_values_from_its_file(app: Sedano, ports: Ports, start: Callable[[], Process]) -> None:
    app.configure(Shop, layers=["ssm:/shop/", "stage:"])
    look = app.task(name="look")(lambda: current().config.pool)
    parameters: Any = ports.parameters
    parameters.put("/shop/pool", "4")
    start()
    assert look.delay().get(timeout=60) == 4
    app.control.set_config("pool", "6")
    until(lambda: look.delay().get(timeout=60) == 6)


def test_a_program_reads_the_stores_of_its_deployment_at_the_first_call(app: Sedano, ports: Ports) -> None:
    settings = app.configure(Shop, layers=["stage:", "env:SHOP_UNSET_"])
    app.attach(ports)
    app.control.set_config("pool", "9")
    found: Mapping[str, str] = settings.origins()
    assert (settings().pool, found["pool"]) == (9, "stage:")


def test_a_worker_that_is_asked_to_reload_answers_with_the_fields_that_changed(app: Sedano) -> None:
    app.configure(Shop, layers=["ssm:/shop/"])
    look = app.task(name="look")(lambda: current().config.pool)
    with testing.world(app, parameters=PARAMETERS) as world:
        assert look.delay().get() == 2
        parameters: Any = world.ports.parameters
        for text, answer in (("4", "changed: pool"), ("4", "nothing changed"), ("many", "refused: configuration Shop")):
            parameters.put("/shop/pool", text)
            asked = app.control.broadcast("reload", seconds=300)
            world.elapse(61)
            assert look.delay().get() == 4
            (said,) = app.control.answers(asked).values()
            assert said.startswith(answer)


def test_a_process_of_several_lanes_reads_its_layers_once_for_a_command(
    app: Sedano, ports: Ports, start: Callable[[], Process]
) -> None:
    settings, parameters = app.configure(Shop, layers=["ssm:/shop/"]), cast("Any", ports.parameters)
    start()
    parameters.put("/shop/pool", "4")
    asked = app.control.broadcast("reload")
    until(lambda: len(app.control.answers(asked)) == 4)
    assert set(app.control.answers(asked).values()) == {"changed: pool"}
    assert settings().pool == 4
