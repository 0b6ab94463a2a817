"""What is mutated, and which tests judge it: a row for each group of modules that the same tests stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.mutant import Mutant
from tests.mutants.syntax import of_module
from tests.mutants.writes import modules, of_writes

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Target:
    """Modules, by their names below `sedano`, and the test files that judge them, below `tests`. *holds*: no mutant of it survives."""

    name: str
    modules: tuple[str, ...]
    judges: tuple[str, ...]
    holds: bool = False

    def mutants(self) -> list[Mutant]:
        """Return every mutant of the target."""
        found: list[Mutant] = []
        for module in self.modules:
            full = module if module.startswith("tests.") else f"sedano.{module}"
            found += of_writes(full) if full in modules() else of_module(full)
        return found

    def files(self) -> list[str]:
        """Return the paths of the judges."""
        return [str(ROOT / "tests" / judge) for judge in self.judges]


def _conformance(*names: str) -> tuple[str, ...]:
    return tuple(f"conformance/test_{name}.py" for name in names)


def _unit(*names: str) -> tuple[str, ...]:
    return tuple(f"unit/test_{name}.py" for name in names)


def _stories(*names: str) -> tuple[str, ...]:
    return tuple(f"stories/test_{name}.py" for name in names)


def _each(room: str, names: str) -> tuple[str, ...]:
    return tuple(f"{room}.{name}" for name in names.split())


_LEDGER = _conformance("ledger_claims", "ledger_records", "ledger_reservations", "ledger_revocations", "ledger_joins")
_LEASES = _conformance("leases")

TARGETS: Sequence[Target] = (
    Target("tasks", ("aws.expressions.tasks",), (*_LEDGER, *_conformance("elections", "lifetimes"))),
    Target("leases", ("aws.expressions.leases",), (*_LEASES, *_conformance("lifetimes"))),
    Target("limits", ("aws.expressions.limits",), _conformance("limits", "lifetimes"), holds=True),
    Target("elections", ("aws.expressions.elections",), _conformance("elections", "lifetimes")),
    Target("fencing", ("aws.expressions.fencing", "aws.fencing.items"), (*_LEASES, "docs/test_fencing.py")),
    Target(
        "other-writes",
        _each("aws.expressions", "control flow_runs members memos schedules"),
        _conformance("control", "flow_runs", "members", "memos", "schedules", "lifetimes"),
    ),
    Target("memory-tasks", ("memory.ledger",), (*_LEDGER, *_conformance("elections"), *_unit("memory"))),
    Target("memory-leases", ("memory.leases",), _LEASES),
    Target("memory-limits", ("memory.limits",), _conformance("limits")),
    Target(
        "memory-other",
        _each("memory", "blobs elections events control flow_runs members memos schedules"),
        (*_conformance("elections", "control", "flow_runs", "memos", "schedules", "members", "blobs", "history"), *_unit("memory")),
    ),
    Target(
        "claim",
        ("model.ledger.claims", "model.ledger.outcome"),
        (*_unit("claim", "outcome"), *_stories("retries", "given_back", "poison")),
    ),
    Target("lease", ("model.leases.rule", "model.leases.store_clock"), (*_unit("lease_rule"), *_LEASES, *_stories("leases"))),
    Target("join", ("model.canvas.join", "model.messages.lineage"), (*_unit("join", "lineage"), *_stories("canvas"))),
    Target("election", ("model.elections",), (*_unit("election"), *_stories("elections", "preferences"))),
    Target(
        "rates",
        ("model.limits.concurrency", "model.limits.rate", "model.collection", "model.limits.task_limits"),
        (*_unit("permits", "rates", "limit_options"), *_conformance("limits"), *_stories("limits", "concurrency", "collected_calls")),
    ),
    Target(
        "strict",
        ("model.messages.strict_json", "model.seals.seal", "model.sources.signature_schemes"),
        _unit("seal", "seals", "signed", "codec_strictness", "codec_round_trip"),
    ),
    Target(
        "order",
        ("model.ledger.dedup_keys", "model.order", "model.deferrals", "model.pauses"),
        (*_unit("waits", "pauses"), *_stories("in_order", "paused_queues")),
    ),
    Target(
        "retry",
        ("model.retry", "model.budgets", "model.circuits", "model.connection_breaker"),
        _unit("retry", "budget", "breaker", "connection"),
    ),
    Target(
        "timer",
        ("model.timers", "model.ledger.recent_ids", "model.priority", "model.cluster.controller", "model.partitions"),
        _unit("timer", "window", "priority", "rounds", "partitions"),
    ),
    Target(
        "claiming",
        ("engine.worker.claims", "engine.worker.intake", "engine.worker.poison_messages", "engine.worker.verdicts", "engine.expiry",
         "engine.revocation.gate", "engine.history.recorder", "engine.unexpected_errors"),
        (*_unit("claim"), *_stories("comes_again", "given_back", "poison", "duplicates", "represented", "containment", "revocation")),
    ),
    Target(
        "following",
        ("engine.worker.follow_ups", "engine.canvas.join_arrivals", "engine.canvas.chord_results", "engine.canvas.continuation"),
        _stories("comes_again", "canvas", "canvas_results", "lost_plans", "group_results", "canvas_replaced"),
    ),
    Target(
        "publisher",
        ("engine.publisher.sender", "engine.timers", "engine.deferrals", "engine.publisher.requeue"),
        ("unit/engine/test_publisher.py", "unit/engine/test_publisher_backlog.py", *_stories("comes_again", "timers")),
    ),
    Target(
        "worker",
        ("engine.worker.pipeline", "engine.worker.body_results", "engine.worker.body_preparation"),
        _stories("comes_again", "represented", "revocation", "failures_logged", "given_back"),
    ),
    Target("planted", ("tests.mutants.planted.till",), ("mutants/planted/judge_till.py",)),
)  # fmt: skip
BY_NAME = {target.name: target for target in TARGETS}
PLANTED = "planted"
"""The target that shows what the runner does; it is no part of a campaign."""
