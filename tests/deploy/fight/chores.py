"""The tasks that the processes of the fight run: short ones, ones that outlive their claim, ones that fail first, chains and chords.

Those under permits write to what they share, each under its permit's number and token; the journal tells from when to when they did.
"""

from __future__ import annotations

import random
import time
from typing import Any

from sedano import Retry, Sedano, chord, current, guards
from sedano.errors import FencedOff

app = Sedano("fight", retry=Retry(max_retries=2, interval_start=1.0, jitter=False))
LONG_S = 6.0
"""Longer than a claim and than a message is hidden: somebody else takes the task over while this body runs."""


LIMIT = 2
"""How many run at a time under permits."""


class Pace:
    """How many of the bodies are long ones, and how often tasks under permits are published among seven kinds."""

    long = 0.0
    shared = 1


class Place:
    """Where this process is: a client that writes down what it asks, the table of what is shared, the journal."""

    client: Any
    table: str
    journal: Any


def _work() -> None:
    """Take a while, which is the subject here."""
    time.sleep(LONG_S if random.random() < Pace.long else 0.1 * random.random())


@app.task(name="plain")
def plain(n: int) -> int:
    """Work."""
    _work()
    return n


@app.task(name="flaky")
def flaky(until: int) -> int:
    """Fail until attempt *until*."""
    _work()
    if current().attempt < until:
        raise ValueError("not yet")
    return until


@app.task(name="chain")
def chain(n: int) -> int:
    """Publish a follow-up."""
    _work()
    plain.delay(n)
    return n


@app.task(name="shared", concurrency=LIMIT, concurrency_key="{key}")
def shared(key: str) -> str:
    """Be one of two with *key*, and write to what they share."""
    context = current()
    about = {"key": key, "permit": context.permit, "token": context.token}
    Place.journal.write("enters", **about, until=time.monotonic() + context.deadline - time.time())
    time.sleep(LONG_S if random.random() < Pace.long else 0.8 * random.random())
    resource = {"pk": {"S": f"RESOURCE#permit/{key}/{context.permit}"}}
    values = {":by": {"S": str(context.token)}}
    update = {"TableName": Place.table, "Key": resource, "UpdateExpression": "SET writer = :by"}
    try:
        guards.update_item(Place.client, context.token, ExpressionAttributeValues=values, **update)
    except FencedOff:
        Place.journal.write("fenced off", **about)
    Place.journal.write("leaves", **about)
    return key


@app.task(name="total")
def total(results: list[int]) -> int:
    """Add what the members of a chord returned: wrong when it comes before they have ended."""
    return sum(results)


MEMBERS = 4


def publish(dice: random.Random) -> None:
    """Publish something."""
    kind = dice.choice(("plain", "plain", "flaky", "chain", "chord", "election", *("shared",) * Pace.shared))
    if kind == "shared":
        key = dice.choice("ab")
        for _ in range(3):
            shared.delay(key)
    elif kind == "chord":
        chord(plain.s(n) for n in range(MEMBERS))(total.s())
    elif kind == "election":
        plain.s(7).election(timeout=2)
    else:
        app.send_task(kind, (1,))
