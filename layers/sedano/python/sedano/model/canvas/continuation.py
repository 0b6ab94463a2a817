"""The place of a command in its canvas, and the follow-ups of that place: pure functions over pages.

The id of a chain is the id of its last step; the ids of the other steps are derived from it and their number. The id of member *i* of a
group is derived from the group's id and *i* (`sedano.model.packs` for a group in packs); the id of a group is that of the command that
launches it. If the user gave an id to a task (`id` of its item, and of the chain that it ends), the task has that id instead. So the id and
the form of a canvas determine every id in it, and if the same place is published twice, the claims refuse the second publication.

The task after a join has only the number of members, not their ids. So if the user gave a member an id, its end is copied to the derived id
(`slot_id`) before the member arrives at the join. The copy has the same state, result and error, and the history does not show it.

Pages travel in messages, which are untrusted input. They were read by strict tables (`sedano.model.canvas.page_reader`), so every item here
has a known shape; a path without an item in its page is refused (code `schema`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from sedano.errors import MessageRefused
from sedano.model import refusals
from sedano.model.canvas.page_reader import MOST_MEMBERS, Item
from sedano.model.messages.lineage import derived_id
from sedano.model.messages.message import LAUNCH, PACK, Command, Gather, JoinMember, Place
from sedano.model.packs import group_id, member_id

ADDED = "added"
"""The position, among the follow-ups of a member, of the members that it adds to its chord."""
Load = Callable[[str], Item]
"""Returns the page of this name."""


class PlannedTask(NamedTuple):
    """A request to publish the task of *item* under *task_id*; *args* precede the item's arguments. An item that is not a step is launched
    by a built-in task.
    """

    item: Item
    task_id: str
    args: Sequence[Any] = ()
    place: Place | None = None
    member: JoinMember | None = None
    gather: Gather | None = None
    attempt: int = 0

    @property
    def task(self) -> str:
        """The name of the task."""
        return str(self.item["task"]) if "task" in self.item else LAUNCH


class Resume(NamedTuple):
    """Marks a chain that replaces a task: it ends as *attempt* of that task and continues at the task's *place*, with the task's *hops* and
    *budget*.
    """

    attempt: int
    place: Place | None
    hops: int = 0
    budget: int = 0


class PlaceContents(NamedTuple):
    """The contents of a place. *item*: the item; *watch*: its error callbacks from outside; *chain*: the chain in which it is step *number*
    of *size* (None: it is not in a chain); *next*: the following item with its place.
    """

    item: Item
    watch: tuple[Item, ...]
    chain: Item | None
    number: int
    size: int
    next: tuple[Item, Place] | None

    @property
    def resume(self) -> Resume | None:
        """How the chain continues after its end, if it replaces a task."""
        return _resume(self.chain) if self.chain is not None else None

    @property
    def end(self) -> str:
        """The name of the task that ends the chain."""
        if self.chain is None:
            return ""
        return str(self.chain["end"] if "end" in self.chain else self.chain["chain"][-1].get("task", LAUNCH))


def find(place: Place, load: Load) -> PlaceContents:
    """Return the contents of *place*.

    Raises:
        MessageRefused: the place does not exist (code `schema`), or a page is lost (code `blob`).
    """
    page = load(place.plan)
    try:
        return _walked(place, page, load)
    except MessageRefused:
        raise
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as wrong:
        raise _refused(wrong) from None


def begin(item: Item, at: Place, args: Sequence[Any], load: Load, watched: bool, member: JoinMember | None = None) -> PlannedTask:
    """Return the publication that begins *item* with *args*, at the place *at* and under the id `at.canvas_id`.

    *watched*: an error callback outside of the item must be called if it fails.
    """
    try:
        if item.get("kind") == "chain":
            page = load(str(item["page"]))
            item, at, watched = page["item"], Place(at.canvas_id, "", str(item["page"])), bool(page.get("watch"))
        if "chain" not in item:
            needs = watched or "task" not in item or any(name in item for name in ("links", "forks", "errors", "watch"))
            return PlannedTask(item, at.canvas_id, args, at if needs else None, member)
        first, size = item["chain"][0], int(item.get("of", len(item["chain"])))
        resume = _resume(item)
        attempt = resume.attempt if resume is not None and size == 1 else 0
        return PlannedTask(first, _id_in(at.canvas_id, 0, size, first, resume), args, _within(at, 0), member, attempt=attempt)
    except MessageRefused:
        raise
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as wrong:
        raise _refused(wrong) from None


def following(
    place: Place, spot: PlaceContents, args: Sequence[Any], member: JoinMember | None, gather: Gather | None = None
) -> PlannedTask | None:
    """Return the publication of the next step after the step at *place* succeeded; None at the end of its chain."""
    if spot.next is None:
        return None
    item, at = spot.next
    number = spot.number + 1
    resume = spot.resume
    task_id = _id_in(place.canvas_id, number, spot.size, item, resume)
    last = number == spot.size - 1
    plain = last and "task" in item and not spot.watch and not any(name in item for name in ("links", "forks", "errors", "watch"))
    if resume is not None and last:
        return PlannedTask(item=item, task_id=task_id, args=args, place=at, member=member, gather=gather, attempt=resume.attempt)
    return PlannedTask(item=item, task_id=task_id, args=args, place=None if plain else at, member=member, gather=gather)


def branches(spot: PlaceContents, task_id: str, place: Place, args: Sequence[Any], load: Load) -> Iterator[PlannedTask]:
    """Yield the publications of the links and forks of the step at *place* after it succeeded."""
    for kind in ("links", "forks"):
        for number, item in enumerate(spot.item.get(kind, ())):
            own = str(item["id"]) if "id" in item else branch_id(task_id, kind, number)
            at = Place(own, f"{place.node}.{kind}.{number}", place.plan)
            yield begin(item, at, args, load, watched=kind == "forks")


def told_to_errback(room: int) -> int:
    """Return the number of arguments for an error callback that accepts *room* arguments: 3 (request, exception, traceback), 1 (the task's
    id), or 0.
    """
    return 3 if room >= 3 else min(room, 1)


def errbacks(spot: PlaceContents, derived: bool) -> tuple[Item, ...]:
    """Return the error callbacks of a step that ended without success; *derived*: it ended only because a task that it waited for failed.
    """
    own: Sequence[Item] = spot.item.get("errors", ())
    watch: Sequence[Item] = () if derived else (*spot.item.get("watch", ()), *spot.watch)
    found: list[Item] = []
    for item in (*own, *watch):
        if item not in found:
            found.append(item)
    return tuple(found)


def members(
    group: Item, at: Place, first: int, args: Sequence[Any], load: Load, watched: bool, join: tuple[str, int] | None
) -> list[PlannedTask]:
    """Return the publications of the members of *group*, an item at the place *at*; the number of its first member is *first*.

    The id of the group is `at.canvas_id`; *join* is the id and the size of the join at which they arrive.
    """
    try:
        asks = []
        for offset, item in enumerate(group["group"]):
            number = first + offset
            member = JoinMember(join[0], number, join[1]) if join is not None else None
            spot = _within(Place(str(item.get("id") or member_id(at.canvas_id, number)), at.node, at.plan), offset)
            asks.append(begin(item, spot, args, load, watched, member))
        return asks
    except MessageRefused:
        raise
    except (ValueError, TypeError, KeyError, AttributeError) as wrong:
        raise _refused(wrong) from None


def slot_id(member: JoinMember) -> str:
    """Return the id under which the join of *member* reads its end. It is the id of its task, unless the user gave the task an id."""
    return member_id(member.join_id, member.index)


def ends_member(command: Command) -> bool:
    """Return whether the task of *command* ends a member of a join and has an id from the user."""
    if command.member is None or command.task == PACK or command.task_id == slot_id(command.member):
        return False
    return command.place is None or (command.task != LAUNCH and command.place.canvas_id == command.task_id)


def step_id(canvas_id: str, number: int, attempt: int = 0) -> str:
    """Return the id of step *number* of the chain *canvas_id*, for any step but the last; *attempt*: the attempt that replaced a task, if
    the chain does so.
    """
    return derived_id(canvas_id, f"step/{attempt}.{number}" if attempt else f"step/{number}")


def part_place(group_id: str, page: str, first: int, size: int) -> Place:
    """Return the place of a launch that publishes only the *size* members of a group that are on *page*, from number *first* on."""
    return Place(group_id, f"{first}.pages.{size}", page)


def part_of(place: Place) -> range | None:
    """Return the numbers of the members that a launch at a `part_place` publishes; None for any other place."""
    first, _, size = place.node.partition(".pages.")
    if not first.isdigit() or not size.isdigit() or int(size) > MOST_MEMBERS:
        return None
    return range(int(first), int(first) + int(size))


def branch_id(task_id: str, kind: str, number: int) -> str:
    """Return the id of link or fork *number* (*kind*: ``links`` or ``forks``) of the step *task_id*."""
    return derived_id(task_id, f"{kind}/{number}")


def is_aside(place: Place) -> bool:
    """Return whether *place* is on a side branch, which no task waits for."""
    return ".forks." in place.node


def size_of(group: Item) -> int:
    """Return the number of members of the item of a group."""
    return int(group["group"]) if "pages" in group else len(group["group"])


def _walked(place: Place, page: Item, load: Load) -> PlaceContents:
    item: Item = page["item"]
    watch: list[Item] = list(page.get("watch", ()))
    chain: Item | None = None
    index, kind = 0, ""
    for part in place.node.split("."):
        if not part.isdigit():
            kind, chain = part, None
            watch = [*watch, *item.get("watch", ())] if part == "forks" else []
            continue
        watch += item.get("watch", ()) if not kind else ()
        index = int(part)
        chain = item if "chain" in item else None
        item = item[kind][index] if kind else item["chain"][index] if chain is not None else item["group"][index]
        kind = ""
    if chain is None:
        return PlaceContents(item=item, watch=tuple(watch), chain=None, number=0, size=1, next=None)
    start = int(chain.get("at", 0))
    size = int(chain.get("of", len(chain["chain"])))
    return PlaceContents(item=item, watch=tuple(watch), chain=chain, number=start + index, size=size, next=_next(place, chain, index, load))


def _next(place: Place, chain: Item, index: int, load: Load) -> tuple[Item, Place] | None:
    if index + 1 < len(chain["chain"]):
        above = place.node.rpartition(".")[0]
        return chain["chain"][index + 1], _within(place._replace(node=above), index + 1)
    if "more" not in chain:
        return None
    page = load(str(chain["more"]))
    return page["item"]["chain"][0], Place(place.canvas_id, "0", str(chain["more"]))


def _within(at: Place, number: int) -> Place:
    return at._replace(node=f"{at.node}.{number}" if at.node else str(number))


def _id_in(canvas_id: str, number: int, size: int, item: Item, resume: Resume | None) -> str:
    if number == size - 1:
        return group_id(canvas_id, item.get("pack", 0))
    own = str(item["id"]) if "id" in item else step_id(canvas_id, number, resume.attempt if resume is not None else 0)
    return group_id(own, item.get("pack", 0))


def _resume(chain: Item) -> Resume | None:
    found = chain.get("resume")
    if not found:
        return None
    return Resume(int(found[0]), Place(*map(str, found[1])) if found[1] else None, int(found[2]), int(found[3]))


def _refused(wrong: Exception) -> MessageRefused:
    return MessageRefused(refusals.SCHEMA, "canvasplan", f"the page is not consistent with its path: {type(wrong).__name__}: {wrong}"[:300])
