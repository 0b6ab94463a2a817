"""Checks an app without a deployment: findings about its tasks, queues, schedules, sources and names.

Only the app is read. The moment of the check and the timeout of the stage's functions are arguments.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime

from sedano.api.connector import connector
from sedano.app import AWS, Sedano
from sedano.errors import ConfigurationError, TooLarge
from sedano.model.limits.task_limits import NO_LIMITS
from sedano.model.queues import FIFO
from sedano.model.schedules.agenda import AGENDAS, Agenda, reconciled, write_agenda
from sedano.model.schedules.timetable import ClockChange, Cron, clock_changes, read_zone, upcoming
from sedano.model.tasks.task_spec import TaskSpec
from sedano.views.discovery import OWN
from sedano.views.findings import FAULT, OK, WARNING, Finding

LONGEST_TIMEOUT_S = 900
"""The seconds after which Lambda ends an invocation at the latest."""
TO_RECORD_S = 5
"""The seconds that an invocation needs in addition to the body of a task."""
DEFAULT_TIMEOUT_S = 60
"""The timeout of the functions in seconds if the settings of the stage do not have one."""
NEXT = 3
YEAR_S = 366 * 86_400


def checked(app: Sedano, at: float, timeout: int = DEFAULT_TIMEOUT_S) -> list[Finding]:
    """Return the findings about *app* at the moment *at* (epoch s); *timeout*: that of the stage's functions (s)."""
    return [*_tasks(app, timeout), *_queues(app), *_schedules(app, at), *_sizes(app, at), *_sources(app), *_names(app), *_ports(app)]


def _tasks(app: Sedano, timeout: int) -> Iterator[Finding]:
    own = {name: spec for name, spec in sorted(app.registry.tasks.items()) if not name.startswith(OWN)}
    if not own:
        do = "declare one with @app.task, or name the module that declares them with --app"
        yield Finding("tasks", WARNING, f"the app {app.name} declares no task", do)
    for name, spec in own.items():
        yield _of_time(name, spec, timeout) or Finding(f"task {name}", OK, _options(spec))


def _options(spec: TaskSpec) -> str:
    """Return the options of a task in words."""
    limits = spec.limits or NO_LIMITS
    retries = "retries without a limit" if spec.retry.max_retries is None else f"{spec.retry.max_retries} retries"
    words = [f"queue {spec.queue}", f"{spec.delivery}", retries]
    words.append("no result" if spec.ignore_result else "keeps its result")
    if spec.time_limits is not None:
        words.append(f"time limit {spec.time_limits.longest:g} s")
    if spec.expires is not None:
        words.append(f"expires after {spec.expires:g} s")
    more: Mapping[str, object] = {
        "rate limit": limits.paces, "concurrency limit": limits.concurrency, "batches": limits.batch, "debounce": limits.debounce,
        "singleton": spec.singleton, "circuit": spec.circuit, "tenant": spec.tenant, "keeps order": spec.serial_key,
    }  # fmt: skip
    return ", ".join([*words, *(word for word, value in more.items() if value)])


def _of_time(name: str, spec: TaskSpec, timeout: int) -> Finding | None:
    """Return a fault if no Lambda function, or no function of the stage, runs as long as the time limit of a task."""
    longest = spec.time_limits.longest if spec.time_limits is not None else 0.0
    needed = math.ceil(longest + TO_RECORD_S)
    if not longest or needed <= timeout:
        return None
    found = f"its time limit is {longest:g} s, which needs an invocation of {needed} s"
    if needed > LONGEST_TIMEOUT_S:
        do = f"give it a time_limit= of at most {LONGEST_TIMEOUT_S - TO_RECORD_S} s: Lambda ends an invocation after {LONGEST_TIMEOUT_S} s"
        return Finding(f"task {name}", FAULT, found, do)
    return Finding(f"task {name}", FAULT, f"{found}; the stage has timeout={timeout}", f"set timeout = {needed} for the stage")


def _queues(app: Sedano) -> Iterator[Finding]:
    used = {spec.queue for name, spec in app.registry.tasks.items() if not name.startswith(OWN)}
    for queue in app.queues:
        if queue not in used and len(app.queues) > 1:
            do = "remove it from queues=, unless callers pass it as queue="
            yield Finding(f"queue {queue}", WARNING, "no task uses it, but a deployed queue is polled all month", do)
        else:
            yield Finding(f"queue {queue}", OK, "keeps order within a key" if queue.endswith(FIFO) else "does not keep order")
    for same in _alike(app.queues):
        found = "their names differ only in case, which a deployment refuses"
        yield Finding(f"queues {', '.join(same)}", FAULT, found, "rename all but one")


