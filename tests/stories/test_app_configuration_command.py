"""`sedano config show`, `set` and `reload`: the configuration of the app, a field of its layer `stage:`, and a new version."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from sedano import COLD, Sedano, testing
from sedano.cli import main
from sedano.cli.exits import Exit
from sedano.views.stage_changes import changes
from tests.stories.terminals import items

APP = ("--app", "tests.stories.test_app_configuration_command:app")
BARE = ("--app", "tests.stories.test_app_configuration_command:bare")


@dataclass(frozen=True)
class Mail:
    """The options of a mailer."""

    sender: str = "shop@example.org"
    pool: int = field(default=3, metadata=COLD)
    password: str = field(default="hunter2", repr=False)


app = Sedano("mailer")
settings = app.configure(Mail, layers=["env:MAILER_STORY_", "stage:"])
bare = Sedano("bare")
alone = Sedano("alone")
alone.configure(Mail, layers=["env:ALONE_STORY_"])
ALONE = ("--app", "tests.stories.test_app_configuration_command:alone")


@pytest.fixture
def world() -> Iterator[testing.World]:
    """The app in memory."""
    settings.forget()
    with testing.world(app) as world:
        yield world
    settings.forget()


def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = Exit.DONE) -> tuple[str, str]:
    """What a verb writes to stdout and stderr."""
    assert main([*arguments]) == code
    return capsys.readouterr()


def test_each_field_is_shown_with_its_layer_and_without_secrets(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    app.control.set_config("pool", "5")
    settings.reload()
    out, _ = run(capsys, "config", "show", *APP)
    assert [line.split("\t") for line in out.splitlines()] == [
        ["sender", "shop@example.org", "default", "no"], ["pool", "5", "stage:", "yes"], ["password", "(secret)", "default", "no"],
    ]  # fmt: skip
    found = items(run(capsys, "config", "show", "--json", *APP)[0])
    assert found[1] == {"path": "pool", "value": "5", "origin": "stage:", "cold": True}
    assert "hunter2" not in out + json.dumps(found)


def test_a_value_is_previewed_set_announced_recorded_and_removed(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    before = app.control.hello()
    _, err = run(capsys, "config", "set", "pool", "7", "--dry-run", *APP)
    assert err.splitlines() == [
        "sedano config set: set 1 field in the layer stage:, pool: 7; now 3 from default",
        "sedano config set: all workers read their layers again; it takes effect when no body runs",
        "sedano config set: nothing was changed (--dry-run)",
    ]
    assert app.control.hello() == before
    out, _ = run(capsys, "config", "set", "pool", "7", "--yes", "--reason", "campaign", "--json", *APP)
    assert json.loads(out) == {"field": "pool", "value": "7"}
    assert app.control.hello().config != before.config, "all workers read their layers again"
    settings.reload()
    assert settings().pool == 7
    world.drain()
    (row,) = changes(app, 1).rows
    assert (row.verb, row.what, row.reason) == ("config set", "pool: 7", "campaign")
    assert "now 7 from stage:" in run(capsys, "config", "set", "pool", "--remove", "--dry-run", *APP)[1]
    assert run(capsys, "config", "set", "pool", "--remove", "--yes", *APP)[0] == "pool as the layers below say\n"
    settings.reload()
    assert settings().pool == 3


def test_a_reload_is_announced_and_recorded(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    before = app.control.hello()
    out, err = run(capsys, "config", "reload", "--yes", *APP)
    assert out == "announced\n"
    assert "let all workers read 1 configuration again: env:MAILER_STORY_, stage:; each worker refuses an invalid one" in err
    assert app.control.hello().config != before.config
    world.drain()
    assert [row.verb for row in changes(app, 1).rows] == ["config reload"]


@pytest.mark.parametrize(("arguments", "words"), [
    (["set", "pool", *APP], "set to what? give a value, or --remove"),
    (["set", "pool", "4", "--remove", *APP], "set to what?"),
    (["set", "pol", "4", *APP], "pol: no field has this name; the fields are sender, pool, password"),
    (["set", "pool", "many", *APP], "pool: 'many' is not valid; expected"),
    (["set", "password", "x", *APP], "password: a secret must not be stored"),
    (["set", "pool", "--remove", *APP], "pool: the layer stage: has no value for it, so there is nothing to remove"),
    (["set", "pool", "4", *ALONE], "this app reads no layer stage:; declare it"),
    (["set", "pool", "4", *BARE], "this app has no configuration; declare a frozen dataclass"),
    (["show", *BARE], "this app has no configuration"),
    (["reload", *BARE], "this app has no configuration"),
])
def test_a_change_that_cannot_be_is_refused_with_words(
    world: testing.World, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    before = app.control.hello()
    with testing.world(alone), testing.world(bare):
        assert words in run(capsys, "config", *arguments, *(["--yes"] * (arguments[0] != "show")), code=Exit.USAGE)[1]
    assert app.control.hello() == before


def test_sedano_broadcast_reload_is_answered_with_the_fields_that_changed(world: testing.World, capsys: pytest.CaptureFixture[str]) -> None:
    idle = app.task(name="idle")(lambda: None)
    idle.delay()
    world.drain()
    app.control.set_config("sender", "new@example.org")
    world.clock.advance(61.0)
    sent = json.loads(run(capsys, "broadcast", "reload", "--wait", "0", "--yes", "--json", *APP)[0])
    idle.delay()
    world.drain()
    assert [*app.control.answers(sent["id"]).values()] == ["changed: sender"]
    assert settings().sender == "new@example.org"
