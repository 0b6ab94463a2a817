"""The way of every task has no more bytecodes than its limit, and the counter counts."""

import sys

import pytest

from benchmarks import bytecodes
from sedano.model.messages.message import Command, Lineage

ONE_VERSION = pytest.mark.skipif(sys.version_info[:2] != bytecodes.PYTHON, reason="bytecodes are counted on one version of Python")


@ONE_VERSION
def test_the_counter_counts_what_a_call_executes_and_leaves_the_tracer_as_it_was() -> None:
    before = sys.gettrace()

    def loop(turns: int) -> None:
        for _ in range(turns):
            pass

    ten, twenty, forty = (bytecodes.executed(lambda turns=turns: loop(turns)) for turns in (10, 20, 40))
    assert forty - twenty == 2 * (twenty - ten) > 0
    assert sys.gettrace() is before


@ONE_VERSION
def test_a_publication_and_a_task_execute_no_more_bytecodes_than_their_limits() -> None:
    found = bytecodes.measured()
    assert {name: count for name, count in found.items() if count > bytecodes.TARGETS[name]} == {}
    assert min(found.values()) > 1_000, "it counted the engine"


def test_a_stamped_draft_differs_in_its_stamps_alone() -> None:
    lineage = Lineage(root_id="r", budget=7)
    draft = Command(*(f"value of {name}" for name in Command._fields))  # type: ignore[arg-type]
    stamped = draft.stamped("m", "shop@host", 5.0, 9, lineage)
    assert stamped == draft._replace(id="m", source="shop@host", time=5.0, clock=9, lineage=lineage)
    assert type(stamped) is Command
