"""One budget of bodies at once for a queue, divided between the processes that serve it and Lambda. Pure.

`sedano scale QUEUE N` writes the wished number into the control record. Each process computes its own share from the members that it sees,
and the controller computes that of Lambda, by the same rule.

S1: the shares of the processes of a queue that Lambda does not serve add up to the wished number.
S2: where functions have received from the queue too, a process takes no more than it was started with, and Lambda has the rest, but never
less than `LEAST_OF_LAMBDA`, the smallest limit that AWS allows. A function that was not invoked for an hour counts no more.
S3: equal observations lead to equal shares in every process: the order of names decides which ones get one more.

Processes that see different members, because one has just begun or ended, disagree until they look again (`AGAIN_S`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from sedano.errors import OptionError
from sedano.model.cluster.members import LEFT, LOST, STALE_S, MemberRecord
from sedano.model.cluster.worker_report import DRAINING, LAMBDA, WorkerReport, report_of

MOST_WISHED: Final = 10_000
LEAST_OF_LAMBDA: Final = 2
MOST_OF_LAMBDA: Final = 1_000
AGAIN_S: Final = 30.0
"""After how many seconds a process looks again who serves the queues that are scaled, and shows that it lives."""

INVOKED_S: Final = 3_600.0


class Server(NamedTuple):
    """A process that serves *queues*: its *name*, and how many bodies at once it was *started* with."""

    name: str
    queues: tuple[str, ...]
    started: int


class Servers(NamedTuple):
    """The live *processes*, and the queues that functions on *lambdas* have received from."""

    processes: tuple[Server, ...] = ()
    lambdas: frozenset[str] = frozenset()


class ProcessShare(NamedTuple):
    """The share of a process: the most bodies at once of each scaled queue (*most*), and how many *lanes* it has for all its queues."""

    most: Mapping[str, int]
    lanes: int


def wished(number: object) -> int:
    """Return *number* of bodies at once as it may be wished.

    Raises:
        OptionError: it is not a whole number from 1 to 10 000.
    """
    if type(number) is not int or not 1 <= number <= MOST_WISHED:
        instead = "to let nothing of a queue begin, pause it: sedano pause QUEUE"
        raise OptionError(f"number: {number!r} is not a whole number from 1 to {MOST_WISHED}; {instead}")
    return number


def servers(members: Iterable[MemberRecord], now: float) -> Servers:
    """Return the servers among *members* that live at *now* (epoch s), by their reports; a process that drains is not one of them."""
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
    """Return *number* divided between *names* as evenly as it can be; the first names get one more."""
    each, more = divmod(number, len(names)) if names else (0, 0)
    return {name: each + (place < more) for place, name in enumerate(sorted(names))}


def shares(queue: str, number: int, found: Servers) -> dict[str, int]:
    """Return the share of each process that serves *queue*, for which *number* bodies at once are wished, by its name."""
    serving = {one.name: one for one in found.processes if queue in one.queues}
    even = divided(number, [*serving])
    return {name: min(share, serving[name].started) for name, share in even.items()} if queue in found.lambdas else even


def process_share(wishes: Mapping[str, int], me: Server, found: Servers) -> ProcessShare:
    """Return the share of the process *me* under the *wishes* by queue; *found* are the servers, with *me* or without.

    A queue without a wish has the lanes with which the process was started.
    """
    every = found._replace(processes=(*(one for one in found.processes if one.name != me.name), me))
    most = {queue: shares(queue, number, every)[me.name] for queue, number in wishes.items() if queue in me.queues}
    others = me.started if any(queue not in most for queue in me.queues) else 1
    return ProcessShare(most, max(others, sum(most.values())))


def lambda_share(queue: str, number: int, found: Servers) -> int:
    """Return how many invocations at once Lambda has of *queue*, for which *number* bodies at once are wished."""
    taken = sum(shares(queue, number, found).values())
    return min(max(number - taken, LEAST_OF_LAMBDA), MOST_OF_LAMBDA)
