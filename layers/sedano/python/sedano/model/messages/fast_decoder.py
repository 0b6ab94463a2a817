"""Reads a usual command, exactly as `encoder` writes it, in a third of the time; nearly every delivery is one.

The general decoder needs a dictionary, a hook and a call for each attribute. The encoder's text has a fixed form, so one regular expression
recognises it and extracts the values, with the characters and lengths that `wire` allows; only the data is parsed as JSON. A command is
usual if it is the first attempt of a task, a follow-up (lineage), a member of a join or a step of a canvas, and has no other attributes.
`read` never raises. It returns None for any other text, and for text that needs a full check (nesting, escapes, long numbers, text that is
not ASCII); `decoder` then reads it. Promise: if `read` returns a command, `decoder` would return an equal one
(`tests/unit/test_codec_canonical.py`).
"""

from __future__ import annotations

import re

from sedano.model.messages import attributes as wire
from sedano.model.messages import timestamps
from sedano.model.messages.lineage import DEFAULT_BUDGET, ROOT, Lineage
from sedano.model.messages.message import PROTOCOL_VERSION, Command, JoinMember, Place
from sedano.model.messages.strict_json import scan_rest

_ID = r'"([!#-\[\]-~]{1,256}+)"'
_NUMBER = "(0|[1-9][0-9]{0,8}+)"
_matches = re.compile(
    rf'\{{"specversion":"1\.0","type":"sedano\.command\.v{PROTOCOL_VERSION}","source":{_ID},"subject":{_ID},"id":{_ID}'
    rf',"time":"([0-9T:-]{{19}})\.([0-9]{{6}})Z","clock":"([1-9][0-9]{{0,17}}+)"(?:,"taskid":{_ID})?'
    rf'(?:,"rootid":{_ID},"parentid":{_ID}(?:,"hops":([1-9][0-9]?|1[01][0-9]|12[0-8]))?(?:,"budget":{_NUMBER})?)?'
    rf'(?:,"joinid":{_ID},"joinindex":{_NUMBER},"joinsize":{_NUMBER})?'
    r'(?:,"canvasid":"([!#-\[\]-~]{1,256}+)","canvasnode":"([0-9]{1,9}(?:\.[0-9]{1,9}){0,7})"'
    r',"canvasplan":"(blob:[0-9a-f]{64}:[0-9]{1,8}|\{(?:[ !#-\[\]-~]++|\\")*+)")?'
    r',"data":'
).match


def read(text: str) -> Command | None:
    """Return the command in *text* if it is a usual command as `encoder` writes it; else None."""
    match = _matches(text)
    if match is None:
        return None
    source, task, message_id, second, micros, clock, task_id, root_id, parent_id, hops, budget, *more = match.groups()
    (join_id, index, size), canvas = more[:3], more[3:]
    try:
        args, kwargs = wire.call(scan_rest(text, match.end()))
        moment = timestamps.moment(second, micros)
    except (ValueError, StopIteration, RecursionError):
        return None
    if task_id is None:
        task_id = message_id
    if root_id is None and join_id is None and canvas[0] is None:
        return Command(id=message_id, task_id=task_id, task=task, source=source, time=moment, clock=int(clock), args=args, kwargs=kwargs)
    lineage = ROOT if root_id is None else Lineage(root_id, parent_id, int(hops or 0), DEFAULT_BUDGET if budget is None else int(budget))
    member = None if join_id is None else JoinMember(join_id, int(index), int(size))
    if member is not None and member.index >= member.size:
        return None
    place = None
    if canvas[0] is not None:
        place = Place(canvas[0], canvas[1], canvas[2].replace('\\"', '"'))
        if not wire.is_plan(place.plan):
            return None
    return Command(
        id=message_id, task_id=task_id, task=task, source=source, time=moment, clock=int(clock), args=args, kwargs=kwargs,
        lineage=lineage, member=member, place=place,
    )  # fmt: skip
