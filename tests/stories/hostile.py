"""Fifty hostile messages, some of every kind that a command queue can hold, each with the reason for which it must be set aside.

Each kind was once enough to fail a whole batch, or to cost seconds of CPU. `REFUSED` needs no more than a look at the message; what is in
`ENDED` names a task that runs, so the task ends without success beside.
"""

import json
from typing import Any, NamedTuple

from sedano.model.messages.message import LAUNCH, TIMER_OPENING
from sedano.ports import Outgoing

WHEN = "2026-01-01T00:00:00Z"


class Hostile(NamedTuple):
    """A message, what is wrong with it, and the *reason* with which it is set aside."""

    name: str
    message: Outgoing
    reason: str


def command(number: int, **changes: Any) -> str:
    """Return a command to add 1 and 2 as a text that anyone could send; None leaves an attribute out."""
    own = f"hostile-{number}"
    plain = {
        "specversion": "1.0", "type": "sedano.command.v1", "id": own, "source": "elsewhere", "subject": "add", "time": WHEN, "taskid": own,
        "data": {"args": [1, 2]},
    }  # fmt: skip
    return json.dumps({name: value for name, value in {**plain, **changes}.items() if value is not None})


def timer(at: str, message: str = "m", **changes: Any) -> str:
    """Return a timer's envelope whose moment is the JSON text *at*."""
    parts = {"id": "t", "queue": "commands:default", "tenant": None, "message": message, **changes}
    return TIMER_OPENING + f'"at":{at},' + json.dumps(parts)[1:]


def planned(number: int, plan: Any, node: str = "0.0", **changes: Any) -> str:
    """Return a command at *node* of the inline page *plan*."""
    text = plan if isinstance(plan, str) else json.dumps(plan, separators=(",", ":"))
    return command(number, canvasid=f"canvas-{number}", canvasnode=node, canvasplan=text, **changes)


STEP = {"task": "add"}
LAUNCHED = {"subject": LAUNCH, "data": None}
_AT = ("-1", "1e300", "-1e300", "1" + "0" * 400, "253402300800", "NaN", "Infinity", "true", '"soon"', "null")
_STEPS: list[dict[str, Any]] = [
    {"task": 5}, {"task": "add", "args": 5}, {"task": "add", "kwargs": [1]}, {"task": "add", "links": 5}, {"task": "add", "errors": [{}]},
    {"task": "add", "expires": []}, {"task": "add", "eta": "x"}, {"task": "add", "delay": "x"}, {"task": "add", "lifetime": 1e300},
    {"task": "add", "ref": ["x", 1]}, {"task": "add", "time_limits": 7}, {"task": "add", "queue": 4}, {"task": "add", "stamps": "="},
    {"task": "add", "tenant": ["x"]},
]  # fmt: skip
_PAGES: list[tuple[str, Any]] = [
    ("a group in place of a chain", {"item": {"group": [{"task": "x"}], "watch": [{"chain": []}]}}),
    ("a resumption that is a text", {"item": {"chain": [STEP, STEP], "resume": "ab"}}),
    ("a resumption to nowhere", {"item": {"chain": [STEP, STEP], "resume": [1, ["a"], 0, 0]}}),
    ("a resumption at no place", {"item": {"chain": [STEP, STEP], "resume": [1, ["a", "²", "{}"], 0, 0]}}),
    ("an empty chain", {"item": {"chain": []}}),
    ("a chain that is a text", {"item": {"chain": "ab"}}),
    ("a chain of a wrong length", {"item": {"chain": [STEP, STEP], "at": 0, "of": 10**30, "end": "x", "more": "{}"}}),
    ("a watch that is a number", {"item": {"chain": [STEP, STEP]}, "watch": 5}),
    ("a page of no page", {"item": {"page": "nowhere", "kind": "chain", "queue": "default"}}),
    ("no page", "{}"),
    ("a page with a key twice", '{"item":{"chain":[{"task":"add"}]},"item":{"chain":[]}}'),
    ("a page that is not JSON", "{nonsense"),
]
_LAUNCHES: list[tuple[str, Any]] = [
    ("a group that is a number", {"item": {"chain": [{"group": 5}]}}),
    ("pages that are numbers", {"item": {"chain": [{"group": 5, "pages": [1, 2]}]}}),
    ("pages of a wrong size", {"item": {"chain": [{"group": 10**6, "pages": [["blob:" + "0" * 64 + ":5", 1]]}]}}),
    ("members that are numbers", {"item": {"chain": [{"group": [1, 2]}]}}),
    ("a group with a queue that is a list", {"item": {"chain": [{"group": [STEP], "queue": []}]}}),
]


def refused() -> list[Hostile]:
    """Return messages that are set aside at a look."""
    found = [Hostile(f"a timer at {at[:12]}", Outgoing(timer(at, command(0))), "malformed" if at in ("NaN", "Infinity") else "schema")
             for at in _AT]  # fmt: skip
    found += [
        Hostile("a timer of no command", Outgoing(timer("1")), "malformed"),
        Hostile("a timer of a timer", Outgoing(timer("1", timer("1"))), "schema"),
        Hostile("a timer with a list for a tenant", Outgoing(timer("1", tenant=[1])), "schema"),
        Hostile("no JSON", Outgoing("{nonsense"), "malformed"),
        Hostile("deep", Outgoing("[" * 100_000), "too-deep"),
        Hostile("a number for an id", Outgoing(command(1, id=5)), "schema"),
        Hostile("half a surrogate pair", Outgoing(command(2, data={"args": ["\ud800", 1]})), "malformed"),
    ]
    return found


def ended() -> list[Hostile]:
    """Return messages that name a task, whose end is recorded as a failure before they are set aside."""
    found = [
        Hostile(f"a step: {json.dumps(step)}", Outgoing(planned(100 + n, {"item": {"chain": [STEP, step]}}, "0")), "schema")
        for n, step in enumerate(_STEPS)
    ]
    found += [Hostile(name, Outgoing(planned(200 + n, page, "0")), "schema") for n, (name, page) in enumerate(_PAGES)]
    found += [Hostile(name, Outgoing(planned(300 + n, page, "0", **LAUNCHED)), "schema") for n, (name, page) in enumerate(_LAUNCHES)]
    found += [
        Hostile("a part of nothing", Outgoing(planned(400, {"item": {"group": [STEP]}}, "0.pages.1000000", **LAUNCHED)), "schema"),
        Hostile("a gathering of a million", Outgoing(command(401, gatherid="j", gathersize=1_000_000)), "schema"),
        Hostile("a gathering of all", Outgoing(command(402, gatherid="j", gathersize=2**31 - 1)), "schema"),
        Hostile("a path that leads nowhere", Outgoing(planned(403, {"item": {"chain": [STEP]}}, "7.links.9")), "schema"),
    ]
    return found


REFUSED, ENDED = refused(), ended()
EVERY = [*REFUSED, *ENDED]
