"""The search for tasks: each field finds what it names and nothing else; what cannot be searched is refused in words."""

from dataclasses import replace

import pytest

from sedano.errors import OptionError
from sedano.model.history.registers import Timeline, finalise, fold
from sedano.model.messages.lineage import dedup_id
from sedano.views.task_query import MOST_PARTS, parse

EVENT = {"hostname": "w.1", "pid": 1, "clock": 1, "timestamp": 1.0, "uuid": "0a1b", "name": "shop.tasks.add", "queue": "commands:mail"}


def task(**fields: object) -> Timeline:
    """A task that was received, and failed."""
    received = {**EVENT, "type": "task-received", "root_id": "root", "parent_id": "up", "stamps": "who=ana,why=a%20b", **fields}
    failed = {**EVENT, "name": None, "queue": None, "type": "task-failed", "clock": 2, "exception": "ValueError('7 is odd')"}
    return finalise(fold([received, failed])[0]["0a1b"])


FOUND = (
    "", "id:0a1b", "id:0a*", "0a", "add", "tasks.add", "name:shop.tasks.add", "name:add", "name:shop.*", "state:failure", "state:F*",
    "queue:mail", "worker:w.?", "error:ValueError", "error:Value", "error:*odd", "root:root", "parent:up", "tag:who=ana", "tag:who",
    "tag:w*=a?b", "state:FAILURE name:add error:ValueError",
)  # fmt: skip
NOT_FOUND = (
    "id:0a", "name:ad", "name:tasks", "state:SUCCESS", "queue:default", "worker:w", "error:KeyError", "root:up", "parent:root",
    "tag:who=bob", "tag:when", "1b", "state:FAILURE name:sub",
)  # fmt: skip


@pytest.mark.parametrize("text", FOUND)
def test_a_task_is_found_by_what_is_true_of_it(text: str) -> None:
    assert parse(text).is_met(task())


@pytest.mark.parametrize("text", NOT_FOUND)
def test_a_task_is_not_found_by_what_is_not(text: str) -> None:
    assert not parse(text).is_met(task())


def test_a_task_is_found_by_the_key_that_made_its_id() -> None:
    keyed = replace(task(), uuid=dedup_id("shop.tasks.add", "order-7"))
    assert parse("key:order-7").is_met(keyed)
    assert parse("key:order-7 name:add").is_met(keyed)
    assert not parse("key:order-8").is_met(keyed)
    assert not parse("key:order-7").is_met(task())
    assert not parse("key:order-7").is_met(replace(keyed, fields={**keyed.fields, "name": "shop.tasks.sub"}))


def test_a_key_stands_for_one_id_of_each_task_whose_name_is_meant() -> None:
    names = ("shop.add", "shop.sub", "mail.add")
    assert parse("key:7").ids(names) == {dedup_id(name, "7"): name for name in names}
    assert parse("key:7 name:shop.*").ids(names) == {dedup_id(name, "7"): name for name in names[:2]}
    assert parse("key:7 name:add name:shop.*").ids(names) == {dedup_id("shop.add", "7"): "shop.add"}
    assert parse("name:shop.* state:FAILURE").ids(names) == {}


def test_a_name_that_is_not_text_has_no_key() -> None:
    assert not parse("key:7").is_met(task(name="shop.\udcff"))
    assert parse("key:7").ids(["shop.\udcff", "shop.add"]) == {dedup_id("shop.add", "7"): "shop.add"}


def test_stamps_that_cannot_be_read_match_nothing() -> None:
    assert not parse("tag:who").is_met(task(stamps="%ff%ff=,,"))
    assert not parse("tag:who").is_met(task(stamps=7))


@pytest.mark.parametrize(("text", "why"), [
    ("key:7*", "found as a whole"), ("key:", "is not a condition"), ("nmae:x", "write one of id:"), ("state:", "state:FAILURE"),
    (":x", "write one of"), ("any:x", "is not a condition"), ("a " * (MOST_PARTS + 1), "fewer parts"), ("x" * 1_001, "fewer parts"),
    ("key:7\udcff", "half a surrogate pair"),
])  # fmt: skip
def test_what_cannot_be_searched_is_refused_with_what_to_write(text: str, why: str) -> None:
    with pytest.raises(OptionError, match=why):
        parse(text)
