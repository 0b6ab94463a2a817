"""A small cluster whose history is known by heart: what each of its tasks, workers and functions did, second by second."""

import json
import random
from collections.abc import Iterator
from typing import Any

HOUR = 1_763_600_400.0
"""When it begins: a full hour."""
LINKS = 150
"""How many tasks the long chain has."""
PLACE = 'Traceback (most recent call last):\n  File "mail.py", line {}, in send\n  <Smtp object at 0x{}>\nValueError: full'

Event = dict[str, Any]


class Cluster:
    """Writes down events; each is a second after the hour, and a clock counts them."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def say(self, kind: str, at: float, host: str, **fields: Any) -> None:
        """Write down one event."""
        place = {"type": kind, "timestamp": HOUR + at, "hostname": host, "pid": 1, "clock": int(HOUR * 1_000_000) + len(self.events) + 1}
        self.events.append({**place, **fields})

    def task(self, uuid: str, *steps: tuple[str, float], host: str = "w1", **told: Any) -> None:
        """Write down a task's life: its steps as (class, second), its publication by the client `c`."""
        described = {"name": "work", "args": f"({uuid!r},)", "kwargs": "{}", "retries": 0, "root_id": uuid, "parent_id": None, **told}
        for step, at in steps:
            fields: Event = {"uuid": uuid}
            if step == "sent":
                fields |= {"queue": "default", **described}
            if step == "received":
                fields |= {name: value for name, value in described.items() if name != "queue"}
            if step in {"failed", "retried"}:
                fields |= {"exception": told["exception"], "traceback": told["traceback"]}
            if step == "succeeded":
                fields |= {"runtime": told.get("runtime", at - dict(steps).get("started", at)), "result": "1"}
            self.say(f"task-{step}", at, "c" if step == "sent" else host, **fields)


def ran(sent: float, started: float, ended: float, end: str = "succeeded") -> tuple[tuple[str, float], ...]:
    """The steps of a task that was published, received, started and ended at these seconds."""
    return ("sent", sent), ("received", started), ("started", started), (end, ended)


def canvases(cluster: Cluster) -> None:
    """One fans out to four, of which one is slow and decides; one fails; one is not over; one goes in a circle; one is a long chain."""
    cluster.task("r", *ran(0, 1, 2), name="import")
    for uuid, seconds in (("a", 1), ("b", 1), ("c", 1), ("d", 10)):
        cluster.task(uuid, *ran(2, 3, 3 + seconds), name="resize", root_id="r", parent_id="r")
    cluster.task("z", *ran(13, 14, 15), name="tell", root_id="r", parent_id="d", stamps='{"tenant": "acme"}')
    cluster.task("bad", *ran(20, 21, 22), name="import")
    cluster.task("fell", *ran(22, 23, 24, "failed"), root_id="bad", parent_id="bad", exception="KeyError('x')", traceback=None)
    cluster.task("open", *ran(30, 31, 32), name="import")
    cluster.task("waits", ("sent", 32), root_id="open", parent_id="open")
    cluster.task("x", *ran(40, 41, 42), root_id="x", parent_id="y")
    cluster.task("y", *ran(40, 41, 43), root_id="x", parent_id="x")
    for n in range(LINKS):
        cluster.task(f"link-{n}", *ran(1000 + n, 1000.25 + n, 1001 + n), root_id="link-0", parent_id=f"link-{n - 1}" if n else None)


def failing(cluster: Cluster) -> None:
    """Three mails with the same arguments fail at one place; two messages do, which is no poison; two pushes are tried again."""
    for n in range(3):
        full = {"exception": f"ValueError('full {n}')", "traceback": PLACE.format(17 + n, f"7f{n}a")}
        cluster.task(f"mail-{n}", *ran(50 + n, 51 + n, 52 + n, "failed"), name="mail", args="('bob',)", **full)
    for n in range(2):
        cluster.task(f"sms-{n}", *ran(60, 61, 62, "failed"), name="sms", args="('bob',)", exception="gone", traceback="line 1")
    tried = {"name": "push", "exception": "Retry(Retry(...), net.Down('no route'), 5)", "traceback": "there"}
    for uuid, last, end in (("push-1", 2, "failed"), ("push-2", 1, "succeeded")):
        for n in range(last + 1):
            step = end if n == last else "retried"
            last_try = {"exception": "net.Down('no route')"} if step == "failed" else {}
            at = 70 + 10 * n
            cluster.task(uuid, *ran(at, at + 1, at + 2 + n, step), **{**tried, "retries": n, **last_try})


def waiting(cluster: Cluster) -> None:
    """Five that waited 1 to 5 s in the first hour on another queue, and one in the second hour."""
    for n in range(1, 6):
        cluster.task(f"slow-{n}", *ran(100, 100 + n, 110 + n), name="slow", queue="long", runtime=float(n))
    cluster.task("slow-6", *ran(3700, 3703, 3704), name="slow", queue="long")


def unwell(cluster: Cluster) -> None:
    """A worker that left, one that another saw go, one that fell silent; tasks that are stuck and one that is to wait; clocks apart."""
    beats = {"freq": 2.0, "sw_ident": "py-celery", "sw_ver": "5.7"}
    cluster.say("worker-online", 0, "w1", **beats)
    for at in (2, 4, 14):
        cluster.say("worker-heartbeat", at, "w1", **beats)
    cluster.say("worker-offline", 4000, "w1", **beats)
    cluster.say("worker-online", 0, "w2")
    cluster.say("worker-lost", 30, "w2", told_by="w1")
    cluster.say("worker-online", 0, "w3", **beats)
    cluster.task("held", ("sent", 1), ("received", 2), ("started", 3), host="w2")
    cluster.task("silent", ("sent", 1), ("received", 2), ("started", 3), host="w4")
    cluster.task("later", ("sent", 1), ("received", 2), host="w4", eta="2025-11-21T00:00:00+00:00")
    cluster.task("early", *ran(200, 199.5, 201), host="w4")
    cluster.say("claim-stolen", 300, "w4", uuid="held")
    for n, at in enumerate((500.0, 502.0, 501.0)):
        cluster.say("task-progress", 490 + n, "w5", uuid="moving", local_received=HOUR + at)


def billed(cluster: Cluster) -> None:
    """Two attempts of 1 and 3 s on a worker on Lambda that told of one invocation; the recorder's own."""
    for uuid, seconds in (("one", 1.0), ("three", 3.0)):
        cluster.task(uuid, *ran(400, 401, 401 + seconds), host="l1", name="bill", runtime=seconds, stamps="tenant=ac%6De,team=x")
    told = {"duration_ms": 100.0, "memory_mb": 1024, "calls": {"sqs.SendMessage": 2}, "messages": 2, "cold": True}
    cluster.say("worker-invocation", 405, "l1", **told)


def lines(seed: int) -> Iterator[str]:
    """Every line of the history, shuffled, one in five of them twice."""
    cluster = Cluster()
    for part in (canvases, failing, waiting, unwell, billed):
        part(cluster)
    cluster.say("worker-heartbeat", 4001, "w5")
    luck = random.Random(seed)
    told = [*cluster.events, *luck.sample(cluster.events, len(cluster.events) // 5)]
    luck.shuffle(told)
    return map(json.dumps, told)
