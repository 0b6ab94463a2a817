"""Polls: the position in a source that is read at intervals, and the items that are new since the last page. Pure.

A source is a function of the *cursor*: it returns a page of items and the next cursor, or None if nothing has changed. The state of a poll
is one memo: the cursor, a mark of each item of the last page, and the claim of the process that publishes now.

Why no item is lost and none has two effects: the call of an item has an id that is derived from the item, and the cursor moves only after
all calls of a page are published. A crash in between leaves the old cursor, and the page is published again under the same ids. Each change
of the state is a compare-and-swap, so of two processes with the same page one publishes; if the claim of a dead process ends, another takes
the page over under the same ids, and the late writer is refused.

The marks have another purpose: a source without a cursor, or with an inclusive one, returns items again for longer than the ledger
remembers their calls. An item whose mark is in the last page is not published again.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from sedano.errors import ArgumentError, MessageRefused
from sedano.model import refusals
from sedano.model.canonical_json import canonical_json
from sedano.model.memos import MOST_BYTES, moment
from sedano.model.messages.lineage import derived_id
from sedano.model.messages.strict_json import load

POLL = "poll"
"""The subject of the memo of a poll, and the prefix of the name of its task."""
QUEUE = "poll:"
"""The prefix of the origin of a parked item, before the name of the poll."""
MOST_ITEMS = 5_000
"""The most items of one page."""
MOST_CURSOR_BYTES, MOST_CURSOR_DEPTH = 16_384, 8
"""The bounds of a cursor as JSON."""
MOST_ITEM_BYTES, MOST_ITEM_DEPTH = 6 * 1_048_576, 48
"""The bounds of an item as JSON: the rest of a command needs some depth."""
HOLD_S = 120.0
"""How long (s) other processes leave a page to the one that began to publish it."""
LONGEST_WAIT_S = 86_400.0
"""The longest pause (s) for which a source can ask."""
MOST_MARKS = 2 * MOST_ITEMS
"""The most marks of a state: those of the last page, and of the published part of the next one."""
_MARK_BYTES, MARK = 9, 12
"""The bytes of the digest of an item's id, and their length in base64."""

NOT_JSON = "not JSON: "
"""The beginning of the text of a parked item that is not JSON."""
_places = re.compile(r" at 0x[0-9a-fA-F]+").sub
Identity = Callable[[Any], object]
"""Returns the identity of an item: text or a number."""


class Polled(NamedTuple):
    """A page of a source: its *items*, in order, and the *cursor* of the next page, any small JSON value. *more*: the next page can be read
    at once; otherwise it is read by the next poll."""

    items: Sequence[Any]
    cursor: Any = None
    more: bool = False


class SecretReader(Protocol):
    """A source that needs secrets, by the names of their parameters (``/shop/orders/token``)."""

    @property
    def secrets(self) -> Sequence[str]:
        """The names of its parameters."""

    def read(self, cursor: Any, secret: Callable[[str], str]) -> Polled | None:
        """Return the page at *cursor*; *secret* returns the text of a parameter."""


class PollState(NamedTuple):
    """The state of a poll. *cursor*: of the next page; None: the first. *seen*: the marks of the last page's items, and of those of the
    next page that are published already, joined. *at*: when the last items were published (epoch s), *published*: how many, ever. *by*
    publishes now, *until* (epoch s). *wait*: the source asked for no request before (epoch s)."""

    cursor: Any = None
    seen: str = ""
    at: float = 0.0
    published: int = 0
    by: str = ""
    until: float = 0.0
    wait: float = 0.0

    def is_held(self, by: str, now: float) -> bool:
        """Return whether another process than *by* publishes at *now*."""
        return self.by not in ("", by) and now < self.until

    def claimed(self, by: str, until: float) -> PollState:
        """Return the state in which *by* publishes *until* a time."""
        return self._replace(by=by, until=until)

    def released(self) -> PollState:
        """Return the state in which no process publishes."""
        return self._replace(by="", until=0.0)

    def let_out(self, items: Sequence[Item], at: float, parked: int) -> PollState:
        """Return the state after *items*, a part of a page, were published *at* a time, except those that were *parked*: the page has none
        of them the next time. The newest `MOST_MARKS` marks are kept."""
        seen = self.seen + "".join(mark_of(item.id) for item in items)
        return self._replace(seen=seen[-MOST_MARKS * MARK :], at=at, published=self.published + len(items) - parked)

    def put_off(self, until: float) -> PollState:
        """Return the state in which the source gets no request before *until*."""
        return self._replace(wait=until)

    def moved(self, page: PolledPage, at: float, parked: int = 0) -> PollState:
        """Return the state after *page*, whose items were published *at* a time, except those that were *parked*."""
        state = self._replace(cursor=page.cursor, seen=page.seen or self.seen, by="", until=0.0, wait=0.0)
        return state._replace(at=at, published=self.published + len(page.items) - parked) if page.items else state


class Item(NamedTuple):
    """An item of a page: its *value*, and its *id*, which a repetition has again. *wrong*: why it is parked instead of published; *text*:
    how it is parked if it is not JSON."""

    value: Any
    id: str
    wrong: str = ""
    text: str = ""


class PolledPage(NamedTuple):
    """A checked page: the *items* that are new, the marks of all of its items (*seen*), and the next *cursor*; *more*: see `Polled`."""

    items: Sequence[Item]
    seen: str
    cursor: Any
    more: bool


