"""The autoscaler on real arrivals: the waits of tasks, the changes of the limit and the provided capacity, compared with alternatives.

A queue of one kind of work with as many servers as the limit of the moment (first come, first served; a server that works is not stopped
when the limit falls) is simulated with the arrivals and service times of two traces. The traces are beside the project in `shared/data`
and are not part of it; without them, the report says so and nothing is measured.

Contenders: a fixed limit at the mean of the needed capacity, and at its 99th percentile; Celery's own rule (`celery/worker/autoscale.py`:
each second it grows to the number of reserved messages, and shrinks 30 s after it last grew; its prefetch is four for each process);
sedano's default rule, applied each minute as by the controller, and each second with a short cool-down; and its rule "tracking" likewise.
"""

from __future__ import annotations

import csv
import gzip
import heapq
import io
import zipfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from benchmarks.report import Entry, Section
from sedano.model.budgets import Budget, Level, Load, Strategy, scaled, tracking

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
AZURE, NASA = "azure_llm_conversation_2023.csv.gz", "nasa_ipsc_1993.swf.zip"
TOKEN_S = 0.02
"""The assumed seconds for a token of an answer; the trace has the number of tokens."""
NASA_JOBS = 6_000
MOST, LEAST = 200, 2
HOUR = 3_600.0


class Arrival(NamedTuple):
    """Work that arrives at *at* (s from the beginning) and takes *seconds*."""

    at: float
    seconds: float


class Policy(NamedTuple):
    """Decides a limit every *every* seconds. *decide* takes the load and the moment; *first* is the limit at the beginning."""

    name: str
    every: float
    first: int
    decide: Callable[[Load, float], int]


class Played(NamedTuple):
    """The result: waits in order of arrival (s), (moment, limit) at each change, and the provided capacity in server-hours."""

    waits: list[float]
    limits: list[tuple[float, int]]
    capacity: float
    hours: float

    def wait(self, share: float) -> float:
        """Return the wait that this share of the tasks did not exceed."""
        return sorted(self.waits)[min(int(len(self.waits) * share), len(self.waits) - 1)]


def play(arrivals: Sequence[Arrival], policy: Policy) -> Played:
    """Simulate a queue with *arrivals* (in order) under *policy*."""
    waiting: list[Arrival] = []
    head, coming, busy = 0, 0, list[float]()
    limit, limits, waits = policy.first, [(0.0, policy.first)], list[float]()
    now, look, capacity = 0.0, 0.0, 0.0
    while coming < len(arrivals) or busy or head < len(waiting):
        upcoming = [look, *([arrivals[coming].at] if coming < len(arrivals) else []), *busy[:1]]
        then = min(upcoming)
        capacity, now = capacity + max(limit, len(busy)) * (then - now), then
        while busy and busy[0] <= now:
            heapq.heappop(busy)
        while coming < len(arrivals) and arrivals[coming].at <= now:
            waiting.append(arrivals[coming])
            coming += 1
        if look <= now:
            look, wanted = now + policy.every, policy.decide(Load(len(waiting) - head, len(busy)), now)
            if wanted != limit:
                limit = wanted
                limits.append((now, limit))
        while head < len(waiting) and len(busy) < limit:
            waits.append(now - waiting[head].at)
            heapq.heappush(busy, now + waiting[head].seconds)
            head += 1
    return Played(waits, limits, capacity / HOUR, now / HOUR)


def fixed(name: str, limit: int) -> Policy:
    """Return a policy with a constant limit."""
    return Policy(name, HOUR, limit, lambda _load, _now: limit)


def of_celery(least: int = LEAST, most: int = MOST, keepalive: float = 30.0, prefetch: int = 4) -> Policy:
    """Return Celery's rule: reserved messages are the running and the prefetched ones, four for each process."""
    state = {"limit": least, "grew": float("-inf")}

    def decide(load: Load, now: float) -> int:
        limit = int(state["limit"])
        reserved = min(load.waiting + load.running, prefetch * limit)
        if min(reserved, most) > limit:
            state["limit"], state["grew"] = min(reserved, most), now
        elif max(reserved, least) < limit and now - state["grew"] > keepalive:
            state["limit"] = max(reserved, least)
        return int(state["limit"])

    return Policy("Celery's autoscale", 1.0, least, decide)


def of_sedano(name: str, every: float, budget: Budget, rule: Strategy = scaled) -> Policy:
    """Return a rule as sedano ships it: the CEP's, or another."""
    state = {"level": Level(budget.least)}

    def decide(load: Load, now: float) -> int:
        state["level"] = rule(budget, state["level"], load, now + HOUR)
        return state["level"].limit

    return Policy(name, every, budget.least, decide)


def contenders(arrivals: Sequence[Arrival]) -> list[Policy]:
    """Return the policies that are compared on *arrivals*."""
    needed = [limit for limit in _needed(arrivals) if limit]
    mean, high = max(round(sum(needed) / len(needed)), 1), sorted(needed)[int(len(needed) * 0.99)]
    minute, second = Budget(LEAST, MOST), Budget(LEAST, MOST, cooldown=5, cooldown_most=60)
    return [
        fixed(f"fixed at the mean, {mean}", mean),
        fixed(f"fixed at the 99th percentile, {high}", high),
        of_celery(),
        of_sedano("sedano, by the minute", 60.0, minute),
        of_sedano("sedano, each second", 1.0, second),
        of_sedano("sedano tracking, by the minute", 60.0, minute, tracking),
        of_sedano("sedano tracking, each second", 1.0, second, tracking),
    ]


