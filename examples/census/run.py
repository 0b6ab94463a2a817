"""One census on a running stage: publish the chord, cause faults, wait until no message is left, and collect the evidence."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from examples.census import tasks
from examples.census.checks import Evidence, Expected, Totals, expected_ids
from examples.census.facts import Material
from examples.census.flow import ROUNDS_AT_ONCE, STORES, Flow
from examples.census.flow_checks import FlowEvidence, Ticking, due, ticks_of, withdrawn_of
from examples.census.history import Line, ends_told, spark
from examples.census.processes import Processes, ProcessKiller
from examples.census.services import Services
from examples.census.sources import SourceFile
from examples.local_run.changes import ChangeLog, Holders, switch_on
from examples.local_run.chaos import Chaos, Done, Plan
from examples.local_run.clients import Clients
from examples.local_run.history import download
from examples.local_run.progress import Progress
from examples.local_run.watching import Look, depths, scan, settled, watch
from sedano import AsyncResult, SedanoError, chord
from sedano.aws.settings import command_addresses
from sedano.errors import Unavailable
from sedano.local import LocalStage

SHARE_TWICE = 0.1
MOST_KILLS, FILES_A_KILL = 3, 25
SECONDS_TO_END, SECONDS_TO_REST, SECONDS_TO_SETTLE = 120.0, 60.0, 10.0
SEED = 2026


class Environment(NamedTuple):
    """The environment of a run: the stage, the services that tasks call, and the processes that serve one of its queues."""

    stage: LocalStage
    services: Services
    processes: Processes


class Census:
    """One run, from its publication to its evidence."""

    def __init__(self, environment: Environment, files: Sequence[SourceFile], build: Path, progress: Progress) -> None:
        """Count *files* on the stage, and call the services; downloads are written below *build*."""
        stage, services, self._processes = environment
        self._stage, self._files, self._build, self._progress = stage, files, build, progress
        self._clients = Clients.of(stage)
        self._changes = switch_on(self._clients.dynamodb, stage.environment["SEDANO_LEDGER_TABLE"])
        self._log = ChangeLog(self._clients.streams, self._changes)
        self.queues = work_queues(stage.environment)
        self._services = services
        self._flow = Flow(stage, services)

    def material(self, directory: Path) -> Material:
        """Make the whole run and return its evidence."""
        began = time.time()
        self._progress.phase(f"{ROUNDS_AT_ONCE} schedulers at once start the periodic task")
        self._flow.begin()
        self._progress.phase(f"publishing one chord over {len(self._files)} files")
        result = self._publish()
        header = [member.id for member in result.parent or ()]
        expected = Expected(expected_ids(header, result.id), counted(self._files), *[most_kills(len(self._files))] * 2)
        self._progress.phase("the workers count, while messages are delivered twice and workers are killed")
        done = self._disturb(expected)
        ticking, ended = self._rest(), time.time()
        self._progress.phase("running the Spark job over the event history")
        lines = download(self._clients.s3, self._stage.environment["SEDANO_HISTORY_BUCKET"], self._build / "history")
        ledger, flow = self._kept(ticking, lines)
        told = spark(self._build / "history", {**ledger, **flow.met}, self._build / "spark")
        census = self._census(result)
        totals = Totals(census["files"], census["lines"], census["characters"]) if census else None
        self._log.follow()
        changes = [change for change in self._log.changes if change.task_id not in flow.withdrawn]
        left, mismatches = settled(self._depths, SECONDS_TO_SETTLE), told["mismatches"] + told["missing"]
        ends = {task: clocks for task, clocks in ends_told(lines).items() if task not in flow.withdrawn}
        hits, killed = sum(kill.hit for kill in done.kills), frozenset(kill.pid for kill in done.process_kills)
        known = told["tasks"] - len(flow.met)
        evidence = Evidence(ledger, changes, ends, left, totals, known, mismatches, done.injected, hits, killed)
        expected = replace(expected, tasks={**expected.tasks, **self._flow.expected, **dict.fromkeys(flow.ticks, tasks.tick.name)})
        return Material(str(directory), self._files, expected, evidence, flow, done, lines, told, census, self.queues, began, ended)

    def _kept(self, ticking: Ticking, lines: Sequence[Line]) -> tuple[Mapping[str, tuple[str, str]], FlowEvidence]:
        """Return the contents of the ledger, without ticks that were not to run, and the evidence of time and flow."""
        whole = scan(self._clients.dynamodb, self._stage.environment["SEDANO_LEDGER_TABLE"])
        ran, withdrawn = ticks_of(ticking, whole), withdrawn_of(ticking, whole)
        flow = FlowEvidence(ran, withdrawn, self._services.calls, lines, STORES, self._flow.seen)
        return {task: found for task, found in whole.items() if task not in flow.withdrawn}, flow

    def _publish(self) -> AsyncResult[Any]:
        header = [tasks.measure.s(file.path, file.text, file.trouble) for file in self._files]
        return chord(header)(tasks.summarise.s())

    def _disturb(self, expected: Expected) -> Done:
        planned = plan(self.queues, len(self._files))
        functions, processes = (Holders(ChangeLog(self._clients.streams, self._changes)) for _ in range(2))
        killer = ProcessKiller(self._processes, processes.processes_at_work, most_kills(len(self._files)))
        with Chaos(self._stage.endpoint, self._clients.sqs, functions, planned, SEED, [killer.work]) as chaos:
            chaos.done.process_kills = killer.kills

            def told(look: Look) -> None:
                if look.ended:
                    chaos.begin()
                self._flow.look(look.ended, len(expected.tasks))
                if look.ended == look.wanted:
                    with suppress(Unavailable):  # the next read, or at the latest `_rest`, pauses them
                        self._flow.rest()
                done = chaos.done
                words = f"tasks · {look.waiting} messages waiting · {done.injected} sent twice · {done.hits} workers killed at work"
                self._progress.bar(look.ended, look.wanted, words)

            watch(self._log, {*expected.tasks, *self._flow.expected}, self._waiting, told, SECONDS_TO_END)
            return chaos.done

    def _rest(self) -> Ticking:
        """Wait until the ticks that were due before the pause have ended."""
        ticking = self._flow.rest()
        watch(self._log, due(ticking), self._waiting, lambda _: None, SECONDS_TO_REST)
        return ticking

    def _waiting(self) -> int:
        found = self._depths()
        return sum(found[url.rpartition("/")[2]] for url in self.queues)

    def _depths(self) -> dict[str, int]:
        """Return the number of messages in each queue, without the ticks of future moments."""
        return depths(self._clients.sqs, ahead=command_addresses(self._stage.environment)[tasks.tick.spec.queue])

    def _census(self, result: AsyncResult[Any]) -> Mapping[str, Any] | None:
        """Return the chord's result as any client reads it, or None if it is missing."""
        try:
            census: Mapping[str, Any] = result.get(timeout=1)
        except SedanoError as error:
            self._progress.phase(f"there is no census: {error}")
            return None
        return census