def _schedules(app: Sedano, at: float) -> Iterator[Finding]:
    for name, one in sorted(app.periodics.items()):
        moments = upcoming(one.schedule.timetable, at, NEXT)
        if not moments:
            found = "its last moment has passed, so it does not run again"
            yield Finding(f"schedule {name}", WARNING, found, "give it later moments, or remove it")
            continue
        shown = ", ".join(moment.isoformat(timespec="seconds") for moment in moments)
        yield Finding(f"schedule {name}", OK, f"runs {one.call.task} next at {shown}; {len(one.call.data)} bytes of arguments")
        timetable = one.schedule.timetable
        if isinstance(timetable, Cron):
            yield from (_of_change(name, change, timetable) for change in clock_changes(timetable, at, at + YEAR_S))


def _of_change(name: str, change: ClockChange, timetable: Cron) -> Finding:
    """Return the finding about a change of the clocks that affects a schedule."""
    wall = datetime.fromtimestamp(change.at, UTC).astimezone(read_zone(timetable.tz)).isoformat(timespec="seconds")
    met = "its time does not exist that day" if change.kind == "gap" else "its time occurs twice that day"
    behaviour = {
        "next": "runs right after the gap", "skip": "does not run", "first": "runs once, at the first of the two", "both": "runs twice",
    }[change.policy]  # fmt: skip
    option, others = ("on_gap", "next or skip") if change.kind == "gap" else ("on_fold", "first or both")
    found = f"the clocks of {timetable.tz} change at {wall}: {met}, and it {behaviour} ({option}={change.policy!r})"
    if change.chosen:
        return Finding(f"schedule {name}", OK, found)
    return Finding(f"schedule {name}", WARNING, found, f"choose with {option}= ({others}), or use another time or UTC")


def _sizes(app: Sedano, at: float) -> Iterator[Finding]:
    """Yield a fault for each agenda of schedules that is too large for an item of the table: the controller would refuse it."""
    for number in range(AGENDAS):
        agenda = reconciled(Agenda(number), app.periodics, at)
        try:
            write_agenda(agenda)
        except TooLarge as wrong:
            yield Finding("schedules", FAULT, str(wrong), f"shorten the arguments of some of {', '.join(sorted(agenda.periodics))}")


def _sources(app: Sedano) -> Iterator[Finding]:
    for event, tasks in sorted(app.registry.subscriptions.items()):
        if tasks:
            yield Finding(f"event {event}", OK, f"runs {', '.join(sorted(tasks))}")
        else:
            found = "no task subscribes to it, so publishing it runs nothing"
            yield Finding(f"event {event}", WARNING, found, "subscribe a task, or remove the event")
    for name, webhook in sorted(app.webhooks.items()):
        if webhook.scheme.signs:
            yield Finding(f"webhook {name}", OK, "accepts only signed requests")
        else:
            do = "give it the scheme of its sender, which has a secret"
            yield Finding(f"webhook {name}", WARNING, "is open: any sender that knows the URL can publish its events", do)


def _names(app: Sedano) -> Iterator[Finding]:
    own = [name for name in app.registry.tasks if not name.startswith(OWN)]
    ends: dict[str, list[str]] = defaultdict(list)
    for name in own:
        ends[name.rpartition(".")[2]].append(name)
    for end, names in sorted(ends.items()):
        if len(names) > 1:
            do = "write the full name in `sedano call` and `sedano limit`"
            yield Finding(f"name {end}", WARNING, f"{len(names)} task names end with it: {', '.join(sorted(names))}", do)
    kinds: Mapping[str, Collection[str]] = {"schedule": app.periodics, "task": own}
    for kind, taken in kinds.items():
        for name in sorted({*taken} & {*app.queues}):
            do = "add --kind to `sedano pause` and `sedano resume`"
            yield Finding(f"name {name}", WARNING, f"is the name of a queue and of a {kind}", do)


def _ports(app: Sedano) -> Iterator[Finding]:
    if app.connect == AWS:
        return
    try:
        connector(app.connect)
    except ConfigurationError as wrong:
        yield Finding("connect", FAULT, str(wrong), "correct connect= of the app")
    else:
        yield Finding("connect", OK, f"its ports come from {app.connect}")


def _alike(names: Iterable[str]) -> list[list[str]]:
    """Return the groups of *names* that differ only in case."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name in names:
        groups[name.lower()].append(name)
    return [sorted(group) for group in groups.values() if len(group) > 1]
