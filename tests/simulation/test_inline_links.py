"""Small chains whose links run inline, all of their stories: and the shortest way into each planted fault."""

from collections.abc import Sequence

import pytest

from tests.simulation.exhaustive.inline import WORLDS, InlineModel, World

RETRY, FOUR = WORLDS["3 links, a retry, a death"], WORLDS["4 links, a death"]
FAULTS: dict[str, tuple[World, Sequence[str]]] = {
    "a fresh id for each inline claim": (RETRY, ["freshinline"]),
    "a rule that knows no inline id": (RETRY, ["todaysrule"]),
    "an acknowledgement after the first record": (RETRY, ["ackfirst"]),
    "an acknowledgement before a send": (RETRY, ["acksend"]),
    "an acknowledgement while the link runs elsewhere": (RETRY, ["ackwait"]),
    "an acknowledgement of a finished link without its follow-ups": (FOUR, ["skipfollow"]),
    "a record over the claim of another": (RETRY, ["noholder"]),
    "a next link before the record": (RETRY, ["nextfirst"]),
    "a next link after a refused record": (RETRY, ["ranon"]),
    "a retry that is not published": (RETRY, ["retrylost"]),
    "inline links after a death, and claims taken over inline": (
        WORLDS["links that each end a worker"], ["againinline", "stealinline"],
    ),
}  # fmt: skip
EITHER = dict.fromkeys(("againinline", "stealinline"), FAULTS["inline links after a death, and claims taken over inline"][0])
"""Two rules that guard each other: without one of them, the other still bounds the receipts of a message."""


@pytest.mark.parametrize("name", WORLDS)
def test_no_chain_is_lost_and_no_link_works_on_a_value_that_is_not_recorded(name: str) -> None:
    found = InlineModel(WORLDS[name]).run()
    assert not found.violation, "\n".join(found.path)
    assert found.states > 40


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found_with_its_shortest_story(fault: str) -> None:
    world, faults = FAULTS[fault]
    found = InlineModel(world, *faults).run()
    print("\n".join((found.violation, *found.path)))
    assert found.violation
    assert found.path


@pytest.mark.parametrize("fault", EITHER)
def test_rules_that_guard_each_other_break_nothing_alone(fault: str) -> None:
    assert not InlineModel(EITHER[fault], fault).run().violation
