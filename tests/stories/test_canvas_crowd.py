"""Chords among workers that die and messages that come twice: small ones here, of 10 000 members in `make prove`."""

import pytest

from tests.stories.crowd import play
from tests.stories.mutants import CountsArrivals


@pytest.mark.parametrize("seed", range(20))
def test_a_chord_comes_out_whole_among_copies_and_kills(seed: int) -> None:
    crowd = play(300, seed)
    assert crowd.complaints() == []
    assert crowd.copies > 50
    assert crowd.kills > 0


def test_a_chord_of_ten_thousand_comes_out_whole() -> None:
    assert play(10_000, 1).complaints() == []


def test_a_join_costs_less_than_a_write_a_member() -> None:
    crowd = play(2_000, 1, twice=0.0, killed=0.0)
    assert crowd.complaints() == []
    assert crowd.join_writes <= 0.25 * crowd.size
    assert crowd.writes <= 3.02 * crowd.size + 20


def test_a_counter_in_place_of_a_set_is_found_out() -> None:
    assert any(play(300, seed, over=CountsArrivals).complaints() for seed in range(3))
