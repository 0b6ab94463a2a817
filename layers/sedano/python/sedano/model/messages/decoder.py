"""Reads messages and values (see `codec`): strict JSON, then the table of the message's kind, then the rules between
attributes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NoReturn

from sedano.errors import MessageRefused
from sedano.model import refusals
from sedano.model.messages import attributes as wire
from sedano.model.messages import fast_decoder as canonical
from sedano.model.messages.lineage import DEFAULT_BUDGET, ROOT, Lineage
from sedano.model.messages.message import PROTOCOL_VERSION, BlobRef, Command, Document, Event, Gather, JoinMember, Message, Place
from sedano.model.messages.strict_json import MAX_BYTES, MAX_DEPTH, load

Found = dict[str, Any]


def decode(body: str | bytes) -> Message:
    """Return the message in *body*.

    Raises:
        MessageRefused: *body* is not a valid message, or has a newer version of the protocol (code ``newer-protocol``); the error names the
            field.
    """
    plain = canonical.read(body) if isinstance(body, str) else None
    if plain is not None:
        return plain
    envelope = load(body, MAX_BYTES, MAX_DEPTH)
    if type(envelope) is not dict:
        raise MessageRefused(refusals.SCHEMA, "body", "a message is a JSON object")
    kind = envelope.get("type")
    known = _KINDS.get(kind) if type(kind) is str else None
    if known is None:
        _refuse_kind(kind)
    table, build = known
    found = wire.attributes(envelope, table)
    try:
        found["specversion"]
        return build(found)
    except KeyError as missing:
        raise MessageRefused(refusals.SCHEMA, missing.args[0], "is missing") from None


def decode_value(text: str | bytes) -> Any:
    """Return the value of JSON *text*; raise `MessageRefused` if `encode_value` could not have written it."""
    return load(text, wire.MAX_DATA_BYTES, wire.MAX_VALUE_DEPTH, "value")


def decode_data(data: str | bytes) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments in a command's claim-checked *data*; raise `MessageRefused` if `encode_data` could not have written it."""
    args, kwargs = wire.COMMAND["data"](load(data, wire.MAX_DATA_BYTES, wire.MAX_DATA_DEPTH, "data"))
    return args, kwargs


def decode_event_data(data: str | bytes) -> dict[str, Any]:
    """Return the fields in an event's claim-checked *data*; raise `MessageRefused` if `encode_event_data` could not have written it."""
    fields: dict[str, Any] = wire.EVENT["data"](load(data, wire.MAX_DATA_BYTES, wire.MAX_DATA_DEPTH, "data"))
    return fields


def decode_document_data(data: str | bytes) -> Any:
    """Return the value in a document's claim-checked *data*; raise `MessageRefused` if `encode_document_data` could not have written it."""
    value, error = wire.DOCUMENT["data"](load(data, wire.MAX_DATA_BYTES, wire.MAX_DATA_DEPTH, "data"))
    if error is not None:
        raise MessageRefused(refusals.SCHEMA, "data", "an error in the blob store, where a value belongs")
    return value


def _refuse_kind(kind: object) -> NoReturn:
    if kind is None:
        raise MessageRefused(refusals.SCHEMA, "type", "is missing")
    if not isinstance(kind, str) or not _is_versioned(kind):
        raise wire.refuse("type", kind, f"one of {', '.join(_KINDS)}")
    raise MessageRefused(refusals.NEWER, "type", f"{kind} is newer than this deployment's version {PROTOCOL_VERSION} of the protocol")


def _command(found: Found) -> Command:
    get = found.get
    message_id: str = found["id"]
    task_id = get("taskid", message_id)
    args, kwargs = get("data") or ((), {})
    time, clock = get("time", 0.0), get("clock", 0)
    more = {} if _PLAIN.issuperset(found) else _special(found)
    return Command(
        id=message_id, task_id=task_id, task=found["subject"], source=found["source"], time=time, clock=clock, args=args, kwargs=kwargs,
        **more,
    )  # fmt: skip


def _special(found: Found) -> dict[str, Any]:
    """Return the optional fields of a command."""
    member, gather = _together(found, "joinid", "joinindex", "joinsize"), _together(found, "gatherid", "gathersize")
    if member is not None and member[1] >= member[2]:
        raise MessageRefused(refusals.SCHEMA, "joinindex", f"{member[1]} is not below joinsize {member[2]}")
    for name in ("gatherhandon", "gatheroutcomes"):
        if gather is None and name in found:
            raise MessageRefused(refusals.SCHEMA, "gatherid", f"is missing beside {name}")
    place = _together(found, "canvasid", "canvasnode", "canvasplan")
    get = found.get
    return {
        "attempt": get("attempt", 0),
        "expires": get("expirytime"),
        "ignore_result": get("ignoreresult"),
        "member": None if member is None else JoinMember(*member),
        "gather": None if gather is None else Gather(gather[0], gather[1], get("gatherhandon", True), get("gatheroutcomes", False)),
        "place": None if place is None else Place(*place),
        "section": get("section"),
        "time_limits": get("timelimits"),
        "headers": get("headers"),
        **_sent(found),
    }


def _event(found: Found) -> Event:
    get = found.get
    return Event(
        id=found["id"],
        name=found["subject"],
        source=found["source"],
        time=get("time", 0.0),
        clock=get("clock", 0),
        data=get("data") or {},
        **_sent(found),
    )


def _document(found: Found) -> Document:
    get = found.get
    value, error = get("data") or (None, None)
    document_id: str = found["id"]
    return Document(
        id=document_id,
        task_id=get("taskid", document_id),
        task=found["subject"],
        source=found["source"],
        time=get("time", 0.0),
        clock=get("clock", 0),
        state=get("state", "SUCCESS"),
        value=value,
        error=error,
        **_sent(found),
    )


def _sent(found: Found) -> dict[str, Any]:
    """Return the fields that all messages have in common."""
    ref = _together(found, "dataref", "datasize")
    if ref is not None and "data" in found:
        raise MessageRefused(refusals.SCHEMA, "data", "and dataref exclude each other; send one of them")
    get = found.get
    hops, budget = get("hops", 0), get("budget", DEFAULT_BUDGET)
    lineage = Lineage(get("rootid"), get("parentid"), hops, budget, get("budgetmark", ""))
    return {
        "lineage": ROOT if lineage == ROOT else lineage,
        "tenant": get("tenant"),
        "traceparent": get("traceparent"),
        "tracestate": get("tracestate"),
        "stamps": get("stamps"),
        "data_ref": None if ref is None else BlobRef(*ref),
    }


def _together(found: Found, *names: str) -> list[Any] | None:
    """Return the values of attributes that must be given together, or None if all are absent."""
    values = [found[name] for name in names if name in found]
    if values and len(values) < len(names):
        missing = next(name for name in names if name not in found)
        raise MessageRefused(refusals.SCHEMA, missing, f"is missing beside {', '.join(name for name in names if name in found)}")
    return values or None


_is_versioned = re.compile(r"sedano\.(?:command|event|document)\.v[1-9][0-9]{0,8}").fullmatch
_PLAIN = frozenset(("specversion", "type", "id", "source", "subject", "time", "clock", "taskid", "datacontenttype", "data"))
_KINDS: dict[str, tuple[wire.Table, Callable[[Found], Message]]] = {
    "sedano.command.v1": (wire.COMMAND, _command),
    "sedano.event.v1": (wire.EVENT, _event),
    "sedano.document.v1": (wire.DOCUMENT, _document),
}
