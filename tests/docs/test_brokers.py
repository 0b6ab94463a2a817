"""The page about brokers: its code runs, its command is taken, and its promises are those of the library."""

import re
import shlex
from typing import Any

from sedano import Sedano
from sedano.aws.queues import LONG_POLL_S
from sedano.cli.verbs.worker import command
from sedano.model.brokers import SqsBroker, of_setting
from sedano.ports import Outgoing
from sedano.ports.brokers import Brokers
from tests.docs.pages import page

PAGE = page("brokers.md")
DECLARED, CONNECTED = PAGE.blocks


def test_the_app_of_the_page_has_its_brokers() -> None:
    names: dict[str, Any] = {}
    PAGE.run(DECLARED, names)
    app = names["app"]
    assert isinstance(app, Sedano)
    assert app.brokers == (SqsBroker(("default",)), SqsBroker(("default",), "eu-west-1"))


def test_the_variable_and_the_command_of_the_page_are_taken() -> None:
    settings = re.findall(r"SEDANO_BROKERS=([^\s`]+)", PAGE.text)
    assert [[broker.name for broker in of_setting(text)] for text in settings] == [
        ["home", "eu-west-1"], ["home"], ["home", "eu-west-1"], ["home"],
    ]  # fmt: skip
    (words,) = re.findall(r"sedano worker (.+)$", PAGE.text, re.MULTILINE)
    assert command.make_context("worker", shlex.split(words)).params["concurrency"] == 16


def test_the_connection_of_the_page_has_both_brokers() -> None:
    names: dict[str, Any] = {}
    PAGE.run(CONNECTED, names)
    queues = names["connect"]().queues
    assert isinstance(queues, Brokers)
    assert queues.sources("commands:default") == ["commands:default", "commands:default@spare"]
    assert queues.send("commands:default", [Outgoing("{}")]) == [None]
    (found,) = queues.receive("commands:default")
    assert found.body == "{}"


def test_a_poll_of_an_idle_queue_costs_what_the_page_says() -> None:
    assert round(30 * 86_400 / LONG_POLL_S, -4) == 130_000
