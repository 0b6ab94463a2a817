"""Launches alone: what a page of a group publishes, what is refused, and what a task of a canvas inherits."""

import json
from typing import Any

import pytest

from sedano import memory
from sedano.engine.canvas.launches import (
    LaunchOrigin,
    Page,
    added_by,
    continued,
    draft_of,
    drafted,
    entry_of,
    extended,
    launched,
    opened,
    origin_of,
    page_of,
    part_draft,
)
from sedano.engine.canvas.page_cache import Plans
from sedano.errors import MessageRefused
from sedano.memory import MemoryBlobs
from sedano.model.canvas.continuation import PlannedTask, part_place
from sedano.model.canvas.pages import refer
from sedano.model.messages import codec
from sedano.model.messages.lineage import Lineage, derived_id
from sedano.model.messages.message import LAUNCH, Command, Gather, JoinMember, Place, TimeLimits
from sedano.model.tasks.signature import MAX_DELAY_S

NOW = memory.START
BLOBS = MemoryBlobs()
ORIGIN = LaunchOrigin("mail", "acme", "00-trace", "a=1", Lineage("root", "parent", 1, 9), "state")
STEP = {"task": "send", "queue": "own"}


def plans(*pages: Any) -> tuple[Plans, list[str]]:
    """Pages in a store, and their names."""
    return Plans(BLOBS), [refer(BLOBS.put(json.dumps(page).encode())) for page in pages]


def launch(place: Place | None, member: JoinMember | None = None) -> Command:
    """A launch of what lies at *place*."""
    return Command("m", "launch-1", LAUNCH, place=place, member=member)


def draft(item: Any, **changes: Any) -> Any:
    """What *item* asks for."""
    return drafted(PlannedTask(item, "t-1", **changes), ORIGIN, NOW, BLOBS)


def group(*items: Any) -> dict[str, Any]:
    """A page that is a group of these."""
    return {"item": {"group": list(items)}}


def refused(command: Command, reads: Plans) -> tuple[str, str, str]:
    """How a launch is refused."""
    with pytest.raises(MessageRefused) as found:
        page_of(command, reads)
    return found.value.code, found.value.field, found.value.detail


def test_a_launch_without_a_canvas_or_of_no_group_is_refused() -> None:
    reads, (chain,) = plans({"item": {"chain": [STEP, STEP]}})
    assert refused(launch(None), reads) == ("schema", "canvasplan", "a launch without a canvas")
    assert refused(launch(Place("c", "0", chain)), reads) == ("schema", "canvasplan", "a launch of what is not a group")
    with pytest.raises(MessageRefused, match="a launch without a canvas"):
        part_draft(launch(None), ORIGIN, range(2), None)


def test_what_holds_together_nowhere_is_refused_as_no_launch() -> None:
    class Broken(Plans):
        def load(self, name: str) -> Any:
            return {}

    code, field, detail = refused(launch(part_place("g", "p", 0, 2)), Broken(BLOBS))
    assert (code, field) == ("schema", "canvasplan")
    assert detail.startswith("not a launch: KeyError")


@pytest.mark.parametrize(
    ("node", "member", "field"),
    [
        ((4, 2), JoinMember("j", 4, 6), ""),
        ((4, 2), None, ""),
        ((4, 3), None, "canvasnode"),
        ((4, 1), None, "canvasnode"),
        ((4, 2), JoinMember("j", 3, 6), "joinindex"),
        ((4, 2), JoinMember("j", 5, 9), "joinindex"),
        ((4, 2), JoinMember("j", 4, 5), "joinindex"),
    ],
)
def test_a_part_has_the_members_of_its_page_and_its_place_in_the_join(node: tuple[int, int], member: JoinMember | None, field: str) -> None:
    reads, (page,) = plans(group(STEP, STEP))
    command = launch(part_place("g", page, *node), member)
    if field:
        assert refused(command, reads)[:2] == ("schema", field)
    else:
        found = page_of(command, reads)
        assert (found.first, found.join, found.watched) == (4, (member.join_id, member.size) if member else None, False)


def test_a_page_that_is_no_group_has_no_parts() -> None:
    reads, (page,) = plans({"item": {"chain": [STEP, STEP]}})
    assert refused(launch(part_place("g", page, 0, 2)), reads)[:2] == ("schema", "canvasnode")


def test_a_part_is_named_after_its_group_its_members_and_its_page() -> None:
    member = JoinMember("j", 2, 9)
    found = part_draft(launch(Place("g", "", "page")), ORIGIN, range(2, 5), member)
    assert (found.queue, found.command.task) == ("mail", LAUNCH)
    assert found.command.task_id == derived_id("g", "part/2/3/page")
    assert found.command.place == part_place("g", "page", 2, 3)
    assert found.command.member == member


