"""The tables of `sedano migrate check` agree with Celery, with sedano and with `docs/celery.md`."""

import importlib
import inspect
import re
from collections import Counter

import pytest
from celery.app.defaults import _TO_NEW_KEY

from sedano import GroupResult, Sedano
from sedano.api.control import Control
from sedano.api.inspection import Inspect
from sedano.canvas.primitives import group
from sedano.canvas.signature import Sig
from sedano.engine.task_context import TaskContext
from sedano.migration.answers import LOST, SAME, NameAnswer, answer, find, table
from sedano.migration.attributes import ACCEPTED, SAME_NAMES, methods
from sedano.migration.imports import IMPORTS, REQUEST, RETRY
from sedano.migration.options import OPTIONS, SIGNALS
from sedano.migration.setting_names import heading, setting, upper_case_setting
from sedano.migration.settings import SETTINGS
from sedano.result.async_result import AsyncResult
from sedano.task import Task
from tests.docs.pages import DOCS, page

OURS = {
    "app": (Sedano,), "control": (Control,), "inspect": (Inspect,), "task": (Task,), "result": (AsyncResult, GroupResult),
    "signature": (Sig, group),
}  # fmt: skip
EVERY = [one for answers in (*SETTINGS.values(), OPTIONS, SIGNALS, IMPORTS, REQUEST, RETRY) for one in answers]


def test_a_name_that_stays_is_a_name_of_sedano() -> None:
    made = {"name", "id", "status", "spec"}  # set in __init__, or a slot
    missing = [(kind, name) for kind, names in SAME_NAMES.items() for name in names - made if not any(hasattr(c, name) for c in OURS[kind])]
    assert missing == []
    (same,) = (one for one in REQUEST if one.verdict == SAME)
    assert [name for name in same.names if not hasattr(TaskContext, name)] == []


def test_the_options_of_methods_that_stay_are_those_of_sedano() -> None:
    for (kind, method), accepted in ACCEPTED.items():
        parameters = inspect.signature(getattr(OURS[kind][0], method)).parameters
        assert accepted == parameters.keys() - {"self"}, (kind, method)


def test_each_name_that_is_imported_exists_in_celery_or_did_so_once() -> None:
    old = {"celery.decorators.task", "celery.task.Task", "celery.crontab", "celery.xmap", "celery.xstarmap", "celery.utils.gen_unique_id"}
    absent = set()
    for name in {name for one in IMPORTS for name in one.names if name.startswith("celery.") and "*" not in name} - old:
        module, _, last = name.rpartition(".")
        try:
            if not hasattr(importlib.import_module(module), last):
                importlib.import_module(name)
        except ImportError:
            absent.add(name)
    assert absent <= {"celery.contrib.pytest", "celery.contrib.sphinx", "celery.contrib.django.task.DjangoTask", "celery.backends"}


@pytest.mark.parametrize("older", [name for name in _TO_NEW_KEY if name.startswith(("CELERY", "BROKER"))])
def test_an_older_name_of_a_setting_has_the_answer_of_the_new_one(older: str) -> None:
    assert upper_case_setting(older) == setting(_TO_NEW_KEY[older])


def test_a_name_in_no_table_has_no_answer() -> None:
    assert (setting("mail_host"), upper_case_setting("CELERY_IS_OURS"), upper_case_setting("BROKER_OF_OURS")) == (None, None, None)
    assert upper_case_setting("DATABASE_URL") is None


def test_a_row_with_the_name_has_precedence_over_a_pattern() -> None:
    rows = [answer("lost", "a.*", "pattern"), answer("same", "a.b", "name")]
    assert [getattr(find(name, rows), "text", None) for name in ("a.b", "a.c", "b")] == ["name", "pattern", None]


def test_an_answer_for_a_terminal_names_the_page_of_a_link() -> None:
    made = answer("same", "x", "the [history](history.md), or `a` ([time](time.md#b))")
    assert made.plain == "the history (docs/history.md), or `a` (docs/time.md#b)"
    assert answer("lost", "x", "None: nothing does it.").plain == "nothing does it."


def test_each_name_has_one_row() -> None:
    for answers in (*SETTINGS.values(), OPTIONS, SIGNALS, IMPORTS, REQUEST, RETRY):
        assert [name for name, number in Counter(name for one in answers for name in one.names).items() if number > 1] == []


def test_a_reason_is_given_for_everything_that_cannot_be_kept() -> None:
    assert [one for one in EVERY if one.verdict == LOST and len(one.text) < 10] == [REQUEST[-1]]
    assert [one.names for one in EVERY if (one.verdict == SAME) != (one.text == "The same.")] == []


def part(title: str) -> str:
    """Return the text below a heading of the page for users of Celery."""
    (found,) = re.findall(rf"^#+ {re.escape(title)}\n(.*?)(?=^#|\Z)", page("celery.md").text, re.DOTALL | re.MULTILINE)
    return str(found)


@pytest.mark.parametrize(
    ("title", "answers"),
    [
        *SETTINGS.items(), ("Options of a task and of a call", OPTIONS), ("Signals", SIGNALS), ("Imports", IMPORTS),
        ("The running task", (*REQUEST, *RETRY)), ("Methods and attributes", tuple(methods())),
    ],
)  # fmt: skip
def test_the_page_shows_each_table_word_for_word(title: str, answers: tuple[NameAnswer, ...]) -> None:
    assert "".join(re.findall(r"^\| `.*\n", part(title), re.MULTILINE)) == table(answers)


def test_each_link_of_an_answer_is_a_page() -> None:
    pages = {name for one in EVERY for name in re.findall(r"\]\(([\w/]+\.md)", one.text)}
    assert [name for name in pages if not (DOCS / name).is_file()] == []


def test_each_heading_that_a_finding_names_is_on_the_page() -> None:
    titles = {title.lower().replace(" ", "-") for title in re.findall(r"^#+ (.*)$", page("celery.md").text, re.MULTILINE)}
    assert {heading(one) for answers in SETTINGS.values() for one in answers} <= titles
    assert {"options-of-a-task-and-of-a-call", "signals", "imports", "the-running-task", "methods-and-attributes", "settings"} <= titles