def work_queues(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the contents of the queues of workers, router and recorder in words, by the queue's URL."""
    commands = {url: "commands" if name == "default" else name for name, url in command_addresses(environment).items()}
    return {**commands, environment["SEDANO_EVENTS_QUEUE"]: "events", environment["SEDANO_RECORDS_QUEUE"]: "records"}


def plan(queues: Mapping[str, str], files: int) -> Plan:
    """Return the faults for a census of *files* files: a tenth of its messages twice, and a few kills.

    A message that is read to be doubled counts as received, for which a rate gives a new slot, so its queue and the others are left out.
    """
    messages = {"commands": 2 * files, tasks.FLAGS: files, "events": files, "records": files // 3}
    duplicates = {url: round(SHARE_TWICE * messages[kind]) for url, kind in queues.items() if kind in messages}
    return Plan(duplicates, most_kills(files) + (files >= FILES_A_KILL))


def most_kills(files: int) -> int:
    """Return how many kills must hit a function at work, and a process; a run of a few files ends before a kill can hit."""
    return min(MOST_KILLS, files // FILES_A_KILL)


def counted(files: Sequence[SourceFile]) -> Totals:
    """Count *files* here, without any task."""
    return Totals(len(files), sum(len(file.text.splitlines()) for file in files), sum(len(file.text) for file in files))
