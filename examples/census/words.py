"""The summary of a run in words, for the terminal."""

from __future__ import annotations

from pathlib import Path

from examples.census.facts import Facts
from examples.census.tasks import CALLS_A_SECOND


def account(told: Facts, summary: Path, report: Path) -> str:
    """Return the events of the run, the verdict, and the places of the details."""
    return "\n".join(["", *_happened(told), *_verdict(told), f"  report   {report}", f"  summary  {summary}"])


def _happened(told: Facts) -> list[str]:
    known, census = told.summary, told.material.census or {}
    absorbed = ", ".join(f"{count} by {how}" for how, count in sorted(told.absorbed.items())) or "none seen"
    return [
        f"{known.files} Python files ({told.large} of them over 60 KB), {census.get('lines', 0):,} lines, counted by {known.tasks} tasks.",
        f"{known.events_delivered} events reached both of their subscribers; the chord's body ran {known.chord_body_runs} time(s).",
        f"{known.duplicates_injected} messages were delivered twice; repeated deliveries were absorbed: {absorbed}.",
        f"{known.served_by_lambda} tasks ended in Lambda functions, {known.served_by_processes} in processes of `sedano worker`.",
        f"{_killed(known.kills, 'function')}, {_killed(known.process_kills, 'process', 'processes')}; {told.stolen} tasks were taken over.",
        *_flowed(told),
        f"{known.aws_calls_per_task} AWS calls by all functions for each task of Lambda, or ${told.dollars_a_million:.2f} a million tasks.",
        f"It took {known.seconds:.0f} seconds.",
    ]


def _killed(kills: int, one: str, many: str = "functions") -> str:
    return f"1 {one} was killed while it held tasks" if kills == 1 else f"{kills} {many} were killed while they held tasks"


def _flowed(told: Facts) -> list[str]:
    flow, stores, rate = told.flow, told.material.flow.stores, f"{CALLS_A_SECOND} calls a second"
    waited = f"{flow.slotted} of {flow.look_ups} tasks"
    came = f"{stores - flow.unstored} of {stores} arrived"
    return [
        f"A periodic task ran {flow.ticks} times, once for each moment; {flow.withdrawn} runs published ahead were withdrawn at the end.",
        f"An index allows {rate}, in slots kept for two seconds: at most {flow.busiest} in one, {flow.used:.0%} used; {waited} waited.",
        f"An archive failed: {flow.refused} failures tripped its circuit ({flow.trips} ×), {flow.waited} tasks waited, {came}.",
    ]


def _verdict(told: Facts) -> list[str]:
    if told.complaints:
        return ["", "WRONG:", *[f"  - {complaint}" for complaint in told.complaints], ""]
    return ["", f"Nothing was lost, nothing happened twice: {told.summary.effects} effects for {told.summary.tasks} tasks.", ""]
