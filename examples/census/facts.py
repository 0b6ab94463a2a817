"""The facts of one run for the summary and the report, computed from the evidence of the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from examples.census.bill import Item, Used, bill
from examples.census.checks import Evidence, Expected, Findings, complaints, findings
from examples.census.flow_checks import FlowEvidence, FlowFindings, flow_complaints, flow_findings
from examples.census.history import Line
from examples.census.sources import LARGE, SourceFile
from examples.local_run.changes import process_of
from examples.local_run.chaos import Done

DUPLICATE, STOLEN, REFUSED = "message-duplicate", "claim-stolen", "claim-refused"


@dataclass(frozen=True, slots=True)
class Material:
    """The evidence of a run; *spark* is the job's summary, *began* and *ended* are epoch seconds."""

    directory: str
    files: Sequence[SourceFile]
    expected: Expected
    evidence: Evidence
    flow: FlowEvidence
    done: Done
    lines: Sequence[Line]
    spark: Mapping[str, Any]
    census: Mapping[str, Any] | None
    queues: Mapping[str, str]
    began: float
    ended: float


@dataclass(frozen=True, slots=True)
class Summary:
    """The contents of `build/demo/summary.json`. *aws_calls_per_task*: of all functions, for each task that Lambda ran; processes do not
    report theirs.
    """

    files: int
    tasks: int
    effects: int
    duplicates_injected: int
    kills: int
    process_kills: int
    served_by_lambda: int
    served_by_processes: int
    lost: int
    double_effects: int
    chord_body_runs: int
    events_delivered: int
    spark_tasks: int
    spark_mismatches: int
    ticks: int
    rate_used: float
    circuit_trips: int
    aws_calls_per_task: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Body:
    """One run of a task's body that its worker reported: the worker, the task, its begin and end (epoch s)."""

    host: str
    pid: int
    name: str
    started: float
    ended: float

    @property
    def is_of_process(self) -> bool:
        """Whether a process of `sedano worker` ran it."""
        return process_of(self.host) is not None


@dataclass(frozen=True, slots=True)
class Facts:
    """The contents of the report."""

    material: Material
    summary: Summary
    found: Findings
    flow: FlowFindings
    complaints: Sequence[str]
    bodies: Sequence[Body]
    absorbed: Mapping[str, int]
    stolen: int
    refused: int
    bill: Sequence[Item]

    @property
    def large(self) -> int:
        """The number of texts that were sent through the blob store."""
        return sum(file.size > LARGE for file in self.material.files)

    @property
    def dollars_a_million(self) -> float:
        """The cost of a million such tasks, according to the bill of the functions and the tasks that they ran."""
        return 1_000_000 * sum(item.dollars for item in self.bill) / max(1, self.summary.served_by_lambda)


def facts(material: Material, seconds: float) -> Facts:
    """Return the facts of *material*; *seconds* is the duration of the whole demo."""
    found, flow = findings(material.expected, material.evidence), flow_findings(material.flow)
    calls: Mapping[str, int] = material.spark["calls"]
    used = Used(calls, material.spark["invocations"], material.spark["duration_ms"] / 1000, len(material.files))
    kinds = Counter(line["type"] for line in material.lines)
    return Facts(
        material,
        _summary(material, found, flow, seconds),
        found,
        flow,
        [*complaints(material.expected, material.evidence, found), *flow_complaints(flow)],
        list(bodies(material.lines)),
        Counter(str(line.get("absorbed", "record")) for line in material.lines if line["type"] == DUPLICATE),
        kinds[STOLEN],
        kinds[REFUSED],
        bill(used),
    )


def _summary(material: Material, found: Findings, flow: FlowFindings, seconds: float) -> Summary:
    evidence = material.evidence
    return Summary(
        files=len(material.files),
        tasks=found.tasks,
        effects=found.effects,
        duplicates_injected=evidence.duplicates,
        kills=found.kills,
        process_kills=found.process_kills,
        served_by_lambda=found.served_by_lambda,
        served_by_processes=found.served_by_processes,
        lost=found.lost,
        double_effects=found.double_effects,
        chord_body_runs=found.chord_body_runs,
        events_delivered=found.events_delivered,
        spark_tasks=evidence.spark_tasks,
        spark_mismatches=evidence.spark_mismatches,
        ticks=flow.ticks,
        rate_used=round(flow.used, 2),
        circuit_trips=flow.trips,
        aws_calls_per_task=round(sum(material.spark["calls"].values()) / max(1, found.served_by_lambda), 2),
        seconds=round(seconds, 1),
    )


def bodies(lines: Iterable[Line]) -> Iterable[Body]:
    """Return every run of a body whose start and end the same worker reported."""
    begun: dict[tuple[str, str], float] = {}
    ended: dict[tuple[str, str], Line] = {}
    names: dict[str, str] = {}
    for line in lines:
        key = (line.get("uuid", ""), line.get("hostname", ""))
        if line["type"] == "task-received":
            names[key[0]] = line["name"]
        elif line["type"] == "task-started":
            begun[key] = line["timestamp"]
        elif line["type"].startswith("task-") and "runtime" in line:
            ended[key] = line
    for key, line in ended.items():
        if key in begun:
            yield Body(key[1], line["pid"], names.get(key[0], ""), begun[key], line["timestamp"])
