"""Judging a fight: the simulation's own referees over every write that was carried out, and what only the processes can tell.

Who made a write is found, not believed: it is the one whose request, written down before it was sent, makes of the item before what stands
there after. A write that no request explains is a broken promise itself (I7). Two requests may explain one write: releases that two
processes sent in the same millisecond are alike but for their conditions, and so are all returns of a permit. Then the one that was
granted made it, or the one whose answer nobody lived to hear, and of several the one whose conditions held; one that was refused only where
there is no other, since a request that was sent twice is refused by itself. No request makes two writes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

from sedano.aws.client import keys
from sedano.model import states
from sedano.model.messages.message import ELECT
from tests.deploy.fight.arena import Fight, Write
from tests.deploy.fight.chores import MEMBERS
from tests.deploy.fight.permits import Boards, crowded
from tests.simulation import expressions
from tests.simulation.claim_referee import ClaimReferee, command_of, text
from tests.simulation.dynamodb import Change, Database
from tests.simulation.elections import ElectionReferee
from tests.simulation.lease_referee import LEASE, RESOURCE, LeaseReferee
from tests.simulation.linearizability import NEVER, Operation, linearizable, overlapping
from tests.simulation.sqs import Queues
from tests.simulation.values import Invalid, Item, comparable
from tests.simulation.world import Violation, World

Line = dict[str, Any]
DONE, UNHEARD, REFUSED = "done", "unheard", "refused"
"""What came of a request, as its sender knows: it was carried out, nobody lived to hear, or it was not."""


@dataclass(slots=True)
class Verdict:
    """What a fight came to: promises that were broken, and how much there was to break."""

    broken: list[str] = field(default_factory=list)
    figures: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Ask:
    """One write that a process asked for: who, from when to when it was under way (epoch s), what came of it, and its parameters."""

    process: str
    began: float
    ended: float
    answer: str
    operation: str
    asked: Mapping[str, Any]


def judge(fight: Fight) -> Verdict:
    """Return what is to be said of *fight*."""
    verdict = Verdict()
    verdict.figures["killed"] = fight.killed
    verdict.figures.update(line["kind"] for line in fight.lines if line["kind"] in ("fenced off", "lost", "unavailable", "given"))
    _judge_writes(fight, verdict)
    verdict.broken += _beliefs(fight.lines, verdict.figures)
    verdict.broken += crowded(fight.lines, verdict.figures)
    history = operations(fight.lines)
    verdict.figures["operations on leases"] = len(history)
    verdict.figures["operations that overlap"] = overlapping(history)
    if not linearizable(history):
        verdict.broken.append("LIN: no order of what the processes saw is one of atomic leases")
    verdict.broken += _at_rest(fight, verdict.figures)
    return verdict


def operations(lines: Iterable[Line]) -> list[Operation]:
    """Return the operations on leases, as their callers saw them."""
    answers = {(line["process"], line["of"]): line for line in lines if line["kind"] == "leased"}
    found = []
    for line in lines:
        if line["kind"] == "leases":
            answer = answers.get((line["process"], line["number"]))
            ended, granted = (answer["at"], answer["granted"]) if answer is not None else (NEVER, True)
            seen = (line.get("saw", 0), line.get("held", False))
            found.append(Operation(line["what"], line["nonce"], line["token"], line["at"], ended, granted, *seen, line["lease"]))
    return found


class Bench:
    """The simulation's referees, one for each lease and election, and one for all tasks and for all permits."""

    def __init__(self, fight: Fight) -> None:
        """Tell the referee of tasks what each invocation was given."""
        self.world = World(0)
        self.kept = Database()
        self.tasks = ClaimReferee(self.world, self.kept, Queues(self.world), "", "")
        self.leases: defaultdict[str, LeaseReferee] = defaultdict(lambda: LeaseReferee(self.world, Database()))
        self.votes: defaultdict[str, ElectionReferee] = defaultdict(lambda: ElectionReferee(self.world))
        self.boards = Boards(self.world, fight.lines)
        for line in fight.lines:
            if line["kind"] == "given":
                messages: Any = [SimpleNamespace(body=body) for body in line["bodies"]]
                self.tasks.delivered(SimpleNamespace(mark=line["mark"]), messages)  # type: ignore[arg-type] # as far as it is looked at

    def judge(self, write: Write, ask: Ask) -> None:
        """Judge *write*, which *ask* explains.

        Raises:
            Violation: it breaks a promise.
        """
        self.world.now, self.world.failure = ask.began, None
        mark = _mark(write, ask)
        process = SimpleNamespace(clock=SimpleNamespace(now=lambda: ask.ended), mark=mark)
        change = Change((process, mark), write.table, write.key, write.old, write.new)
        if write.key.startswith((LEASE, RESOURCE)):
            self.leases[write.key.partition("#")[2].replace("%2F", "/")].changed(change)
        elif write.key.startswith(keys.ELECTION):
            self.votes[write.key].changed(change)
        elif write.key.startswith(keys.PERMITS):
            self.boards.changed(change, mark, ask.ended)
        else:
            self.tasks.changed(change)


