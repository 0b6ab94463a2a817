"""Many short programs on one host: each sends itself, or all of them by `sedano publisher`.

`python -m benchmarks.publisher_hosts` measures this alone, and fails if a target is missed.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.publishing import ROOT, deployed, endpoint
from benchmarks.report import Entry, Section, Target, table

PROGRAMS, TASKS, ROUNDS = 16, 300, 3
LEAST_RATIO = 4.0
"""How many times less CPU of the host a task must take by the publisher than by programs that send themselves."""
HOW = (
    f"{PROGRAMS} programs publish {TASKS} tasks each, one at a time, each confirmed; CPU of all programs and of the publisher, without "
    "their start; SQS is a counting endpoint on loopback"
)
ACKS = ("sent", "stored")


class HostSample(NamedTuple):
    """One round on one host: the CPU of all its processes in µs for each task, and the AWS calls for each task."""

    cpu: float
    calls: float


class Host:
    """The programs of one host, and its publisher if *ack* is not empty."""

    def __init__(self, url: str, ack: str, folder: Path) -> None:
        """Start them in *folder*, with the endpoint at *url*."""
        self._url, self.programs, self._publisher = url, list[subprocess.Popen[str]](), None
        environment = {**deployed(url), "SEDANO_SPOOL": str(folder / "spool")}
        if ack:
            path = folder / "publisher.sock"
            self._publisher = publisher(environment, path, ack)
            environment |= {"SEDANO_PUBLISHER": f"unix:{path}"}
        command = [sys.executable, "-m", "benchmarks.contenders.host_program"]
        for _ in range(PROGRAMS):
            self.programs.append(_started(command, environment))
        self.facts = [self._answer(program) for program in self.programs]

    def sample(self, tasks: int) -> HostSample:
        """Let each program publish *tasks* tasks."""
        _asked(f"{self._url}/counts")
        before = self._cpu_of_publisher()
        for program in self.programs:
            _stream(program.stdin).write(f"{tasks}\n")
            _stream(program.stdin).flush()
        cpu = sum(self._answer(program)["cpu"] for program in self.programs)
        counts = _asked(f"{self._url}/until/messages/{tasks * PROGRAMS}")
        calls = sum(number for name, number in counts.items() if name.startswith("SendMessage"))
        cpu += self._cpu_of_publisher() - before
        return HostSample(cpu * 1e6 / (tasks * PROGRAMS), calls / (tasks * PROGRAMS))

    def close(self) -> None:
        """End them."""
        for process in (*self.programs, *([self._publisher] if self._publisher is not None else [])):
            process.kill()
            process.communicate()

    def _cpu_of_publisher(self) -> float:
        if self._publisher is None:
            return 0.0
        fields = Path(f"/proc/{self._publisher.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _answer(self, program: subprocess.Popen[str]) -> Mapping[str, Any]:
        answer: Mapping[str, Any] = json.loads(_stream(program.stdout).readline())
        return answer


def publisher(environment: Mapping[str, str], path: Path, ack: str) -> subprocess.Popen[str]:
    """Start `sedano publisher` at *path* and wait until it is ready."""
    command = [sys.executable, "-m", "sedano", "publisher", "--socket", str(path), "--ack", ack, "--json", "benchmarks.tasks:app"]
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    for line in _stream(process.stdout):
        if "the publisher is ready" in line:
            return process
    raise AssertionError("the publisher did not start")


def _started(command: list[str], environment: Mapping[str, str]) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)


def _stream(stream: Any) -> Any:
    return stream


def _asked(url: str) -> Mapping[str, int]:
    """Return the counts of the endpoint."""
    with urllib.request.urlopen(url) as found:  # noqa: S310 - the endpoint on loopback
        counts: Mapping[str, int] = json.load(found)
    return counts


@contextmanager
def hosts() -> Iterator[Mapping[str, Host]]:
    """Run a host without a publisher, and one with a publisher of each kind, each with an endpoint of its own."""
    made: dict[str, Host] = {}
    with tempfile.TemporaryDirectory() as folder, endpoint() as own, endpoint() as sent, endpoint() as stored:
        try:
            for name, url in (("", own), ("sent", sent), ("stored", stored)):
                place = Path(folder) / (name or "direct")
                place.mkdir()
                made[name] = Host(url, name, place)
            yield made
        finally:
            for host in made.values():
                host.close()


def section(progress: Callable[[], None], rounds: int = ROUNDS, tasks: int = TASKS) -> Section:
    """Return the numbers for the report."""
    samples: dict[str, list[HostSample]] = {name: [] for name in ("", *ACKS)}
    with hosts() as running:
        for _ in range(rounds):
            for name, host in running.items():
                samples[name].append(host.sample(tasks))
            progress()
        facts = {name: host.facts for name, host in running.items()}
    entries = []
    for ack in ACKS:
        ratio = statistics.median(own.cpu / ours.cpu for own, ours in zip(samples[""], samples[ack], strict=True))
        more = {"µs": _median(samples[ack]), "of µs": _median(samples[""]), "calls a task": samples[ack][-1].calls}
        entries.append(Entry(f"CPU of a host, ack={ack}: direct is", ratio, "times", Target(LEAST_RATIO, "least"), more))
    for name, title in (("", "a program that sends itself"), ("sent", "a program with a publisher")):
        start = statistics.median(fact["start"] for fact in facts[name]) * 1e3
        entries.append(Entry(f"start of {title}", start, "CPU ms", None, {"MiB": statistics.median(fact["MiB"] for fact in facts[name])}))
    return Section("Many short programs on one host", HOW, entries)


def _median(samples: list[HostSample]) -> float:
    return statistics.median(sample.cpu for sample in samples)


def main() -> None:
    """Measure, print, and fail where a target is missed."""
    found = section(lambda: None)
    print(table([found]))
    if any(entry.verdict == "MISSED" for entry in found.entries):
        sys.exit(1)


if __name__ == "__main__":
    main()
