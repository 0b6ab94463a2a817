"""Fairness on the local endpoint: whether it delivers by tenant, or only stores the tenants.

A noisy tenant publishes its backlog, then each quiet one a message. All messages are received in tens and stay in flight, as while workers
are busy. On AWS the messages of quiet tenants are delivered first once the noisy one has more than a tenth of the messages in flight
(`fairness.py` simulates this); this module counts the behaviour of the endpoint.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import Entry, Section, Target
from sedano.aws.queues import SqsQueues
from sedano.local import Endpoint
from sedano.ports import Outgoing, command_queue

NOISY, QUIET = 200, 20
NOISE = "noisy"
COMMANDS = command_queue("default")
TITLE = "Fairness on the local endpoint"


def section(python: Path, build: Path) -> Section:
    """Return the figures of the endpoint under the interpreter *python*; its files are written to *build*."""
    if not python.exists():
        return Section(TITLE, "skipped: the endpoint's environment is missing; `make setup-all` creates it", [])
    build.mkdir(parents=True, exist_ok=True)
    with Endpoint(python, build) as endpoint:
        order = delivered(endpoint.session().client("sqs", endpoint_url=endpoint.url))
    how = f"{NOISY} messages of one tenant, then one of each of {QUIET}, received in tens and kept in flight"
    return Section(TITLE, how, entries(order))


def entries(order: Sequence[str]) -> list[Entry]:
    """Return the numbers for messages that were received in this *order* of their tenants."""
    quiet = [place for place, tenant in enumerate(order) if tenant != NOISE]
    before = [place - number for number, place in enumerate(quiet)]
    return [
        Entry("messages that come with their tenant", sum(map(bool, order)) / (NOISY + QUIET), "", Target(1.0, "least")),
        Entry(f"of {NOISY} noisy messages, before a quiet one, on average", sum(before) / len(before) if before else NOISY, "messages"),
    ]


def delivered(client: Any) -> list[str]:
    """Publish through the shipped adapter and return the tenants of the messages in the order in which they were received."""
    url = client.create_queue(QueueName="fair", Attributes={"VisibilityTimeout": "600"})["QueueUrl"]
    tenants = [*[NOISE] * NOISY, *(f"quiet-{number}" for number in range(QUIET))]
    SqsQueues(client, {COMMANDS: url}).send(COMMANDS, [Outgoing("{}", 0, tenant) for tenant in tenants])
    found: list[str] = []
    while len(found) < len(tenants):
        answer = client.receive_message(QueueUrl=url, MaxNumberOfMessages=10, MessageSystemAttributeNames=["MessageGroupId"])
        if not answer.get("Messages"):
            break
        found += [message.get("Attributes", {}).get("MessageGroupId", "") for message in answer["Messages"]]
    return found
