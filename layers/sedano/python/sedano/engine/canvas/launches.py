"""Launches of a canvas: drafts of its tasks, and the data that a join keeps until its last member arrives.

A group is launched if another task waits for it, if it is nested, or if it is large: one `sedano.launch` command, whatever the size, has
the members as its follow-ups. After a crash it is delivered again and publishes the same members, whose claims absorb the copies (PROTOCOLS
§3, last paragraph). The members of a large group are in pages, and each page is a separate launch, so that a tree of workers publishes
them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sedano.engine.canvas.page_cache import Plans
from sedano.engine.drafts import CommandDraft
from sedano.errors import MessageRefused, OptionError
from sedano.model import refusals
from sedano.model.canvas.continuation import ADDED, PlannedTask, find, following, members, part_of, part_place, size_of
from sedano.model.canvas.join import Join
from sedano.model.canvas.page_reader import Item
from sedano.model.messages import codec
from sedano.model.messages.lineage import Lineage, derived_id
from sedano.model.messages.message import LAUNCH, NOTHING, BlobRef, Command, Gather, JoinMember, Place, TimeLimits
from sedano.model.messages.stamps import joined, read
from sedano.model.packs import pack_command
from sedano.model.packs import size_of as size_of_pack
from sedano.model.tasks.signature import MAX_DELAY_S
from sedano.ports import Blobs

Entry = dict[str, Any]
_OPTIONAL = ("delay", "expires", "tenant", "traceparent", "ignore_result", "stamps", "time_limits", "tracestate", "headers")


class LaunchOrigin(NamedTuple):
    """The attributes that the follow-ups of a command in its canvas inherit."""

    queue: str
    tenant: str | None
    traceparent: str | None
    stamps: str | None
    lineage: Lineage
    tracestate: str | None = None


class Page(NamedTuple):
    """The members of a group that one launch publishes: those of *item*, at the place *at*, from number *first* on."""

    item: Item
    at: Place
    first: int
    join: tuple[str, int] | None
    watched: bool


def origin_of(command: Command, queue: str) -> LaunchOrigin:
    """Return the attributes that *command*, received from *queue*, hands down. A canvas spawns nothing: its tasks have one hop and one
    budget."""
    own = command.lineage
    lineage = Lineage(own.root_id or command.task_id, command.task_id, own.hops, own.budget)
    return LaunchOrigin(
        queue=queue, tenant=command.tenant, traceparent=command.traceparent, stamps=command.stamps, lineage=lineage,
        tracestate=command.tracestate,
    )  # fmt: skip


def drafted(ask: PlannedTask, origin: LaunchOrigin, now: float, blobs: Blobs) -> CommandDraft:
    """Return what *ask* asks for as a draft, published at *now*."""
    item = ask.item
    queue = str(item.get("queue") or origin.queue)
    tenant, stamps = item.get("tenant") or origin.tenant, _stamps(origin.stamps, item.get("stamps"))
    if "task" not in item:
        return CommandDraft(queue, Command(
            id="", task_id=ask.task_id, task=LAUNCH, args=ask.args, attempt=ask.attempt, tenant=tenant, traceparent=origin.traceparent,
            member=ask.member, gather=ask.gather, stamps=stamps, place=ask.place, tracestate=origin.tracestate,
        ))  # fmt: skip
    args, kwargs, ref = _data(item, ask, blobs)
    command = Command(
        id="", task_id=ask.task_id, task=str(item["task"]), args=args, kwargs=kwargs, attempt=ask.attempt, expires=_expires(item, now),
        tenant=tenant, traceparent=item.get("traceparent") or origin.traceparent, ignore_result=item.get("ignore_result"),
        member=ask.member, gather=_gather(ask), data_ref=ref, stamps=stamps, place=ask.place, time_limits=_time_limits(item),
        tracestate=None if "traceparent" in item else origin.tracestate, headers=item.get("headers"),
    )  # fmt: skip
    return CommandDraft(queue, command, delay=_delay(item, now))


def page_of(command: Command, plans: Plans) -> Page:
    """Return the page of members that the launch *command* is about.

    Raises:
        MessageRefused: it names no page (code `schema`), or the page is lost (`blob`).
    """
    try:
        if command.place is None:
            raise MessageRefused(refusals.SCHEMA, "canvasplan", "a launch without a canvas")
        part = part_of(command.place)
        if part is not None:
            page, member = plans.load(command.place.plan), command.member
            _check_part(part, page["item"], member)
            whole = (member.join_id, member.size) if member is not None else None
            return Page(page["item"], command.place._replace(node=""), part.start, whole, bool(page.get("watch")))
        spot = find(command.place, plans.load)
        item, at, watched = spot.item, command.place._replace(canvas_id=command.task_id), bool(spot.watch)
        if "page" in item:
            name = str(item["page"])
            page = plans.load(name)
            item, at, watched = page["item"], Place(command.task_id, "", name), bool(page.get("watch"))
        if "group" not in item:
            raise MessageRefused(refusals.SCHEMA, "canvasplan", "a launch of what is not a group")
        size = size_of(item)
        join = (command.task_id, size) if spot.next is not None else None
        return Page(item, at, 0, join, watched or bool(item.get("watch")))
    except MessageRefused:
        raise
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as wrong:
        raise MessageRefused(refusals.SCHEMA, "canvasplan", f"not a launch: {type(wrong).__name__}: {wrong}") from None


def _check_part(part: range, item: Item, member: JoinMember | None) -> None:
    """Refuse a launch of members that are not in its page, or for which its join has no room."""
    if "group" not in item or size_of(item) != len(part):
        raise MessageRefused(refusals.SCHEMA, "canvasnode", f"{len(part)} members of a page that does not hold so many")
    if member is not None and (member.index != part.start or part.stop > member.size):
        raise MessageRefused(refusals.SCHEMA, "joinindex", "not the place of these members in their join")


def launched(page: Page, origin: LaunchOrigin, args: Sequence[Any], plans: Plans, now: float, blobs: Blobs) -> list[CommandDraft]:
    """Return the drafts that a launch publishes: of the members in *page*, or of the launches of its pages."""
    if "pages" not in page.item:
        asks = members(page.item, page.at, page.first, args, plans.load, page.watched, page.join)
        drafts = [drafted(ask, origin, now, blobs) for ask in asks]
        return _in_packs(drafts, page.at.canvas_id) if size_of_pack(page.at.canvas_id) else drafts
    first, group, launches = page.first, page.at.canvas_id, list[CommandDraft]()
    for name, size in page.item["pages"]:
        launches.append(CommandDraft(str(page.item.get("queue") or origin.queue), Command(
            id="", task_id=derived_id(group, f"page/{first}/{name}"), task=LAUNCH, args=args, tenant=origin.tenant,
            traceparent=origin.traceparent, stamps=origin.stamps,
            member=JoinMember(page.join[0], first, page.join[1]) if page.join else None,
            place=part_place(group, str(name), first, int(size)), tracestate=origin.tracestate,
        )))  # fmt: skip
        first += int(size)
    return launches


def _in_packs(members: Sequence[CommandDraft], group: str) -> list[CommandDraft]:
    """Return the packs of *members*, which are consecutive in *group*.

    Raises:
        MessageRefused: they cannot be in one pack (code `schema`): a publisher refuses such a group.
    """
    size, packs = size_of_pack(group), []
    for start in range(0, len(members), size):
        some = members[start : start + size]
        first = some[0]
        apart = any((one.queue, one.delay) != (first.queue, first.delay) or one.command.data_ref is not None for one in some)
        if apart or first.command.place is not None:
            raise MessageRefused(refusals.SCHEMA, "canvasplan", "members of a group in packs need messages of their own")
        packs.append(first._replace(command=pack_command(first.command, [one.command for one in some], group)))
    return packs


def part_draft(command: Command, origin: LaunchOrigin, part: range, member: JoinMember | None) -> CommandDraft:
    """Return the launch of *part* of the members that the launch *command* is about, on the same page."""
    place = command.place
    if place is None:
        raise MessageRefused(refusals.SCHEMA, "canvasplan", "a launch without a canvas")
    task_id = derived_id(place.canvas_id, f"part/{part.start}/{len(part)}/{place.plan}")
    return CommandDraft(origin.queue, Command(
        id="", task_id=task_id, task=LAUNCH, tenant=origin.tenant, traceparent=origin.traceparent, stamps=origin.stamps, member=member,
        place=part_place(place.canvas_id, place.plan, part.start, len(part)),
    ))  # fmt: skip


def opened(command: Command, page: Page, origin: LaunchOrigin, ends: Mapping[str, Any] = NOTHING) -> Join:
    """Return the join of the group that *command* launches; it keeps where the canvas goes on, and what *ends* when that plan is lost."""
    place, member = command.place, command.member
    kept: dict[str, Any] = {
        "place": list(place or ()), "member": [member.join_id, member.index, member.size] if member else None,
        "origin": [*origin[:4], list(_lineage(origin.lineage))], "outcomes": bool(page.item.get("outcomes")), **ends,
    }  # fmt: skip
    if origin.tracestate is not None:
        kept["tracestate"] = origin.tracestate
    return Join(command.task_id, size_of(page.item), json.dumps(kept, separators=(",", ":")), origin.queue)


def extended(task_id: str, member: JoinMember, added: int) -> Join:
    """Return the join of what the task *task_id*, *member* of another join, *added* to that one; when it is full, *member* arrives."""
    kept = {"arrive": [member.join_id, member.index, member.size]}
    return Join(derived_id(task_id, ADDED), added, json.dumps(kept, separators=(",", ":")), "")


def added_by(join: Join) -> JoinMember | None:
    """Return the member that added the members of *join*, if one did."""
    kept = json.loads(join.body)
    return JoinMember(*kept["arrive"]) if "arrive" in kept else None


def continued(join: Join, plans: Plans, now: float, blobs: Blobs) -> tuple[CommandDraft, Lineage]:
    """Return the draft of what runs when *join* is full, and its lineage."""
    kept = json.loads(join.body)
    place, member = Place(*kept["place"]), JoinMember(*kept["member"]) if kept["member"] else None
    queue, tenant, traceparent, stamps, lineage = kept["origin"]
    origin = LaunchOrigin(
        queue=queue, tenant=tenant, traceparent=traceparent, stamps=stamps, lineage=Lineage(*lineage), tracestate=kept.get("tracestate"),
    )  # fmt: skip
    gather = Gather(join.join_id, join.size, True, bool(kept["outcomes"]))
    ask = following(place, find(place, plans.load), (), member, gather)
    if ask is None:
        raise MessageRefused(refusals.SCHEMA, "canvasplan", "no step follows the group")
    return drafted(ask, origin, now, blobs), origin.lineage


def entry_of(draft: CommandDraft) -> Entry:
    """Return *draft* as JSON values, without its task's id."""
    command, said = draft.command, {"delay": draft.delay, **draft.command._asdict()}
    entry: Entry = {"task": command.task, "queue": draft.queue}
    if command.data_ref is not None:
        entry["ref"] = [command.data_ref.digest, command.data_ref.size]
    else:
        entry["args"], entry["kwargs"] = list(command.args), dict(command.kwargs)
    entry |= {name: value for name in _OPTIONAL if (value := said[name]) or value is False}
    return entry


