"""The checker of histories: it passes what an atomic lease may do and rejects more than thirty histories that none could have had.

A history is written a line an operation: `kind who token [saw token [held]] began-ended [no]`; an open end means no answer.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random

import pytest

from tests.simulation.campaign import campaign
from tests.simulation.leases import OVERLAPS, LeaseWorld
from tests.simulation.linearizability import NEVER, Lease, Operation, after, linearizable, overlapping
from tests.simulation.sizes import CI


def history(text: str) -> list[Operation]:
    """Read a history."""
    return [_operation(line.split()) for line in text.split(";")]


def _operation(words: list[str]) -> Operation:
    granted, held = "no" not in words, "held" in words
    words = [word for word in words if word not in ("no", "held")]
    kind, who, token, span = words[0], words[1], int(words[2]), words[-1]
    began, ended = span.split("-")
    saw = int(words[words.index("saw") + 1]) if "saw" in words else 0
    return Operation(kind, who, token, float(began), float(ended) if ended else NEVER, granted, saw, held)


GOOD = [
    "take a 5 0-1",
    "take a 5 0-1; renew a 5 2-3; release a 5 4-5; take b 9 saw 5 6-7",
    "take a 5 0-1; take b 6 0-2 no",
    "take a 5 0-; take b 9 saw 5 held 3-4",
    "take a 5 0-; take b 6 0-1",
    "take a 5 0-1; take b 9 saw 5 held 2-3; renew a 5 4-5 no; release a 5 6-7 no",
    "take a 5 0-1; release a 5 2-; take b 9 saw 5 3-4",
    "take a 5 0-1; release a 5 2-3; forget x 0 4-4; take b 9 5-6",
    "take a 5 0-9 no; take b 9 saw 5 held 3-4",
    "take a 5 0-1; take a 5 2-3",
    "take a 5 0-4; renew b 7 1-2 no; take b 7 saw 5 held 3-6",
    "take a 5 0-1; take b 7 saw 5 held 2-3 no; renew a 5 2-3",
]
BAD = [
    "take a 5 0-1; take b 6 2-3",
    "take a 5 0-1; take b 5 saw 5 2-3",
    "take a 5 0-1; take b 4 saw 5 held 2-3",
    "take a 5 0-1; take b 6 2-3; release a 5 4-5",
    "renew a 5 0-1",
    "release a 5 0-1",
    "take a 5 0-1 no",
    "take a 5 0-1; renew a 5 2-3 no",
    "take a 5 0-1; release a 5 2-3 no",
    "take a 5 0-1; release a 5 2-3; renew a 5 4-5",
    "take a 5 0-1; renew b 5 2-3",
    "take a 5 0-1; release b 5 2-3",
    "take a 5 0-1; renew a 6 2-3",
    "take a 5 0-1; release a 6 2-3",
    "take a 5 0-1; take b 9 saw 5 held 2-3; renew a 5 4-5",
    "take a 5 0-1; take b 9 saw 5 held 2-3; release a 5 4-5",
    "take a 5 0-1; take b 9 saw 5 held 2-3; take c 9 saw 5 held 2-3",
    "take a 5 0-1; take b 9 saw 5 held 2-3; take c 12 saw 5 held 4-5",
    "take a 5 0-1; take b 9 saw 4 2-3",
    "take b 9 saw 5 0-1",
    "take b 9 saw 5 0-1; take a 5 2-3",
    "take a 5 0-1; release a 5 2-3; take b 9 saw 5 4-5 no",
    "take a 5 0-1; release a 5 2-3; take b 5 saw 5 4-5",
    "take a 5 0-1; release a 5 2-3; take b 3 saw 5 4-5",
    "take a 5 0-1; release a 5 2-3; take b 6 saw 5 4-5; take c 7 saw 5 4-5",
    "take a 5 0-1; forget x 0 2-2; take b 9 3-4",
    "take a 5 0-1; release a 5 2-3; forget x 0 4-4; take b 9 saw 5 5-6",
    "take a 5 0-1; release a 5 2-3; forget x 0 4-4; renew a 5 5-6",
    "take a 5 0-; take b 6 1-2; renew a 5 3-4",
    "take a 5 0-; take b 9 saw 5 held 1-2; take c 7 saw 0 3-4",
    "take a 5 0-1; release a 5 2-; renew a 5 3-4 no; renew a 5 5-6",
    "take a 5 0-1 no; take b 9 saw 5 held 3-4",
    "take a 5 0-1; take b 6 0-1",
    "take a 5 0-2; take b 6 0-2; take c 7 0-2",
    "take a 5 0-1; renew a 5 2-3 no; renew a 5 4-5",
    "take a 5 0-1; take b 9 saw 5 held 2-3; release b 9 4-5; renew a 5 6-7",
    "take a 5 0-1; take b 9 saw 5 held 2-3; release b 9 4-5; renew b 9 6-7",
]


@pytest.mark.parametrize("text", GOOD)
def test_what_an_atomic_lease_may_do_is_linearizable(text: str) -> None:
    assert linearizable(history(text))


@pytest.mark.parametrize("text", BAD)
def test_what_no_atomic_lease_could_do_is_rejected(text: str) -> None:
    assert not linearizable(history(text))


def test_more_than_thirty_bad_histories_are_rejected() -> None:
    assert len(set(BAD)) > 30


def ordered(operations: Sequence[Operation], lease: Lease, overtaken: Mapping[Operation, bool]) -> bool:
    """Tell whether some order of *operations* is that of an atomic lease, by trying all of them."""
    if all(one.ended == NEVER for one in operations):
        return True
    for one in operations:
        rest = [other for other in operations if other is not one]
        if any(other.ended < one.began for other in rest):
            continue
        if any(ordered(rest, reached, overtaken) for reached in after(lease, one, overtaken=overtaken[one])):
            return True
    return False


def drawn(dice: Random) -> list[Operation]:
    """Draw a short history: near enough to a lease's that some of them are one."""
    made = []
    for number in range(dice.randint(2, 6)):
        kind, who = dice.choice(("take", "take", "renew", "release")), dice.choice("abc")
        began = number + 2 * dice.random()
        ended = NEVER if dice.random() < 0.2 else began + 3 * dice.random()
        token = {"a": 5, "b": 7, "c": 9}[who]
        saw = dice.choice((0, 0, 5, 7)) if kind == "take" else 0
        made.append(Operation(kind, who, token, began, ended, dice.random() < 0.7, saw, bool(saw) and dice.random() < 0.5))
    return made


