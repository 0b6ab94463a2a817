"""Launching a large canvas: one small command whose follow-ups are the members, so it is published whole or not at all.

The client sends one `sedano.launch` command, whatever the canvas's size (the list of members travels by claim check). The worker that runs
it opens the join and publishes the members under derived ids; a crash in between means redelivery, and the same members again, absorbed by
their claims (PROTOCOLS §3, last paragraph).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sedano.engine.drafts import CommandDraft
from sedano.engine.gathering import body_id, member_id
from sedano.errors import BudgetExhausted, HopLimit, MessageRefused
from sedano.model import refusals
from sedano.model.join import Join
from sedano.model.lineage import Lineage, descend
from sedano.model.messages import BlobRef, Command, Gather, Member

Entry = dict[str, Any]
_OPTIONAL = ("delay", "expires", "tenant", "traceparent", "ignore_result", "stamps")


@dataclass(frozen=True, slots=True)
class Launch:
    """A chord to publish: its join's id, the drafts of its members in order and of its body."""

    join_id: str
    members: Sequence[CommandDraft]
    body: CommandDraft


def to_args(launch: Launch, hand_on: bool) -> list[Any]:
    """Return *launch* as the arguments of its command; *hand_on*: the members' results go to the body."""
    return [launch.join_id, [entry_of(m) for m in launch.members], entry_of(launch.body), hand_on]


def from_args(args: Sequence[Any]) -> Launch:
    """Return the launch that *args* describe, with members and body bound to their join.

    Raises:
        MessageRefused: they do not describe one (code `schema`).
    """
    try:
        join_id, entries, body, hand_on = args
        size = len(entries)
        members = [
            draft_of(e)._replace(task_id=member_id(join_id, n), member=Member(join_id, n, size), ignore_result=False)
            for n, e in enumerate(entries)
        ]
        gather = Gather(join_id, size, bool(hand_on))
        return Launch(join_id, members, draft_of(body)._replace(task_id=body_id(join_id), gather=gather))
    except (ValueError, TypeError, KeyError, AttributeError) as wrong:
        raise MessageRefused(refusals.SCHEMA, "data.args", f"not a launch: {wrong}") from None


def admit(command: Command, args: Sequence[Any]) -> None:
    """Look at a launch before it is recorded as done: what can never be published must not wait as a follow-up for ever.

    Raises:
        MessageRefused: *args* describe no launch, or it may not cause that many messages (codes `schema`, `hop-limit`, `budget`).
    """
    launch = from_args(args)
    try:
        descend(command.task_id, command.lineage, len(launch.members) + 1)
    except HopLimit as deep:
        raise MessageRefused(refusals.HOPS, "hops", str(deep)) from None
    except BudgetExhausted as spent:
        raise MessageRefused(refusals.BUDGET, "budget", str(spent)) from None


def opened(launch: Launch, lineage: Lineage) -> Join:
    """Return the join of *launch*, which keeps the draft of the body and its *lineage* until the last member arrives."""
    gather = launch.body.gather
    body = {
        "draft": entry_of(launch.body), "hand_on": gather is None or gather.hand_on,
        "lineage": [lineage.root_id, lineage.parent_id, lineage.hops, lineage.budget],
    }  # fmt: skip
    return Join(launch.join_id, len(launch.members), json.dumps(body, separators=(",", ":")), launch.body.queue)


def body_of(join: Join) -> tuple[CommandDraft, Lineage]:
    """Return the draft of the body that *join* kept, and its lineage."""
    kept = json.loads(join.body)
    gather = Gather(join.join_id, join.size, kept["hand_on"])
    draft = draft_of(kept["draft"])._replace(task_id=body_id(join.join_id), gather=gather)
    return draft, Lineage(*kept["lineage"])


def entry_of(draft: CommandDraft) -> Entry:
    """Return *draft* as JSON values, without its task's id."""
    entry: Entry = {"task": draft.task, "queue": draft.queue}
    if draft.data_ref is not None:
        entry["ref"] = [draft.data_ref.digest, draft.data_ref.size]
    else:
        entry["args"], entry["kwargs"] = list(draft.args), dict(draft.kwargs)
    entry |= {name: value for name in _OPTIONAL if (value := getattr(draft, name))}
    return entry


def draft_of(entry: Mapping[str, Any]) -> CommandDraft:
    """Return the draft that *entry* describes, without its task's id."""
    ref = BlobRef(*entry["ref"]) if "ref" in entry else None
    optional = {name: entry[name] for name in _OPTIONAL if name in entry}
    return CommandDraft(
        str(entry["queue"]), "", str(entry["task"]), entry.get("args", ()), entry.get("kwargs", {}), data_ref=ref, **optional
    )