def _needed(arrivals: Sequence[Arrival]) -> list[int]:
    """Return how many tasks would run at each arrival if no task had to wait."""
    busy, found = list[float](), list[int]()
    for arrival in arrivals:
        while busy and busy[0] <= arrival.at:
            heapq.heappop(busy)
        heapq.heappush(busy, arrival.at + arrival.seconds)
        found.append(len(busy))
    return found


def azure() -> list[Arrival]:
    """Return the requests to a language model in an hour of November 2023 (AzurePublicDataset, CC BY 4.0)."""
    with gzip.open(DATA / AZURE, "rt") as rows:
        read = [(datetime.fromisoformat(r["TIMESTAMP"][:26]).replace(tzinfo=UTC), int(r["GeneratedTokens"])) for r in csv.DictReader(rows)]
    began = min(at for at, _ in read)
    return sorted(Arrival((at - began).total_seconds(), tokens * TOKEN_S) for at, tokens in read)


def nasa() -> list[Arrival]:
    """Return the first jobs of a parallel machine in 1993 (Parallel Workloads Archive)."""
    with zipfile.ZipFile(DATA / NASA) as archive:
        text = io.TextIOWrapper(archive.open(archive.namelist()[0]))
        jobs = [line.split() for line in text if line.strip() and not line.startswith(";")][:NASA_JOBS]
    return sorted(Arrival(float(job[1]), max(float(job[3]), 0.0)) for job in jobs)


TRACES: dict[str, tuple[str, Callable[[], list[Arrival]]]] = {"Azure": (AZURE, azure), "NASA": (NASA, nasa)}


def section(build: Path) -> Section:
    """Simulate every contender on every available trace, and write plots of the first ones to *build* as autoscaler-*.svg."""
    entries: list[Entry] = []
    for trace, (file, read) in TRACES.items():
        if not (DATA / file).exists():
            continue
        arrivals = read()
        played = {policy.name: play(arrivals, policy) for policy in contenders(arrivals)}
        entries += [_entry(trace, name, one) for name, one in played.items()]
        build.mkdir(parents=True, exist_ok=True)
        (build / f"autoscaler-{trace.lower()}.svg").write_text(picture(f"{trace}: limits over time", played))
    absent = f"skipped: no traces in shared/{DATA.name} beside the project"
    how = "a simulated queue with real arrivals; wait of 95 % of the tasks" if entries else absent
    return Section("autoscaler", how, entries)


def _entry(trace: str, name: str, played: Played) -> Entry:
    more = {
        "p50_s": round(played.wait(0.50), 3), "p99_s": round(played.wait(0.99), 3),
        "changes_an_hour": round((len(played.limits) - 1) / played.hours, 2),
        "server_hours": round(played.capacity, 2), "hours": round(played.hours, 2),
    }  # fmt: skip
    return Entry(f"{trace}: {name}: p95 wait", round(played.wait(0.95), 3), "s", None, more)


WIDTH, HEIGHT, LEFT, TOP = 960, 320, 50, 40
COLOURS = ("#9aa0a6", "#5f6368", "#d93025", "#1a73e8", "#188038", "#f9ab00", "#9334e6")


def picture(title: str, played: dict[str, Played]) -> str:
    """Return a drawing of each limit over time, as SVG."""
    hours = max(one.hours for one in played.values())
    most = max(limit for one in played.values() for _, limit in one.limits)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT + 90}" font-family="sans-serif" font-size="13">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{LEFT}" y="22" font-size="16">{title}</text>',
        f'<text x="{LEFT - 8}" y="{TOP + 5}" text-anchor="end">{most}</text><text x="{LEFT - 8}" y="{HEIGHT}" text-anchor="end">0</text>',
        f'<text x="{WIDTH - 10}" y="{HEIGHT + 18}" text-anchor="end">{hours:.1f} h</text>',
        f'<path d="M{LEFT} {TOP}V{HEIGHT}H{WIDTH - 10}" fill="none" stroke="#444"/>',
    ]
    for number, (name, one) in enumerate(played.items()):
        colour = COLOURS[number % len(COLOURS)]
        lines.append(f'<path d="{_path(one, hours, most)}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        x, y = LEFT + (number % 3) * 300, HEIGHT + 42 + number // 3 * 22
        lines.append(f'<rect x="{x}" y="{y - 10}" width="18" height="4" fill="{colour}"/><text x="{x + 24}" y="{y - 3}">{name}</text>')
    return "\n".join([*lines, "</svg>\n"])


def _path(played: Played, hours: float, most: int) -> str:
    def across(seconds: float) -> str:
        return f"{LEFT + seconds / HOUR / hours * (WIDTH - 10 - LEFT):.1f}"

    def up(limit: int) -> str:
        return f"{HEIGHT - limit / most * (HEIGHT - TOP):.1f}"

    steps = "".join(f"H{across(at)}V{up(limit)}" for at, limit in played.limits)
    return f"M{LEFT} {up(played.limits[0][1])}{steps}H{across(played.hours * HOUR)}"
