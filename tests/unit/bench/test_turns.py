"""The pipeline's contest: who plays which round, which rounds count, and when it stops for want of time."""

import pytest

from benchmarks.pipeline.turns import Plan, in_turns


class Ring:
    """Contenders that take the seconds they are told to, on a clock of their own."""

    def __init__(self, **seconds):
        self.now = 0.0
        self.played = []
        self.asked = {name: lambda name=name, took=took: self._play(name, took) for name, took in seconds.items()}

    def _play(self, name, took):
        self.now += took
        self.played.append(name)
        return took

    def turns(self, *plan, **options):
        return in_turns(self.asked, Plan(*plan), clock=lambda: self.now, **options)


def test_all_play_in_turns_and_only_the_rounds_after_the_warm_up_count():
    ring, told = Ring(ours=1.0, theirs=2.0), []
    assert ring.turns(2, 1, tell=told.append) == {"ours": [1.0, 1.0], "theirs": [2.0, 2.0]}
    assert ring.played == ["ours", "theirs"] * 3
    assert told[0] == "round 1 of 3 (warming up): ours 1.0, theirs 2.0 CPU s"
    assert told[1] == "round 2 of 3: ours 1.0, theirs 2.0 CPU s"


def test_who_plays_once_plays_the_first_round_that_counts():
    ring = Ring(ours=1.0, state=50.0)
    assert ring.turns(3, 2, once={"state"}) == {"ours": [1.0] * 3, "state": [50.0]}
    assert ring.played == ["ours", "ours", "ours", "state", "ours", "ours"]


@pytest.mark.parametrize(("seconds", "rounds"), [(70.0, 6), (60.0, 5), (59.9, 4), (1.0, 1)])
def test_no_round_begins_that_would_end_too_late_but_one_counts(seconds, rounds):
    assert Ring(ours=10.0).turns(6, 1, seconds) == {"ours": [10.0] * rounds}
