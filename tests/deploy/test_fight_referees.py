"""The referees of the fight name the one who made a write, also where two asked for the same at the same time."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

from sedano.aws.client import keys
from sedano.aws.expressions.leases import RELEASE, TAKE_ABSENT
from sedano.aws.limits import _numbered
from tests.deploy.fight.arena import Fight, Write
from tests.deploy.fight.permits import crowded
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


BOARD = keys.permits("shared/a")


def permit(process: str, until: float, token: int) -> dict[str, Any]:
    """A board whose permit 0 is held by *process* until *until*."""
    return {
        "pk": {"S": BOARD}, "n0": {"S": f"{process}.1~{token}"}, "k0": {"N": str(token)}, "o0": {"S": process},
        "e0": {"N": str(int(until * 1000))}, "ttl": {"N": "9"},
    }  # fmt: skip


def changes(process: str, what: str, values: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """What *process* asks for of permit 0, which is done."""
    write = _numbered(what, 0)
    texts = {name: text for name, text in write.parameters.items() if name != "ExpressionAttributeValues"}
    asked_for = {"Key": {"pk": {"S": BOARD}}, **texts, "ExpressionAttributeValues": {**write.values, **values}}
    common = {"process": process, "wall": NOW + 0.5, "at": 1.0}
    ask = {"kind": "asks", "number": number, "operation": "update_item", "asked": asked_for, **common}
    return [ask, {"kind": "done", "number": number + 1, "of": number, **common}]


def takes(process: str, until: float, token: int) -> list[dict[str, Any]]:
    board = permit(process, until, token)
    values = {":nc": board["n0"], ":tok": board["k0"], ":own": board["o0"], ":exp": board["e0"], ":ttl": board["ttl"]}
    return changes(process, "take", {**values, ":lapsed": {"N": "0"}, ":who": {"S": "m"}}, token)


def given(process: str) -> list[dict[str, Any]]:
    """An invocation of *process* that lasts three seconds."""
    line = {"kind": "given", "mark": f"{process}.1", "until": NOW + 3.0, "bodies": []}
    return [{**line, "process": process, "number": 0, "wall": NOW, "at": 0.0}]


def judged(lines: list[dict[str, Any]], *boards: dict[str, Any] | None) -> list[str]:
    writes = [Write(str(n), NOW, "control", BOARD, old, new) for n, (old, new) in enumerate(pairwise(boards))]
    return judge(Fight("", lines, writes, 0, 0)).broken


def test_a_permit_that_is_taken_for_its_invocation_is_in_order() -> None:
    assert judged([*given("4"), *takes("4", NOW + 4, 5)], None, permit("4", NOW + 4, 5)) == []


def test_a_permit_that_outlives_its_invocation_is_found() -> None:
    (found,) = judged([*given("4"), *takes("4", NOW + 60, 5)], None, permit("4", NOW + 60, 5))
    assert found.startswith("P3: taken for 56000 ms longer than the invocation")


def test_permits_that_are_given_back_in_one_second_are_each_their_holders_own() -> None:
    def back(process: str, token: int) -> list[dict[str, Any]]:
        board = permit(process, NOW + 4, token)
        return changes(process, "give back", {":nc": board["n0"], ":tok": board["k0"]}, token + 10)

    def free(process: str, token: int) -> dict[str, Any]:
        return {**permit(process, NOW + 4, token), "e0": {"N": "0"}}

    lines = [*given("4"), *given("6"), *back("6", 6), *back("4", 5), *takes("4", NOW + 4, 5), *takes("6", NOW + 4, 6)]
    assert judged(lines, None, permit("4", NOW + 4, 5), free("4", 5), permit("6", NOW + 4, 6), free("6", 6)) == []


def test_a_permit_that_is_taken_while_another_holds_it_is_found() -> None:
    lines = [*given("4"), *given("6"), *takes("4", NOW + 4, 5), *takes("6", NOW + 4, 6)]
    (found,) = judged(lines, None, permit("4", NOW + 4, 5), permit("6", NOW + 4, 6))
    assert found.startswith("P4: 6.1 took a permit")


def test_who_gives_back_anothers_permit_is_blamed() -> None:
    held = permit("6", NOW + 4, 6)
    late = changes("4", "give back", {":nc": {"S": "4.1~5"}, ":tok": {"N": "5"}}, 1)
    (found,) = judged([*given("4"), *late], held, {**held, "e0": {"N": "0"}})
    assert found.startswith("P4: PERMITS#shared%2Fa: 4.1 gave back the permit of 6.1~6")


def stay(process: str, number: int, at: float, left: float | None, until: float) -> list[dict[str, Any]]:
    """A stay under permit *number*, from *at* until it *left* (None: it was killed)."""
    line = {"process": process, "key": "a", "permit": number, "token": 1}
    return [{**line, "kind": "enters", "at": at, "until": until}] + [{**line, "kind": "leaves", "at": left}] * (left is not None)


@pytest.mark.parametrize(("left", "broken_promises"), [(1.0, 0), (None, 1)])
def test_a_killed_one_counts_among_those_at_the_resource_until_its_permit_is_over(left: float | None, broken_promises: int) -> None:
    figures = Counter[str]()
    lines = [*stay("1", 0, 0.0, left, 4.0), *stay("2", 1, 0.5, 3.0, 4.5), *stay("3", 0, 2.0, 3.0, 6.0), *stay("4", 0, 5.0, 6.0, 9.0)]
    found = list(crowded(lines, figures))
    assert len(found) == broken_promises, found
    assert figures["at the resource at once, at the most"] == 2 + broken_promises
