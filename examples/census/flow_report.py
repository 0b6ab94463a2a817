"""Time and flow in the report: the ticks, the limited calls and the failed service, as a picture over the seconds and in numbers."""

from __future__ import annotations

from collections.abc import Iterator

from examples.census.facts import Facts
from examples.census.flow_checks import FlowEvidence
from examples.census.page import legend, scrolling, section, table, text
from examples.census.services import ARCHIVE, INDEX
from examples.census.tasks import CALLS_A_SECOND
from examples.census.timeline import ROW, TOP, WIDTH, Axis, grid, lane

GOOD, BAD, OPEN = "var(--c)", "var(--bad)", "var(--back)"
AROUND_S = 2.0


def flow(facts: Facts) -> str:
    """Return the section."""
    found, evidence = facts.flow, facts.material.flow
    rows = [
        (found.ticks, "ticks of a periodic task ran, one every 5 s, each once; three schedulers started them at once"),
        (found.withdrawn, "ticks were published ahead, and withdrawn when the schedule was paused at the end"),
        (found.look_ups, f"calls of an index that allows {CALLS_A_SECOND} a second; {found.busiest} in the busiest second"),
        (found.slotted, "of the tasks that make these calls were given a slot, and requeued until then"),
        (f"{found.used:.0%}", "of the allowed rate was used from the first call to the last"),
        (found.refused, "calls of an archive that was down failed, until its circuit tripped"),
        (found.waited, "tasks waited while the circuit was open; none of them was lost"),
        (found.unspared, "calls reached the archive while its circuit was open"),
    ]
    note = "A periodic task, a rate and a circuit beside the census, checked by the records of the called services."
    numbers = table(["#", "what"], [(text(number), text(words)) for number, words in rows])
    return section("Time and flow", note, _picture(evidence), numbers)


def _picture(evidence: FlowEvidence) -> str:
    ticks = [float(moment) for moment in evidence.ticks.values()]
    moments = [*ticks, *(call.at for call in evidence.calls), *(trip.until for trip in evidence.trips)]
    if not moments:
        return ""
    axis = Axis(min(moments), max(1.0, max(moments) - min(moments) + AROUND_S))
    height = TOP + 3 * ROW + 34
    served = [call.at for call in evidence.of(ARCHIVE) if call.served]
    failed = [call.at for call in evidence.of(ARCHIVE) if not call.served]
    drawn = [
        *grid(axis, height),
        *lane(axis, 0, "ticks", ticks, "var(--a)"),
        *lane(axis, 1, "index", [call.at for call in evidence.of(INDEX)], GOOD),
        *_open(axis, evidence),
        *lane(axis, 2, "archive", failed, BAD),
        *lane(axis, 2, "", served, GOOD),
    ]
    words = [("var(--a)", "a tick"), (GOOD, "a call that was served"), (BAD, "a call that failed"), (OPEN, "the circuit is open")]
    picture = f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="ticks and calls over the seconds">{"".join(drawn)}</svg>'
    return legend(words) + scrolling(picture, "ticks and calls over the seconds")


def _open(axis: Axis, evidence: FlowEvidence) -> Iterator[str]:
    for trip in evidence.trips:
        begin, end = axis.x(trip.since), axis.x(trip.until)
        words = f"<title>{text(trip.cause)}</title>"
        yield f'<rect x="{begin:.1f}" y="{TOP + 2 * ROW + 3}" width="{end - begin:.1f}" height="{ROW - 6}" fill="{OPEN}">{words}</rect>'
