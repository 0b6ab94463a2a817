"""Packs: consecutive members of one group in one message, under one claim and one record. Pure.

A pack is a task of its own, `sedano.pack`, whose body runs its members one after another, and whose result is a list with one end for each
member. So the writes CLAIM, STEAL, EXTEND and RECORD (`sedano.aws.expressions.tasks`) apply to it unchanged. MARK is its only write of its
own: it adds members that were revoked to a set in the pack's record, until the pack has ended.

**Ids.** The group `G` of packs of 8 members has the id `G.k8`; its member *i* has `G.k8.i`, and its pack *n* has `G.k8.pn` and holds the
members from *8 · n* on. So the id of a member names its pack, and no publication computes the size again: two layouts of one group would
be two arbiters of a member's end. G is a UUID. A user cannot choose ids of these forms; the letter keeps them apart from those that users
derive from an id and a number, such as `G.8`. A power of two divides the width of a join's shard, so the members of a pack arrive in one
write.

**A taken-over pack runs nothing.** If the claim of a pack expired, its bodies may have run, and one of them may have ended the worker. So
the worker that takes it over fences the old holder out, and records that every member leaves. Each of them then runs alone, and a poison
message ends alone. A pack without an expired claim is run whole, however often its message was received. A claim that was taken over is
never released (`may_be_released`): CLAIM counts from one again, and the next worker would run the pack whole.

**A member has one arbiter.** Until the pack has ended, it is the pack's record. After that, this record says for each member whether it
ended there or left; a member that left is a task with a record of its own. Its follow-ups are read off the pack's record and never off the
worker's memory, because a mark may have arrived while the pack ran. After the end, nothing changes the record but `forget`.

| the pack | the end of the member in it | the member |
|---|---|---|
| no record, PENDING, RETRY | | revoked if marked, else unknown: it waits |
| RUNNING | | runs under fence 1, and is asked to stop if marked |
| SUCCESS | terminal | ended so |
| SUCCESS | RETRY, marked | REVOKED |
| SUCCESS | RETRY | left: its own record decides |
| another terminal state | | ended in that state, as its pack did; its name and its call are in its own record |

**Fences.** Every body in a pack has fence 1, also when the pack was claimed anew because no body had begun. The first claim of a member
that left has fence 2 (`LEFT_FENCE`), so a resource of the user refuses the pack's late bodies. That claim needs no earlier record, also for
the second attempt.

Faults that this prevents, each found by the exhaustive search: a pack that is taken over and run again (a poison ends workers without
bound); a pack that is unpacked without a write (two holders); a record without its fence; a mark that is lost when a member leaves, that is
accepted after the end, or that is written to the member's own record first; follow-ups from memory; a second first fence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sedano.errors import MessageRefused
from sedano.model import refusals, states
from sedano.model.ledger import outcome_text
from sedano.model.ledger.records import NO_RETRY, TERMINATE, TaskRecord
from sedano.model.messages.lineage import derived_id
from sedano.model.messages.message import PACK, Command, JoinMember, TimeLimits
from sedano.model.pack_ends import LEFT as LEFT
from sedano.model.pack_ends import MemberEnd as MemberEnd
from sedano.model.pack_ends import end_of_member as end_of_member
from sedano.model.pack_ends import ends_text as ends_text
from sedano.model.pack_ends import forgotten
from sedano.model.pack_ends import read_ends as read_ends
from sedano.model.pack_ends import without_call as without_call

SIZES = (2, 4, 8, 16, 32, 64)
"""How many members a pack may hold."""
LEAST_MEMBERS = 4
"""A smaller group is not packed by `pack=True`."""
MOST_BYTES = 48_000
"""The most bytes of arguments in a pack whose size sedano chooses; a longer message goes to the blob store."""
MOST_RESULTS = 800
"""The most bytes that the results of a pack are expected to have, so that its record costs one write unit."""
RESULT_BYTES = 16
"""How many bytes a result is expected to have."""
MOST_S = 15.0
"""The most seconds that the bodies of a pack may take: it bounds the work that a crash repeats."""
BODY_S = 0.1
"""How long a body without a time limit is expected to take."""
FENCE, LEFT_FENCE = 1, 2
"""The fence of each body in a pack, and that of the first claim of a member that left."""
TERMINATING = max(SIZES)
"""A mark above the number of a member's place by this much asks its running body to end at its next checkpoint."""
LONGEST_LIMIT_S = 9_999_999.0
"""The longest time limit (s) that a message can carry."""
MOST_ARGUMENTS_BYTES = 8_000
"""The most bytes of arguments of one member; a longer one is a message of its own."""

