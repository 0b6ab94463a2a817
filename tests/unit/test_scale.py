"""One budget of a queue for all its hosts: the shares add up to it, and every process computes the same ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.errors import OptionError
from sedano.model.cluster.control_record import ControlRecord, with_wish
from sedano.model.cluster.members import ACTIVE, LEFT, LOST, STALE_S, MemberRecord
from sedano.model.cluster.scale import (
    AGAIN_S,
    INVOKED_S,
    LEAST_OF_LAMBDA,
    MOST_OF_LAMBDA,
    MOST_SCALED,
    ProcessShare,
    Server,
    Servers,
    checked_number,
    divided,
    lambda_share,
    process_share,
    servers,
    shares,
)
from sedano.model.cluster.worker_report import DRAINING, LAMBDA, PROCESS, READY, WorkerReport, text_of

NOW = 1_767_225_600.0
QUEUES = ("default", "mail", "bulk")
fleets = st.dictionaries(
    st.text("abc", min_size=1),
    st.tuples(st.sets(st.sampled_from(QUEUES), min_size=1).map(lambda one: tuple(sorted(one))), st.integers(1, 40)), max_size=6,
).map(lambda found: tuple(Server(name, *found[name]) for name in sorted(found)))  # fmt: skip
numbers = st.integers(1, MOST_SCALED)


@given(number=numbers, names=st.sets(st.text(min_size=1), min_size=1, max_size=9))
def test_a_number_is_divided_without_a_rest_and_evenly(number: int, names: set[str]) -> None:
    found = divided(number, [*names])
    assert sum(found.values()) == number
    assert max(found.values()) - min(found.values()) <= 1
    assert found == divided(number, sorted(names, reverse=True)), "the order in which they are seen does not count"


def test_the_figures_of_scaling() -> None:
    assert (MOST_SCALED, LEAST_OF_LAMBDA, MOST_OF_LAMBDA, AGAIN_S, INVOKED_S) == (10_000, 2, 1_000, 30.0, 3_600.0)
    full = Servers((Server("a", ("mail",), 9_000),), frozenset({"mail"}))
    assert [lambda_share("mail", number, full) for number in (8_999, 9_001, 9_003, 10_000)] == [2, 2, 3, 1_000]
    assert (divided(7, ["b", "a", "c"]), divided(2, ["b", "a", "c"])) == ({"a": 3, "b": 2, "c": 2}, {"a": 1, "b": 1, "c": 0})


def test_among_no_processes_nothing_is_divided() -> None:
    assert divided(7, []) == {}


@given(number=numbers, fleet=fleets)
def test_the_shares_of_processes_add_up_and_each_process_computes_the_same(number: int, fleet: tuple[Server, ...]) -> None:
    found = Servers(fleet)
    every = shares("mail", number, found)
    assert {*every} == {one.name for one in fleet if "mail" in one.queues}
    assert not every or sum(every.values()) == number
    for me in fleet:
        others = found._replace(processes=tuple(one for one in fleet if one.name != me.name))
        own = process_share({"mail": number}, me, found)
        assert own == process_share({"mail": number}, me, others), "it counts itself also before others see it"
        assert own.most == ({"mail": every[me.name]} if "mail" in me.queues else {})


@given(number=numbers, fleet=fleets)
def test_lambda_has_the_rest_and_the_budget_is_one(number: int, fleet: tuple[Server, ...]) -> None:
    found = Servers(fleet, frozenset({"mail"}))
    every = shares("mail", number, found)
    assert all(every[one.name] <= one.started for one in fleet if one.name in every)
    rest = lambda_share("mail", number, found)
    assert LEAST_OF_LAMBDA <= rest <= MOST_OF_LAMBDA
    assert sum(every.values()) + rest <= max(number, sum(every.values()) + LEAST_OF_LAMBDA)
    if LEAST_OF_LAMBDA < rest < MOST_OF_LAMBDA:
        assert sum(every.values()) + rest == number


def test_where_processes_take_all_lambda_keeps_the_least_that_aws_allows() -> None:
    assert lambda_share("mail", 8, Servers((Server("a", ("mail",), 4),))) == LEAST_OF_LAMBDA
    assert lambda_share("mail", 8, Servers()) == 8
    assert lambda_share("mail", 5_000, Servers()) == MOST_OF_LAMBDA


def test_a_process_has_the_lanes_of_its_shares_and_those_it_was_started_with_for_other_queues() -> None:
    me = Server("a", ("default", "mail"), 10)
    both = Servers((me, Server("b", ("mail",), 10)))
    assert process_share({}, me, both) == ProcessShare({}, 10)
    assert process_share({"mail": 6}, me, both) == ProcessShare({"mail": 3}, 10)
    assert process_share({"mail": 50}, me, both) == ProcessShare({"mail": 25}, 25)
    assert process_share({"mail": 6, "default": 2}, me, both) == ProcessShare({"mail": 3, "default": 2}, 5)
    assert process_share({"bulk": 6}, me, both) == ProcessShare({}, 10)
    assert process_share({"mail": 1, "default": 1}, Server("c", ("mail",), 10), both) == ProcessShare({"mail": 0}, 1), "a lane stays"


def member(name: str, ago: float = 0.0, state: str = ACTIVE, **report: object) -> MemberRecord:
    """A worker with a report."""
    whole = {"host": PROCESS, "condition": READY, "queues": ("mail",), "process": name.partition("/")[0], "started": 4, **report}
    return MemberRecord(name, 1, state, 0, NOW - ago, report=text_of(WorkerReport(**whole)))  # type: ignore[arg-type]


def test_the_servers_are_the_processes_that_live_and_the_functions_of_the_last_hour() -> None:
    found = servers(
        [
            member("b/0"), member("b/1"), member("a/0", STALE_S), member("old/0", STALE_S + 1), member("left/0", state=LEFT),
            member("lost/0", state=LOST), member("drains/0", condition=DRAINING), MemberRecord("older", 1, ACTIVE, 0, NOW),
            member("no-host/0", host=""), member("no-process/0", process=""),
            member("f", INVOKED_S, host=LAMBDA, queues=("bulk",), process="", started=0),
            member("g", INVOKED_S + 1, host=LAMBDA, queues=("default",), process="", started=0),
        ],
        NOW,
    )  # fmt: skip
    assert found == Servers((Server("a", ("mail",), 4), Server("b", ("mail",), 4)), frozenset({"bulk"}))


@pytest.mark.parametrize("number", [0, -1, MOST_SCALED + 1, True, 1.0, "8", None])
def test_a_number_that_cannot_be_wished_is_refused_with_the_remedy(number: object) -> None:
    with pytest.raises(OptionError, match="is not a whole number from 1 to 10000; to stop a queue, pause it"):
        checked_number(number)
    assert [checked_number(one) for one in (1, MOST_SCALED)] == [1, MOST_SCALED]


def test_a_wish_is_set_and_taken_back_beside_others() -> None:
    record = with_wish(ControlRecord(clock=5, asked="a", wished={"bulk": 2}), "mail", 8, 9, "n")
    assert (record.wished, record.clock, record.nonce, record.asked) == ({"bulk": 2, "mail": 8}, 9, "n", "a")
    assert with_wish(record, "bulk", None, 9, "m").wished == {"mail": 8}
