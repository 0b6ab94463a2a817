"""Writes messages and values (see `codec`). Every publication runs this code, so it builds the envelope from strings.

The head of an envelope is the same for every message of a task and is cached; ids are checked and quoted; an attribute at its default is
not checked again. Each attribute is checked by the reader that `decode` uses, so nothing is written that `decode` would refuse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from json.encoder import encode_basestring_ascii as quote
from typing import Any

from sedano.errors import MessageRefused, OptionError
from sedano.model.messages import attributes as wire
from sedano.model.messages import timestamps
from sedano.model.messages.lineage import DEFAULT_BUDGET, ROOT, Lineage
from sedano.model.messages.message import PROTOCOL_VERSION, BlobRef, Command, Document, Event, JoinMember, Message, TimeLimits
from sedano.model.messages.plain_json import dump


def encode(message: Message) -> str:
    """Return *message* as one line of compact ASCII JSON.

    Raises:
        Unserialisable: a part of the data cannot be written; the message names it (``data.args[0]``).
        OptionError: an attribute holds what the protocol does not allow; the message names it.
    """
    if isinstance(message, Command):
        return _command(message)
    return _event(message) if isinstance(message, Event) else _document(message)


def encode_value(value: Any, where: str = "result") -> str:
    """Return a task's result as JSON text.

    Raises:
        Unserialisable: a part of it cannot be written; the message begins with *where* and the path of that part.
    """
    return dump(value, where, wire.MAX_VALUE_DEPTH)


def encode_data(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bytes:
    """Return a command's data for the blob store; raise `Unserialisable`, which names the part that cannot be written."""
    return _call(args, kwargs).encode("ascii")


def encode_event_data(fields: Mapping[str, Any]) -> bytes:
    """Return an event's data for the blob store; raise `Unserialisable`, which names the part that cannot be written."""
    return _fields(fields).encode("ascii")


def encode_document_data(value: Any) -> bytes:
    """Return a document's data for the blob store; raise `Unserialisable`, which names the part that cannot be written."""
    return _value(value).encode("ascii")


def _command(message: Command) -> str:
    head = _head("command", message.task, message.source)
    text = f"{head}{_id('id', message.id)}{_stamps(message.time, message.clock)}"
    if message.task_id != message.id:
        text += f',"taskid":{_id("taskid", message.task_id)}'
    if message.attempt:
        text += _attribute("attempt", message.attempt)
    text += _sent(message) + _special(message)
    if message.data_ref is None and (message.args or message.kwargs):
        text += f',"data":{_call(message.args, message.kwargs)}'
    return text + "}"


def _event(message: Event) -> str:
    head = _head("event", message.name, message.source)
    text = f"{head}{_id('id', message.id)}{_stamps(message.time, message.clock)}{_sent(message)}"
    if message.data_ref is None and message.data:
        text += f',"data":{_fields(message.data)}'
    return text + "}"


def _document(message: Document) -> str:
    head = _head("document", message.task, message.source)
    text = f"{head}{_id('id', message.id)}{_stamps(message.time, message.clock)}"
    text += f',"taskid":{_id("taskid", message.task_id)}{_attribute("state", str(message.state))}{_sent(message)}'
    if message.error is not None:
        kind, words, traceback = message.error
        data = dump({"type": kind, "message": words, "traceback": traceback}, "data.error", wire.MAX_DATA_DEPTH)
        return f'{text},"data":{{"error":{data}}}}}'
    if message.data_ref is None and message.value is not None:
        text += f',"data":{_value(message.value)}'
    return text + "}"


@lru_cache(maxsize=1024)
def _head(kind: str, subject: str, source: str) -> str:
    """Return the envelope up to the value of its id."""
    said = _attribute("source", source) + _attribute("subject", subject)
    return f'{{"specversion":"1.0","type":"sedano.{kind}.v{PROTOCOL_VERSION}"{said},"id":'


def _id(name: str, value: str) -> str:
    return quote(value) if wire.is_id(value) else _attribute(name, value)


def _stamps(time: float, clock: int) -> str:
    """Return time and clock; for both, 0 means unknown, and the attribute is omitted."""
    if time and 0 < clock <= wire.MAX_CLOCK:
        return f',"time":"{_moment("time", time)}","clock":"{clock}"'
    return (f',"time":"{_moment("time", time)}"' if time else "") + (_attribute("clock", str(clock)) if clock else "")


