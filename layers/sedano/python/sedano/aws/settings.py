"""The settings of this deployment: read once from the environment, validated, frozen.

Lambda allows 4 KB of environment variables, so the common part of the queues' addresses is not repeated: SEDANO_QUEUES has the names of the
command queues, below the prefix of their names on SQS: `{"sedano-prod-1a2b3c4d-": ["default", "mail"]}`. The rest of an address is that of
SEDANO_EVENTS_QUEUE. An object of addresses by name, `{"default": "https://…"}`, is accepted as well.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeGuard

from sedano.errors import ConfigurationError
from sedano.model.messages.lineage import DEFAULT_BUDGET
from sedano.ports import EVENTS, PARKED, RECORDS, command_queue

_HINT = (
    "without AWS, start `sedano dev` in the project's folder; for a deployed stage, `eval \"$(sedano outputs --stage NAME)\"` sets it; "
    "deployed functions have it from their stack"
)


class DeploymentSettings(NamedTuple):
    """The names and addresses of one deployment. *queues* maps the keys of `sedano.ports` to queue URLs, *mappings* those of
    command queues to the UUIDs of their event source mappings. *scheduler*: a scheduler runs periodic tasks. *streams*: the ARNs of the
    app's streams, by name. *tables*, *functions*, *sinks*: the names or ARNs of the app's tables and of the functions of its boxes, and
    the places of its sinks, by name. *worker*: the name, the ARN or the URL of the worker function, for direct calls. *most_budget*:
    the largest budget that is accepted from a message without a mark. *logs*, *metrics*, *traces*: the names of the adapters of its
    telemetry (`sedano.model.telemetry.adapter_names`). *brokers*: the names of the brokers (`sedano.model.brokers`); "": those of the app.
    *group_commit*: workers claim and record the tasks of a batch together (`sedano.aws.group_commit`).
    """

    queues: Mapping[str, str]
    ledger_table: str
    control_table: str
    blobs_bucket: str
    history_bucket: str
    stage: str = "dev"
    app: str = ""
    timers_group: str = ""
    timers_role: str = ""
    scheduler: bool = False
    task_metrics: bool = False
    mappings: Mapping[str, str] = MappingProxyType({})
    streams: Mapping[str, str] = MappingProxyType({})
    most_budget: int = DEFAULT_BUDGET
    tables: Mapping[str, str] = MappingProxyType({})
    functions: Mapping[str, str] = MappingProxyType({})
    sinks: Mapping[str, str] = MappingProxyType({})
    worker: str = ""
    logs: str = ""
    metrics: str = ""
    traces: str = ""
    brokers: str = ""
    group_commit: bool = False


def from_environment(environment: Mapping[str, str]) -> DeploymentSettings:
    """Return the settings that the SEDANO_* variables of *environment* describe.

    Raises:
        ConfigurationError: a variable is missing or malformed; the message names it and says where it comes from.
    """
    return DeploymentSettings(
        queues=_queues(environment),
        ledger_table=_required(environment, "SEDANO_LEDGER_TABLE"),
        control_table=_required(environment, "SEDANO_CONTROL_TABLE"),
        blobs_bucket=_required(environment, "SEDANO_BLOBS_BUCKET"),
        history_bucket=_required(environment, "SEDANO_HISTORY_BUCKET"),
        stage=environment.get("SEDANO_STAGE", "dev"),
        app=environment.get("SEDANO_APP", ""),
        timers_group=environment.get("SEDANO_TIMERS_GROUP", ""),
        timers_role=environment.get("SEDANO_TIMERS_ROLE", ""),
        scheduler=environment.get("SEDANO_SCHEDULER", "") == "on",
        task_metrics=environment.get("SEDANO_TASK_METRICS", "") == "on",
        mappings=_mappings(environment),
        streams=_named(environment, "SEDANO_STREAMS", "<stream arn>", "orders") if environment.get("SEDANO_STREAMS") else {},
        tables=_named(environment, "SEDANO_TABLES", "arn:aws:dynamodb:…", "orders") if environment.get("SEDANO_TABLES") else {},
        functions=_named(environment, "SEDANO_FUNCTIONS", "arn:aws:lambda:…", "resize") if environment.get("SEDANO_FUNCTIONS") else {},
        sinks=_named(environment, "SEDANO_SINKS", "arn:aws:s3:::…", "archive") if environment.get("SEDANO_SINKS") else {},
        worker=environment.get("SEDANO_WORKER", ""),
        logs=environment.get("SEDANO_LOGS", ""),
        metrics=environment.get("SEDANO_METRICS", ""),
        traces=environment.get("SEDANO_TRACES", ""),
        brokers=environment.get("SEDANO_BROKERS", ""),
        group_commit=_switch(environment, "SEDANO_GROUP_COMMIT"),
        most_budget=_count(environment, "SEDANO_MOST_BUDGET", DEFAULT_BUDGET),
    )


def command_addresses(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the URL of each command queue by its name, as SEDANO_QUEUES and SEDANO_EVENTS_QUEUE of *environment* describe them.

    Raises:
        ConfigurationError: one of the two is missing or malformed.
    """
    found: dict[str, str] = {}
    place, example = environment.get("SEDANO_EVENTS_QUEUE", "").rpartition("/")[0], '{"sedano-dev-": ["default"]}'
    given = _json(environment, "SEDANO_QUEUES", example)
    if not isinstance(given, dict):
        raise ConfigurationError(f"SEDANO_QUEUES must be an object such as {example}, or give URLs by name")
    for key, value in given.items():
        if _is_text(value):
            found[key] = value
        elif isinstance(value, list) and value and all(map(_is_text, value)):
            if not place:
                raise ConfigurationError("SEDANO_EVENTS_QUEUE is not a queue's address, https://…/…; SEDANO_QUEUES depends on it")
            found |= {name: f"{place}/{key}{name}" for name in value}
        else:
            raise ConfigurationError(f"SEDANO_QUEUES must be an object such as {example}, or give URLs by name")
    return found


