"""The total concurrency of a queue, divided among the processes that serve it and Lambda. Pure.

`sedano scale QUEUE N` writes the wanted number into the control record. Each process computes its own share from the members that it sees,
and the controller computes the share of Lambda, by the same rule.

S1: if Lambda does not serve a queue, the shares of its processes add up to the wanted number. S2: if functions also receive from the queue,
the share of a process is at most the concurrency with which it was started, and Lambda gets the rest, but at least `LEAST_OF_LAMBDA`, the
smallest limit that AWS allows. A function that was not invoked for an hour no longer counts. S3: equal observations lead to equal shares in
every process: the order of names determines the processes that get one more.

Processes that see different members, because one has just begun or ended, disagree until they read the members again (`AGAIN_S`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from sedano.errors import OptionError
from sedano.model.cluster.members import LEFT, LOST, STALE_S, MemberRecord
from sedano.model.cluster.worker_report import DRAINING, LAMBDA, WorkerReport, report_of

MOST_SCALED: Final = 10_000
LEAST_OF_LAMBDA: Final = 2
MOST_OF_LAMBDA: Final = 1_000
AGAIN_S: Final = 30.0
"""The seconds after which a process reads the servers of the scaled queues again, and sends its own heartbeat."""

INVOKED_S: Final = 3_600.0


class Server(NamedTuple):
    """A process that serves *queues*: its *name*, and the concurrency with which it was *started*."""

    name: str
    queues: tuple[str, ...]
    started: int


class Servers(NamedTuple):
    """The live *processes*, and the queues from which Lambda functions have received (*lambdas*)."""

    processes: tuple[Server, ...] = ()
    lambdas: frozenset[str] = frozenset()


class ProcessShare(NamedTuple):
    """The share of a process: the most concurrent bodies of each scaled queue (*most*), and its number of *lanes* for all its queues."""

    most: Mapping[str, int]
    lanes: int


def checked_number(number: object) -> int:
    """Return *number* as the total concurrency of a queue.

    Raises:
        OptionError: it is not a whole number from 1 to 10 000.
    """
    if type(number) is not int or not 1 <= number <= MOST_SCALED:
        instead = "to stop a queue, pause it: sedano pause QUEUE"
        raise OptionError(f"number: {number!r} is not a whole number from 1 to {MOST_SCALED}; {instead}")
    return number


def servers(members: Iterable[MemberRecord], now: float) -> Servers:
    """Return the servers among *members* that are alive at *now* (epoch s), from their reports; draining processes are excluded."""
    processes, lambdas = dict[str, Server](), set[str]()
    for member in members:
        report = report_of(member.report)
        if member.state in (LEFT, LOST) or not report.host or report.condition == DRAINING:
            continue
        if report.host == LAMBDA:
            lambdas.update(report.queues if now - member.seen <= INVOKED_S else ())
        elif report.process and now - member.seen <= STALE_S:
            processes[report.process] = _server(report)
    return Servers(tuple(processes[name] for name in sorted(processes)), frozenset(lambdas))


def _server(report: WorkerReport) -> Server:
    return Server(report.process, report.queues, report.started)


def divided(number: int, names: Sequence[str]) -> dict[str, int]:
    """Return *number* divided among *names* as evenly as possible; the first names get one more."""
    each, more = divmod(number, len(names)) if names else (0, 0)
    return {name: each + (place < more) for place, name in enumerate(sorted(names))}


def shares(queue: str, number: int, found: Servers) -> dict[str, int]:
    """Return the share of each process that serves *queue*, by its name; *number* is the total concurrency of the queue."""
    serving = {one.name: one for one in found.processes if queue in one.queues}
    even = divided(number, [*serving])
    return {name: min(share, serving[name].started) for name, share in even.items()} if queue in found.lambdas else even


def process_share(wishes: Mapping[str, int], me: Server, found: Servers) -> ProcessShare:
    """Return the share of the process *me*; *wishes* has the total concurrency of each scaled queue, and *found* the servers, with or
    without *me*.

    A queue that is not in *wishes* has the lanes with which the process was started.
    """
    every = found._replace(processes=(*found.processes, me))
    most = {queue: shares(queue, number, every)[me.name] for queue, number in wishes.items() if queue in me.queues}
    others = me.started if any(queue not in most for queue in me.queues) else 1
    return ProcessShare(most, max(others, sum(most.values())))


def lambda_share(queue: str, number: int, found: Servers) -> int:
    """Return the number of concurrent invocations of Lambda for *queue*; *number* is the total concurrency of the queue."""
    taken = sum(shares(queue, number, found).values())
    return min(max(number - taken, LEAST_OF_LAMBDA), MOST_OF_LAMBDA)
