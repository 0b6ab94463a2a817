"""Stories of the bounds of a pack: of the bytes of its record and of its time, and of what goes wrong with one member."""

from dataclasses import replace
from typing import Any

import pytest

from sedano import Sedano, current, group, testing
from sedano.model import packs, states
from sedano.model.retry import Retry
from sedano.ports import PARKED
from tests.stories.packed import Crate
from tests.stories.taps import Crash, Watch, away, tapped


def _result_of(crate: Crate, group_id: str) -> str:
    pack = packs.pack_id(group_id, 0)
    return crate.stage.ports.ledger.read([pack])[pack].result or ""


@pytest.mark.parametrize("letter", ["x", "\u0436", "\U0001f600"])
@pytest.mark.parametrize("retries", [0, 3])
def test_long_errors_of_all_members_fit_one_record(letter: str, retries: int) -> None:
    crate = Crate(size=64, retry=Retry(max_retries=retries, interval_start=5.0, jitter=False))

    def fails(number: int) -> None:
        if number < 60 and (not retries or crate.bodies[number] == 1):
            raise RuntimeError(letter * 2_000)

    crate.during = fails
    result = crate.group(64)
    crate.processes.drain()
    assert [one.state for one in result] == [states.SUCCESS if retries or n >= 60 else states.FAILURE for n in range(64)]
    assert {crate.bodies[n] for n in range(60, 64)} == {1}, "no member that succeeded runs again"
    assert len(_result_of(crate, str(result.id))) < 300_000


@pytest.mark.parametrize("letter", ["x", "\u4e2d", '"', "\\", "\U0001f600"])
@pytest.mark.parametrize("size", [300, 900, 4_000])
def test_results_of_any_letters_fit_one_record(letter: str, size: int) -> None:
    crate = Crate(size=64)
    task = crate.shop.task("lengthy", lambda number: letter * size)
    result = group([task.s(n) for n in range(64)], pack=64).delay()
    crate.processes.drain()
    assert result.get(timeout=1) == [letter * size] * 64
    assert len(_result_of(crate, str(result.id))) < 72_000


def test_results_of_some_kilobytes_cost_no_object_of_their_own() -> None:
    crate, watch = Crate(size=8), Watch(ports=frozenset({"blobs"}))
    task = crate.shop.task("lengthy", lambda number: "x" * 2_000)
    result = group([task.s(n) for n in range(8)], pack=8).delay()
    crate.processes.deliver()
    crate.processes.restart(tapped(crate.stage.ports, watch))
    crate.processes.drain()
    assert result.get(timeout=1) == ["x" * 2_000] * 8
    assert watch.calls.count("blobs.put") == 0


def test_results_stay_in_the_record_while_the_blob_store_is_away() -> None:
    crate = Crate(size=64)
    runs = list[int]()

    def body(number: int) -> str:
        runs.append(number)
        return "x" * 2_000

    task = crate.shop.task("lengthy", body)
    result = group([task.s(n) for n in range(64)], pack=64).delay()
    crate.processes.deliver()
    crate.processes.restart(tapped(crate.stage.ports, Watch(0, ports=frozenset({"blobs"}), error=away, times=10**6)))
    for _ in range(6):
        crate.processes.step()
    crate.processes.restart()
    crate.processes.drain()
    assert result.get(timeout=1) == ["x" * 2_000] * 64
    assert len(runs) == 64
    assert 64_000 < len(_result_of(crate, str(result.id))) < 300_000


def test_a_body_does_not_begin_in_less_time_than_the_longest_one_took() -> None:
    crate, deaths = Crate(size=8), 0

    def during(number: int) -> None:
        left = current().deadline - crate.stage.clock.now()
        if left < 7.0:
            crate.stage.pass_time(max(0.0, left))
            raise Crash
        crate.stage.pass_time(7.0)

    crate.during = during
    result = crate.chord(8)
    for _ in range(20):
        try:
            crate.processes.drain()
            break
        except Crash:
            deaths += 1
            crate.processes.restart()
    crate.assert_whole(result, 8)
    assert (deaths, set(crate.bodies.values())) == (0, {1})


class _Odd:
    """The blob store, whose *put* raises what no rule foresaw at first."""

    def __init__(self, blobs: Any) -> None:
        self._blobs, self.times = blobs, 1

    def __getattr__(self, name: str) -> Any:
        return getattr(self._blobs, name)

    def put(self, data: bytes) -> Any:
        """Raise once, then put."""
        if self.times:
            self.times -= 1
            raise ValueError("odd")
        return self._blobs.put(data)


def test_an_unforeseen_error_about_one_member_concerns_no_other() -> None:
    crate, runs = Crate(size=4), list[int]()

    def body(number: int) -> str:
        runs.append(number)
        return str(number) * 9_000

    task = crate.shop.task("lengthy", body)
    result = crate.publish([task.s(n) for n in range(4)])
    crate.processes.deliver()
    odd: Any = _Odd(crate.stage.ports.blobs)
    crate.processes.restart(replace(crate.stage.ports, blobs=odd))
    crate.processes.drain()
    assert [one.state for one in result.parent] == ["SUCCESS"] * 4
    assert sorted(runs) == [0, 0, 1, 2, 3]
    assert crate.stage.peek(PARKED) == []


def test_a_failed_member_with_long_arguments_can_be_run_again() -> None:
    app, broken = Sedano("again"), [True]

    @app.task(name="padded", retry=Retry(max_retries=0))
    def padded(number: int, _: str) -> int:
        if broken[0]:
            raise RuntimeError("x" * 5_000)
        return number

    with testing.world(app) as world:
        result = group([padded.s(n, "y" * 2_900) for n in range(64)], pack=64).delay()
        world.drain()
        broken[0] = False
        again = [app.control.retry(one.id) for one in result]
        world.drain()
        assert [one.get(timeout=1) for one in again] == [*range(64)]


def test_long_arguments_of_members_that_failed_lie_in_the_blob_store() -> None:
    crate = Crate(size=4)

    def fails(text: str) -> None:
        raise ValueError(text[:3])

    task = crate.shop.task("failing", fails, retry=False)
    result = group([task.s("x" * 2_000) for _ in range(4)], pack=4).delay()
    crate.processes.drain()
    assert [one.state for one in result] == [states.FAILURE] * 4
    assert len(_result_of(crate, str(result.id))) < 7_000
    calls = [crate.stage.ports.ledger.read([one.id])[one.id].call for one in result]
    assert all(call is not None and "x" * 2_000 not in call.body for call in calls)


def test_no_more_results_lie_in_the_blob_store_than_the_record_has_no_room_for() -> None:
    crate = Crate(size=32)
    task = crate.shop.task("lengthy", lambda number: "x" * 2_900)
    result = group([task.s(n) for n in range(32)], pack=32).delay()
    crate.processes.drain()
    records = crate.stage.ports.ledger.read([one.id for one in result])
    assert 5 <= sum(record.result_ref is not None for record in records.values()) <= 15
    assert 60_000 < len(_result_of(crate, str(result.id))) < 66_000
