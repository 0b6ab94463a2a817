"""The shares of tasks and tenants: the cost of each worker is divided among its runs by their time, and nothing is counted twice."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sedano.model.history.cost_shares import Share, SharePlace, cost_shares
from sedano.model.history.event_order import stamp
from sedano.model.history.invocation_prices import price
from sedano.model.history.rollups import MOST_ROWS, OTHERS, Sums, merged, read, shared, summed, within, written
from sedano.model.history.run_rows import MICRO, Chronicle, Host, unpack
from sedano.model.history.task_costs import task_costs
from tests.unit.test_rollups import PLAIN

NOW = 1_767_225_600
MINUTE = NOW // 60
RUNS = st.lists(
    st.tuples(st.sampled_from(["shop.pay", "shop.mail"]), st.sampled_from([None, "acme", "blue"]), st.integers(0, 10_000_000)), max_size=8
)
TENANTS = ("acme",)


def told(host: str, runs: list[tuple[str, str | None, int]], milliseconds: float = 1_000.0) -> list[dict[str, Any]]:
    """The events of one invocation on *host*: its *runs*, each a task, a tenant and microseconds, and its report."""
    chronicle = Chronicle(Host(host, 1, 512))
    for number, (name, tenant, micros) in enumerate(runs):
        at, stamps = NOW * MICRO, None if tenant is None else f"tenant={tenant}"
        times = (at, 1, at, 2, at, 3, at + micros, 4)
        chronicle.rows.append((f"{host}-{number}", name, "default", None, None, 0, "client", *times, "task-succeeded", None, stamps))
    fields = {"invocations": 1, "messages": len(runs), "calls": {"sqs.SendMessage": 10}, "duration_ms": milliseconds, "memory_mb": 512}
    chronicle.line("worker-invocation", 9, NOW + 1.0, **fields)
    return unpack(str(chronicle.pack()))


def test_the_cost_of_a_worker_is_divided_by_the_time_of_its_runs() -> None:
    events = told("h", [("shop.pay", "acme", 3_000_000), ("shop.pay", "blue", 1_000_000), ("shop.mail", "acme", 0)])
    cost = price(events[-1])
    assert cost == round(0.5 * 13.3334 * 1_000 + 0.2 * 1_000 + 10 * 0.4 * 1_000)
    assert cost_shares(events, TENANTS) == {
        SharePlace("shop.pay", "acme", MINUTE): Share(1, cost * 3 // 4), SharePlace("shop.pay", "", MINUTE): Share(1, cost // 4),
        SharePlace("shop.mail", "acme", MINUTE): Share(1, 0),
    }  # fmt: skip


def test_runs_that_took_no_time_have_equal_shares_and_an_idle_worker_has_none() -> None:
    events = told("h", [("shop.pay", None, 0), ("shop.mail", None, 0)])
    half = price(events[-1]) // 2
    found = cost_shares([*events, *told("idle", [])], ())
    assert found == {SharePlace("shop.pay", "", MINUTE): Share(1, half), SharePlace("shop.mail", "", MINUTE): Share(1, half)}


def test_events_that_arrive_twice_count_once_and_each_worker_pays_for_its_own_runs() -> None:
    one, other = told("h", [("shop.pay", "acme", 1)]), told("i", [("shop.pay", "acme", 1)], 9_000.0)
    shares = cost_shares([*one, *other, *one], TENANTS)
    assert shares == {SharePlace("shop.pay", "acme", MINUTE): Share(2, price(one[-1]) + price(other[-1]))}


@given(st.lists(RUNS, max_size=3))
def test_the_shares_are_those_of_the_cost_table_and_never_more_than_the_cost_of_the_workers(invocations: list[Any]) -> None:
    events = [event for number, runs in enumerate(invocations) for event in told(f"h{number}", runs)]
    shares = cost_shares(events, TENANTS)
    table = task_costs({stamp({"uuid": "", **event}): event for event in events})
    for name in ("shop.pay", "shop.mail"):
        for tenant, known in (("acme", ("acme",)), ("", ("", "blue"))):
            counted = sum(share.nanodollars for place, share in shares.items() if place[:2] == (name, tenant))
            shown = sum(one.nanodollars for one in table.tasks if one.name == name and one.tenant in known)
            assert counted == pytest.approx(shown, abs=20), "rounded for each run"
    assert sum(share.nanodollars for share in shares.values()) <= table.workers.nanodollars


@settings(max_examples=30)
@given(st.lists(st.dictionaries(st.sampled_from(["type", "uuid", "runtime", "hostname", "stamps", "timestamp"]), PLAIN), max_size=6))
def test_no_line_is_refused(lines: list[Any]) -> None:
    shares = cost_shares([*({"type": "worker-invocation", **one} for one in lines), *lines], TENANTS)
    assert all(share.nanodollars >= 0 for share in shares.values())


def test_sums_carry_shares_add_them_and_cut_them_to_a_window() -> None:
    events = told("h", [("shop.pay", "acme", 1_000)])
    sums = shared(summed(events), events, TENANTS)
    place = SharePlace("shop.pay", "acme", MINUTE)
    assert sums.shares == {place: Share(1, price(events[-1]))}
    assert merged([sums, sums]).shares == {place: Share(2, 2 * price(events[-1]))}
    assert (within(sums, MINUTE, MINUTE + 1).shares, within(sums, MINUTE + 1, MINUTE + 2).shares) == (sums.shares, {})
    assert read(written(sums)) == sums
    assert "shares" not in written(summed(events)), "an app without a limit writes what it wrote before"


def test_names_beyond_the_most_expensive_ones_are_one_row_a_tenant() -> None:
    events = told("h", [(f"t{number:03}", ("acme", None)[number % 2], 1_000 + number) for number in range(MOST_ROWS + 10)])
    sums = shared(Sums({}, {}), events, TENANTS)
    assert len(sums.shares) == MOST_ROWS + 2
    assert sum(share.number for place, share in sums.shares.items() if place.task == OTHERS) == 10
    assert {place.task for place in sums.shares} == {OTHERS, *(f"t{number:03}" for number in range(10, MOST_ROWS + 10))}
    whole = cost_shares(events, TENANTS)
    for tenant in ("", "acme"):
        assert sum(share.nanodollars for place, share in sums.shares.items() if place.tenant == tenant) == sum(
            share.nanodollars for place, share in whole.items() if place.tenant == tenant
        )


def end(uuid: str = "a", **said: Any) -> dict[str, Any]:
    """The end of a run on the host h."""
    return {"type": "task-succeeded", "uuid": uuid, "hostname": "h", "clock": 1, "timestamp": NOW, "runtime": 1.0, **said}


@pytest.mark.parametrize(
    ("runtime", "first"), [(0.0, 0), (3.0, 75), (1e15, 99), (-1.0, 0), (1.1e15, 0), (5, 0), (True, 0), ("3.0", 0), (None, 0)]
)
def test_a_run_pays_for_the_seconds_that_a_worker_can_report(runtime: object, first: int) -> None:
    report = {"type": "worker-invocation", "hostname": "h", "clock": 2, "invocations": 0, "calls": {"sqs.SendMessage": 0.25}}
    assert price(report) == 100
    found = cost_shares([report, end(name="one", runtime=runtime), end("b", name="two")], ())
    assert found[SharePlace("one", "", MINUTE)] == Share(1, first)
    timeless = cost_shares([report, end(name="one", runtime="3.0"), end("b", name="two", runtime=0.0)], ())
    assert {share.nanodollars for share in timeless.values()} == {50}, "neither took time"


def test_a_run_has_the_name_of_its_own_receipt_or_else_its_own_and_costs_nothing_without_a_report() -> None:
    named = {"type": "task-received", "uuid": "a", "name": "shop.pay", "stamps": "tenant=acme"}
    assert cost_shares([named, end()], TENANTS) == {SharePlace("shop.pay", "acme", MINUTE): Share(1, 0)}
    assert cost_shares([named, end("b", name="shop.mail")], TENANTS) == {SharePlace("shop.mail", "", MINUTE): Share(1, 0)}
    assert cost_shares([named, end("b")], TENANTS) == {SharePlace("", "", MINUTE): Share(1, 0)}
    assert shared(Sums({}, {}), [end("b")], ()).shares == {SharePlace(OTHERS, "", MINUTE): Share(1, 0)}


def test_a_line_of_another_writer_is_left_out_and_the_next_run_counts() -> None:
    unmeasured = {field: value for field, value in end("b").items() if field != "runtime"}
    strange: list[Any] = [{"type": ["task-sent"]}, end(hostname=["h"]), end("c", timestamp="now"), {"type": "worker-invocation"}]
    assert cost_shares([*strange, unmeasured, end("b", name="shop.mail")], ()) == {SharePlace("shop.mail", "", MINUTE): Share(1, 0)}
