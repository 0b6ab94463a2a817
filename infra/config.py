"""The settings of one deployed stage, read from the CDK context (`cdk deploy -c stage=prod -c app=shop.tasks:app ...`).

A `StageConfig` that exists is valid: every field is checked when it is made, and an error names the field as the user
wrote it on the command line, what it was, and what it may be.
"""

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

#: For how many days logs may be kept: the choices of CloudWatch Logs that anyone makes.
LOG_RETENTIONS = (1, 7, 14, 30, 90, 180, 365)
#: A visibility timeout below this many function timeouts hands a batch out twice while it still runs (AWS's own rule).
VISIBILITY_FACTOR = 6
#: The fewest invocations at once that an event source mapping can be limited to.
LEAST_CONCURRENCY = 2
#: The shortest life in days of a large argument or result: a message lives 14 in its queue and 14 as a dead letter.
SHORTEST_BLOB_LIFE = 29

_STAGE = re.compile(r"[a-z][a-z0-9-]{0,15}")
_QUEUE = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
_APP = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
_TRUE, _FALSE = ("true", "1", "yes"), ("false", "0", "no")


class ConfigError(ValueError):
    """A setting of the deployment cannot be used; the message begins with the setting's name."""


@dataclass(frozen=True, slots=True)
class StageConfig:
    """One stage of one application; see `infra/README.md` for the settings as a user passes them."""

    stage: str
    app: str
    code: Path
    queues: tuple[str, ...]
    local: bool
    memory: int
    timeout: int
    batch: int
    concurrency: int
    retention: int
    blob_days: int

    def __post_init__(self) -> None:
        _require(_STAGE.fullmatch(self.stage), "stage", self.stage, "a-z, then a-z, 0-9 and -, at most 16 in all")
        _require(_APP.fullmatch(self.app), "app", self.app, "module:attribute, such as shop.tasks:app")
        _require_application(self.code, self.app)
        _require(self.queues, "queues", "", "at least one name, such as default,mail")
        distinct = len({name.lower() for name in self.queues}) == len(self.queues)
        _require(distinct, "queues", ",".join(self.queues), "names that differ by more than their case")
        for name in self.queues:
            _require(_QUEUE.fullmatch(name), "queues", name, "a letter, then letters, digits, - and _, at most 40 in all")
        _require_within("memory", self.memory, 128, 10240)
        _require_within("timeout", self.timeout, 1, 900)
        _require_within("batch", self.batch, 1, 10)
        _require_within("concurrency", self.concurrency, LEAST_CONCURRENCY, 1000)
        _require(self.retention in LOG_RETENTIONS, "retention", self.retention, f"one of {LOG_RETENTIONS} days")
        _require_within("blob_days", self.blob_days, SHORTEST_BLOB_LIFE, 3650)

    @property
    def visibility(self) -> int:
        """For how many seconds a received message stays hidden from other receivers."""
        return VISIBILITY_FACTOR * self.timeout

    @property
    def concurrency_aside(self) -> int:
        """How many invocations at once the router and the recorder may have: on this machine, the fewest there are."""
        return LEAST_CONCURRENCY if self.local else self.concurrency

    @property
    def permanent(self) -> bool:
        """Whether data outlives its stack: in production it does."""
        return self.stage == "prod"

    @property
    def python(self) -> str:
        """The Python that runs the functions: Lambda's on AWS, this machine's on the local endpoint."""
        return f"python{sys.version_info.major}.{sys.version_info.minor}" if self.local else "python3.13"

    @classmethod
    def from_context(cls, context: Callable[[str], object]) -> "StageConfig":
        """Reads the settings through `context` (a lookup by name that answers None for what was not given)."""
        local = _flag(context("local"), "local")
        return cls(
            stage=_text(context("stage"), "dev"),
            app=_text(context("app"), ""),
            code=Path(_text(context("code"), "")).resolve(),
            queues=tuple(name.strip() for name in _text(context("queues"), "default").split(",") if name.strip()),
            local=local,
            memory=_number(context("memory"), "memory", 512),
            timeout=_number(context("timeout"), "timeout", 6 if local else 60),
            batch=_number(context("batch"), "batch", 10),
            concurrency=_number(context("concurrency"), "concurrency", 4 if local else 10),
            retention=_number(context("retention"), "retention", 30),
            blob_days=_number(context("blob_days"), "blob_days", 60),
        )


def _require(holds: object, field: str, value: object, expected: str) -> None:
    if not holds:
        raise ConfigError(f"{field}: {value!r} cannot be used; expected {expected}")


def _require_within(field: str, value: int, least: int, most: int) -> None:
    _require(least <= value <= most, field, value, f"a whole number from {least} to {most}")


def _require_application(code: Path, app: str) -> None:
    _require(code.is_dir(), "code", str(code), "the directory that holds the application's modules")
    package = re.split("[.:]", app, maxsplit=1)[0]
    found = (code / package).is_dir() or (code / f"{package}.py").is_file()
    _require(found, "code", str(code), f"a directory with {package}.py or {package}/, which app={app} names")


def _text(value: object, default: str) -> str:
    return default if value is None else str(value).strip()


def _number(value: object, field: str, default: int) -> int:
    text = _text(value, str(default))
    _require(re.fullmatch(r"-?\d{1,9}", text), field, text, "a whole number")
    return int(text)


def _flag(value: object, field: str) -> bool:
    text = _text(value, "false").lower()
    _require(text in _TRUE + _FALSE, field, text, "true or false")
    return text in _TRUE