def _mark(write: Write, ask: Ask) -> str:
    """Return who acts: the invocation that the nonces of *ask* bear, of this process or nobody's."""
    for one in [ask.asked, *(next(iter(entry.values())) for entry in ask.asked.get("TransactItems", ()))]:
        nonce: str = one.get("ExpressionAttributeValues", {}).get(":nc", {}).get("S", "")
        if nonce.partition(".")[0] == ask.process:
            return nonce.partition("~")[0]
    return f"{ask.process}.0"


def _judge_writes(fight: Fight, verdict: Verdict) -> None:
    bench, asks = Bench(fight), _asks(fight.lines)
    for write in fight.writes:
        ask = _maker(asks[write.key], write)
        verdict.figures[f"writes to {write.key.partition('#')[0]}"] += 1
        if ask is None:
            verdict.broken.append(f"I7: nobody asked for what became of {write.key}: {write.old} → {write.new}")
            continue
        try:
            bench.judge(write, ask)
        except Violation as broken:
            verdict.broken.append(f"{broken} ({write.key}, by process {ask.process})")
        bench.kept.table(write.table)[write.key] = write.new or {}
    verdict.figures.update(bench.world.branches)
    verdict.figures["elections closed"] = sum(one.closes for one in bench.votes.values())


def _maker(asks: list[Ask], write: Write) -> Ask | None:
    """Return who made *write*: of all whose request explains it, the one whose answer and conditions fit best; it made no other."""
    found = [one for one in asks if _under_way(one, write.second) and _explains(one, write)]
    maker = min(found, key=lambda ask: _unlikelihood(ask, write), default=None)
    if maker is not None:
        asks.remove(maker)
    return maker


def _unlikelihood(ask: Ask, write: Write) -> tuple[bool, bool, int]:
    return ask.answer == REFUSED, not any(_held(one, write) for one in _parts(ask.asked)), (DONE, UNHEARD, REFUSED).index(ask.answer)


def _held(one: Mapping[str, Any], write: Write) -> bool:
    """Tell whether a request's own condition held of the item before *write*."""
    if (one.get("Key") or one["Item"])["pk"]["S"] != write.key:
        return False
    if "ConditionExpression" not in one:
        return True
    try:
        check = expressions.condition(one["ConditionExpression"], one.get("ExpressionAttributeNames") or {})
        return check(write.old or {}, one.get("ExpressionAttributeValues") or {})
    except Invalid:
        return False


def _asks(lines: Iterable[Line]) -> defaultdict[str, list[Ask]]:
    """Return what was asked for, by the key that it would change."""
    answers = {(line["process"], line["of"]): (line["wall"], line["kind"]) for line in lines if line["kind"] in (DONE, REFUSED)}
    found: defaultdict[str, list[Ask]] = defaultdict(list)
    for line in lines:
        if line["kind"] == "asks" and not line["operation"].startswith("send"):
            ended, answer = answers.get((line["process"], line["number"]), (NEVER, UNHEARD))
            ask = Ask(line["process"], line["wall"], ended, answer, line["operation"], line["asked"])
            for key in _keys(ask.asked):
                found[key].append(ask)
    return found


