"""A deduplication key is bound to its arguments: the ids of its messages, and when a record belongs to other arguments."""

from hashlib import sha256
from typing import Any

import pytest

from sedano.model import states
from sedano.model.ledger import dedup_keys as keyed
from sedano.model.ledger.records import TaskRecord
from sedano.model.messages.lineage import derived_id
from sedano.model.messages.message import BlobRef, Command

REF = BlobRef("0f" * 32, 9)
MINE, OTHER = keyed.payload("t", (1,), {}), keyed.payload("t", (2,), {})
BLOB = keyed.payload("t", (), {}, REF)


@pytest.mark.parametrize(
    ("args", "kwargs", "text"),
    [((), {}, "[[],{}]"), ((1, "é"), {"b": None, "a": {"d": 1, "c": 2}}, r'[[1,"\u00e9"],{"a":{"c":2,"d":1},"b":null}]')],
)
def test_a_payload_is_derived_from_the_arguments_in_one_form(args: tuple[Any, ...], kwargs: dict[str, Any], text: str) -> None:
    assert keyed.payload("t", args, kwargs) == derived_id("t", f"keyed/{sha256(text.encode()).hexdigest()}")
    assert keyed.payload("t", args, kwargs, REF) == derived_id("t", f"keyed/blob/{REF.digest}")


@pytest.mark.parametrize(
    ("message", "payload"),
    [
        (keyed.message_id(MINE, "nonce"), MINE),
        (f"{MINE}.nonce", MINE),
        (keyed.retried(f"{MINE}.nonce", 3), MINE),
        (f"{MINE}.{'n' * 100}~123456", MINE),
        (f"{MINE}.{'n' * 101}", ""),
        (f"{MINE}.n~1234567", ""),
        (f"{MINE}.", ""),
        (MINE, ""),
        ("6ba7b810-9dad-41d1-80b4-00c04fd430c8.n", ""),
        ("", ""),
    ],
)
def test_the_id_of_a_keyed_message_names_its_payload(message: str, payload: str) -> None:
    assert keyed.payload_of(message) == payload


def test_a_message_that_is_tried_again_keeps_its_id_before_the_attempt() -> None:
    assert [keyed.retried(message, 2) for message in ("a.n", "a.n~1", "a.n~1~7")] == ["a.n~2"] * 3


@pytest.mark.parametrize(
    ("message", "args", "ref", "payload"),
    [
        (f"{MINE}.n", (1,), None, MINE),
        (f"{MINE}.n~4", (1,), None, MINE),
        (f"{MINE}.n", (2,), None, ""),
        (f"{MINE}.n", (1,), REF, ""),
        (f"{keyed.payload('t', (), {}, REF)}.n", (), REF, BLOB),
        ("n", (1,), None, ""),
    ],
)
def test_a_command_is_keyed_by_the_arguments_that_it_has(message: str, args: tuple[Any, ...], ref: BlobRef | None, payload: str) -> None:
    assert keyed.keyed_by(Command(message, "t", "shop.add", args=args, data_ref=ref)) == payload


@pytest.mark.parametrize(
    ("of", "message", "state", "attempt", "expected"),
    [
        (MINE, f"{MINE}.n", states.RUNNING, 0, False),
        (MINE, f"{OTHER}.n", states.RUNNING, 0, True),
        (MINE, f"{OTHER}.n", states.SUCCESS, 5, True),
        (MINE, "", states.PENDING, 0, False),
        ("", f"{OTHER}.n", states.RUNNING, 0, False),
        ("", "", states.RUNNING, 0, False),
        ("", "n", states.RUNNING, 0, False),
        (MINE, "n", states.RUNNING, 0, True),
        (MINE, "n", states.RUNNING, 1, False),
        (MINE, "n", states.RETRY, 0, False),
        (MINE, "n", states.RETRY, 1, True),
        (MINE, "n", states.RETRY, 2, False),
    ],
)
def test_a_record_is_of_another_payload_if_its_message_is(of: str, message: str, state: Any, attempt: int, expected: bool) -> None:
    assert keyed.is_of_another(of, TaskRecord("t", state, attempt, message_id=message)) is expected
