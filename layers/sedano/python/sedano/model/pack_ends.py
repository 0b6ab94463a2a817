"""How the members of a pack left its body, and the text in which the pack's record holds these ends. Pure; the rule is in `.packs`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from json import JSONDecoder, JSONEncoder
from typing import Any, NamedTuple

from sedano.model import states
from sedano.model.ledger import outcome_text
from sedano.model.ledger.outcome_text import Tail
from sedano.model.ledger.records import ErrorRecord, Outcome
from sedano.model.messages.message import BlobRef
from sedano.model.states import TaskState

NAME_BYTES, SHORT_BYTES = 200, 250
"""The most written bytes of the name of an error's class, and of each text of the errors of a pack that would be too long."""

_LETTERS = {
    states.SUCCESS: "S", states.FAILURE: "F", states.REVOKED: "V", states.EXPIRED: "X", states.POISON: "Z", states.RETRY: "R",
}  # fmt: skip
_STATES = {letter: state for state, letter in _LETTERS.items()}
_dump = JSONEncoder(separators=(",", ":")).encode
_load = JSONDecoder().decode


class MemberEnd(NamedTuple):
    """How one member left the body of its pack: a terminal *state*, or RETRY at *attempt* (0: it did not run, or not for good)."""

    state: TaskState
    attempt: int = 0
    result: str | None = None
    tail: str = ""
    clock: int = 0


LEFT = MemberEnd(states.RETRY)
"""The end of a member that runs alone, as if it had not begun."""


def end_of_member(outcome: Outcome) -> MemberEnd:
    """Return *outcome*, with which a member ended or will be tried again, as its pack records it."""
    again = outcome.state == states.RETRY
    return MemberEnd(
        outcome.state, outcome.next_attempt if again else 0, outcome.result, outcome_text.write(outcome), outcome.clock
    )  # fmt: skip


def ends_text(task: str, ends: Sequence[MemberEnd]) -> str:
    """Return the result of a pack of *task*: the *ends* of its members, in order."""
    base = min((end.clock for end in ends if end.clock), default=0)
    return _dump({"name": task, "clock": base, "ends": [_written(end, base) for end in ends]})


def read_ends(text: str) -> tuple[str, list[MemberEnd]]:
    """Return the name of the task and the ends that `ends_text` wrote."""
    found = _load(text)
    return str(found["name"]), [_read(one, int(found["clock"])) for one in found["ends"]]


def written_bytes(text: str) -> int:
    """Return how many bytes *text* has in a record: in the rest of an end, whose own text is inside that of the pack."""
    return len(_dump(_dump(text)))


def result_bytes(result: str) -> int:
    """Return how many bytes the *result* of a member has in the record of its pack."""
    return len(_dump(result))


def shortened(text: str, most: int, *, end: bool = False) -> str:
    """Return the beginning of *text*, or its *end*, that has at most *most* `written_bytes`."""
    while (size := written_bytes(text)) > most:
        keep = min(len(text) - 1, len(text) * most // size)
        text = (text[-keep:] if end else text[:keep]) if keep > 0 else ""
        if not text:
            break
    return text


def cut(error: ErrorRecord, most: int) -> ErrorRecord:
    """Return *error* with at most about *most* written bytes in each of its long texts; arguments that are longer are left out, with the
    class to raise."""
    kept = error if written_bytes(error.arguments) <= most else error._replace(raised="", arguments="")
    return kept._replace(
        type_name=shortened(error.type_name, NAME_BYTES), message=shortened(error.message, most),
        traceback=shortened(error.traceback, most, end=True), notes=shortened(error.notes, most),
    )  # fmt: skip


def fitted(task: str, ends: Sequence[MemberEnd], most: int) -> str:
    """Return the result of a pack of *task* with *ends* whose errors are cut, and then whose calls are left out, if it is longer than
    *most* bytes."""
    text = ends_text(task, ends)
    if len(text) > most:
        ends = [_changed(end, lambda rest: {"error": cut(rest.error, SHORT_BYTES) if rest.error is not None else None}) for end in ends]
        text = ends_text(task, ends)
    return text if len(text) <= most else ends_text(task, list(map(without_call, ends)))


def without_call(end: MemberEnd) -> MemberEnd:
    """Return *end* without the call of an unsuccessful member, which `sedano retry` would repeat."""
    return _changed(end, lambda _: {"call": None})


def with_result_in(end: MemberEnd, ref: BlobRef) -> MemberEnd:
    """Return *end* with its result in the blob *ref*."""
    return _changed(end, lambda _: {"result_ref": ref})._replace(result=None)


def _changed(end: MemberEnd, change: Callable[[Tail], Mapping[str, Any]]) -> MemberEnd:
    rest = outcome_text.read(end.tail)
    plain = Outcome(
        task_id="", state=end.state, nonce="", fence=0, message_id="", attempt=0, clock=0, name="", at=0.0,
        **{**rest._asdict(), **change(rest)},
    )  # fmt: skip
    return end._replace(tail=outcome_text.write(plain))


_FORGOTTEN = "{}"
"""The rest of a forgotten end: no field; an end that was not forgotten has an empty text, or one with fields."""


def forgotten(end: MemberEnd) -> MemberEnd:
    """Return *end* without its result and its error."""
    return MemberEnd(end.state, end.attempt, None, _FORGOTTEN, end.clock)


def _written(end: MemberEnd, base: int) -> list[Any]:
    parts: list[Any] = [_LETTERS[end.state], end.clock - base if end.clock else -1, end.result, end.tail, end.attempt]
    for empty in (0, "", None):
        if parts[-1] == empty and type(parts[-1]) is type(empty):
            parts.pop()
        else:
            break
    return parts


def _read(parts: Sequence[Any], base: int) -> MemberEnd:
    whole: list[Any] = [*parts, *[None, "", 0][len(parts) - 2 :]]
    letter, clock, result, tail, attempt = whole
    return MemberEnd(_STATES[letter], attempt, result, tail, clock + base if clock >= 0 else 0)
