"""Converts records and joins to items of the ledger table and back, directly, without a generic serialiser.

Numbers are whole, so none loses precision: fences, counters and clocks as they are, times in milliseconds, TTL in
seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sedano.model.canvas.join import Arrived, Join
from sedano.model.ledger import outcome_text as tail
from sedano.model.ledger.records import RECORD_LIFETIME_S, Claim, Extension, Outcome, TaskRecord
from sedano.model.messages.message import BlobRef
from sedano.model.states import RETRY, read_state

Item = Mapping[str, Mapping[str, Any]]
Values = dict[str, Mapping[str, Any]]

_NO_TEXT: Mapping[str, str] = {"S": ""}
_ZERO: Mapping[str, str] = {"N": "0"}


def whole_ms(seconds: float) -> str:
    """Return *seconds* in whole milliseconds, as a number's text."""
    return str(round(seconds * 1000))


def ttl(seconds: float) -> Mapping[str, str]:
    """Return when a record that was last needed at *seconds* (epoch) may be deleted."""
    return {"N": str(int(seconds) + RECORD_LIFETIME_S)}


def claim_values(claim: Claim) -> Values:
    """Return the values that every claim and steal writes."""
    return {
        ":nc": {"S": claim.nonce},
        ":mid": {"S": claim.message_id},
        ":exp": {"N": whole_ms(claim.expires)},
        ":clk": {"N": str(claim.clock)},
        ":nm": {"S": claim.name},
        ":own": {"S": claim.owner},
        ":ttl": ttl(claim.expires),
    }


def extension_values(extension: Extension) -> Values:
    """Return the values that EXTEND writes and compares."""
    return {
        ":nc": {"S": extension.nonce},
        ":att": {"N": str(extension.fence)},
        ":exp": {"N": whole_ms(extension.expires)},
        ":ttl": ttl(extension.expires),
    }


def attempt_of(outcome: Outcome) -> int:
    """Return the attempt of the record after *outcome*: a retry's is the next one."""
    return outcome.next_attempt if outcome.state == RETRY else outcome.attempt


def outcome_values(outcome: Outcome, tail_text: str) -> Values:
    """Return the values that RECORD and KEEP write."""
    return {
        ":st": {"S": outcome.state},
        ":try": {"N": str(attempt_of(outcome))},
        ":nc": {"S": outcome.nonce},
        ":clk": {"N": str(outcome.clock)},
        ":nm": {"S": outcome.name},
        ":res": {"S": outcome.result or ""},
        ":tail": {"S": tail_text},
        ":ttl": ttl(outcome.at),
    }


def record(task_id: str, item: Item) -> TaskRecord:
    """Return the record that *item* holds."""
    get = item.get
    text = get("tail", _NO_TEXT)["S"]
    rest = tail.read(text) if text else tail.EMPTY
    return TaskRecord(
        task_id=task_id, state=read_state(item["st"]["S"]), attempt=int(item["try"]["N"]), fence=int(get("att", _ZERO)["N"]),
        claims=int(get("cnt", _ZERO)["N"]), nonce=get("nc", _NO_TEXT)["S"], message_id=item["mid"]["S"],
        expires=int(get("exp", _ZERO)["N"]) / 1000, clock=int(get("clk", _ZERO)["N"]), name=get("nm", _NO_TEXT)["S"],
        result=get("res", _NO_TEXT)["S"] or None, result_ref=rest.result_ref, error=rest.error, outbox=rest.outbox,
        outbox_ref=rest.outbox_ref, not_before=rest.not_before, section=rest.section, reserved=int(get("rsv", _ZERO)["N"]) / 1000,
        owner=get("own", _NO_TEXT)["S"], asked=int(get("rvk", _ZERO)["N"]), forgotten="fgt" in item, added=rest.added, call=rest.call,
        custom=get("ust", _NO_TEXT)["S"], followed="fol" in item, marks=_numbers(item, "mks"),
    )  # fmt: skip


def join_item(key: str, join: Join, now: float) -> Item:
    """Return the item that holds *join*."""
    ref = join.body_ref
    return {
        "pk": {"S": key},
        "join": {"S": join.join_id},
        "members": {"N": str(join.size)},
        "body": {"S": join.body},
        "queue": {"S": join.queue},
        "ref": {"S": f"{ref.digest}:{ref.size}" if ref else ""},
        "ttl": ttl(now),
    }


def join(item: Item) -> Join:
    """Return the join that *item* holds."""
    digest, _, size = item["ref"]["S"].partition(":")
    ref = BlobRef(digest, int(size)) if digest else None
    return Join(item["join"]["S"], int(item["members"]["N"]), item["body"]["S"], item["queue"]["S"], ref)


def arrived(item: Item) -> Arrived:
    """Return the sets of a node."""
    return Arrived(_numbers(item, "done"), _numbers(item, "failed"))


def _numbers(item: Item, name: str) -> frozenset[int]:
    return frozenset(map(int, item[name]["NS"])) if name in item else frozenset()