def page_of(state: PollState, polled: object, identity: Identity | None) -> PolledPage:
    """Return what a source has returned, checked, without the items of the last page of *state*; *identity* returns the identity of an
    item, which is by default its content.

    Raises:
        ArgumentError: it is not a page.
    """
    if not isinstance(polled, Polled):
        raise ArgumentError("return", f"a source returns Polled(items, cursor) or None, not a {type(polled).__name__}")
    if not isinstance(polled.items, list | tuple):
        raise ArgumentError("items", f"expected a list of items, got a {type(polled.items).__name__}")
    if len(polled.items) > MOST_ITEMS:
        raise ArgumentError("items", f"{len(polled.items)} are more than {MOST_ITEMS}; return a shorter page, its cursor, and more=True")
    cursor = _plain(polled.cursor, MOST_CURSOR_BYTES, MOST_CURSOR_DEPTH, "cursor")
    known = {state.seen[at : at + MARK] for at in range(0, len(state.seen), MARK)}
    items, marks = list[Item](), dict[str, None]()
    for index, value in enumerate(polled.items):
        item = _item(index, value, identity)
        mark = mark_of(item.id)
        if mark not in known and mark not in marks:
            items.append(item)
        marks[mark] = None
    return PolledPage(tuple(items), "".join(marks), cursor, polled.more is True and cursor != state.cursor)


def item_of(value: Any, identity: Identity | None) -> Item:
    """Return the item *value* with its id by *identity*; one without an identity is known by its content.

    Raises:
        ArgumentError: it is not JSON.
    """
    value = _plain(value, MOST_ITEM_BYTES, MOST_ITEM_DEPTH, "items")
    own = f"body/{hashlib.sha256(canonical_json(value).encode()).hexdigest()}"
    if identity is None:
        return Item(value, own)
    try:
        found = identity(value)
        str(found).encode()
    except Exception as error:  # noqa: BLE001 - a function of the user, over an item of a stranger
        return Item(value, own, f"the identity cannot be read: {type(error).__name__}: {error}"[:512])
    if isinstance(found, bool) or not isinstance(found, str | int) or found == "":
        return Item(value, own, f"the identity is {found!r:.80}, not a text or a whole number")
    return Item(value, f"id/{found}")


def _item(index: int, value: Any, identity: Identity | None) -> Item:
    """Return the item *value*, the one at *index* of its page; one that is not JSON is known by its text."""
    try:
        return item_of(value, identity)
    except ArgumentError as refused:
        text = f"{NOT_JSON}{_shown(value)}"
        return Item(None, f"text/{hashlib.sha256(text.encode()).hexdigest()}", f"items[{index}] {refused.detail}"[:512], text)


def _shown(value: Any) -> str:
    """Return *value* as text, the same in each process and without half a surrogate pair, as far as its class allows."""
    try:
        return _places("", repr(value))[:MOST_ITEM_BYTES].encode("utf-8", "backslashreplace").decode()
    except Exception as error:  # noqa: BLE001 - a class of the user
        return f"a {type(value).__name__} whose text cannot be read: {type(error).__name__}"


def field_identity(name: str) -> Identity:
    """Return the identity of items that have it in the field *name*."""
    return lambda item: item[name]


def mark_of(item_id: str) -> str:
    """Return the mark of an item's id."""
    return base64.urlsafe_b64encode(hashlib.sha256(item_id.encode()).digest()[:_MARK_BYTES]).decode()


def call_id(poll: str, task: str, item_id: str) -> str:
    """Return the id of the call of *task* (its name) with an item of *poll*; it is the same whenever the item is read."""
    return derived_id(f"{POLL}/{poll}/{task}", item_id)


def text_of(state: PollState) -> str:
    """Return *state* as the text of a memo."""
    return json.dumps({"v": 1, **state._asdict()}, separators=(",", ":"))


def state_of(text: str) -> PollState:
    """Return the state in *text*, that of a memo; an empty text is the state before the first poll.

    Raises:
        MessageRefused: *text* is not a state.
    """
    if not text:
        return PollState()
    found = load(text, MOST_BYTES, MOST_CURSOR_DEPTH + 2, "memo")
    try:
        seen, by, published = found["seen"], found["by"], found["published"]
        if found["v"] != 1 or not isinstance(seen, str) or not isinstance(by, str) or type(published) is not int or len(seen) % MARK:
            raise ValueError("a field has another type")
        at, until, wait = (moment(found[name]) for name in ("at", "until", "wait"))
        return PollState(cursor=found["cursor"], seen=seen, at=at, published=published, by=by, until=until, wait=wait)
    except (ValueError, KeyError, TypeError, OverflowError) as wrong:
        raise MessageRefused(refusals.SCHEMA, "memo", f"not the state of a poll: {type(wrong).__name__}") from None


def written(item: Item) -> str:
    """Return the text in which *item* is parked: its value as JSON."""
    return item.text or canonical_json(item.value)


def read_back(text: str) -> Any:
    """Return the item in *text*.

    Raises:
        MessageRefused: *text* is not an item.
    """
    return load(text, MOST_ITEM_BYTES, MOST_ITEM_DEPTH, "body")


def _plain(value: Any, most: int, depth: int, where: str) -> Any:
    """Return *value* as JSON keeps it.

    Raises:
        ArgumentError: it is not JSON, or too much of it.
    """
    try:
        return load(canonical_json(value), most, depth, where)
    except MessageRefused as refused:
        raise ArgumentError(where, refused.detail) from None
    except (TypeError, ValueError, RecursionError) as wrong:
        raise ArgumentError(where, f"is not JSON: {wrong}") from None