def test_a_task_inherits_what_its_own_entry_does_not_say() -> None:
    plain, own = draft(STEP), draft({**STEP, "tenant": "other", "traceparent": "00-own", "stamps": "b=2"})
    assert (plain.command.tenant, plain.command.traceparent, plain.command.stamps) == ("acme", "00-trace", "a=1")
    assert plain.command.tracestate == "state"
    assert (own.command.tenant, own.command.traceparent, own.command.stamps) == ("other", "00-own", "a=1,b=2")
    assert own.command.tracestate is None
    assert (plain.queue, draft({"task": "send"}).queue) == ("own", "mail")
    assert draft({"chain": [STEP]}).command.task == LAUNCH


@pytest.mark.parametrize(("inherited", "own", "both"), [(None, "b=2", "b=2"), ("a=1", None, "a=1"), ("a=1", "a=1", "a=1")])
def test_stamps_of_one_side_stay_as_they_are(inherited: str | None, own: str | None, both: str) -> None:
    item = {**STEP, **({"stamps": own} if own else {})}
    assert drafted(PlannedTask(item, "t"), ORIGIN._replace(stamps=inherited), NOW, BLOBS).command.stamps == both


def test_stamps_that_are_too_long_together_are_those_that_the_task_was_written_with() -> None:
    long, own = ",".join(f"n{n}={'x' * 200}" for n in range(4)), ",".join(f"m{n}={'y' * 200}" for n in range(4))
    assert drafted(PlannedTask({**STEP, "stamps": own}, "t"), ORIGIN._replace(stamps=long), NOW, BLOBS).command.stamps == own


@pytest.mark.parametrize(
    ("entry", "delay"),
    [
        ({}, 0),
        ({"delay": 1.2}, 2),
        ({"delay": 3}, 3),
        ({"eta": NOW + 2.5}, 3),
        ({"eta": NOW - 2.5}, 0),
        ({"delay": 10 * MAX_DELAY_S}, int(MAX_DELAY_S)),
    ],
)
def test_a_delay_is_in_whole_seconds_and_never_too_short(entry: dict[str, Any], delay: int) -> None:
    assert draft({**STEP, **entry}).delay == delay


def test_a_lifetime_counts_from_the_publication_and_a_moment_does_not() -> None:
    assert draft({**STEP, "lifetime": 5}).command.expires == NOW + 5
    assert draft({**STEP, "expires": NOW + 1}).command.expires == NOW + 1
    assert draft(STEP).command.expires is None


@pytest.mark.parametrize("outcomes", [True, False])
def test_an_immutable_body_waits_for_its_header_and_takes_no_result_of_it(outcomes: bool) -> None:
    gather = Gather("j", 3, True, outcomes)
    assert draft(STEP, gather=gather).command.gather == gather
    assert draft({**STEP, "immutable": True}, gather=gather).command.gather == Gather("j", 3, False, outcomes)
    assert draft({**STEP, "immutable": True}).command.gather is None


def test_results_that_are_handed_over_come_before_the_own_arguments_wherever_these_lie() -> None:
    ref = BLOBS.put(codec.encode_data([2], {"k": 3}))
    kept = {**STEP, "ref": [ref.digest, ref.size]}
    assert draft({**STEP, "args": [2]}, args=(1,)).command.args == [1, 2]
    assert draft({**STEP, "args": [2], "immutable": True}, args=(1,)).command.args == [2]
    assert (draft(kept, args=(1,)).command.args, draft(kept, args=(1,)).command.kwargs) == ([1, 2], {"k": 3})
    assert draft(kept).command.data_ref == ref
    assert draft(kept, args=(1,)).command.data_ref is None


@pytest.mark.parametrize("join", [None, ("j", 9)])
def test_the_pages_of_a_large_group_are_launched_each_from_its_first_member_on(join: tuple[str, int] | None) -> None:
    item = {"group": 5, "pages": [["p", 3], ["q", 2]]}
    first, second = launched(Page(item, Place("g", "", "x"), 4, join, False), ORIGIN, (7,), Plans(BLOBS), NOW, BLOBS)
    assert (first.command.task_id, second.command.task_id) == (derived_id("g", "page/4/p"), derived_id("g", "page/7/q"))
    assert second.command.place == part_place("g", "q", 7, 2)
    assert second.command.member == (JoinMember("j", 7, 9) if join else None)
    assert (second.queue, second.command.args) == ("mail", (7,))


