"""Reads the pages of canvases: each item once, by a strict table, so that the rules receive only known shapes.

Pages are written by `sedano.model.canvas.pages`, but short ones travel in messages, which are untrusted input. So a page is read like the
envelope of a message (`sedano.model.messages.attributes`): as strict JSON within a byte limit, then with a table of fields and values for
each kind of item. A field that is not in the table belongs to another version and is ignored. For any other error, the page is refused
(code `schema`, field `canvasplan`), and the error names the path in the page, such as ``item.chain[1].args``.

Guarantees for a page that was read:

- its item is a chain or a group; a chain has at least one item, and a part of a chain lies within its whole;
- every item is of one kind: a step, a chain, a group, or a page of its own; error callbacks and watchers are steps;
- the sizes of a group's pages sum up to the size of the group, which is at most `MOST_MEMBERS`;
- names, ids, tenants, stamps, paths and claim checks are valid in a message; numbers are finite and in their ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sedano.errors import MessageRefused
from sedano.model import refusals
from sedano.model.messages import attributes as wire
from sedano.model.messages import headers, stamps
from sedano.model.messages.lineage import MAX_HOPS
from sedano.model.messages.message import BlobRef
from sedano.model.messages.strict_json import load, shown
from sedano.model.messages.timestamps import LAST_SECOND
from sedano.model.packs import SIZES

Item = Mapping[str, Any]
Reader = Callable[[Any, str], Any]
Table = Mapping[str, Reader]
MOST_MEMBERS = 1_000_000
"""The most members of a group."""
PAGE_MEMBERS = 500
"""The most members that one worker publishes; another worker publishes the next ones."""
MOST_BYTES = 2 * 1_048_576
"""The longest page."""
MOST_DEPTH = wire.MAX_DATA_DEPTH + 64
"""The most nested containers: those of an argument, and those of the items around it; `pages` nests items at most eight deep."""
LONGEST_S = 1e9
"""The most seconds of a step's delay or lifetime: longer than any delay that a queue or a timer accepts."""


def parse(text: str | bytes) -> dict[str, Any]:
    """Return the page in *text*.

    Raises:
        MessageRefused: *text* is not a valid page; the error names the path in it.
    """
    try:
        found = load(text, MOST_BYTES, MOST_DEPTH, "canvasplan")
    except MessageRefused as refused:
        raise MessageRefused(refusals.SCHEMA, "canvasplan", f"not a page: {refused.detail}") from None
    if type(found) is not dict:
        raise _refuse(found, "page", "an object")
    page = _fields(found, _PAGE, "")
    if "item" not in page or "task" in page["item"] or "page" in page["item"]:
        raise MessageRefused(refusals.SCHEMA, "canvasplan", "item: neither a chain nor a group")
    return page


def parse_draft(text: str) -> dict[str, Any]:
    """Return the step in *text*: a task to publish later, as an election stores it.

    Raises:
        MessageRefused: *text* is not a valid step; the error names the path in it.
    """
    found = load(text, MOST_BYTES, MOST_DEPTH, "canvasplan")
    if type(found) is not dict or "task" not in found or not found.get("queue"):
        raise _refuse(found, "draft", "a task and its queue")
    return _fields(found, _DRAFT, "")


def _refuse(value: object, where: str, wanted: str) -> MessageRefused:
    found = shown(value) if isinstance(value, str | int | float | None) else f"a JSON {'array' if isinstance(value, list) else 'object'}"
    return MessageRefused(refusals.SCHEMA, "canvasplan", f"{where[:100]}: {found} is not {wanted}")


def _fields(found: Mapping[str, Any], table: Table, where: str) -> dict[str, Any]:
    return {name: table[name](value, f"{where}{name}") for name, value in found.items() if name in table}


def _item(value: Any, where: str) -> dict[str, Any]:
    """Read an item by the table of its kind."""
    if type(value) is not dict:
        raise _refuse(value, where, "an item")
    if "packed" in value:
        value = _unpacked(value, where)
    kinds = [kind for kind in _KINDS if kind in value]
    if len(kinds) != 1:
        raise _refuse(value, where, f"an item of one kind: {', '.join(_KINDS)}")
    table, check = _KINDS[kinds[0]]
    found = _fields(value, table, f"{where}.")
    check(found, where)
    return found