def _keys(asked: Mapping[str, Any]) -> Iterator[str]:
    for one in _parts(asked):
        yield (one.get("Key") or one["Item"])["pk"]["S"]


def _parts(asked: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [next(iter(entry.values())) for entry in asked["TransactItems"]] if "TransactItems" in asked else [asked]


def _under_way(ask: Ask, second: int) -> bool:
    return ask.began <= second + 1.1 and ask.ended >= second - 0.1


def _explains(ask: Ask, write: Write) -> bool:
    """Tell whether carrying out *ask* makes of the item before *write* the item after it."""
    for one in _parts(ask.asked):
        if (one.get("Key") or one["Item"])["pk"]["S"] == write.key and _same(_after(one, write), write.new):
            return True
    return False


def _after(one: Mapping[str, Any], write: Write) -> Item | None:
    if "Item" in one:
        return dict(one["Item"])
    change = expressions.update(one.get("UpdateExpression", ""), one.get("ExpressionAttributeNames") or {})
    try:
        return change(write.old or {"pk": {"S": write.key}}, one.get("ExpressionAttributeValues") or {})
    except Invalid:
        return None


def _same(one: Item | None, other: Item | None) -> bool:
    if one is None or other is None or one.keys() != other.keys():
        return False
    return all(comparable(one[name]) == comparable(other[name]) for name in one)


def _beliefs(lines: Iterable[Line], figures: Counter[str]) -> Iterator[str]:
    """Judge that at most one believes at a time (I3), by the machine's one monotonic clock."""
    spans: defaultdict[str, dict[int, tuple[float, float]]] = defaultdict(dict)
    for line in lines:
        held = spans[line.get("lease", "")]
        if line["kind"] == "holds":
            held[line["token"]] = (line["begun"], line["until"])
        elif line["kind"] == "over":
            begun, until = held[line["token"]]
            held[line["token"]] = (begun, min(until, line["at"]))
    for name, held in spans.items():
        figures["terms believed in"] += len(held)
        for (_, until), (begun, _) in pairwise(sorted(held.values())):
            if until > begun:
                yield f"I3: two believed for {until - begun:.3f} s to hold {name}"


def _at_rest(fight: Fight, figures: Counter[str]) -> Iterator[str]:
    """Judge what is left when nothing happens any more (E2, E4, J1)."""
    records = {write.key.removeprefix(keys.TASK): write.new for write in fight.writes if write.key.startswith(keys.TASK)}
    if fight.left:
        yield f"E2: {fight.left} messages never end"
    for task, name in _published(fight).items():
        state = text(records.get(task), "st")
        figures[f"tasks that ended as {state or 'nothing'}"] += 1
        if state not in states.TERMINAL:
            yield f"E2: {name} {task} ended as {state or 'nothing'}"
        elif name == "total" and (state, text(records.get(task), "res")) != (states.SUCCESS, str(sum(range(MEMBERS)))):
            yield f"J1: the chord's body {task} came to {state} {text(records.get(task), 'res')}"


def _published(fight: Fight) -> dict[str, str]:
    """Return the names by id of the tasks whose message was surely sent: somebody was given it, or its send was answered."""
    done = {(line["process"], line["of"]) for line in fight.lines if line["kind"] == "done"}
    bodies = [body for line in fight.lines if line["kind"] == "given" for body in line["bodies"]]
    for line in fight.lines:
        sent = line["kind"] == "asks" and line["asked"].get("QueueUrl") == fight.queue
        if sent and (line["process"], line["number"]) in done:
            bodies += [entry["MessageBody"] for entry in line["asked"].get("Entries", (line["asked"],))]
    commands = [command for body in bodies if (command := command_of(body)) is not None]
    return {command.task_id: command.task for command in commands if command.task != ELECT}