def limited_tenants(environment: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the tenants with a spending limit, which SEDANO_SPENDING lists; an empty one is the whole app. None: no limit is declared.

    Raises:
        ConfigurationError: the variable is not such a list.
    """
    if not environment.get("SEDANO_SPENDING"):
        return None
    given = _json(environment, "SEDANO_SPENDING", '["acme"]')
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        raise ConfigurationError('SEDANO_SPENDING must be a list of tenants, such as ["acme"]')
    return tuple(given)


def _required(environment: Mapping[str, str], name: str) -> str:
    value = environment.get(name, "")
    if not value:
        raise ConfigurationError(f"{name} is not set; {_HINT}")
    return value


def _count(environment: Mapping[str, str], variable: str, default: int) -> int:
    text = environment.get(variable, "")
    if not text:
        return default
    if not text.isascii() or not text.isdigit() or len(text) > 10:
        raise ConfigurationError(f"{variable}: {text[:40]!r} is not a whole number; `sedano outputs --stage NAME` prints the right one")
    return int(text)


def _switch(environment: Mapping[str, str], variable: str) -> bool:
    text = environment.get(variable, "")
    if text not in ("", "on", "off"):
        raise ConfigurationError(f"{variable}: {text[:40]!r} is neither on nor off")
    return text == "on"


def _queues(environment: Mapping[str, str]) -> dict[str, str]:
    aside = {}
    for key, variable in ((EVENTS, "SEDANO_EVENTS_QUEUE"), (RECORDS, "SEDANO_RECORDS_QUEUE"), (PARKED, "SEDANO_PARKED_QUEUE")):
        aside[key] = _required(environment, variable)
    return {command_queue(name): url for name, url in command_addresses(environment).items()} | aside


def _mappings(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the mappings' UUIDs, which the variable gives by name, or in the order of the queues in SEDANO_QUEUES."""
    if not environment.get("SEDANO_MAPPINGS"):
        return {}
    example = '["<uuid>", …], one for each queue in SEDANO_QUEUES'
    given = _json(environment, "SEDANO_MAPPINGS", example)
    if isinstance(given, dict):
        return {command_queue(name): uuid for name, uuid in _named(environment, "SEDANO_MAPPINGS", "<uuid>", "default").items()}
    queues = command_addresses(environment)
    if not isinstance(given, list) or len(given) != len(queues) or not all(map(_is_text, given)):
        raise ConfigurationError(f"SEDANO_MAPPINGS must be {example}")
    return {command_queue(name): uuid for name, uuid in zip(queues, given, strict=True)}


def _named(environment: Mapping[str, str], variable: str, what: str, which: str) -> dict[str, str]:
    named = _json(environment, variable, f'{{"{which}": "{what}"}}')
    if not isinstance(named, dict) or not all(map(_is_text, named.values())):
        raise ConfigurationError(f"{variable} must map names to texts such as {what}")
    return named


def _json(environment: Mapping[str, str], variable: str, example: str) -> object:
    try:
        return json.loads(_required(environment, variable))
    except (ValueError, RecursionError) as wrong:
        raise ConfigurationError(f"{variable} is not JSON such as {example}: {wrong}") from None


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and value != ""
