"""The CPU of one AWS call: the slim client compared with boto3 and with botocore as sedano configures it, to an endpoint on loopback.

The endpoint counts calls in its own process, so the figure has the whole of a client: serialisation, the signature, the socket, parsing.
A gate: one claim costs at most a fifth of boto3's CPU.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping

from benchmarks.contest import Sample, contest, ratio
from benchmarks.publishing import ROOT, endpoint
from benchmarks.report import Entry, Section, Target, table, write

BUILD = ROOT / "build" / "bench"
CALLS = 400
ROUNDS = 9
WARM_UP = 300
"""The calls that each contender makes before it is measured (`benchmarks.contenders.serving`)."""
CLIENTS = ("boto3", "botocore", "slim")
NAMES = {
    "claim": "UpdateItem that claims a task",
    "send": "SendMessageBatch of ten",
}
MOST = {"claim": Target(0.2), "send": Target(0.2)}
"""The most that a call of the slim client may cost, of boto3's."""
HOW = (
    "CPU (user and system, all threads) a call, one after the other on one connection; boto3: `boto3.client(…)` without options;\n"
    "  botocore: the client that sedano makes by default; slim: with SEDANO_AWS_CLIENT=slim; not measured: the network, TLS"
)


def section(progress: Callable[[], None], calls: int = CALLS, rounds: int = ROUNDS) -> Section:
    """Return the numbers for the report."""
    entries: list[Entry] = []
    with endpoint() as url:
        for call, title in NAMES.items():
            contenders = {client: ("aws_client", f"{client}-{call}") for client in CLIENTS}
            samples = contest(contenders, calls, rounds, progress, environment(url))
            entries += _entries(call, title, samples)
        counted = counts(url)
    expected = len(CLIENTS) * (rounds * calls + WARM_UP)
    sent = {name: counted.get(name, 0) / expected for name in ("UpdateItem", "SendMessageBatch")}
    entries += [Entry(f"requests a call: {name}", each, "", Target(1.0)) for name, each in sent.items()]
    return Section("One AWS call", HOW, entries)


def environment(url: str) -> Mapping[str, str]:
    """Return the environment of a contender whose endpoint is *url*."""
    given = {"AWS_ENDPOINT_URL": url, "AWS_DEFAULT_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench"}
    return {**os.environ, **given}


def counts(url: str) -> Mapping[str, int]:
    """Return the calls that the endpoint at *url* has counted."""
    with urllib.request.urlopen(f"{url}/counts", timeout=60) as answer:  # noqa: S310 - the endpoint on loopback
        found: Mapping[str, int] = json.load(answer)
    return found


def _entries(call: str, title: str, samples: Mapping[str, list[Sample]]) -> list[Entry]:
    cpu = {client: [sample.cpu for sample in taken] for client, taken in samples.items()}
    shown = [
        Entry(f"{title}: {client}", statistics.median(seconds) * 1e6, "µs", more={"best": min(seconds) * 1e6})
        for client, seconds in cpu.items()
    ]
    compared = {"of botocore as sedano configures it": ratio(cpu["slim"], cpu["botocore"])}
    return [*shown, Entry(f"{title}: slim, of boto3", ratio(cpu["slim"], cpu["boto3"]), "times", MOST[call], compared)]


def main() -> None:
    """Measure, print, write build/bench/aws_client.json, and fail if a target is missed."""
    argparse.ArgumentParser(prog="python -m benchmarks.aws_client", description="The CPU of one AWS call.").parse_args()
    began = time.monotonic()
    found = section(lambda: None)
    write(BUILD / "aws_client.json", [found], time.monotonic() - began)
    print(table([found]))
    missed = [entry.name for entry in found.entries if entry.verdict == "MISSED"]
    if missed:
        sys.exit(f"targets are missed: {'; '.join(missed)}")


if __name__ == "__main__":
    main()