def _sent(message: Message) -> str:
    """Return the attributes that all messages share, except those at their defaults."""
    text = "" if message.lineage is ROOT else _ancestry(message.lineage)
    if message.tenant is not None:
        text += _attribute("tenant", message.tenant)
    if message.traceparent is not None:
        text += _attribute("traceparent", message.traceparent)
    if message.tracestate is not None:
        text += _attribute("tracestate", message.tracestate)
    if message.stamps is not None:
        text += _attribute("stamps", message.stamps)
    return text if message.data_ref is None else text + _claim_check(message.data_ref)


def _ancestry(lineage: Lineage) -> str:
    text = "" if lineage.root_id is None else f',"rootid":{_id("rootid", lineage.root_id)}'
    if lineage.parent_id is not None:
        text += f',"parentid":{_id("parentid", lineage.parent_id)}'
    if lineage.hops:
        text += _attribute("hops", lineage.hops)
    if lineage.budget != DEFAULT_BUDGET:
        text += _attribute("budget", lineage.budget)
    return text if not lineage.mark else text + _attribute("budgetmark", lineage.mark)


def _claim_check(ref: BlobRef) -> str:
    return _attribute("dataref", f"blob:{ref.digest}") + _attribute("datasize", ref.size)


def _special(message: Command) -> str:
    """Return the attributes that only few commands have."""
    if message.expires is None and message[FIRST_SPECIAL:] == _USUAL:
        return ""
    text = _IGNORED[message.ignore_result]
    if message.expires is not None:
        text += f',"expirytime":"{_moment("expirytime", message.expires)}"'
    if message.member is not None:
        text += _membership(message.member)
    if (gather := message.gather) is not None:
        text += _attribute("gatherid", gather.join_id) + _attribute("gathersize", gather.size)
        text += "" if gather.hand_on else ',"gatherhandon":false'
        text += ',"gatheroutcomes":true' if gather.outcomes else ""
    if (place := message.place) is not None:
        text += _attribute("canvasid", place.canvas_id) + _attribute("canvasnode", place.node) + _attribute("canvasplan", place.plan)
    if (section := message.section) is not None:
        text += _attribute("section", f"{section.index}:{section.count}")
    if message.headers is not None:
        text += _attribute("headers", message.headers)
    return text if message.time_limits is None else text + _limits(message.time_limits)


FIRST_SPECIAL = Command._fields.index("ignore_result")
_USUAL = tuple(Command._field_defaults[name] for name in Command._fields[FIRST_SPECIAL:])


def _limits(limits: TimeLimits) -> str:
    soft, hard = ("" if seconds is None else f"{seconds:.6f}".rstrip("0").rstrip(".") for seconds in limits)
    return _attribute("timelimits", f"{soft}:{hard}")


def _membership(member: JoinMember) -> str:
    if member.index >= member.size:
        raise OptionError(f"joinindex: {member.index} is not below joinsize {member.size}")
    text = _attribute("joinid", member.join_id) + _attribute("joinindex", member.index)
    return text + _attribute("joinsize", member.size)


def _attribute(name: str, value: str | int) -> str:
    """Return one attribute; raise `OptionError` if its reader would refuse it."""
    try:
        wire.COMMAND[name](value) if name in wire.COMMAND else wire.DOCUMENT[name](value)
    except MessageRefused as refused:
        raise OptionError(f"{refused.field}: {refused.detail}") from None
    return f',"{name}":{quote(value) if isinstance(value, str) else value}'


_IGNORED = {None: "", True: ',"ignoreresult":true', False: ',"ignoreresult":false'}


def _moment(name: str, moment: float) -> str:
    try:
        return timestamps.write(moment)
    except ValueError as error:
        raise OptionError(f"{name}: {error}") from None


def _call(args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Return a command's data: its args and kwargs, each omitted if it is empty."""
    room = wire.MAX_DATA_DEPTH - 1
    text = dump(args if isinstance(args, list | tuple) else list(args), "data.args", room) if args else ""
    if not kwargs:
        return f'{{"args":{text}}}' if text else "{}"
    named = dump(kwargs if isinstance(kwargs, dict) else dict(kwargs), "data.kwargs", room)
    return f'{{"args":{text},"kwargs":{named}}}' if text else f'{{"kwargs":{named}}}'


def _fields(fields: Mapping[str, Any]) -> str:
    return dump(fields if isinstance(fields, dict) else dict(fields), "data", wire.MAX_DATA_DEPTH)


def _value(value: Any) -> str:
    return f'{{"value":{dump(value, "data.value", wire.MAX_DATA_DEPTH - 1)}}}'