Ends = tuple[str, list[MemberEnd]]
"""The name of the task of a pack, and the ends of its members."""
_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_SIZE = "|".join(map(str, SIZES))
_GROUP = re.compile(rf"{_UUID}\.k({_SIZE})").fullmatch
_PART = re.compile(rf"({_UUID}\.k({_SIZE}))\.(p?)(0|[1-9][0-9]{{0,8}})").fullmatch


class PackMember(NamedTuple):
    """A member by its id: member *number* of *group*, whose packs hold *size* members."""

    group: str
    size: int
    number: int

    @property
    def task_id(self) -> str:
        """Its id."""
        return f"{self.group}.{self.number}"

    @property
    def pack_id(self) -> str:
        """The id of its pack."""
        return pack_id(self.group, self.number // self.size)

    @property
    def place(self) -> int:
        """Its place in its pack."""
        return self.number % self.size


class PackedCalls(NamedTuple):
    """The request of a pack's message: *calls* of *task*, each with its arguments; the first is member *first* of *group*. All have the
    same options: *ignore_result* and *time_limits*."""

    task: str
    calls: Sequence[tuple[Sequence[Any], Mapping[str, Any]]]
    group: str
    size: int
    first: int
    ignore_result: bool | None = None
    time_limits: TimeLimits | None = None

    def member(self, place: int) -> PackMember:
        """Return the member at *place*."""
        return PackMember(self.group, self.size, self.first + place)


def group_id(task_id: str, size: int) -> str:
    """Return the id of the group *task_id* in packs of *size*; *task_id* itself if it is not packed (0)."""
    return f"{task_id}.k{size}" if size else task_id


def size_of(group: str) -> int:
    """Return how many members each pack of *group* holds; 0: its members are not packed."""
    found = _GROUP(group) if "." in group else None
    return int(found[1]) if found else 0


def in_packs(task_id: str) -> list[str]:
    """Return the ids that the group *task_id*, and so its launch, may have in packs: one for each size."""
    return [group_id(task_id, size) for size in SIZES]


def member_id(group: str, index: int) -> str:
    """Return the id of member *index* of *group*, which is packed or not."""
    return f"{group}.{index}" if size_of(group) else derived_id(group, index)


def pack_id(group: str, number: int) -> str:
    """Return the id of pack *number* of *group*."""
    return f"{group}.p{number}"


def member_of(task_id: str) -> PackMember | None:
    """Return the member of a pack that has the id *task_id*; None: it has another form."""
    found = _PART(task_id) if "." in task_id else None
    return PackMember(found[1], int(found[2]), int(found[4])) if found and not found[3] else None


def is_reserved(task_id: str) -> bool:
    """Return whether *task_id* has a form that only groups in packs, their members and their packs have."""
    return "." in task_id and bool(_GROUP(task_id) or _PART(task_id))


def is_pack(task_id: str) -> bool:
    """Return whether *task_id* is the id of a pack."""
    found = _PART(task_id) if "." in task_id else None
    return found is not None and bool(found[3])


def chosen_size(arguments: Sequence[int], limit: float | None) -> int:
    """Return how many members a pack holds: the most that the bounds of this module allow; 0: the group is not packed.

    *arguments*: the bytes of each member's arguments, in order; *limit*: the seconds of their time limit (None: they have none).
    """
    if len(arguments) < LEAST_MEMBERS:
        return 0
    seconds = limit or BODY_S
    for size in reversed(SIZES):
        bytes_of = max(sum(arguments[first : first + size]) for first in range(0, len(arguments), size))
        if size * seconds <= MOST_S and size * RESULT_BYTES <= MOST_RESULTS and bytes_of <= MOST_BYTES:
            return size
    return 0


def read_calls(command: Command) -> PackedCalls:
    """Return what the pack *command* asks for.

    Raises:
        MessageRefused: it is not a valid pack (code `schema`).
    """
    found = _PART(command.task_id)
    group, first = (found[1], int(found[2]) * int(found[4])) if found and found[3] else ("", 0)
    if not group or command.task != PACK:
        raise _refused("taskid", "the id of a pack names its group and its number")
    size, args = size_of(group), command.args
    member = command.member
    if member is not None and (member.join_id, member.index) != (group, first):
        raise _refused("joinid", "a pack arrives at the join of its group, from its first member on")
    if len(args) != 3 or type(args[0]) is not str or type(args[1]) is not list or not _are_options(args[2]):
        raise _refused("data", "a pack has the name of a task, a list of calls, and their options")
    if not 1 <= len(args[1]) <= size or (member is not None and first + len(args[1]) > member.size):
        raise _refused("data", f"{len(args[1])} calls in a pack of {size}")
    if not all(type(one) is list and len(one) == 2 and type(one[0]) is list and type(one[1]) is dict for one in args[1]):
        raise _refused("data", "each call of a pack has a list and an object of arguments")
    limits = args[2].get("time_limits")
    return PackedCalls(
        task=args[0], calls=[(one[0], one[1]) for one in args[1]], group=group, size=size, first=first,
        ignore_result=args[2].get("ignore_result"), time_limits=TimeLimits(*limits) if limits is not None else None,
    )  # fmt: skip


def known_calls(command: Command, pack: TaskRecord | None) -> PackedCalls:
    """Return the calls of the pack *command* without their arguments and options, by its record *pack* and its ids.

    This suffices for members that ended in it, so a pack whose arguments are lost is followed. No calls: nothing says how many there are,
    and no join waits for them.

    Raises:
        MessageRefused: its id is not one of a pack (code `schema`).
    """
    found, join = _PART(command.task_id), command.member
    if not found or not found[3]:
        raise _refused("taskid", "the id of a pack names its group and its number")
    size, first = int(found[2]), int(found[2]) * int(found[4])
    name, count = str(meant(command, command.args).task), min(size, join.size - first) if join is not None else 0
    if (ended := ends_of(pack)) is not None:
        name, count = ended[0], len(ended[1])
    return PackedCalls(task=name, calls=[((), {})] * count, group=found[1], size=size, first=first)


def meant(command: Command, args: Sequence[Any]) -> Command:
    """Return *command*, a pack with *args*, under the name of the task of its members: pauses and revoked headers name that one."""
    return command._replace(task=args[0]) if args and type(args[0]) is str else command


def pack_command(first: Command, calls: Sequence[Command], group: str) -> Command:
    """Return the pack of *calls*, drafts of commands of the same task with the same options, beginning with *first*.

    Raises:
        MessageRefused: they do not begin where a pack of *group* begins, or differ in more than their ids and arguments (code `schema`).
    """
    member = member_of(first.task_id)
    if member is None or member.group != group or member.place:
        raise _refused("canvasplan", f"the members of a pack begin at a multiple of {size_of(group)}")
    if any(_shared(one) != _shared(first) for one in calls):
        raise _refused("canvasplan", "the members of a pack differ in their task or in their options")
    options = {
        "ignore_result": first.ignore_result, "time_limits": list(first.time_limits) if first.time_limits is not None else None,
    }  # fmt: skip
    return first._replace(
        task_id=member.pack_id, task=PACK, kwargs={}, ignore_result=None, time_limits=None,
        args=(first.task, [[list(one.args), dict(one.kwargs)] for one in calls], options),
    )  # fmt: skip


def _shared(call: Command) -> Command:
    """Return *call* without what the members of a pack may differ in."""
    return call._replace(task_id="", args=(), kwargs={}, member=None)


def member_command(command: Command, calls: PackedCalls, place: int) -> Command:
    """Return the command of the member at *place* of the pack *command*."""
    args, kwargs = calls.calls[place]
    join, index = command.member, calls.first + place
    return command._replace(
        task_id=calls.member(place).task_id, task=calls.task, args=args, kwargs=kwargs, data_ref=None, ignore_result=calls.ignore_result,
        time_limits=calls.time_limits, attempt=0, section=None,
        member=JoinMember(join.join_id, index, join.size) if join is not None else None,
    )  # fmt: skip


def may_run(pack: TaskRecord) -> bool:
    """Return whether the members of the claimed *pack* may run: not if it was taken over, because its bodies may have run before."""
    return pack.claims <= 1


def may_be_released(claimed: TaskRecord) -> bool:
    """Return whether a claim that ends without a body may be given up, so that the next one begins anew; *claimed*: its record.

    Not that of a pack that was taken over: its bodies may have run before, and the new claim would not show it. Such a claim expires.
    """
    return claimed.name != PACK or may_run(claimed)


def marks_of(places: Iterable[int], what: int) -> frozenset[int]:
    """Return the marks that ask the members at *places* to stop: not to be tried again, or (`TERMINATE`) at the next checkpoint."""
    some = list(places)
    return frozenset([*some, *(place + TERMINATING for place in some)] if what >= TERMINATE else some)


def asked_of(marks: frozenset[int], place: int) -> int:
    """Return what *marks* ask of the member at *place*; 0: nothing."""
    if place + TERMINATING in marks:
        return TERMINATE
    return NO_RETRY if place in marks else 0


def ends_of(pack: TaskRecord | None) -> Ends | None:
    """Return the ends in the record of *pack*, which are read once for all its members; None: it has none."""
    return read_ends(pack.result) if pack is not None and pack.state == states.SUCCESS and pack.result else None


def spoken(member: PackMember, pack: TaskRecord | None, ended: Ends | None = None) -> tuple[TaskRecord | None, bool]:
    """Return the record of *member* by that of its *pack*, and whether it left: then its own record, if there is one, replaces this one.

    *ended*: the ends in that record, if they were read before (`ends_of`).
    """
    if pack is None:
        return None, False
    asked, bare = asked_of(pack.marks, member.place), TaskRecord(member.task_id, states.PENDING, message_id=pack.message_id)
    if pack.state == states.RUNNING:
        return bare._replace(
            state=states.RUNNING, fence=FENCE, claims=1, nonce=pack.nonce, expires=pack.expires, clock=pack.clock, owner=pack.owner,
            asked=asked,
        ), False  # fmt: skip
    revoked = bare._replace(state=states.REVOKED, clock=pack.clock)
    if pack.state not in states.TERMINAL:
        return (revoked._replace(message_id="") if asked else None), False
    found = ended or ends_of(pack)
    if found is None:
        return bare._replace(state=pack.state, clock=pack.clock, error=pack.error, forgotten=pack.forgotten), False
    name, ends = found
    end = ends[member.place] if member.place < len(ends) else LEFT
    if end.state == states.RETRY and asked:
        return revoked._replace(name=name), False
    rest = outcome_text.read(end.tail)
    own = bare._replace(
        state=end.state, attempt=end.attempt, fence=FENCE, claims=1, nonce=pack.nonce, clock=end.clock or pack.clock, name=name,
        owner=pack.owner, result=end.result, asked=asked, **rest._asdict(),
    )  # fmt: skip
    return own._replace(forgotten=end == forgotten(end)), end.state == states.RETRY


def read_with_members(read: Callable[[Sequence[str]], Mapping[str, TaskRecord]], task_ids: Sequence[str]) -> dict[str, TaskRecord]:
    """Return the records of *task_ids* that exist; those of members come from their packs, or from their own record if they left.

    So do those of members whose pack has no record (any more): the own record of a member that was tried for long is younger. *read* reads
    plain records.
    """
    members = {task_id: found for task_id in task_ids if (found := member_of(task_id)) is not None}
    if not members:
        return dict(read(task_ids))
    packs = packed(members)
    records = dict(read([*dict.fromkeys([*(task_id for task_id in task_ids if task_id not in members), *packs])]))
    ended = {pack: ends_of(records.get(pack)) for pack in packs}
    said = {task_id: spoken(one, records.get(one.pack_id), ended[one.pack_id]) for task_id, one in members.items()}
    kept = records.keys() & packs.keys()
    for pack in packs:
        if pack not in task_ids:
            records.pop(pack, None)
    left = [task_id for task_id, (_, has_left) in said.items() if has_left or members[task_id].pack_id not in kept]
    records |= {task_id: record for task_id, (record, _) in said.items() if record is not None}
    unnamed = [task_id for task_id in members if task_id in records and _is_unnamed(records[task_id])]
    kept_with = dict(read(unnamed)) if unnamed else {}
    records |= {task_id: records[task_id]._replace(name=own.name, call=own.call) for task_id, own in kept_with.items()}
    return records | (dict(read(left)) if left else {})


def _is_unnamed(member: TaskRecord) -> bool:
    """Return whether *member* ended with its whole pack, whose record has neither its name nor its call: its own record has them."""
    return member.state in states.UNSUCCESSFUL and not member.name


def packed(task_ids: Iterable[str]) -> dict[str, list[int]]:
    """Return the places of those of *task_ids* that are members of packs, by the id of their pack."""
    found: dict[str, list[int]] = {}
    for member in filter(None, map(member_of, task_ids)):
        found.setdefault(member.pack_id, []).append(member.place)
    return found


def forgotten_in(pack: TaskRecord, places: Iterable[int]) -> str | None:
    """Return the result of the ended *pack* without the results and errors of the members at *places*; None: nothing changes."""
    if (found := ends_of(pack)) is None:
        return None
    name, ends = found
    for place in places:
        if place < len(ends) and ends[place].state != states.RETRY:
            ends[place] = forgotten(ends[place])
    text = ends_text(name, ends)
    return text if text != pack.result else None


def _are_options(value: Any) -> bool:
    if type(value) is not dict or not value.keys() <= {"ignore_result", "time_limits"}:
        return False
    limits = value.get("time_limits")
    seconds = limits if type(limits) is list else [None, None] if limits is None else []
    whole = len(seconds) == 2 and all(one is None or (type(one) in (int, float) and 0 < one <= LONGEST_LIMIT_S) for one in seconds)
    return whole and type(value.get("ignore_result")) in (bool, type(None))


def _refused(field: str, detail: str) -> MessageRefused:
    return MessageRefused(refusals.SCHEMA, field, detail)