def test_the_search_with_a_memory_says_what_trying_every_order_says() -> None:
    dice, said = Random(20_261_121), Counter[bool]()
    for _ in range(4_000):
        one = drawn(dice)
        overtaken = {x: any(y.kind == "take" and y.saw == x.token and y.began < x.ended for y in one) for x in one}
        expected = ordered(one, Lease(), overtaken)
        assert linearizable(one) is expected, one
        said[expected] += 1
    print(said)
    assert min(said[True], said[False]) > 400


def test_leases_are_judged_one_by_one() -> None:
    mine, other = history("take a 5 0-1"), history("take b 6 2-3")
    assert not linearizable([*mine, *other])
    assert linearizable([*mine, *(one._replace(key="other") for one in other)])
    assert overlapping(history("take a 5 0-2; take b 6 1-3 no")) == 1
    assert not overlapping(history("take a 5 0-; take b 9 saw 5 held 3-4; renew b 9 5-6"))


def test_recorded_histories_of_contended_leases_are_linearizable() -> None:
    seeds = range(2_000_000, 2_000_000 + max(300, CI.histories // 10))
    tally = campaign(lambda seed, allowed: LeaseWorld(seed, allowed=allowed), seeds, most=1)
    assert not tally.violations
    print(f"{tally.branches[OVERLAPS]} of {len(seeds)} histories have operations that overlap")
    assert tally.branches[OVERLAPS] > len(seeds) // 6
