"""The control record: what is revoked stays so, but for what can have no message left, and it never grows beyond its item."""

import pytest

from sedano.errors import TooLarge
from sedano.model.cluster.control_record import (
    MOST_BYTES,
    ControlRecord,
    was_announced_before,
    with_config,
    with_pauses,
    with_revoked,
    without,
)
from sedano.model.ledger.records import RECORD_LIFETIME_S

DAY = 86_400 * 1_000_000
NOW = 20_000 * DAY
LIFETIME = (RECORD_LIFETIME_S + 1) * 1_000_000


def test_a_pair_of_one_tree_goes_when_no_message_of_that_tree_can_be_left_and_every_other_stays() -> None:
    record = ControlRecord()
    for found in ("root_id=a", "parent_id=b", "tenant=acme", "task=add", "source=x"):
        record = with_revoked(record, found, NOW, "n")
    assert len(with_revoked(record, "root_id=c", NOW + LIFETIME - 2_000_000, "n").revoked) == 6
    later = with_revoked(record, "root_id=c", NOW + LIFETIME, "n")
    assert later.revoked.keys() == {"root_id=c", "tenant=acme", "task=add", "source=x"}


def test_a_pair_that_is_revoked_again_keeps_its_age_and_one_that_was_restored_begins_anew() -> None:
    record = with_revoked(with_revoked(ControlRecord(), "tenant=acme", NOW, "n"), "tenant=acme", NOW + DAY, "m")
    assert record.revoked == {"tenant=acme": NOW // 1_000_000}
    again = with_revoked(without(record, "tenant=acme", NOW + DAY, "o"), "tenant=acme", NOW + 2 * DAY, "p")
    assert again.revoked == {"tenant=acme": (NOW + 2 * DAY) // 1_000_000}


def test_more_pairs_than_the_item_can_hold_are_refused_with_what_to_do() -> None:
    record = ControlRecord(revoked={f"tenant={n:0>1000}": NOW // 1_000_000 for n in range(MOST_BYTES // 1_030)})
    assert with_revoked(record, "tenant=acme", NOW, "n").revoked
    with pytest.raises(TooLarge, match="restore_by_header"):
        with_revoked(record, f"tenant={'x' * 3_000}", NOW, "n")


def test_every_change_has_a_later_clock_and_leaves_the_rest_alone() -> None:
    record = with_pauses(with_revoked(ControlRecord(), "tenant=acme", NOW, "n"), frozenset({"bulk"}), 1, "m")
    assert (record.clock, record.nonce, record.paused, len(record.revoked)) == (NOW + 1, "m", {"bulk"}, 1)
    assert with_pauses(record, frozenset(), NOW + DAY, "o")._replace(paused=record.paused) == record._replace(clock=NOW + DAY, nonce="o")


def test_each_announcement_of_a_configuration_is_another_text_and_leaves_the_rest_alone() -> None:
    record = with_revoked(ControlRecord(asked="9 x"), "tenant=acme", NOW, "n")
    first = with_config(record, NOW, "a")
    assert (first.revoked, first.asked) == (record.revoked, record.asked)
    assert len({record.config, first.config, with_config(first, NOW, "a").config}) == 3


def test_an_announcement_is_old_news_a_minute_later_and_a_text_of_another_form_never_is() -> None:
    announced = with_config(ControlRecord(), NOW, "a").config
    moment = NOW / 1_000_000
    assert not was_announced_before(announced, moment + 59)
    assert was_announced_before(announced, moment + 61)
    for text in ("", "later a", "9" * 21, "²"):
        assert not was_announced_before(text, moment)
