"""What the demo checks of time and flow: a good run is accepted, and every wrong that is planted is caught."""

from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from http.client import HTTPConnection

import pytest

from examples.census import tasks
from examples.census.flow_checks import (
    SCHEDULE,
    TRIPPED,
    FlowEvidence,
    FlowFindings,
    Ticking,
    Trip,
    due,
    flow_complaints,
    flow_findings,
    most_beyond,
    ticks_of,
    withdrawn_of,
)
from examples.census.services import ARCHIVE, INDEX, Call, Services
from sedano.model import states
from sedano.model.schedules.schedule import AHEAD_S, occurrence
from tests.examples.runs import flow_evidence

BEGAN = 1_800_000_000.0
Plant = Callable[[FlowEvidence], FlowEvidence]


def called(*more: Call) -> Plant:
    """Plant calls that the services saw besides."""
    return lambda good: replace(good, calls=[*good.calls, *more])


def test_a_good_run_is_accepted_and_counted() -> None:
    found = flow_findings(flow_evidence(BEGAN))
    assert flow_complaints(found) == []
    assert flow_evidence(BEGAN).met == {"tick-3": (tasks.tick.name, states.REVOKED)}
    assert found == FlowFindings(
        ticks=3, withdrawn=1, look_ups=6, busiest=5, too_many=found.too_many, used=1.0, slotted=5, trips=1, refused=3, unspared=0, waited=4,
        unstored=0,
    )  # fmt: skip


PLANTED: dict[str, tuple[Plant, str]] = {
    "no tick": (lambda good: replace(good, ticks={}), "no tick ran"),
    "a crowd at once": (called(*[Call(BEGAN + 0.5, INDEX, "more", True)] * 11), "times more than its rate allows"),
    "a crowd over a while": (called(*(Call(BEGAN + 2 + n / 8, INDEX, "more", True) for n in range(80))), "times more than its rate allows"),
    "a circuit that did not trip": (
        lambda good: replace(good, lines=[line for line in good.lines if line["type"] != TRIPPED]), "did not trip",
    ),
    "a call while it was open": (called(Call(BEGAN + 5, ARCHIVE, "0", False)), "called 1 times while its circuit was open"),
    "a thing that was lost": (lambda good: replace(good, stores=5), "1 items never arrived at the archive"),
}  # fmt: skip


@pytest.mark.parametrize("planted", PLANTED)
def test_the_checks_catch(planted: str) -> None:
    plant, complaint = PLANTED[planted]
    said = flow_complaints(flow_findings(plant(flow_evidence(BEGAN))))
    assert len(said) == 1
    assert complaint in said[0]


def test_a_trip_whose_worker_died_before_reporting_it_is_known_from_the_circuit() -> None:
    good = flow_evidence(BEGAN)
    silent = replace(good, lines=[line for line in good.lines if line["type"] != TRIPPED])
    (trip,) = good.trips
    assert replace(silent, seen=good.trips).trips == [trip]
    assert flow_complaints(flow_findings(replace(silent, seen=good.trips))) == []
    assert replace(good, seen=[replace(trip, since=trip.since + 0.0004)]).trips == [trip], "one trip, seen and reported"
    other = Trip(trip.since - 1, trip.since, "earlier")
    assert replace(good, seen=[other]).trips == [other, trip]


def test_who_missed_a_slot_may_come_late_for_longer() -> None:
    crowd = [BEGAN] * 20
    assert most_beyond(crowd, missed=0) == 9, "5 a second, two seconds late, and one more"
    assert most_beyond(crowd, missed=1) < 0
    assert most_beyond([], missed=0) == 0


def test_which_ticks_must_have_run_is_derived_from_the_timetable() -> None:
    schedule = tasks.app.periodics[SCHEDULE].schedule
    ids = {moment: occurrence(schedule, int(BEGAN) + moment).task_id for moment in range(0, 200, 5)}
    ticking = Ticking(BEGAN - 1, BEGAN + 1, BEGAN + 19, BEGAN + 21)
    assert set(due(ticking)) == {ids[5], ids[10], ids[15]}
    ran = {ids[moment]: (tasks.tick.name, states.SUCCESS) for moment in (0, 5, 10, 15)}
    ended = {**ran, **{ids[moment]: ("", states.REVOKED) for moment in (20, 25, 30)}}
    assert set(ticks_of(ticking, ended)) == {ids[0], ids[5], ids[10], ids[15]}
    assert set(withdrawn_of(ticking, ended)) == {ids[20], ids[25], ids[30]}
    assert ids[int(AHEAD_S) + 10] not in withdrawn_of(ticking, ended)


def test_the_archive_is_down_until_it_is_repaired_and_the_index_never() -> None:
    with Services() as services:

        def get(path: str) -> int:
            connection = HTTPConnection("127.0.0.1", services.port, timeout=10)
            try:
                connection.request("GET", path)
                return connection.getresponse().status
            finally:
                connection.close()

        answers = [get("/index/1"), get("/archive/2")]
        services.repair()
        assert [*answers, get("/archive/2")] == [HTTPStatus.OK, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.OK]
    assert [(call.service, call.number, call.served) for call in services.calls] == [
        (INDEX, "1", True), (ARCHIVE, "2", False), (ARCHIVE, "2", True),
    ]  # fmt: skip