def test_a_draft_survives_its_entry() -> None:
    for own in ({"args": (1,), "kwargs": {"k": 2}}, {"data_ref": BLOBS.put(b"{}")}):
        command = Command("", "", "send", ignore_result=False, tenant="acme", time_limits=TimeLimits(1.0, 2.0), expires=5.0, **own)  # type: ignore[arg-type]
        back = draft_of(json.loads(json.dumps(entry_of(draft_of(entry_of(draft(STEP)._replace(command=command, delay=3)))))))
        assert (back.delay, back.queue) == (3, "own")
        assert back.command._replace(args=tuple(back.command.args)) == command


def test_a_join_keeps_where_its_canvas_goes_on() -> None:
    reads, (page,) = plans({"item": {"chain": [{"group": [STEP, STEP]}, {"task": "body", "queue": "own"}]}})
    command = launch(Place("c", "0", page), JoinMember("outer", 1, 2))
    found = page_of(command, reads)
    assert found.join == ("launch-1", 2)
    join = opened(command, found, ORIGIN)
    assert (join.size, join.queue, added_by(join)) == (2, "mail", None)
    body, lineage = continued(join, reads, NOW, BLOBS)
    assert (body.command.task, body.command.gather, lineage) == ("body", Gather("launch-1", 2, True, False), ORIGIN.lineage)
    assert (body.command.tracestate, body.command.member) == ("state", JoinMember("outer", 1, 2))


def test_what_a_member_adds_waits_in_a_join_of_its_own_and_then_the_member_arrives() -> None:
    member = JoinMember("j", 3, 4)
    join = extended("t-1", member, 5)
    assert (join.join_id, join.size, added_by(join)) == (derived_id("t-1", "added"), 5, member)


def test_a_canvas_has_one_hop_and_one_budget() -> None:
    command = Command("m", "t-1", "send", lineage=Lineage(None, None, 2, 7), tenant="acme", tracestate="s")
    assert origin_of(command, "mail") == LaunchOrigin("mail", "acme", None, None, Lineage("t-1", "t-1", 2, 7), "s")
    below = command._replace(lineage=Lineage("root", "parent", 2, 7))
    assert origin_of(below, "mail").lineage == Lineage("root", "t-1", 2, 7)


def test_a_join_that_nothing_follows_cannot_go_on() -> None:
    reads, (page,) = plans({"item": {"chain": [{"group": [STEP, STEP]}, {"task": "body", "queue": "own"}]}})
    join = opened(launch(Place("c", "1", page)), Page({"group": [STEP]}, Place("c", "1", page), 0, None, False), ORIGIN)
    with pytest.raises(MessageRefused) as found:
        continued(join, reads, NOW, BLOBS)
    assert (found.value.code, found.value.field) == ("schema", "canvasplan")


def test_a_group_that_lies_in_a_page_of_its_own_is_launched_from_there() -> None:
    reads, (page,) = plans({**group(STEP, STEP), "watch": [STEP]})
    _, (outer,) = plans({"item": {"chain": [{"page": page, "size": 2}, STEP]}})
    found = page_of(launch(Place("c", "0", outer)), reads)
    assert (found.item["group"], found.at, found.first) == ([STEP, STEP], Place("launch-1", "", page), 0)
    assert (found.join, found.watched) == (("launch-1", 2), True)


def test_a_group_that_nothing_waits_for_has_no_join() -> None:
    reads, (page,) = plans({"item": {"chain": [STEP, {"group": [STEP, STEP]}]}})
    found = page_of(launch(Place("c", "1", page)), reads)
    assert (found.join, found.at) == (None, Place("launch-1", "1", page))


def test_the_launches_of_pages_go_to_the_queue_of_their_group() -> None:
    item = {"group": 2, "pages": [["p", 2]], "queue": "own"}
    (found,) = launched(Page(item, Place("g", "", "x"), 0, None, False), ORIGIN, (), Plans(BLOBS), NOW, BLOBS)
    assert found.queue == "own"


def test_a_part_without_a_canvas_names_the_field() -> None:
    with pytest.raises(MessageRefused) as found:
        part_draft(launch(None), ORIGIN, range(2), None)
    assert (found.value.code, found.value.field) == ("schema", "canvasplan")


def test_a_join_keeps_the_state_of_a_trace_only_where_there_is_one() -> None:
    found = Page({"group": [STEP]}, Place("c", "0", "p"), 0, None, False)
    with_state = json.loads(opened(launch(Place("c", "0", "p")), found, ORIGIN).body)
    without = json.loads(opened(launch(Place("c", "0", "p")), found, ORIGIN._replace(tracestate=None)).body)
    assert (with_state["tracestate"], "tracestate" in without) == ("state", False)


def test_an_entry_that_says_no_delay_has_none() -> None:
    assert draft_of({"task": "send", "queue": "own"}).delay == 0
