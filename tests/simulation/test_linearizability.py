"""The checker of histories: it passes what an atomic lease may do and rejects more than thirty histories that none could have had.

A history is written a line an operation: `kind who token [saw token [held]] began-ended [no]`; an open end means no answer.
"""

import pytest

from tests.simulation.campaign import campaign
from tests.simulation.leases import LeaseWorld
from tests.simulation.linearizability import NEVER, Operation, linearizable
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


def test_recorded_histories_of_contended_leases_are_linearizable() -> None:
    seeds = range(2_000_000, 2_000_000 + max(300, CI.histories // 10))
    tally = campaign(lambda seed, allowed: LeaseWorld(seed, allowed=allowed), seeds, most=1)
    assert not tally.violations
