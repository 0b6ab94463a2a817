"""The page "A task fails in production": its commands run in its order, and print on a terminal what it shows."""

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sedano import testing
from sedano.cli import main
from sedano.cli.exits import Exit
from sedano.model.messages.lineage import rerun_id
from sedano.views.panels import ScreenQuery
from sedano.web.addresses import address
from sedano.web.changes import ID, SEARCH, Change
from tests.docs import exchange
from tests.docs.pages import page
from tests.stories.shopfront import Elements, Shop
from tests.stories.terminals import on_terminal

PAGE = page("failing_task.md")
APP = ("--app", "tests.docs.exchange:app")
SOURCE = Path(exchange.__file__)
FAILED = ("3f1c8e52-6b0d-4a57-9d2e-7c40b15a98e6", "a85d2c19-40e7-4f6b-8b13-5e92d07c6a4f")
"""Two tasks that fail for one cause; the page follows the second."""


def written(command: str) -> str:
    """Return what a command of the page writes to a terminal, with the place that the code has in a Lambda function."""
    verb, *rest = shlex.split(command)
    consent = ["--yes"] if verb == "retry" else []
    text = on_terminal([verb, *APP, *rest, *consent], NO_COLOR="1")
    return text.replace(str(SOURCE), "/opt/python/shop/tasks.py").replace(SOURCE.name, "tasks.py")


@contextmanager
def corrected() -> Iterator[None]:
    """Deploy the correction: a rate for CHF."""
    exchange.RATES["CHF"] = 0.94
    try:
        yield
    finally:
        del exchange.RATES["CHF"]


def test_the_code_of_the_page_is_the_app_that_its_commands_are_about() -> None:
    assert PAGE.blocks == [SOURCE.read_text(encoding="utf-8")]


def test_three_commands_lead_from_the_failure_to_the_task_that_has_run() -> None:
    blocks = "".join(re.findall(r"```console\n(.*?)```", PAGE.text, re.DOTALL))
    commands = re.findall(r"^\$ sedano (.*)\n((?:[^$\n].*\n)*)", blocks, re.MULTILINE)
    assert [command.split()[0] for command, _ in commands] == ["failures", "show", "retry"]
    with testing.world(exchange.app) as world:
        for task_id in FAILED:
            exchange.convert.apply_async((120, "CHF"), task_id=task_id)
        world.drain()
        for command, shown in commands:
            assert written(command) == shown, command
        with corrected():
            world.drain()
        (again,) = re.findall(r"runs again as ([0-9a-f-]{36})", blocks)
        assert f"`{exchange.app.result(again).get()}`" in PAGE.text


def test_one_line_runs_all_of_a_cause_again(capsys: pytest.CaptureFixture[str]) -> None:
    (line,) = re.findall(r"```sh\nsedano (.*)\n```", PAGE.text)
    retry, *options = shlex.split(line)
    with testing.world(exchange.app) as world:
        for task_id in FAILED:
            exchange.convert.apply_async((120, "CHF"), task_id=task_id)
        exchange.convert.apply_async((120, "EUR"))
        world.drain()
        assert main([retry, *APP, *options, "--yes"]) == Exit.DONE
        ids = re.findall(r"^(\S+) runs again as", capsys.readouterr().out, re.MULTILINE)
        assert sorted(ids) == sorted(FAILED)


def test_a_search_on_the_pages_offers_another_run_of_all_that_failed() -> None:
    search, words = re.findall(r"such as `(.*?)`, offers `(.*?)`", PAGE.text.replace("\n", " "))[0]
    with testing.world(exchange.app) as world:
        for task_id in FAILED:
            exchange.convert.apply_async((120, "CHF"), task_id=task_id)
        world.drain()
        shop = Shop(world, exchange.app, actions=True)
        change = Change("retry", SEARCH, search, "2")
        found = Elements(shop.html(address(ScreenQuery("tasks", query=search))))
        assert change.address in [one.get("href") for _, one in found.found]
        assert words in found.text
        assert shop.change(change.address, "the rate of CHF was missing").body.decode().count("runs again as") == len(FAILED)


def test_four_clicks_lead_from_the_page_now_to_another_run() -> None:
    clicks = re.findall(r"^\d\. (?:Write a reason and c|C)lick ", PAGE.text, re.MULTILINE)
    with testing.world(exchange.app) as world:
        exchange.convert.apply_async((120, "CHF"), task_id=FAILED[0])
        world.drain()
        shop = Shop(world, exchange.app, actions=True)
        failed = link(shop.html("/"), "look at shop.tasks.convert")
        task = link(shop.html(failed), address(ScreenQuery("task", id=FAILED[0], days=1)))
        assert "return RATES[currency]" in shop.html(task)
        preview = link(shop.html(task), Change("retry", ID, FAILED[0]).address)
        made = shop.change(preview, "the rate of CHF was missing").body.decode()
        assert "runs again as" in made
        assert len(clicks) == len([failed, task, preview, made])
        with corrected():
            world.drain()
        assert "SUCCESS" in shop.html(link(made, f"look at {rerun_id(FAILED[0])}"))


def link(page: str, wanted: str) -> str:
    """Return the address of the link that is labelled *wanted* or leads there."""
    places = [one for tag, one in Elements(page).found if tag == "a" and wanted in (one.get("aria-label"), one.get("href"))]
    assert places, wanted
    return str(places[0]["href"])
