"""A setting that cannot be used is refused before anything is made, and the message begins with its name."""

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from infra.config import ConfigError, StageConfig

APP = Path(__file__).resolve().parents[1] / "deploy" / "app"
GOOD = {"app": "tiny:app", "code": str(APP)}


def _config(**given: str) -> StageConfig:
    context: Mapping[str, str] = {**GOOD, **given}
    return StageConfig.from_context(context.get)


def test_an_application_and_its_directory_are_all_that_must_be_given() -> None:
    config = _config()
    assert (config.stage, config.queues, config.local, config.batch) == ("dev", ("default",), False, 10)
    assert (config.python, config.timeout, config.visibility) == ("python3.13", 60, 360)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("stage", ""),
        ("stage", "Prod"),
        ("stage", "a" * 17),
        ("stage", "1st"),
        ("app", ""),
        ("app", "tiny"),
        ("app", "tiny:app:more"),
        ("app", "os.system('x'):app"),
        ("code", "no/such/directory"),
        ("queues", " , "),
        ("queues", "mail,MAIL"),
        ("queues", "mail,9lives"),
        ("queues", "a" * 41),
        ("local", "perhaps"),
        ("memory", "127"),
        ("memory", "10241"),
        ("memory", "1.5"),
        ("timeout", "0"),
        ("timeout", "901"),
        ("timeout", "soon"),
        ("batch", "0"),
        ("batch", "11"),
        ("concurrency", "1"),
        ("concurrency", "1001"),
        ("retention", "31"),
        ("blob_days", "28"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_by_name(field: str, value: str) -> None:
    with pytest.raises(ConfigError, match=rf"^{field}: .*expected"):
        _config(**{field: value})


def test_an_application_that_its_directory_does_not_hold_is_refused_with_both_names() -> None:
    with pytest.raises(ConfigError, match=r"^code: .*deploy/app.*huge\.py or huge/.*app=huge\.tasks:app"):
        _config(app="huge.tasks:app")


def test_the_edges_of_every_range_are_usable() -> None:
    for field, values in {
        "memory": ("128", "10240"),
        "timeout": ("1", "900"),
        "batch": ("1", "10"),
        "concurrency": ("2", "1000"),
        "retention": ("1", "365"),
        "blob_days": ("29", "3650"),
        "stage": ("a", "a" * 16),
    }.items():
        for value in values:
            assert str(getattr(_config(**{field: value}), field)) == value


def test_the_local_stage_runs_this_machines_python_and_gives_up_soon() -> None:
    config = _config(local="true")
    assert config.python == f"python{sys.version_info.major}.{sys.version_info.minor}"
    assert (config.timeout, config.visibility, config.concurrency) == (6, 36, 4)


def test_only_production_outlives_its_stack() -> None:
    assert _config(stage="prod").permanent
    assert not _config(stage="prod-copy").permanent
