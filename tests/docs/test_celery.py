"""The page for users of Celery names every setting, option and signal of the Celery that is installed, once, and its code runs."""

import inspect
import re
from collections import Counter
from collections.abc import Iterable
from contextlib import chdir
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from celery import signals
from celery.app.defaults import NAMESPACES, flatten
from celery.app.task import Task

from infra.config import StageConfig
from sedano import Sedano, testing
from sedano.api.task_options import TaskOptions
from sedano.cli import main
from sedano.cli.exits import Exit
from sedano.errors.celery_names import OPTIONS
from sedano.migration.answers import VERDICTS
from sedano.migration.findings import UNREADABLE
from tests.docs.pages import page

PAGE = page("celery.md")
NOT_OPTIONS = {
    "MaxRetriesExceededError", "OperationalError", "Strategy", "Request", "abstract", "app", "from_config", "request", "request_stack",
}  # fmt: skip
"""Attributes of Celery's `Task` that a user does not set."""


def rows(heading: str) -> list[tuple[list[str], str]]:
    """Return the rows of the tables below a heading: the names of Celery, and the answer."""
    (part,) = re.findall(rf"^## {heading}\n(.*?)(?=^## |\Z)", PAGE.text, re.DOTALL | re.MULTILINE)
    cells = re.findall(r"^\| (`.*?) \| (.*) \|$", part, re.MULTILINE)
    return [(re.findall(r"`([^`]+)`", names), answer) for names, answer in cells]


def unanswered(names: Iterable[str], heading: str) -> list[str]:
    """Return the *names* that no row, or more than one, answers: a row without a pattern comes before one with a pattern."""
    patterns = Counter(pattern for found, _ in rows(heading) for pattern in found)
    assert [pattern for pattern, number in patterns.items() if number > 1] == []
    return [name for name in names if name not in patterns and sum(fnmatchcase(name, one) for one in patterns) != 1]


def test_every_setting_of_celery_has_an_answer() -> None:
    settings = [name for name, _ in flatten(NAMESPACES)]
    assert len(settings) > 200
    assert unanswered(settings, "Settings") == []
    patterns = [pattern for found, _ in rows("Settings") for pattern in found]
    assert [one for one in patterns if not any(fnmatchcase(name, one) for name in settings)] == []


def test_every_option_of_a_task_and_of_a_call_has_an_answer() -> None:
    attributes = {name for name, value in vars(Task).items() if not name.startswith("_") and not callable(value)} - NOT_OPTIONS
    attributes -= {name for name, value in vars(Task).items() if isinstance(value, property | classmethod | staticmethod)}
    call = {name for name in inspect.signature(Task.apply_async).parameters if name not in ("self", "args", "kwargs", "options")}
    retried = {"autoretry_for", "dont_autoretry_for", "retry_backoff", "retry_backoff_max", "retry_jitter", "bind", "base"}
    sent = {"countdown", "eta", "expires", "queue", "exchange", "routing_key", "headers", "serializer", "compression", "priority"}
    assert unanswered(sorted(attributes | call | retried | sent), "Options of a task and of a call") == []


def test_an_option_that_stays_is_one_of_ours_and_the_others_are_refused_with_an_answer() -> None:
    same = [name for found, answer in rows("Options of a task and of a call") if answer.startswith("The same") for name in found]
    ours = {*TaskOptions.__annotations__, "bind", "countdown", "eta", "task_id", "link", "link_error", "headers"}
    assert set(same) <= ours
    gone = {name for found, answer in rows("Options of a task and of a call") for name in found} - set(same) - {"priority"}
    explained = {"shadow", "delivery_mode", "send_events", "trail", "typing", "store_errors_even_if_ignored", "resultrepr_maxsize"}
    explained |= {"acks_on_failure", "acks_on_timeout", "retry_on_worker_lost"}
    assert gone - explained <= OPTIONS.keys()
    assert not gone & ours


def test_every_signal_of_celery_has_an_answer() -> None:
    assert unanswered(signals.__all__, "Signals") == []


def test_settings_of_the_stage_that_the_page_names_exist() -> None:
    named = {name for _, answer in rows("Settings") if "of the stage" in answer for name in re.findall(r"`(\w+)=`", answer)}
    assert named >= {"concurrency", "queue_concurrency", "batch", "memory", "retention"}
    assert named <= StageConfig.__dataclass_fields__.keys()


def test_the_check_prints_what_the_page_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ((path, code),) = re.findall(r"```text\n# (\S+)\n(.*?)```", PAGE.text, re.DOTALL)
    ((words, printed),) = re.findall(r"```console\n\$ sedano (.*?)\n(.*?)```", PAGE.text, re.DOTALL)
    (tmp_path / path).parent.mkdir()
    (tmp_path / path).write_text(code)
    with chdir(tmp_path):
        assert main(words.split()) == Exit.PROBLEMS
    assert capsys.readouterr().out == printed


def test_the_verdicts_of_the_check_are_those_of_the_page() -> None:
    assert re.findall(r"^\| `(\w+)` \| .* \| `(?:DONE|PROBLEMS)`.* \|$", PAGE.text, re.MULTILINE) == [*VERDICTS, UNREADABLE]


def test_its_code_runs_as_it_says() -> None:
    app_code, _, order = PAGE.blocks[0].rpartition("\n\n\n")
    names: dict[str, object] = {"__name__": "shop"}
    PAGE.run(app_code, names)
    app = names["app"]
    assert isinstance(app, Sedano)
    with testing.world(app):
        PAGE.run(order, names)
        assert str(eval("order.get()", names)).startswith("8 EUR, task ")  # noqa: S307 - the page is ours
        assert "`order.get()` is `8 EUR, task` and the id" in PAGE.text
        PAGE.run(PAGE.blocks[1], names)
