"""The structure of results: the parents of a result, its tasks, and questions about all of them at once.

A result is an `AsyncResult` (one task) or a set of results (`members` are results again). `parent` is the result that it waits for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from sedano.engine.revocation.record import revoke
from sedano.engine.revocation.timed_tasks import withdraw
from sedano.model import states
from sedano.model.canvas.join import nodes_of
from sedano.model.messages.lamport import LamportClock
from sedano.result.waits import ResultOutlet, has_ended, in_hundreds, read


class Progress(NamedTuple):
    """How many tasks ended (*done*), how many of those without success (*failed*), and how many there are (*total*)."""

    done: int
    failed: int
    total: int


def before(result: Any) -> list[Any]:
    """Return the results that *result* waits for, one after another, the earliest first."""
    found = []
    while (result := result.parent) is not None:
        found.append(result)
    return found[::-1]


def following(result: Any) -> Iterator[Any]:
    """Yield *result* and all of its descendants, each once; the children of one are read after that one was yielded."""
    waiting, seen = [result], set[int | str]()
    while waiting:
        one = waiting.pop(0)
        key = id(one) if is_set(one) else str(one.id)
        if key not in seen:
            seen.add(key)
            yield one
            waiting += [*one.children, *(one.followers if is_set(one) else ())]


def steps_before(result: Any) -> list[str]:
    """Return the ids of the single tasks that must succeed before *result* can begin, the earliest first.

    They include the launch of a group but not its members: the step after a group has a record as soon as a member fails.
    """
    ids: list[str] = []
    for one in (*before(result), result):
        ids += _launches(one)
        if one is not result and not is_set(one):
            ids.append(one.id)
    return ids


def _launches(result: Any) -> list[str]:
    """Return the ids of the launches of *result*'s group and of the groups around that, the outermost first."""
    return [*_launches(result.launch), result.launch.id] if result.launch is not None else []


def is_set(result: Any) -> bool:
    """Return whether *result* is a set of results."""
    return hasattr(result, "members")


def leaves(results: Iterable[Any]) -> Iterator[Any]:
    """Yield the results of single tasks in *results*, in order, also those in sets within."""
    for result in results:
        if is_set(result):
            yield from leaves(result.members())
        else:
            yield result


def ids_of(results: Iterable[Any]) -> list[str]:
    """Return the ids of all tasks in *results*, without making a result for each where they are derived."""
    found: list[str] = []
    for result in results:
        found += result.ids() if is_set(result) else [result.id]
    return list(dict.fromkeys(found))


def counted(outlet: ResultOutlet, results: Iterable[Any]) -> Progress:
    """Return the progress of all tasks in *results*: of a group with a join by its sets, one item for 128 members, else by records."""
    done = failed = total = 0
    alone: list[str] = []
    for result in results:
        if is_set(result) and result.join_id is not None:
            some = _joined(outlet, result.join_id, len(result))
            done, failed, total = done + some.done, failed + some.failed, total + some.total
        else:
            alone += ids_of([result])
    for ids in in_hundreds(alone):
        ended = [record.state for record in read(outlet, ids).values() if has_ended(record)]
        done, failed = done + len(ended), failed + len(ended) - ended.count(states.SUCCESS)
    return Progress(done, failed, total + len(alone))


def revoke_all(outlet: ResultOutlet, results: Iterable[Any], *, terminate: bool) -> None:
    """Revoke all tasks in *results* that have not ended; those that end meanwhile stay as they are."""
    results = list(results)
    ids = [*(one.launch.id for one in results if is_set(one) and one.launch is not None), *ids_of(results)]
    lamport = LamportClock(lambda: int(outlet.ports.clock.now() * 1_000_000))
    stop = withdraw if len(ids) == 1 else revoke  # what a canvas lets wait, it does for less time than a revocation is kept
    for some in in_hundreds(ids):
        ended = {task_id for task_id, record in read(outlet, some).items() if has_ended(record)} if len(ids) > 1 else set[str]()
        for task_id in some:
            if task_id not in ended:
                stop(outlet.ports, lamport, task_id, terminate=terminate)


def forget_all(outlet: ResultOutlet, results: list[Any]) -> None:
    """Delete the stored results of all tasks in *results*."""
    for some in in_hundreds(ids_of(results)):
        outlet.ports.ledger.forget(some)
    for result in results:
        read_anew(result)


def read_anew(result: Any) -> None:
    """Let *result*, and the results in it, read their records again at the next use."""
    if is_set(result):
        result.forgotten()
    else:
        result.reader.forget()


def _joined(outlet: ResultOutlet, join_id: str, size: int) -> Progress:
    done = failed = 0
    for nodes in in_hundreds(nodes_of(size)):
        found = outlet.ports.ledger.read_nodes(join_id, nodes)
        done, failed = done + sum(len(node.done) for node in found), failed + sum(len(node.failed) for node in found)
    return Progress(done, failed, size)
