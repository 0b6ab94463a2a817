"""The page about telemetry: its table lists every adapter, and its own adapter is one as soon as its package is installed."""

import re
import tomllib
from importlib import metadata

import pytest

from sedano import Sedano, testing
from sedano.aws.telemetry_choice import Component, telemetry_of
from sedano.errors import ConfigurationError
from sedano.model.telemetry import adapter_names
from sedano.model.telemetry.log_entries import LOST
from sedano.ports import Telemetry
from sedano.telemetry import adapters
from sedano.telemetry.composed import LOST_SPANS, ComposedTelemetry, Outputs
from sedano.telemetry.streams import NoMetrics
from tests.docs.pages import page

PAGE = page("telemetry.md")
TRACE, OWN = PAGE.blocks


def known(variable: str) -> set[str]:
    """The names that the refusal of another one lists, for a process that CloudWatch reads."""
    names = dict.fromkeys(adapters.GROUPS, "none") | {variable: "other"}
    given = adapter_names.TelemetryNames(*names.values())
    with pytest.raises(ConfigurationError) as refused:
        telemetry_of(given, Component("sedano-worker", "sedano/shop"), dict, {})
    found = re.search(r"write one of (.*), or install", str(refused.value))
    assert found is not None
    return set(found[1].split(", "))


def test_the_table_lists_every_adapter() -> None:
    listed: dict[str, set[str]] = {}
    variable = ""
    for row in re.findall(r"^\| (`SEDANO_\w+`|) ?\| (`.*?) \|", PAGE.text, re.MULTILINE):
        variable = row[0].strip("`") or variable
        listed.setdefault(variable, set()).update(name.split("://")[0] for name in re.findall(r"`([^`]+)`", row[1]))
    assert listed == {variable: known(variable) for variable in adapters.GROUPS}


def test_the_adapter_of_the_page_takes_errors() -> None:
    names: dict[str, object] = {}
    PAGE.run(OWN, names)
    (table,) = re.findall(r"```toml\n(.*?)```", PAGE.text, re.DOTALL)
    ((group, points),) = tomllib.loads(table)["project"]["entry-points"].items()
    ((word, place),) = points.items()
    entry = metadata.EntryPoint(name=word, value=place, group=group)
    make = names[entry.attr]
    assert callable(make)
    assert group in adapters.GROUPS.values()
    request = adapters.AdapterRequest(adapter_names.LOGS, adapter_names.parse("oncall://shop"), "sedano-worker", {})
    telemetry: Telemetry = ComposedTelemetry(Outputs(make(request), NoMetrics()), "sedano-page", dict)
    telemetry.log("info", "the worker is ready")
    telemetry.log("error", "task failed", task="shop.add")
    assert names["calls"] == ["shop: task failed"]


def test_the_spans_of_the_page_are_those_of_an_app_with_two_tasks() -> None:
    app = Sedano("page")

    @app.task(name="ship")
    def ship(number: int) -> int:
        return number

    @app.task(name="order")
    def order(number: int) -> None:
        ship.delay(number)

    PAGE.run(TRACE, {"app": app, "testing": testing, "order": order})


def test_the_page_quotes_the_lines_about_a_loss() -> None:
    assert f"`{LOST}`" in PAGE.text
    assert f"`{LOST_SPANS}`" in PAGE.text.replace("\n", " ")
