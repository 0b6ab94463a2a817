"""Stories of chains whose links run in the invocation of the link before: one message, one effect for each link, and nothing lost."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from sedano import Retry, Sedano, chain, current, group
from sedano.engine.leases import Leasing
from sedano.engine.worker.pipeline import WorkerSettings
from sedano.errors import OptionError
from sedano.model import states
from sedano.model.inline_links import MOST_LINKS
from sedano.model.ledger.records import Claim
from sedano.model.messages.message import LAUNCH
from sedano.ports import PARKED, RECORDS
from tests.commands import command_in
from tests.stories.chained import LINKS, OFF, Line
from tests.stories.processes import COMMANDS
from tests.stories.taps import OUTSIDE, Watch, tapped


def test_a_chain_that_is_alone_is_one_message_and_one_invocation() -> None:
    line = Line()
    watch = Watch(ports=OUTSIDE)
    line.processes.restart(tapped(line.stage.ports, watch))
    result = line.delay()
    assert len(line.processes.deliver()) == 1
    line.assert_whole(result)
    assert line.stage.peek(COMMANDS) == []
    sends = [call for call in watch.calls if call == "queues.send"]
    assert (len(sends), line.stage.audit.writes["claim"], line.stage.audit.writes["record"]) == (1, LINKS, LINKS), "one send of the history"


def test_the_history_of_inline_links_has_a_row_for_each_and_one_line_of_the_invocation() -> None:
    line = Line(3)
    line.delay()
    line.processes.deliver()
    (sent,) = line.stage.peek(RECORDS)
    told = json.loads(sent.body)
    ids = line.ids()
    assert [(row[0], row[3], row[4]) for row in told["rows"]] == list(zip(ids, ids[:1] * 3, [None, *ids], strict=False)), "one tree"
    assert all(row[-2] == "task-succeeded" for row in told["rows"])
    (invocation,) = [one for one in told["lines"] if one["type"] == "worker-invocation"]
    assert (invocation["messages"], invocation["given_back"]) == (1, 0)


def test_without_inline_links_each_link_is_a_message() -> None:
    line = Line(3, OFF)
    result = line.delay()
    rounds = 0
    while line.processes.deliver():
        rounds += 1
    assert rounds == 3
    line.assert_whole(result)


def test_a_setting_that_is_no_flag_is_refused() -> None:
    with pytest.raises(OptionError, match=r"worker.inline_links: 3 is not True or False"):
        Sedano("shop", worker=WorkerSettings(inline_links=3))  # type: ignore[arg-type]


def test_a_copy_of_the_carrier_in_the_same_process_is_discarded_without_a_call() -> None:
    line = Line(3)
    result = line.delay()
    (first,) = line.stage.peek(COMMANDS)
    line.processes.drain()
    claims = line.stage.audit.writes["claim"]
    line.stage.ports.queues.send(COMMANDS, [first])
    line.processes.deliver()
    assert line.stage.audit.writes["claim"] == claims
    line.assert_whole(result)


def test_a_revoked_link_ends_the_chain_and_the_carrier_is_acknowledged() -> None:
    line = Line(4)
    result = chain(line.step.s(0, 0), line.step.s(1), line.step.s(2).set(task_id="revoked-1"), line.step.s(3)).delay()
    line.during = lambda number: line.shop.app.control.revoke("revoked-1") if number == 1 else None
    line.processes.deliver()
    assert line.stage.peek(COMMANDS) == []
    line.processes.drain()
    assert result.state == states.REVOKED
    assert line.bodies == {0: 1, 1: 1}
    assert (line.stage.peek(PARKED), line.stage.dead()) == ([], [])


def test_a_link_that_fails_once_is_sent_again_and_its_carrier_is_acknowledged() -> None:
    line = Line(4)
    result = line.delay()

    def fails(number: int) -> None:
        if number == 2 and current().attempt == 0:
            raise RuntimeError("not yet")

    line.during = fails
    line.processes.deliver()
    (waiting,) = line.stage.peek(COMMANDS)
    assert (command_in(waiting.body).attempt, waiting.delay > 0) == (1, True)
    line.processes.drain()
    line.assert_whole(result)
    assert line.bodies == {0: 1, 1: 1, 2: 2, 3: 1}


def test_a_link_that_fails_ends_the_chain() -> None:
    line = Line(4)
    line.step = line.shop.task("strict", line._step, retry=False)
    result = line.delay()

    def fails(number: int) -> None:
        if number == 2:
            raise ValueError("out of stock")

    line.during = fails
    line.processes.drain()
    with pytest.raises(Exception, match="out of stock"):
        result.get(timeout=1)
    assert line.bodies == {0: 1, 1: 1, 2: 1}


@pytest.mark.parametrize("options", [{"queue": "bulk"}, {"delivery": "record_once"}, {"delivery": "at_least_once"}])
def test_a_link_of_another_queue_or_without_a_claim_is_sent(options: dict[str, Any]) -> None:
    line = Line()
    other = line.shop.task("other", lambda before: before, **options)
    result = chain(line.step.s(0, 0), other.s(), line.step.s(1)).delay()
    line.processes.deliver()
    assert line.ids() != []
    assert line.shop.ran["other"] == 0
    line.processes.drain()
    assert result.get(timeout=1) == 2


def test_a_link_that_waits_for_quiet_is_sent() -> None:
    line = Line()
    other = line.shop.task("other", lambda _: 1, debounce="30s", key="all")
    result = chain(line.step.s(0, 0), other.s()).delay()
    line.processes.deliver()
    assert (line.ids(), [command_in(one.body).task for one in line.stage.peek(COMMANDS)]) == (line.ids()[:1], ["other"])
    line.processes.drain()
    assert result.state == states.SUCCESS


def test_what_follows_a_launch_is_sent() -> None:
    line = Line()
    result = chain(group([line.step.s(0, 0)]), line.shop.task("last", sum).s()).delay()
    (launch,) = line.processes.deliver()
    assert (command_in(launch.body).task, line.bodies, len(line.stage.peek(COMMANDS))) == (LAUNCH, {}, 1)
    line.processes.drain()
    assert result.get(timeout=1) == 1


def test_a_link_with_a_delay_is_sent() -> None:
    line = Line()
    result = chain(line.step.s(0, 0), line.step.s(1).set(countdown=20), line.step.s(2)).delay()
    line.processes.deliver()
    assert line.bodies == {0: 1}
    (waiting,) = line.stage.peek(COMMANDS)
    assert waiting.delay == 20
    line.processes.drain()
    assert result.get(timeout=1) == 3


@pytest.mark.parametrize("delivery", ["record_once", "at_least_once"])
def test_what_follows_a_link_without_a_claim_is_sent(delivery: str) -> None:
    line = Line()
    other = line.shop.task("other", lambda: 1, delivery=delivery)
    result = chain(other.s(), line.step.s(1), line.step.s(2)).delay()
    line.processes.deliver()
    assert (line.shop.ran["other"], line.bodies) == (1, {})
    line.processes.drain()
    assert result.get(timeout=1) == 3


def test_a_link_that_is_paused_waits_as_a_message() -> None:
    line = Line(3)
    late = line.shop.task("late", lambda before: before + 1)
    result = chain(line.step.s(0, 0), late.s(), line.step.s(1)).delay()
    line.shop.app.control.pause(task="late", until=datetime.fromtimestamp(line.stage.clock.now() + 100, UTC))
    line.processes.deliver()
    assert (line.ids(), line.shop.ran["late"]) == (line.ids()[:1], 0)
    assert len(line.stage.peek(COMMANDS)) == 1
    line.processes.drain()
    assert result.get(timeout=1) == 3


def test_a_link_beyond_its_rate_waits_for_its_slot_as_one_message() -> None:
    line = Line(3)
    slow = line.shop.task("slow", lambda before: before + 1, rate="1/m")
    result = chain(line.step.s(0, 0), slow.s(), slow.s()).delay()
    line.processes.deliver()
    assert line.shop.ran["slow"] == 1
    (waiting,) = line.stage.peek(COMMANDS)
    assert waiting.delay >= 30
    line.processes.drain()
    assert result.get(timeout=1) == 3


def test_a_link_whose_lease_is_held_elsewhere_waits_as_a_message() -> None:
    line = Line(3)
    alone = line.shop.task("guarded", lambda before: before, singleton=True)
    result = chain(line.step.s(0, 0), alone.s(), line.step.s(1)).delay()
    Leasing(line.stage.ports).attempt("singleton/guarded/", "another", 20_000, "another")
    line.processes.deliver()
    assert len(line.stage.audit.ends) == 1
    assert len(line.stage.peek(COMMANDS)) == 1
    (lease,) = line.stage.ports.leases.read(["singleton/guarded/"]).values()
    assert list(lease.waiting) == [], "it came from no queue, so no receipt could wake it"
    line.processes.drain()
    assert result.get(timeout=1) == 2
    assert line.stage.audit.effects() == {("step", states.SUCCESS): 2, ("guarded", states.SUCCESS): 1}


def test_an_expired_claim_is_not_taken_over_inline_but_by_the_message_of_its_link() -> None:
    line = Line(1)
    now = line.stage.clock.now()
    line.stage.ports.ledger.claim([Claim("held-1", 0, "message of another", "n" * 32, now + 5, 1, "step")])
    line.stage.pass_time(6)
    result = chain(line.step.s(0, 0), line.step.s(1).set(task_id="held-1"), line.step.s(2)).delay()
    line.processes.deliver()
    assert (line.bodies, line.stage.audit.writes["steal"]) == ({0: 1}, 0)
    assert len(line.stage.peek(COMMANDS)) == 1
    line.processes.deliver()
    assert line.stage.audit.writes["steal"] == 1
    assert (result.get(timeout=1), line.bodies) == (3, {0: 1, 1: 1, 2: 1})


def test_each_singleton_link_takes_and_gives_back_its_own_lease() -> None:
    line = Line(1)
    alone = line.shop.task("guarded", lambda before: before + 1, singleton=True)
    result = chain(line.step.s(0, 0), alone.s(), alone.s(), alone.s()).delay()
    line.processes.deliver()
    assert result.get(timeout=1) == 4


def test_each_link_has_its_own_context() -> None:
    line = Line(3)
    seen: list[tuple[str, int]] = []
    line.during = lambda number: seen.append((current().id, number))
    line.delay()
    line.processes.deliver()
    assert [one for one, _ in seen] == line.ids()
    assert len(set(line.ids())) == 3


def test_at_most_a_hundred_links_follow_one_message() -> None:
    line = Line(MOST_LINKS + 5)
    result = line.delay()
    line.processes.deliver()
    assert len(line.stage.audit.ends) == MOST_LINKS + 1
    line.processes.deliver()
    line.assert_whole(result)


def test_what_has_too_little_time_left_is_sent() -> None:
    line = Line(4)
    line.during = lambda _: line.stage.pass_time(2.0)
    result = line.delay()
    line.processes.deliver()
    assert len(line.stage.audit.ends) == 2, "after a tenth of an invocation of 30 s"
    line.processes.drain()
    line.assert_whole(result)


def test_a_worker_that_stops_sends_the_next_link() -> None:
    line, follows = Line(4), list[int]()
    line.during = lambda number: line.processes.worker.drain() if number == 1 else None
    line.processes.worker.inline.follows = lambda: follows.append(len(line.stage.audit.ends))
    result = line.delay()
    line.processes.deliver()
    assert (len(line.stage.audit.ends), follows) == (2, [1]), "the third one does not follow"
    line.processes.restart()
    line.processes.drain()
    line.assert_whole(result)


def test_the_links_of_several_messages_in_one_batch_are_sent() -> None:
    line = Line(3)
    first, second = line.shop.together([line.form(), line.form()])
    assert len(line.processes.deliver()) == 2
    assert len(line.stage.audit.ends) == 2
    line.processes.drain()
    assert first.get(timeout=1) == second.get(timeout=1) == 3


def test_a_link_whose_message_was_not_alone_is_sent() -> None:
    line = Line(3)
    result, _ = line.shop.together([line.form(), line.shop.add.s(1, 1)])
    assert len(line.processes.deliver()) == 2
    assert line.bodies == {0: 1}
    line.processes.drain()
    assert result.get(timeout=1) == 3


def test_a_link_beside_a_callback_is_sent() -> None:
    line = Line()
    first = line.step.s(0, 0)
    first.link(line.shop.pack.s())
    result = chain(first, line.step.s(1)).delay()
    line.processes.deliver()
    assert (line.bodies, line.shop.ran["pack"], len(line.stage.peek(COMMANDS))) == ({0: 1}, 0, 2)
    line.processes.drain()
    assert (result.get(timeout=1), line.shop.ran["pack"]) == (2, 1)


def test_tasks_of_two_canvases_under_one_id_that_a_user_chose_are_told_apart() -> None:
    line = Line(1)
    first = chain(line.step.s(0, 0), line.step.s(1).set(task_id="own-1"), line.step.s(2)).delay()
    line.processes.drain()
    assert first.get(timeout=1) == 3
    ends = len(line.stage.audit.ends)
    chain(line.step.s(5, 0), line.step.s(1).set(task_id="own-1"), line.step.s(3), line.step.s(4)).delay()
    line.processes.drain()
    assert len(line.stage.audit.ends) == ends + 1, "a copy of a finished task of another canvas continues nothing"


def test_a_retry_policy_of_a_link_is_its_own() -> None:
    line = Line(1)
    patient = line.shop.task("patient", lambda before: before + current().attempt, retry=Retry(max_retries=1))
    result = chain(line.step.s(0, 0), patient.s()).delay()
    line.processes.deliver()
    assert result.get(timeout=1) == 1
