"""Large groups: published by a tree of workers, page by page; a page that is lost ends its members and nobody waits for them."""

from collections.abc import Iterator

import pytest

from sedano import chain, chord, fork, group
from sedano.engine.drafts import CommandDraft
from sedano.errors import CanvasError, RemoteError
from sedano.model import states
from sedano.model.canvas import pages as plan
from sedano.model.canvas.page_reader import MOST_MEMBERS, PAGE_MEMBERS
from sedano.model.canvas.tree import Group, TaskNode, normal
from sedano.model.messages import codec
from sedano.model.messages.message import LAUNCH, BlobRef, Command, Place
from sedano.model.tasks.signature import Signature
from sedano.ports import PARKED
from tests.commands import command_in
from tests.stories.guide import Guide
from tests.stories.processes import COMMANDS

SIZE = 2 * PAGE_MEMBERS + 100


@pytest.fixture
def g() -> Guide:
    """The guide's tasks and their processes."""
    return Guide()


def waiting(g: Guide) -> Iterator[Command]:
    """Yield the commands in the queue."""
    for message in g.stage.peek(COMMANDS):
        yield command_in(message.body)


def test_a_large_group_is_one_message_and_its_pages_are_launched_apart(g: Guide) -> None:
    result = chord((g.add.s(n, 1) for n in range(SIZE)), g.sig("tsum")).delay()
    assert [c.task for c in waiting(g)] == [LAUNCH]
    g.processes.deliver()
    parts = list(waiting(g))
    assert {c.task for c in parts} == {LAUNCH}
    assert len(parts) == 3
    g.processes.drain()
    assert result.get() == SIZE * (SIZE + 1) // 2
    assert g.stage.audit.effects()["add", states.SUCCESS] == SIZE


def test_a_group_that_is_larger_than_its_publisher_sends_is_launched_and_not_joined(g: Guide) -> None:
    result = group([g.add.s(0, 1)] * 10_001).delay()
    assert [c.task for c in waiting(g)] == [LAUNCH]
    assert (len(result), result[10_000].id == result[0].id) == (10_001, False)
    g.processes.deliver()
    assert len(list(waiting(g))) == 21
    assert g.stage.audit.writes["open_join"] == 0


def test_a_page_that_is_lost_ends_its_members_and_the_canvas_and_is_told(g: Guide) -> None:
    body = g.sig("tsum").on_error(g.sig("on_id"))
    result = chord((g.add.s(n, 1) for n in range(SIZE)), body).delay()
    g.processes.deliver()
    lost = list(waiting(g))[1]
    assert lost.place is not None
    _, digest, size = lost.place.plan.split(":")
    g.stage.damage(BlobRef(digest, int(size)), None)
    g.processes.drain()
    with pytest.raises(RemoteError, match="no such blob"):
        result.get(timeout=1)
    effects = g.stage.audit.effects()
    assert effects["add", states.SUCCESS] + effects[LAUNCH, states.FAILURE] - 1 == SIZE
    assert {m.attributes["reason"] for m in g.stage.peek(PARKED)} == {"blob"}
    assert g.seen == [result.id]


def test_arguments_that_are_lost_before_their_step_end_the_chain_and_are_told(g: Guide) -> None:
    lost = "z" * 20_000
    g.task("both", lambda a, b: [a, b])
    result = (g.add.s(1, 1) | g.sig("both", lost) | g.add.s(1)).delay()
    g.stage.damage(g.stage.ports.blobs.put(codec.encode_data((lost,), {})), None)
    g.processes.drain()
    with pytest.raises(RemoteError, match="no such blob"):
        result.get(timeout=1)
    assert g.stage.telemetry.counted("CanvasesCut", task="add") == 1


def test_pages_of_pages_are_all_launched_once(g: Guide) -> None:
    """With pages of one member each, three levels of launches come to a group of a few hundred."""
    texts = [f'{{"task":"same","queue":"default","args":[{n}]}}' for n in range(700)]
    made = plan.PageWriter(g.app.outlet.drafting.entry, g.stage.ports.blobs.put)
    pages: list[list[object]] = [[made._named(plan._page(f'{{"group":[{text}]}}', ()), 1, inline=False), 1] for text in texts]
    item = f'{{"item":{{"chain":[{{"group":700,"pages":{made._index(pages, 0)}}}]}}}}'
    name = plan.refer(g.stage.ports.blobs.put(item.encode()))
    g.app.outlet.post([CommandDraft("default", Command("", "whole", LAUNCH, place=Place("whole", "0", name)))])
    g.processes.drain()
    assert g.ran == {"same": 700}


def test_values_that_are_too_long_for_a_message_are_handed_on_by_claim_check(g: Guide) -> None:
    g.task("long", lambda n: "x" * (70_000 + n))
    g.task("sizes", lambda values: [len(v) for v in values])
    g.task("size", len)
    long = g.sig("long", 1) | group(g.sig("same"), g.sig("size"), *(g.sig("size") for _ in range(3))) | fork(g.sig("same"))
    flow = chain(long, g.sig("same"), group(g.sig("same"), g.sig("same")), g.sig("same"))
    value = g.value(flow)
    assert [len(v) if isinstance(v, str) else v for v in value[0]] == [70_001] * 5
    assert value[0] == value[1]
    assert g.value(chord((g.sig("long", n) for n in range(6)), g.sig("sizes"))) == [70_000 + n for n in range(6)]
    g.task("swap", lambda n: g.add.replace(g.sig("same", "y" * 90_000) | g.sig("size")), retry=False)
    assert g.value(g.sig("swap", 1) | g.add.s(1)) == 90_001


def test_a_group_has_an_end() -> None:
    with pytest.raises(CanvasError, match="chunks"):
        normal(Group((TaskNode(Signature("add")),) * (MOST_MEMBERS + 1)))
