"""The page about telemetry: its table lists every adapter, and its own adapter is one as soon as its package is installed."""

import re
import tomllib
from importlib import metadata

import pytest

from sedano.aws.telemetry_choice import Component, telemetry_of
from sedano.errors import ConfigurationError
from sedano.model.telemetry import adapter_names
from sedano.model.telemetry.log_entries import LOST
from sedano.ports import Telemetry
from sedano.telemetry import adapters
from sedano.telemetry.composed import ComposedTelemetry, Outputs
from sedano.telemetry.streams import NoMetrics
from tests.docs.pages import page

PAGE = page("telemetry.md")
(OWN,) = PAGE.blocks


def known(variable: str) -> set[str]:
    """The names that the refusal of another one lists, for a process that CloudWatch reads."""
    names = {adapter_names.LOGS: "none", adapter_names.METRICS: "none", variable: "other"}
    given = adapter_names.TelemetryNames(names[adapter_names.LOGS], names[adapter_names.METRICS], "none")
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


def test_the_page_quotes_the_line_about_a_loss() -> None:
    assert f"`{LOST}`" in PAGE.text
