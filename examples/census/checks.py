"""The invariants of a finished run, checked against independent sources.

| source | contents |
|---|---|
| the ids, derived here from the chord's own | which tasks must exist |
| a scan of the ledger table | how each task ended |
| the table's change log | how often each task ended |
| the event history in S3 | the reports of the workers, with their clocks |
| the Spark job | the final state of each task according to the events, compared with the ledger |
| the queues, including dead letters and parked messages | that no message is left |
| the files themselves, counted here | that the census is right |

All functions are pure: they take evidence and return numbers and complaints.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from examples.census.tasks import count_imports, flag_long_functions, measure, summarise
from examples.local_run.changes import Change
from sedano.model import states
from sedano.model.messages.lineage import derived_id
from sedano.model.messages.message import LAUNCH

SUBSCRIBED = (count_imports.name, flag_long_functions.name)
BY_PROCESSES = flag_long_functions.name
"""The task on the queue that processes serve."""
FIRST_PUBLICATION = 1


@dataclass(frozen=True, slots=True)
class Totals:
    """Files, lines and characters: of the sources, and of the census."""

    files: int
    lines: int
    characters: int


@dataclass(frozen=True, slots=True)
class Expected:
    """The tasks that must exist, with their names by id; the expected totals of the census; the planned kills.

    Fewer kills than planned are reported and prove less; a run fails only if no kill hit, because it proves nothing about kills.
    """

    tasks: Mapping[str, str]
    totals: Totals
    kills: int = 0
    process_kills: int = 0


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence. *ledger*: name and state by task id; *told*: the clocks of a task's terminal events; *left*: messages by
    queue; *kills*: those of functions that left claims behind; *process_kills*: the processes that were killed while they held claims.
    """

    ledger: Mapping[str, tuple[str, str]]
    changes: Sequence[Change]
    told: Mapping[str, frozenset[int]]
    left: Mapping[str, int]
    totals: Totals | None
    spark_tasks: int
    spark_mismatches: int
    duplicates: int
    kills: int
    process_kills: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Findings:
    """The results of the checks. *strayed*: tasks that ended in a process although Lambda serves their queue, or the reverse."""

    tasks: int
    effects: int
    lost: int
    double_effects: int
    chord_body_runs: int
    events_delivered: int
    kills: int
    process_kills: int
    served_by_lambda: int
    served_by_processes: int
    strayed: int


def expected_ids(members: Sequence[str], body: str) -> dict[str, str]:
    """Return the tasks that a census of these *members* must cause, by id, without the launches.

    A large header is launched page by page, and the number of pages depends on the sizes of the files; each launch must also end once.
    """
    events = [derived_id(member, FIRST_PUBLICATION) for member in members]
    heard = {derived_id(event, name): name for event in events for name in SUBSCRIBED}
    return {**dict.fromkeys(members, measure.name), **heard, body: summarise.name}


def findings(expected: Expected, evidence: Evidence) -> Findings:
    """Count the losses and the double effects."""
    ends = Counter(change.task_id for change in evidence.changes if change.is_end)
    names = {change.task_id: change.name for change in evidence.changes}
    launches = [task for task, (name, _) in evidence.ledger.items() if name == LAUNCH]
    wanted = {*expected.tasks, *launches}
    ended = {task for task, (_, state) in evidence.ledger.items() if state in states.TERMINAL}
    by_processes = [change for change in evidence.changes if change.is_end and change.after.process is not None]
    strayed = [change for change in evidence.changes if change.is_end and (change.name == BY_PROCESSES) == (change.after.process is None)]
    delivered = Counter(task_name for task, task_name in expected.tasks.items() if task in ended)
    return Findings(
        tasks=len(expected.tasks) + max(1, len(launches)),
        effects=sum(ends.values()),
        lost=len(wanted - ended) + (not launches) + sum(evidence.left.values()),
        double_effects=_doubles(ends, evidence) + len(set(evidence.ledger) - wanted),
        chord_body_runs=sum(count for task, count in ends.items() if names[task] == summarise.name),
        events_delivered=min(delivered[name] for name in SUBSCRIBED),
        kills=min(evidence.kills, _invocations_cut(evidence.changes)),
        process_kills=len(evidence.process_kills & _processes_cut(evidence.changes)),
        served_by_lambda=sum(ends.values()) - len(by_processes),
        served_by_processes=len(by_processes),
        strayed=len(strayed),
    )


def _invocations_cut(changes: Sequence[Change]) -> int:
    """Count the invocations whose tasks had to be taken over: all claims of one invocation expire at the same millisecond."""
    return len({change.before.expires for change in changes if change.is_steal and change.before and change.before.process is None})


def _processes_cut(changes: Sequence[Change]) -> frozenset[int]:
    """Return the processes whose tasks had to be taken over."""
    found = (change.before.process for change in changes if change.is_steal and change.before)
    return frozenset(process for process in found if process is not None)


def _doubles(ends: Mapping[str, int], evidence: Evidence) -> int:
    """Count ends beyond the first, writes over an end, and tasks whose end has a second clock in the history."""
    again = sum(count - 1 for count in ends.values())
    over = sum(c.before is not None and c.before.state in states.TERMINAL and not c.is_end for c in evidence.changes)
    told = sum(len(clocks) - 1 for clocks in evidence.told.values() if clocks)
    return max(again, told) + over


def complaints(expected: Expected, evidence: Evidence, found: Findings) -> list[str]:
    """Return the broken promises in words; an empty list if there are none."""
    failed = [task for task, (_, state) in evidence.ledger.items() if state in states.TERMINAL and state != states.SUCCESS]
    left = ", ".join(f"{count} in {queue}" for queue, count in evidence.left.items() if count)
    wrong = {
        f"{found.lost} lost: tasks without an end, or messages left over{f' ({left})' if left else ''}": found.lost,
        f"{found.double_effects} effects happened twice or were never ordered": found.double_effects,
        f"the chord's body was recorded {found.chord_body_runs} times": found.chord_body_runs != 1,
        f"{len(failed)} tasks did not succeed, such as {failed[:1]}": failed,
        f"{found.effects} effects for {found.tasks} tasks": found.effects != found.tasks,
        f"Spark reports another end of {evidence.spark_mismatches} tasks than the ledger": evidence.spark_mismatches,
        f"Spark found {evidence.spark_tasks} tasks of {found.tasks}": evidence.spark_tasks != found.tasks,
        f"the census says {evidence.totals}, the files say {expected.totals}": evidence.totals != expected.totals,
        "no kill hit a worker that held tasks, so this run proves nothing about kills": 0 == found.kills < expected.kills,
        "no kill hit a process that held tasks, so this proves nothing about them": 0 == found.process_kills < expected.process_kills,
        f"{found.strayed} tasks ended in a process although Lambda serves their queue, or the reverse": found.strayed,
    }
    return [words for words, is_wrong in wrong.items() if is_wrong]