def _unpacked(value: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the item of a group in packs in the form of a group. Its own form is one that a version without packs refuses."""
    found = value["packed"]
    if type(found) is not list or len(found) != 2 or type(found[0]) is not int or found[0] not in SIZES or "group" in value:
        raise _refuse(found, f"{where}.packed", "how many members are in a pack, and the members")
    return {**{name: one for name, one in value.items() if name != "packed"}, "group": found[1], "pack": found[0]}


def _items(value: Any, where: str) -> list[dict[str, Any]]:
    if type(value) is not list:
        raise _refuse(value, where, "an array of items")
    return [_item(one, f"{where}[{number}]") for number, one in enumerate(value)]


def _steps(value: Any, where: str) -> list[dict[str, Any]]:
    found = _items(value, where)
    for number, one in enumerate(found):
        if "task" not in one:
            raise _refuse(value, f"{where}[{number}]", "a step")
    return found


def _whole_chain(found: Mapping[str, Any], where: str) -> None:
    here, start = len(found["chain"]), found.get("at", 0)
    if not here or start + here > found.get("of", here) or ("more" in found and "of" not in found):
        raise MessageRefused(refusals.SCHEMA, "canvasplan", f"{where[:100]}: the chain is empty, or not a valid part of a longer chain")


def _whole_group(found: Mapping[str, Any], where: str) -> None:
    size, pages = found["group"], found.get("pages")
    if type(size) is list and pages is None:
        return
    if not pages or sum(one for _, one in pages) != size:
        raise MessageRefused(refusals.SCHEMA, "canvasplan", f"{where[:100]}: the members of the group's pages do not sum up to its size")


def _whole(found: Mapping[str, Any], where: str) -> None:
    """Accept an item that needs no check beyond those of its fields."""


def _members(value: Any, where: str) -> Any:
    return _whole_number(0, MOST_MEMBERS)(value, where) if type(value) is int else _items(value, where)


def _pages(value: Any, where: str) -> list[tuple[str, int]]:
    if type(value) is not list:
        raise _refuse(value, where, "an array of pages with their sizes")
    found = []
    for number, one in enumerate(value):
        if type(one) is not list or len(one) != 2:
            raise _refuse(one, f"{where}[{number}]", "a page and its size")
        found.append((_page_name(one[0], f"{where}[{number}]"), _whole_number(1, MOST_MEMBERS)(one[1], f"{where}[{number}]")))
    return found


def _resume(value: Any, where: str) -> list[Any]:
    """Read the continuation of a chain that replaces a task: the attempt, the place or null, hops and budget."""
    if type(value) is not list or len(value) != 4:
        raise _refuse(value, where, "an attempt, a place, hops and a budget")
    place = value[1]
    if place is not None:
        readers = (_id, _node, _page_name)
        if type(place) is not list or len(place) != len(readers):
            raise _refuse(place, where, "a place: the id of a canvas, a path and a page")
        place = [read(part, where) for read, part in zip(readers, place, strict=True)]
    attempt, budget = _whole_number(0, wire.MAX_ATTEMPT)(value[0], where), _whole_number(0, wire.MAX_INT32)(value[3], where)
    return [attempt, place, _whole_number(0, MAX_HOPS)(value[2], where), budget]


def _ref(value: Any, where: str) -> list[Any]:
    if type(value) is not list or len(value) != 2 or type(value[0]) is not str or not wire.is_digest(value[0]):
        raise _refuse(value, where, "a claim check: a sha256 in hexadecimal and a size")
    return [value[0], _whole_number(0, wire.MAX_DATA_BYTES)(value[1], where)]


def _time_limits(value: Any, where: str) -> list[float | None]:
    if type(value) is not list or len(value) != 2:
        raise _refuse(value, where, "a soft and a hard limit")
    return [None if one is None else _number(0, LONGEST_S)(one, where) for one in value]


def _text(matches: Callable[[str], object], wanted: str) -> Reader:
    def read(value: Any, where: str) -> str:
        if type(value) is not str or not matches(value):
            raise _refuse(value, where, wanted)
        return value

    return read


def _whole_number(least: int, most: int) -> Reader:
    def read(value: Any, where: str) -> int:
        if type(value) is not int or not least <= value <= most:
            raise _refuse(value, where, f"an integer from {least} to {most}")
        return value

    return read


def _number(least: float, most: float) -> Reader:
    def read(value: Any, where: str) -> float:
        if type(value) not in (int, float) or not least <= value <= most:
            raise _refuse(value, where, f"a number from {least:g} to {most:g}")
        number: float = value
        return number

    return read


def _of(kind: type, wanted: str) -> Reader:
    def read(value: Any, where: str) -> Any:
        if type(value) is not kind:
            raise _refuse(value, where, wanted)
        return value

    return read


def _arguments(kind: type, wanted: str) -> Reader:
    """Return the reader of arguments, which may nest as deep as those of a single command."""

    def read(value: Any, where: str) -> Any:
        if type(value) is not kind or _depth(value) >= wire.MAX_DATA_DEPTH:
            raise _refuse(value, where, f"{wanted} with fewer than {wire.MAX_DATA_DEPTH} nested containers")
        return value

    return read


def _depth(value: Any) -> int:
    """Return how deep the containers in *value* are nested, *value* included."""
    depth, level = 0, [value]
    while level:
        depth += 1
        parts = (part for one in level for part in (one.values() if isinstance(one, dict) else one))
        level = [part for part in parts if isinstance(part, list | dict)]
    return depth


_name = _text(wire.is_name, "a name of 1 to 256 characters without spaces and control characters")
_queue = _text(lambda text: not text or wire.is_name(text), "the name of a queue; empty: the queue of the launch")
_id = _text(wire.is_id, "an id of 1 to 256 visible ASCII characters")
_node = _text(wire.is_node, 'a path such as "3.1"')
_page_name = _text(wire.is_plan, 'a page: "blob:", a sha256, ":" and its size, or the JSON text of a short page')
_tenant = _text(wire.is_tenant, "a tenant of 1 to 128 visible ASCII characters")
_stamps = _text(stamps.is_written, "stamps, name=value,name=value")
_headers = _text(headers.is_written, "headers, a JSON object as a string")
_flag = _of(bool, "true or false")
_args, _kwargs = _arguments(list, "an array"), _arguments(dict, "an object")
_moment, _seconds = _number(0, LAST_SECOND - 1), _number(-LONGEST_S, LONGEST_S)
_CALLBACKS: Table = {"watch": _steps}
_STEP: Table = {
    **_CALLBACKS, "task": _name, "queue": _queue, "id": _id, "args": _args, "kwargs": _kwargs, "ref": _ref, "delay": _seconds,
    "eta": _moment, "expires": _moment, "lifetime": _seconds, "tenant": _tenant, "stamps": _stamps, "headers": _headers,
    "traceparent": _text(wire.is_traceparent, "a W3C traceparent"), "ignore_result": _flag, "immutable": _flag,
    "time_limits": _time_limits, "links": _items, "forks": _items, "errors": _steps,
}  # fmt: skip
_DRAFT: Table = {**_STEP, "delay": _whole_number(0, int(LONGEST_S)), "tracestate": _text(wire.is_tracestate, "a W3C tracestate")}
_CHAIN: Table = {
    **_CALLBACKS, "chain": _items, "at": _whole_number(0, wire.MAX_INT32), "of": _whole_number(1, wire.MAX_INT32), "end": _name,
    "more": _page_name, "resume": _resume, "id": _id,
}  # fmt: skip
_GROUP: Table = {
    **_CALLBACKS, "group": _members, "pages": _pages, "queue": _queue, "tenant": _tenant, "stamps": _stamps, "outcomes": _flag, "id": _id,
    "told": _flag, "pack": _whole_number(2, max(SIZES)),
}  # fmt: skip
_APART: Table = {
    "page": _page_name, "kind": _text({"chain", "group"}.__contains__, "chain or group"), "queue": _queue, "id": _id, "told": _flag,
    "pack": _whole_number(2, max(SIZES)),
}  # fmt: skip
_KINDS: Mapping[str, tuple[Table, Callable[[Mapping[str, Any], str], None]]] = {
    "task": (_STEP, _whole), "chain": (_CHAIN, _whole_chain), "group": (_GROUP, _whole_group), "page": (_APART, _whole),
}  # fmt: skip
_PAGE: Table = {"item": _item, **_CALLBACKS}


def referred(name: str) -> BlobRef:
    """Return the reference to a page in the blob store from its *name*, which `pages.refer` wrote.

    Raises:
        MessageRefused: *name* does not refer to a page, or the page is too long.
    """
    kind, _, rest = name.partition(":")
    digest, _, size = rest.partition(":")
    if kind != "blob" or not (size.isascii() and size.isdigit()):
        raise MessageRefused(refusals.SCHEMA, "canvasplan", "names no page of a canvas")
    if len(size) > 8 or int(size) > MOST_BYTES:
        raise MessageRefused(refusals.SCHEMA, "canvasplan", f"a page of more than {MOST_BYTES} bytes")
    return BlobRef(digest, int(size))
