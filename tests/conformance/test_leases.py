"""Leases: one holder a token, whoever writes, and an own write is recognised."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sedano.errors import ConfigurationError, OptionError, Unavailable
from sedano.memory import START, VirtualClock
from sedano.memory.folder_archive import LEASES, FolderLeases
from sedano.model.leases import LeaseRecord, Term, term
from sedano.model.store_clock import Moment
from sedano.ports import Leases
from tests.conformance.worlds import World, in_memory, named, over_aws
from tests.plugins.resources import Resources

NOW = 1_767_225_600_000
THEN = Moment(NOW, 0.0)
FIRST = LeaseRecord("shop/é#1", NOW, "nonce-1", "host.1", 1, True, 30_000, NOW + 30_000)
SECOND = LeaseRecord("shop/é#1", NOW + 1, "nonce-2", "host.2", 2, True, 20_000, NOW + 60_000)


@pytest.fixture(params=["memory", "folder", "sqlite", "moto", pytest.param("ministack", marks=pytest.mark.ministack)])
def world(request: pytest.FixtureRequest) -> World:
    """The worlds of every port, and a folder, where the history on one machine keeps its lease."""
    return named(request.param, request)


def held(leases: Leases, grant: LeaseRecord = FIRST) -> Term:
    """Take the absent lease."""
    answer = leases.take(grant, None)
    assert answer.done
    return term(grant, THEN)


def stored(leases: Leases) -> LeaseRecord:
    """What the store holds now."""
    return leases.read([FIRST.name])[FIRST.name]


def test_an_unknown_lease_is_absent(world: World) -> None:
    assert world.leases.read(["nobody's"]) == {}


def test_a_lease_is_read_back_as_it_was_granted(world: World) -> None:
    assert world.leases.take(FIRST, None).record == FIRST
    assert world.leases.read([FIRST.name, "other"]) == {FIRST.name: FIRST}


def test_the_stores_time_is_known_after_its_first_answer(aws_world: World) -> None:
    assert aws_world.leases.time() is None
    aws_world.leases.read(["any"])
    shown = aws_world.leases.time()
    assert shown is not None
    assert shown.lo - 2_000 <= time.time() * 1000 <= shown.hi + 2_000
    assert not shown.suspect


def test_a_refusal_tells_the_time_too(aws_world: World) -> None:
    assert not aws_world.leases.want(FIRST, "me")
    assert aws_world.leases.time() is not None


def test_a_lease_that_was_never_taken_is_not_renewed_given_back_awaited_or_taken_over(world: World) -> None:
    leases, mine = world.leases, term(FIRST, THEN)
    assert leases.renew(mine, NOW + 90_000) == leases.release(mine, NOW) == leases.take(SECOND, FIRST) == (False, None)
    assert not leases.wait(FIRST, "m")
    assert not leases.call(FIRST._replace(waiting=("m",)), "b")
    assert leases.read([FIRST.name]) == {}


def test_no_message_is_called_where_none_waits(world: World) -> None:
    held(world.leases)
    assert not world.leases.call(FIRST._replace(waiting=("m",)), "b")
    assert stored(world.leases) == FIRST


def test_only_one_of_two_who_saw_no_lease_gets_it(world: World) -> None:
    held(world.leases)
    refused = world.leases.take(SECOND._replace(version=1), None)
    assert (refused.done, refused.record) == (False, FIRST)


def test_only_one_of_two_who_saw_the_same_lease_gets_it(world: World) -> None:
    held(world.leases)
    assert world.leases.take(SECOND, FIRST).done
    refused = world.leases.take(SECOND._replace(nonce="nonce-3"), FIRST)
    assert (refused.done, refused.record) == (False, SECOND)


def test_a_lease_that_was_renewed_since_it_was_seen_is_not_taken(world: World) -> None:
    mine = held(world.leases)
    assert world.leases.renew(mine, NOW + 40_000).done
    refused = world.leases.take(SECOND, FIRST)
    assert not refused.done
    assert refused.record == FIRST._replace(expires=NOW + 40_000, version=2)


def test_a_take_whose_answer_was_lost_is_recognised_as_mine(world: World) -> None:
    lost(world, lambda: world.leases.take(FIRST, None))
    assert world.leases.take(FIRST, None).done
    lost(world, lambda: world.leases.take(SECOND, FIRST))
    again = world.leases.take(SECOND, FIRST)
    assert (again.done, again.record) == (True, SECOND)


def test_a_take_that_comes_again_after_the_release_is_not_mine_any_more(world: World) -> None:
    mine = held(world.leases)
    world.leases.release(mine, NOW)
    again = world.leases.take(FIRST, None)
    assert not again.done
    assert again.record is not None
    assert not again.record.held


def test_a_renewal_never_shortens(world: World) -> None:
    mine = held(world.leases)
    assert world.leases.renew(mine, NOW + 50_000).done
    late = world.leases.renew(mine, NOW + 40_000)
    assert late == (True, FIRST._replace(expires=NOW + 50_000, version=2))
    assert stored(world.leases).expires == NOW + 50_000


def test_a_renewal_whose_answer_was_lost_is_no_reason_to_lose_the_lease(world: World) -> None:
    mine = held(world.leases)
    lost(world, lambda: world.leases.renew(mine, NOW + 40_000))
    assert world.leases.renew(mine, NOW + 40_000).done
    assert world.leases.renew(mine, NOW + 50_000).done


def test_an_old_term_cannot_renew_a_new_one(world: World) -> None:
    old = held(world.leases)
    world.leases.take(SECOND, FIRST)
    refused = world.leases.renew(old, NOW + 90_000)
    assert (refused.done, refused.record) == (False, SECOND)
    assert stored(world.leases) == SECOND


def test_an_old_term_cannot_release_a_new_one(world: World) -> None:
    old = held(world.leases)
    world.leases.take(SECOND, FIRST)
    assert not world.leases.release(old, NOW).done
    assert stored(world.leases) == SECOND


def test_a_term_of_the_same_token_and_another_nonce_has_no_say(world: World) -> None:
    mine = held(world.leases)
    assert not world.leases.renew(mine._replace(nonce="clone"), NOW + 90_000).done
    assert not world.leases.release(mine._replace(nonce="clone"), NOW).done
    assert stored(world.leases) == FIRST


@pytest.mark.parametrize("change", [{"token": NOW + 7}, {"version": 7}])
def test_a_lease_is_taken_only_as_it_was_seen(world: World, change: dict[str, int]) -> None:
    held(world.leases)
    assert world.leases.take(SECOND, FIRST._replace(**change)) == (False, FIRST)
    assert stored(world.leases) == FIRST


def test_a_term_of_the_same_nonce_and_another_token_has_no_say(world: World) -> None:
    mine = held(world.leases)
    assert not world.leases.renew(mine._replace(token=mine.token - 1), NOW + 90_000).done
    assert not world.leases.release(mine._replace(token=mine.token - 1), NOW).done
    assert stored(world.leases) == FIRST


def test_a_renewal_to_the_same_end_is_seen_by_whoever_watches(world: World) -> None:
    mine = held(world.leases)
    assert world.leases.renew(mine, FIRST.expires).done
    assert stored(world.leases) == FIRST._replace(version=2)


def test_no_message_waits_for_a_holder_that_was_not_seen(world: World) -> None:
    held(world.leases)
    assert not world.leases.wait(FIRST._replace(token=1), "m")
    assert stored(world.leases).waiting == ()


def test_a_released_lease_keeps_its_token_and_cannot_be_renewed(world: World) -> None:
    mine = held(world.leases)
    released = world.leases.release(mine, NOW + 2_000)
    assert released.record == FIRST._replace(held=False, version=2, expires=NOW + 2_000)
    assert not world.leases.renew(mine, NOW + 90_000).done
    assert stored(world.leases).token == FIRST.token


def test_a_release_whose_answer_was_lost_changes_nothing_the_second_time(world: World) -> None:
    mine = held(world.leases)
    lost(world, lambda: world.leases.release(mine, NOW))
    before = stored(world.leases)
    assert not before.held
    assert world.leases.release(mine, NOW + 5_000) == (True, before)
    assert stored(world.leases) == before


def test_the_first_who_asks_for_a_lease_is_the_one(world: World) -> None:
    mine = held(world.leases)
    assert world.leases.want(FIRST, "b")
    assert world.leases.want(FIRST, "b")
    assert not world.leases.want(FIRST, "c")
    assert stored(world.leases) == FIRST._replace(want="b")
    released = world.leases.release(mine, NOW).record
    assert released is not None
    assert released.want == "b"


def test_whoever_saw_who_asked_may_ask_in_that_ones_place(world: World) -> None:
    held(world.leases)
    world.leases.want(FIRST, "b")
    assert world.leases.want(FIRST._replace(want="b"), "c")
    assert not world.leases.want(FIRST._replace(want="b"), "d")
    assert stored(world.leases).want == "c"


def test_asking_does_not_change_the_version(world: World) -> None:
    held(world.leases)
    world.leases.want(FIRST, "b")
    world.leases.wait(FIRST, "m")
    assert world.leases.take(SECOND, FIRST).done


def test_the_next_holder_owes_nothing_to_who_asked_before(world: World) -> None:
    held(world.leases)
    world.leases.want(FIRST, "b")
    assert world.leases.take(SECOND, FIRST).record == SECOND


def test_nobody_asks_for_a_lease_that_is_held_by_another_or_by_nobody(world: World) -> None:
    assert not world.leases.want(FIRST, "b")
    mine = held(world.leases)
    assert not world.leases.want(SECOND, "b")
    world.leases.release(mine, NOW)
    assert not world.leases.want(FIRST, "b")
    assert not world.leases.wait(FIRST, "m")


def test_messages_wait_in_order_and_at_most_ten(world: World) -> None:
    held(world.leases)
    assert [world.leases.wait(FIRST, f"m{n}") for n in range(11)] == [True] * 10 + [False]
    assert stored(world.leases).waiting == tuple(f"m{n}" for n in range(10))


def test_waiting_messages_outlive_a_change_of_holder(world: World) -> None:
    mine = held(world.leases)
    world.leases.wait(FIRST, "m0")
    world.leases.release(mine, NOW)
    free = stored(world.leases)
    taken = world.leases.take(SECOND._replace(version=3), free).record
    assert taken is not None
    assert (taken.waiting, taken.held, taken.owner) == (("m0",), True, "host.2")


def test_only_one_calls_the_first_waiting_message(world: World) -> None:
    mine = held(world.leases)
    for n in range(2):
        world.leases.wait(FIRST, f"m{n}")
    released = world.leases.release(mine, NOW).record
    assert released is not None
    assert world.leases.call(released, "b")
    assert not world.leases.call(released, "c")
    assert (stored(world.leases).waiting, stored(world.leases).want) == (("m1",), "b")


def test_of_many_who_take_at_the_same_time_exactly_one_gets_it(world: World) -> None:
    if not world.concurrent:
        pytest.skip("moto is not atomic across threads")
    seen: LeaseRecord | None = None
    for turn in range(1, 6):
        grants = [FIRST._replace(nonce=f"{turn}.{n}", token=NOW + turn, version=turn) for n in range(8)]
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(world.leases.take, grants, [seen] * 8))
        winners = [grant for grant, answer in zip(grants, answers, strict=True) if answer.done]
        assert len(winners) == 1
        assert all(answer.record == winners[0] for answer in answers)
        seen = winners[0]


def test_a_proof_is_the_condition_that_the_term_still_holds(aws_world: World) -> None:
    mine = held(aws_world.leases)
    check = aws_world.leases.proof(mine)["ConditionCheck"]
    assert check["ExpressionAttributeValues"][":tok"] == {"N": str(mine.token)}
    assert check["Key"]["pk"]["S"].startswith("LEASE#")


def test_a_proof_holds_for_the_term_that_holds_and_for_no_other(resources: Resources) -> None:
    leases, client = over_aws(resources).leases, resources.session.client("dynamodb")
    mine = held(leases)

    def proven(holder: Term) -> bool:
        try:
            client.transact_write_items(TransactItems=[leases.proof(holder)])
        except client.exceptions.TransactionCanceledException:
            return False
        return True

    assert proven(mine)
    assert not proven(mine._replace(nonce="clone"))
    assert not proven(mine._replace(token=mine.token - 1))
    leases.release(mine, NOW)
    assert not proven(mine), "a term that was given back proves nothing"


def test_neither_memory_nor_a_folder_has_transactions_to_prove_a_term_to(tmp_path: Path) -> None:
    mine = term(FIRST, THEN)
    for leases in (in_memory().leases, FolderLeases(tmp_path, VirtualClock(START))):
        with pytest.raises(OptionError, match="transaction"):
            leases.proof(mine)


def test_processes_that_share_a_folder_share_its_leases_and_a_look_writes_nothing(tmp_path: Path) -> None:
    first, second = (FolderLeases(tmp_path, VirtualClock(START)) for _ in range(2))
    held(first)
    before = (tmp_path / LEASES).stat().st_mtime_ns
    assert second.read([FIRST.name]) == {FIRST.name: FIRST}
    assert (tmp_path / LEASES).stat().st_mtime_ns == before
    assert second.time() == first.time()


@pytest.mark.parametrize("text", ["", "{", '[{"name": "a"}]', "[5]", '[{"waiting": 5}]'])
def test_a_file_that_holds_no_leases_is_refused_with_what_to_do(tmp_path: Path, text: str) -> None:
    (tmp_path / LEASES).write_text(text)
    with pytest.raises(ConfigurationError, match=r"^history: .* does not hold leases \(.*\); delete it while no run is active$"):
        FolderLeases(tmp_path, VirtualClock(START)).read([FIRST.name])


def lost(world: World, call: object) -> None:
    """Make *call* with its answer lost; memory and a file have no answer to lose, there it is simply made twice."""
    assert callable(call)
    with world.losing("UpdateItem"):
        if world.is_local:
            call()
        else:
            with pytest.raises(Unavailable):
                call()