def draft_of(entry: Mapping[str, Any]) -> CommandDraft:
    """Return the draft that *entry* describes, without its task's id."""
    ref = BlobRef(*entry["ref"]) if "ref" in entry else None
    optional = {**{name: entry[name] for name in _OPTIONAL if name in entry}, "time_limits": _time_limits(entry)}
    delay = optional.pop("delay", 0)
    command = Command(
        id="", task_id="", task=str(entry["task"]), args=entry.get("args", ()), kwargs=entry.get("kwargs", {}), data_ref=ref, **optional
    )
    return CommandDraft(str(entry["queue"]), command, delay=delay)


def _time_limits(entry: Mapping[str, Any]) -> TimeLimits | None:
    return TimeLimits(*entry["time_limits"]) if "time_limits" in entry else None


def _lineage(lineage: Lineage) -> tuple[str | None, str | None, int, int]:
    return lineage.root_id, lineage.parent_id, lineage.hops, lineage.budget


def _data(item: Item, ask: PlannedTask, blobs: Blobs) -> tuple[Sequence[Any], Mapping[str, Any], BlobRef | None]:
    """Return arguments, or the reference to them; results of previous tasks precede them."""
    first = () if item.get("immutable") else ask.args
    if "ref" not in item:
        return [*first, *item.get("args", ())], item.get("kwargs", {}), None
    ref = BlobRef(str(item["ref"][0]), int(item["ref"][1]))
    if not first:
        return (), {}, ref
    args, kwargs = codec.decode_data(blobs.get(ref))
    return [*first, *args], kwargs, None


def _gather(ask: PlannedTask) -> Gather | None:
    gather = ask.gather
    return Gather(gather.join_id, gather.size, False, gather.outcomes) if gather is not None and ask.item.get("immutable") else gather


def _delay(item: Item, now: float) -> int:
    seconds = float(item["eta"]) - now if "eta" in item else float(item.get("delay", 0))
    return max(0, min(int(MAX_DELAY_S), -int(-seconds // 1)))


def _expires(item: Item, now: float) -> float | None:
    if "lifetime" in item:
        return now + float(item["lifetime"])
    return float(item["expires"]) if "expires" in item else None


def _stamps(inherited: str | None, own: str | None) -> str | None:
    """Return the stamps of a task of a canvas; where both together are too long, those that it was written with."""
    if own is None or inherited is None or own == inherited:
        return own or inherited
    try:
        return joined(inherited, read(own))
    except OptionError:
        return own
