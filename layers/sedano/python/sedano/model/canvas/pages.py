"""Writes a canvas as pages. Its messages refer to these pages, so the size of a message does not depend on the size of its canvas.

A page is JSON, immutable, and stored under its digest. It holds one item. A place (`sedano.model.canvas.continuation`) is a page and the
path of an item within it. An item is one of these:

- a step: its signature as `entry` wrote it, and its `links`, `forks`, `errors` and `watch`, each a list of items;
- a chain: `{"chain": [items]}`; a long one continues in another page: `{"chain": […], "at": 0, "of": 1000, "end": name, "more": page}`;
- a group: `{"group": [items]}`; a large one is a tree of pages: `{"group": size, "pages": [[page, size], …]}`; one in packs of k has
  `"packed": [k, …]` in place of `"group": …`, so that a worker of a version without packs parks its launch;
- a long or deep item within another one has its own page: `{"page": page, "kind": "chain" or "group"}`.

Pages are filled to about `PAGE_BYTES`, so reading one costs little, and a worker that caches the last few reads each about once. Error
callbacks that watch an item from outside its page are repeated at the top of the page. A canvas is published only after all its pages were
written, so a canvas with a mistake leaves only unread pages behind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from json.encoder import encode_basestring_ascii as quote
from typing import NamedTuple

from sedano.errors import CanvasError, OptionError, TooLarge
from sedano.model.canvas.page_reader import MOST_BYTES, PAGE_MEMBERS
from sedano.model.canvas.tree import Chain, Fork, Group, TaskNode, Tree
from sedano.model.messages.message import COLLECT, LAUNCH, BlobRef, Place
from sedano.model.tasks.signature import Signature

INLINE_BYTES = 2_000
"""The most characters of a page that travels in the message: a put to S3 costs as much as 12 messages, whatever their sizes up to 64 KB."""
INLINE_GROUPS = 6
"""The most groups in such a page: the item that counts the arrivals of a group holds the page, and each write of it costs by its size."""
PAGE_BYTES = 30_000
SENT_TOGETHER = 10
"""The most members of one call to SQS; pages of members break at a multiple of it, so that a group of any size is sent in full calls."""
PAGE_DEPTH = 8
"""The most levels of nested items in a page; a deeper item gets its own page."""

CONTEXT = -1
"""Replaces the number of values for an error callback, whose arguments depend on its parameters."""

Watch = tuple[str, ...]
"""The error callbacks from outside, each as the text of its item."""


class Entry(NamedTuple):
    """A signature in its written form. *text*: the JSON members of its item (without braces); *queue*: the name of its queue; *shared*:
    those JSON members (also without braces) that also apply to the launch of a group of such tasks: its tenant and its stamps.
    """

    text: str
    queue: str
    shared: str = ""


class Written(NamedTuple):
    """A written item: its text, its number of tasks with all callbacks, its depth, the queue of its first task, its kind, and the id that
    the user gave to its last task (*own*). *pack*: how many members of a group are in a pack. `told`: a failure to begin the item must be
    reported to an error callback, or to a caller that has its id. *groups*: the groups in its text, without those of its pages.
    """

    text: str
    tasks: int
    depth: int
    queue: str
    kind: str = "step"
    shared: str = ""
    own: str = ""
    told: bool = False
    groups: int = 0
    pack: int = 0


def refer(ref: BlobRef) -> str:
    """Return the name of a page in the blob store; `page_reader.referred` reads it."""
    return f"blob:{ref.digest}:{ref.size}"


class PageWriter:
    """Writes canvases as pages.

    *entry* writes a signature; it receives the number of values that will precede its arguments (`CONTEXT`: those of error callbacks) and
    the queue of the step before. *keep* stores a page.
    """

    def __init__(self, entry: Callable[[Signature, int, str], Entry], keep: Callable[[bytes], BlobRef]) -> None:
        """Write with *entry* and *keep*."""
        self._entry = entry
        self._keep = keep
        self._own: set[str] = set()

    def page(self, tree: Tree, watch: Watch = (), extra: str = "") -> tuple[Written, str]:
        """Return the written form of a normal *tree*, and the page in which it begins; a lone step or group becomes a chain of one.

        Raises:
            OptionError: an option cannot be used within a canvas.
            ArgumentError, Unserialisable, TooLarge, UnknownTask: as for a lone task.
        """
        chain = tree if isinstance(tree, Chain) else Chain((tree,))
        written = self._chain(chain, watch, handed=0, extra=extra)
        return written, self._named(_page(written.text, watch), written.groups)

    def item(self, tree: Tree, watch: Watch = (), handed: int = 0) -> Written:
        """Return a normal *tree* as an item of a page that has *watch* at its top."""
        if isinstance(tree, TaskNode):
            return self._step(tree, watch, handed)
        return self._chain(tree, watch, handed) if isinstance(tree, Chain) else self._group(tree, watch, handed)

    def _step(self, step: TaskNode, watch: Watch, handed: int, queue: str = "") -> Written:
        entry, own_id = self._entry(step.signature, handed, queue), step.signature.options.task_id or ""
        if own_id in self._own:
            raise CanvasError(f"task_id: two tasks of this canvas have the id {own_id}; give each its own, or freeze only one of them")
        self._own |= {own_id} if own_id else set()
        if not (step.links or step.forks or step.errors or step.watch):
            return Written(f"{{{entry.text}}}", 1, 1, entry.queue, shared=entry.shared, own=own_id, told=bool(own_id))
        errors = [self._step(e, (), CONTEXT) for e in step.errors]
        own = [self._step(e, (), CONTEXT) for e in step.watch]
        links = [self._settled(self.item(t, (), handed=1), ()) for t in step.links]
        seen = (*watch, *(o.text for o in own))
        forks = [self._settled(self.item(t, seen, handed=1), seen) for t in step.forks]
        parts = [entry.text, _named("errors", errors), _named("watch", own), _named("links", links), _named("forks", forks)]
        inner = [*errors, *own, *links, *forks]
        text = f"{{{','.join(p for p in parts if p)}}}"
        tasks, depth = 1 + sum(w.tasks for w in inner), 1 + max(w.depth for w in inner)
        return Written(
            text=text, tasks=tasks, depth=depth, queue=entry.queue, shared=entry.shared, own=own_id, told=bool(own_id or errors),
            groups=sum(w.groups for w in inner),
        )  # fmt: skip

    def _chain(self, chain: Chain, watch: Watch, handed: int, extra: str = "") -> Written:
        own = [self._step(e, (), CONTEXT) for e in chain.watch]
        within = (*watch, *(w.text for w in own))
        items: list[Written] = []
        for step in chain.steps:
            items.append(self._stage(step, within, 1 if items else handed, items[-1].queue if items else ""))
        last = items[-1].own
        tops = [extra, _named("watch", own), _id(last)]
        text, groups = self._pages(items, _end(chain), extra, tops, within)
        tasks, depth = sum(i.tasks for i in (*own, *items)), 1 + max(i.depth for i in (*own, *items))
        return Written(
            text=text, tasks=tasks, depth=depth, queue=items[0].queue, kind="chain", shared=items[0].shared, own=last,
            told=items[0].told or bool(last), groups=groups + _groups(own),
        )  # fmt: skip

    def _pages(self, items: Sequence[Written], end: str, extra: str, tops: Sequence[str], within: Watch) -> tuple[str, int]:
        """Return the item of a chain of *items* and the groups in it. Of a long one this is the first part; each other has its own page."""
        parts, text, more, groups = _parts([i.text for i in items]), "", "", 0
        for start, part in reversed(parts):
            groups = _groups(items[start : start + len(part)])
            marks = [f'"at":{start},"of":{len(items)},"end":{quote(end)}'] if len(parts) > 1 else []
            parts_of = [f'"chain":[{",".join(part)}]', *marks, *(tops if start == 0 else [extra]), more]
            text = f"{{{','.join(t for t in parts_of if t)}}}"
            more = f'"more":{quote(self._named(_page(text, within), groups))}' if start else ""
        return text, groups

    def _stage(self, step: Tree | Fork, watch: Watch, handed: int, queue: str) -> Written:
        if isinstance(step, Fork):
            raise TypeError("a normal chain holds no forks")
        if isinstance(step, TaskNode):
            return self._step(step, watch, handed, queue if step.signature.task == COLLECT else "")
        return self._settled(self.item(step, watch, handed), watch)

    def _group(self, group: Group, watch: Watch, handed: int) -> Written:
        own = [self._step(e, (), CONTEXT) for e in group.watch]
        within = (*watch, *(w.text for w in own))
        items = [self._settled(self.item(m, within, handed), within) for m in group.members]
        queue = items[0].queue if items else ""
        tasks, depth = 1 + sum(i.tasks for i in (*own, *items)), 1 + max((i.depth for i in (*own, *items)), default=0)
        shared = items[0].shared if len({i.shared for i in items}) == 1 else ""
        marks = [t for t in (f'"queue":{quote(queue)}' if queue else "", shared) if t]
        told = any(i.told for i in items)
        flags = ('"outcomes":true' if group.outcomes else "", '"told":true' if told else "")
        marks += [t for t in (_named("watch", own), *flags) if t]
        pack, groups = group.pack, _groups([*own, *items])
        parts = _parts([i.text for i in items], PAGE_MEMBERS, pack or SENT_TOGETHER)
        if len(parts) <= 1:
            head = _many(f"[{','.join(i.text for i in items)}]", pack)
        else:
            heads = [_many(f"[{','.join(part)}]", pack) for _, part in parts]
            texts = [(_page(f"{{{text}}}", within), items[at : at + len(part)]) for text, (at, part) in zip(heads, parts, strict=True)]
            pages = [[self._named(text, _groups(members) + 1), len(members)] for text, members in texts]
            groups = _groups(own)
            head, depth = f'{_many(str(len(items)), pack)},"pages":{self._index(pages, pack)}', 3
        return Written(
            text=f"{{{','.join([head, *marks])}}}", tasks=tasks, depth=depth, queue=queue, kind="group", shared=shared, told=told,
            groups=groups + 1, pack=pack,
        )  # fmt: skip

    def _index(self, pages: list[list[object]], pack: int) -> str:
        """Return the list of *pages*; if there are many, a list of pages that contain such lists."""
        while len(pages) > PAGE_MEMBERS // 2:
            wide = PAGE_MEMBERS // 4
            parts = [pages[i : i + wide] for i in range(0, len(pages), wide)]
            sizes = [sum(int(str(size)) for _, size in part) for part in parts]
            texts = [f'{{{_many(str(size), pack)},"pages":{_listed(part)}}}' for part, size in zip(parts, sizes, strict=True)]
            pages = [[self._named(_page(text, ()), 1), size] for text, size in zip(texts, sizes, strict=True)]
        return _listed(pages)

    def _settled(self, written: Written, watch: Watch) -> Written:
        """Return *written* in the form for use in another page: unchanged, or as a reference to its own page."""
        if written.kind == "step" or (len(written.text) <= PAGE_BYTES // 4 and written.depth <= PAGE_DEPTH):
            return written
        page = self._named(_page(written.text, watch), written.groups, inline=False)
        told = '"told":true' if written.told else ""
        parts = [f'"page":{quote(page)},"kind":"{written.kind}","queue":{quote(written.queue)}', _id(written.own), told]
        parts += [f'"pack":{written.pack}'] if written.pack else []
        text = f"{{{','.join(p for p in parts if p)}}}"
        return Written(
            text=text, tasks=written.tasks, depth=1, queue=written.queue, kind=written.kind, shared=written.shared, own=written.own,
            told=written.told, pack=written.pack,
        )  # fmt: skip

    def _named(self, text: str, groups: int, inline: bool = True) -> str:
        """Return the page *text* with so many *groups* if it is short, else its claim check."""
        if inline and len(text) <= INLINE_BYTES and groups <= INLINE_GROUPS:
            return text
        if len(text) > MOST_BYTES:
            raise TooLarge(f"canvas: a step with its links and callbacks has {len(text)} bytes of {MOST_BYTES}; give it fewer of them")
        return refer(self._keep(text.encode("ascii")))


def resuming(attempt: int, place: Place | None, hops: int, budget: int) -> str:
    """Return the mark of a chain that replaces a task: it ends as *attempt* of the task, and the follow-ups at the task's *place* run after
    it.
    """
    at = f"[{','.join(map(quote, place))}]" if place is not None else "null"
    return f'"resume":[{attempt},{at},{hops},{budget}]'


def refuse_options(signature: Signature) -> None:
    """Raise `OptionError` if *signature* has an option that cannot be used in a canvas, which determines the ids and the budget of its
    tasks.
    """
    options = signature.options
    if options.dedup_key is not None or options.on_duplicate is not None:
        raise OptionError("dedup_key, on_duplicate: the canvas determines the ids of its tasks; give the canvas a task_id instead")
    if options.budget is not None:
        raise OptionError("budget: all tasks of a canvas have the same budget; set it on a lone task")


def _many(members: str, pack: int) -> str:
    """Return the field of an item that holds the *members* of a group, or their number; *pack*: how many are in a pack (0: no packs)."""
    return f'"packed":[{pack},{members}]' if pack else f'"group":{members}'


def _page(item: str, watch: Watch) -> str:
    return f'{{"item":{item},"watch":[{",".join(watch)}]}}' if watch else f'{{"item":{item}}}'


def _groups(items: Sequence[Written]) -> int:
    return sum(item.groups for item in items)


def _named(name: str, items: Sequence[Written]) -> str:
    return f'"{name}":[{",".join(i.text for i in items)}]' if items else ""


def _id(own: str) -> str:
    return f'"id":{quote(own)}' if own else ""


def _end(chain: Chain) -> str:
    """Return the name of the task that ends *chain*."""
    last = chain.steps[-1]
    return last.signature.task if isinstance(last, TaskNode) else LAUNCH


def _listed(pages: Sequence[Sequence[object]]) -> str:
    return "[" + ",".join(f"[{quote(str(page))},{size}]" for page, size in pages) + "]"


def _parts(texts: Sequence[str], most: int = 10**9, together: int = 1) -> list[tuple[int, list[str]]]:
    """Return *texts* in runs of about a page, each with the number of its first text. Runs break only at multiples of *together*."""
    parts: list[tuple[int, list[str]]] = [(0, [])]
    room = PAGE_BYTES
    for number in range(0, len(texts), together):
        some = texts[number : number + together]
        size = sum(map(len, some))
        if number and (room < size or len(parts[-1][1]) >= most):
            parts.append((number, []))
            room = PAGE_BYTES
        parts[-1][1].extend(some)
        room -= size
    return parts
