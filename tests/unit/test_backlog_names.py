"""The name of a backlog: what each one is, and how a wrong one is refused."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sedano import Sedano
from sedano.api import backlog as backlogs
from sedano.api.backlog import BacklogName, named
from sedano.aws.backlog import DynamoBacklog
from sedano.engine.publisher.backlog import DiskBacklog, of
from sedano.errors import BacklogFull, ConfigurationError, OptionError
from sedano.memory import MemoryBacklog
from sedano.ports import Addressed, Outgoing
from sedano.ports.backlog import Backlog

NAMES = ("SEDANO_BACKLOG", "SEDANO_QUEUES", "SEDANO_SPOOL", "AWS_DEFAULT_REGION", "AWS_LAMBDA_FUNCTION_NAME")


def backlog_of(app: str, wanted: str | None) -> Backlog | None:
    return backlogs.backlog_of(app, wanted, of)


@pytest.fixture(autouse=True)
def environment(tmp_path: Path) -> Iterator[Any]:
    """A host with a disk."""
    before = {name: os.environ.pop(name, None) for name in NAMES}
    os.environ |= {"SEDANO_SPOOL": str(tmp_path / "spool"), "AWS_DEFAULT_REGION": "eu-central-1"}
    yield os.environ
    for name, value in before.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("disk", ("disk", "")), ("memory", ("memory", "")), ("memory:500", ("memory", "500")), ("off", ("off", "")),
        ("dynamodb:shop-backlog", ("dynamodb", "shop-backlog")), ("dynamodb:a.b_c@eu-west-1", ("dynamodb", "a.b_c@eu-west-1")),
    ],
)  # fmt: skip
def test_each_form_is_read(text: str, found: tuple[str, str]) -> None:
    assert named(text) == BacklogName(*found)


WRONG = ["", "Disk", "disk:x", "disk:", "off:", "memory:", "memory:0", "memory:1.5", "dynamodb", "dynamodb:a", "s3:x", 7, True]


@pytest.mark.parametrize("text", WRONG)
def test_another_text_is_refused_with_the_forms(text: Any) -> None:
    with pytest.raises(OptionError, match=r"backlog: .* names no backlog; write one of disk, memory, memory:1000, dynamodb:TABLE, .*off"):
        Sedano("shop", backlog=text)


def test_the_disk_is_the_default_where_it_outlives_the_process(environment: Any) -> None:
    assert isinstance(backlog_of("shop", None), DiskBacklog)
    environment["AWS_LAMBDA_FUNCTION_NAME"] = "web"
    assert backlog_of("shop", None) is None
    assert backlog_of("shop", "disk") is None


def test_memory_is_used_only_if_it_is_asked_for() -> None:
    found = backlog_of("shop", "memory:2")
    assert isinstance(found, MemoryBacklog)
    found.keep([Addressed("q", Outgoing("{}"))] * 2, 0.0)
    with pytest.raises(BacklogFull):
        found.keep([Addressed("q", Outgoing("{}"))], 0.0)
    assert isinstance(backlog_of("shop", "memory"), MemoryBacklog)


def test_off_is_none() -> None:
    assert backlog_of("shop", "off") is None


@pytest.mark.parametrize("queues", [None, ""])
def test_a_table_needs_the_stage_whose_messages_wait_in_it(environment: Any, queues: str | None) -> None:
    if queues is not None:
        environment["SEDANO_QUEUES"] = queues
    with pytest.raises(ConfigurationError, match=r"dynamodb:shop-backlog: SEDANO_QUEUES is not set, .*; set the variables of the"):
        backlog_of("shop", "dynamodb:shop-backlog")
    assert isinstance(backlog_of("shop", "memory"), MemoryBacklog)


def test_a_table_may_be_in_another_region(environment: Any) -> None:
    environment["SEDANO_QUEUES"] = '{"default": "one"}'
    here, away = (backlog_of("shop", name) for name in ("dynamodb:shop-backlog", "dynamodb:shop-backlog@eu-west-1"))
    assert isinstance(here, DynamoBacklog)
    assert isinstance(away, DynamoBacklog)
    assert [one._client.meta.region_name for one in (here, away)] == ["eu-central-1", "eu-west-1"]
    assert here._table == away._table == "shop-backlog"
    environment["SEDANO_QUEUES"] = '{"default": "another"}'
    other: Any = backlog_of("shop", "dynamodb:shop-backlog")
    assert other._pk != here._pk
    assert other._pk["S"].startswith("shop#")


def test_the_environment_overrides_the_app_and_is_named_when_it_is_wrong(environment: Any) -> None:
    environment["SEDANO_BACKLOG"] = "memory"
    assert isinstance(backlog_of("shop", "off"), MemoryBacklog)
    environment["SEDANO_BACKLOG"] = "ram"
    with pytest.raises(ConfigurationError, match="SEDANO_BACKLOG: 'ram' names no backlog; write one of disk"):
        backlog_of("shop", "off")
