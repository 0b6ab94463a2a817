"""The settings of a project: their names, their types, and the precedence of their sources.

    option > environment variable > [tool.sedano.stage.NAME] > [tool.sedano] > default

The functions here receive the options, the variables and the table of pyproject.toml as arguments and do not read files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from sedano.errors import UsageError
from sedano.errors.celery_names import nearest


class Value(NamedTuple):
    """The *value* of a setting (None: not set), and its *source* in words."""

    value: Any
    source: str


class Project(NamedTuple):
    """The table ``[tool.sedano]`` of a pyproject.toml: its *plain* settings, those of `sedano dev`, and those of each stage."""

    plain: Mapping[str, Any] = MappingProxyType({})
    dev: Mapping[str, Any] = MappingProxyType({})
    stages: Mapping[str, Mapping[str, Any]] = MappingProxyType({})


VARIABLES: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "app": ("SEDANO_APP",),
    "code": ("SEDANO_CODE",),
    "stage": ("SEDANO_STAGE",),
    "region": ("SEDANO_REGION", "AWS_REGION", "AWS_DEFAULT_REGION"),
    "profile": ("SEDANO_PROFILE", "AWS_PROFILE"),
})
"""The settings that an option or a variable can set, with the variables in order: the first one that is not empty wins."""
DEFAULTS: Mapping[str, str] = MappingProxyType({"stage": "dev"})
LISTS = ("queues", "ignore")
"""The settings that are lists of strings."""
OF_FILE = (*LISTS, "requirements")
"""The settings of ``[tool.sedano]`` that only the file can set."""
SECRETS = "secrets"
"""The setting of `sedano dev` with the secrets of webhooks; commands do not show it."""
DEV = ("port", SECRETS, "timeout")
_NUMBERS = {"port": (1, 65_535, "a port"), "timeout": (2, 900, "whole seconds")}
"""The numbers among the settings of `sedano dev`, with their lowest and highest values. A worker does not begin a task in the last second
of a batch.
"""
DEPLOYMENT = (
    "account", "memory", "timeout", "batch", "concurrency", "queue_concurrency", "served_by", "fleet", "retention", "blob_days",
    "history_days", "most_reads", "most_writes", "most_budget", "most_failures", "worker_url",
    "production", "own_key", "empty_buckets", "tags", "permissions_boundary", "code_signing", "alarm_topic",
    "budget", "task_metrics", "aws_client", "group_commit", "schedules", "release", "webhook_concurrency",
    "streams", "stream_keys", "tables", "functions", "sinks", "pipeline", "pipeline_schedule", "pipeline_by_task", "pipeline_lag",
)  # fmt: skip
"""The settings of a deployed stage, which the deployment checks: the fields of `sedano.cdk.StageConfig`."""
OF_STAGE = ("app", "code", "requirements", "region", "profile", *DEPLOYMENT)
OF_COMMAND_LINE = (*DEPLOYMENT, "requirements", "region", "ignore", "local", "replace")
"""The settings that `--set` accepts."""
DEFAULT = "default"

_STAGE = re.compile(r"[a-z][a-z0-9-]{0,15}")
_APP = re.compile(r"[A-Za-z_][\w.]*(:[A-Za-z_]\w*)?")


def project(table: Mapping[str, Any], file: str) -> Project:
    """Return the settings in *table*, which is ``[tool.sedano]`` of *file*.

    Raises:
        UsageError: a key is unknown (the message suggests one), or a value has the wrong type.
    """
    _require_known(table, (*VARIABLES, *OF_FILE, "dev"), "[tool.sedano]", file)
    plain = {name: value for name, value in table.items() if name not in ("dev", "stage")}
    given = table.get("stage", {})
    if isinstance(given, str):
        plain["stage"], given = given, {}
    dev, stages = _table(table.get("dev", {}), "[tool.sedano.dev]", file), _table(given, "[tool.sedano.stage]", file)
    _require_known(dev, DEV, "[tool.sedano.dev]", file)
    for name, (least, most, kind) in _NUMBERS.items():
        if name in dev and (type(dev[name]) is not int or not least <= dev[name] <= most):
            raise _wrong(file, f"[tool.sedano.dev] {name}", dev[name], f"{kind} from {least} to {most}")
    for name, secret in _table(dev.get(SECRETS, {}), "[tool.sedano.dev.secrets]", file).items():
        texts = secret if isinstance(secret, list) else [secret]
        if not texts or not all(isinstance(text, str) and text.strip() for text in texts):
            raise UsageError(f"{file}: [tool.sedano.dev.secrets] {name} must be a string, or a list of strings")
    for name, value in plain.items():
        _check(name, value, "[tool.sedano]", file)
    return Project(plain, dev, {name: _stage(name, values, file) for name, values in stages.items()})


def resolved(options: Mapping[str, str | None], environment: Mapping[str, str], found: Project, file: str = "") -> dict[str, Value]:
    """Return every setting with its source; *file* is the file from which *found* was read.

    Raises:
        UsageError: an option or a variable has a value that is not valid for the setting.
    """
    stage = _settled("stage", options, environment, {"[tool.sedano]": found.plain}, file)
    name = str(stage.value)
    tables = {f"[tool.sedano.stage.{name}]": found.stages.get(name, {}), "[tool.sedano]": found.plain}
    settings = {one: _settled(one, options, environment, tables, file) for one in VARIABLES}
    settings |= {one: Value(found.plain[one], f"[tool.sedano] in {file}") for one in OF_FILE if one in found.plain}
    settings |= {f"dev.{one}": Value(value, f"[tool.sedano.dev] in {file}") for one, value in found.dev.items() if one != SECRETS}
    where = f"[tool.sedano.stage.{name}] in {file}"
    return settings | {one: Value(value, where) for one, value in found.stages.get(name, {}).items() if one not in VARIABLES}


def secrets(found: Project) -> dict[str, tuple[str, ...]]:
    """Return the secrets of webhooks for `sedano dev`, by the names of the webhooks."""
    given: Mapping[str, str | list[str]] = found.dev.get(SECRETS, {})
    return {name: tuple(text.strip() for text in ([one] if isinstance(one, str) else one)) for name, one in given.items()}


def _settled(
    name: str, options: Mapping[str, str | None], environment: Mapping[str, str], tables: Mapping[str, Mapping[str, Any]], file: str
) -> Value:  # fmt: skip
    """Return the value of one setting from the first source that has it."""
    option = options.get(name)
    if option:
        _check(name, option, f"--{name}", "")
        return Value(option, f"option --{name}")
    for variable in VARIABLES[name]:
        if environment.get(variable):
            _check(name, environment[variable], variable, "")
            return Value(environment[variable], f"variable {variable}")
    for table, values in tables.items():
        if values.get(name):
            return Value(values[name], f"{table} in {file}")
    return Value(DEFAULTS.get(name), DEFAULT)


def _stage(name: str, values: Any, file: str) -> Mapping[str, Any]:
    """Return the settings of one stage."""
    table = f"[tool.sedano.stage.{name}]"
    if not _STAGE.fullmatch(name):
        raise _wrong(file, "[tool.sedano.stage]", name, "a stage of at most 16 lower-case letters, digits and hyphens")
    found = _table(values, table, file)
    _require_known(found, OF_STAGE, table, file)
    for one in OF_STAGE[:5]:
        if one in found:
            _check(one, found[one], table, file)
    return found


def _check(name: str, value: Any, table: str, file: str) -> None:
    """Raise `UsageError` if *value* is not valid for the setting *name*."""
    where = f"{table} {name}" if table.startswith("[") else table
    if name in LISTS:
        if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
            raise _wrong(file, where, value, 'a list of strings, such as ["default"]')
    elif not isinstance(value, str) or not value or not value.isprintable():
        raise _wrong(file, where, value, "a string")
    elif name == "app" and not _APP.fullmatch(value):
        raise _wrong(file, where, value, "module:attribute, such as shop.tasks:app")
    elif name == "stage" and not _STAGE.fullmatch(value):
        raise _wrong(file, where, value, "a stage of at most 16 lower-case letters, digits and hyphens")


def _table(value: Any, table: str, file: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _wrong(file, table, value, "a table")
    return value


def _require_known(given: Iterable[str], known: Iterable[str], table: str, file: str) -> None:
    names = sorted(known)
    for name in given:
        if name not in names:
            near = nearest(name, names)
            instead = f"did you mean {near}?" if near else f"the settings are {', '.join(names)}"
            raise UsageError(f"{file}: {table} has the unknown setting {name!r}; {instead}")


def _wrong(file: str, where: str, value: Any, expected: str) -> UsageError:
    return UsageError(f"{f'{file}: ' if file else ''}{where}: {value!r} is not valid; expected {expected}")
