"""The referees of the fight name the one who made a write, also where two asked for the same at the same time."""

from __future__ import annotations

from typing import Any

import pytest

from sedano.aws import keys
from sedano.aws.expressions.leases import RELEASE, TAKE_ABSENT
from tests.deploy.fight.arena import Fight, Write
from tests.deploy.fight.referees import judge

NOW = 1_700_000_000
KEY = keys.lease("lock/slot/2")
EXPIRES = {"N": str(NOW * 1000 + 2_000)}
HELD: dict[str, Any] = {
    "pk": {"S": KEY}, "lease": {"S": "lock/slot/2"}, "tok": {"N": "7"}, "nc": {"S": "18.11~20"}, "own": {"S": "somebody"}, "rv": {"N": "1"},
    "st": {"S": "H"}, "dur": {"N": "2000"}, "exp": EXPIRES,
}  # fmt: skip
FREE = {**HELD, "st": {"S": "F"}, "rv": {"N": "2"}, "ttl": {"N": str(NOW)}}


def taken(process: str, number: int, answer: str) -> list[dict[str, Any]]:
    values = {":name": HELD["lease"], **{f":{name}": HELD[name] for name in ("tok", "nc", "own", "rv", "dur", "exp")}, ":held": HELD["st"]}
    return asked(process, number, {"ExpressionAttributeValues": values, **_texts(TAKE_ABSENT)}, answer)


def released(process: str, number: int, nonce: str, answer: str) -> list[dict[str, Any]]:
    values = {":nc": {"S": nonce}, ":tok": HELD["tok"], ":exp": EXPIRES, ":ttl": FREE["ttl"], **RELEASE.values}
    return asked(process, number, {**_texts(RELEASE), "ExpressionAttributeValues": values}, answer)


def _texts(write: Any) -> dict[str, Any]:
    return {name: text for name, text in write.parameters.items() if name != "ExpressionAttributeValues"}


def asked(process: str, number: int, parameters: dict[str, Any], answer: str) -> list[dict[str, Any]]:
    common = {"process": process, "wall": NOW + 0.5, "at": 1.0}
    ask = {"kind": "asks", "number": number, "operation": "update_item", "asked": {"Key": {"pk": {"S": KEY}}, **parameters}, **common}
    return [ask, {"kind": answer, "number": number + 1, "of": number, **common}] if answer else [ask]


def broken(*lines: list[dict[str, Any]]) -> list[str]:
    writes = [Write("1", NOW, "control", KEY, None, HELD), Write("2", NOW, "control", KEY, HELD, FREE)]
    return judge(Fight("", sum(lines, taken("18", 1, "done")), writes, 0, 0)).broken


@pytest.mark.parametrize("heard", ["done", ""])
def test_who_was_refused_is_not_blamed_for_a_write_that_another_asked_for_too(heard: str) -> None:
    late = released("12", 1, "12.91~4", "refused")
    assert broken(late, released("18", 3, "18.11~20", heard)) == []


def test_who_was_granted_the_release_of_anothers_lease_is_blamed() -> None:
    guilty = released("12", 1, "12.91~4", "done")
    (found,) = broken(released("18", 3, "18.11~20", "refused"), guilty)
    assert found.startswith("I7: 12.91 changed the grant of 18.11~20")


def test_a_write_that_nobody_asked_for_is_a_broken_promise() -> None:
    (found,) = broken()
    assert found.startswith("I7: nobody asked for")
