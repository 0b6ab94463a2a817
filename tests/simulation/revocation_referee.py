"""The referee of revocations: what a task's record may become besides, and which bodies may still begin.

R1: what was answered is true: REVOKED stands, and so does the state in which a task had ended. R2: once a task is revoked, or
marked while it runs, no later claim of it runs its body. R3: a body that is asked to end meets it at its next checkpoint, and no
other body does. R4: what a worker heard of headers it obeys, and it hears of them within its heartbeat's interval. R5: a change of
the control record loses none. R6: a worker that heard that its queue is paused begins nothing of it.
"""

from __future__ import annotations

from typing import Any

from sedano.aws.client import keys
from sedano.engine.batch import Held
from sedano.model import states
from sedano.model.cluster.control_record import ControlRecord, pairs_of
from sedano.model.ledger.records import TERMINATE
from sedano.model.messages.message import Command
from tests.simulation.claim_referee import FREE, LEDGER, ClaimReferee, number, text
from tests.simulation.dynamodb import Change
from tests.simulation.process import Process
from tests.simulation.values import Item

Body = tuple[str, int]
"""One run of a task: its id and its fence."""


class RevocationReferee(ClaimReferee):
    """Watches one world in which tasks are revoked. *operators*: the marks of the processes that revoke."""

    operators: frozenset[int] = frozenset()
    interval: float = 0.0

    def begin(self, operators: frozenset[int], interval: float) -> None:
        """Know who revokes, and within how many seconds (heartbeat and invocation) a worker hears of a header."""
        self.operators, self.interval = operators, interval
        self.marked: dict[str, int] = {}
        self.stopped: set[Body] = set()
        self.heard: dict[int, frozenset[str]] = {}
        self.paused: dict[int, bool] = {}
        self.since: dict[str, float] = {}
        self.ever: set[str] = set()

    def changed(self, change: Change) -> None:
        """Judge a write: first those that only a revocation makes."""
        if change.key == keys.CONTROL:
            self._controlled(change)
            return
        if change.table != LEDGER or not change.key.startswith(keys.TASK) or change.author is None:
            return
        task, process = change.key.removeprefix(keys.TASK), change.author[0]
        if not self._revokes(task, change.old, change.new, process):
            self._ends(task, change.old, change.new)
            super().changed(change)

    def _revokes(self, task: str, old: Item | None, new: Item | None, process: Process) -> bool:
        """Judge and tell whether it is a revocation's own write: a mark on what runs, or the end of what nobody holds (I7)."""
        if text(old, "st") == text(new, "st") == states.RUNNING and text(old, "nc") == text(new, "nc"):
            kept = {name for name in {*(old or {}), *(new or {})} if (old or {}).get(name) != (new or {}).get(name)}
            self._require(kept == {"rvk"}, "I7", f"{task}: a mark changed {sorted(kept)}")
            self._require(process.number in self.operators, "I7", f"{task}: marked by {process.number}")
            self._require(number(new, "rvk") > number(old, "rvk"), "I7", f"{task}: asked {number(new, 'rvk')} after {number(old, 'rvk')}")
            self._mark(task, new, "marked")
            return True
        if text(old, "st") in FREE and text(new, "st") == states.REVOKED and not text(new, "mid"):
            allowed = process.number in self.operators or number(old, "rvk") > 0
            self._require(allowed, "I7", f"{task}: ended by {process.number} without a mark")
            self._require(number(new, "att") == number(old, "att"), "I1", f"{task}: a revocation changed the token")
            self._mark(task, new, "revoked before it ran" if old is None or not number(old, "att") else "revoked between attempts")
            self._ended(task, new)
            return True
        return False

    def _mark(self, task: str, new: Item | None, branch: str) -> None:
        self.world.branches[branch] += 1
        self.marked.setdefault(task, number(new, "att"))

    def _ends(self, task: str, old: Item | None, new: Item | None) -> None:
        """Judge a worker's own write in the light of what was asked (R2, R3)."""
        before, after, body = text(old, "st"), text(new, "st"), (task, number(new, "att"))
        if before in FREE and after == states.RUNNING:
            self._require(not number(old, "rvk"), "R2", f"{task}: claimed after it was marked")
        if body in self.stopped and before == states.RUNNING and after != states.RUNNING:
            self._require(after == states.REVOKED, "R3", f"{task}: ended itself and was recorded as {after}")
        if after == states.REVOKED:
            given = [c for some in self.given.values() for c in some.get(task, ())]
            borne = any(self.bears(c) & self.ever for c in given)
            asked = number(old, "rvk") > 0 or borne or self._is_exit(task, new)
            self._require(asked, "R2", f"{task}: recorded as REVOKED though nobody asked")

    def bears(self, command: Command) -> set[str]:
        """Return the pairs that a command bears."""
        return {f"{header}={value}" for header, value in pairs_of(command).items() if value}

    def began(self, process: Process, held: Held) -> None:
        """Judge the beginning of a body (R2, R4)."""
        command, fence = held.job.command, held.record.fence if held.record is not None else 0
        last = self.marked.get(command.task_id, fence)
        self._require(fence <= last or not fence, "R2", f"{command.task_id}: claim {fence} runs, and it was marked at claim {last}")
        self._require(not self.paused.get(process.number), "R6", f"{command.task_id}: runs though its queue is paused")
        borne = self.bears(command)
        known = borne & self.heard.get(process.number, frozenset())
        self._require(not known, "R4", f"{command.task_id}: runs though process {process.number} heard of {sorted(known)}")
        now = self.world.now
        late = [p for p in borne if now > max(self.since.get(p, now), self.world.quiet_from) + self.interval]
        self._require(not late, "R4", f"{command.task_id}: runs though {late} stood for {self.interval:.0f} s")
        if borne & self.since.keys():
            self.world.branches["ran before the header was heard of"] += 1

    def checked(self, body: Body, before: int, *, ended: bool, blind: bool) -> None:
        """Judge a checkpoint: what was asked when it began, whether it raised, whether it could not look (R3)."""
        if ended:
            self.world.branches["ended itself"] += 1
            self.stopped.add(body)
            asked = number(self._record(body[0]), "rvk") >= TERMINATE or self._state(body[0]) == states.REVOKED
            self._require(asked, "R3", f"{body[0]}: was ended by a checkpoint and nobody asked")
        else:
            self._require(blind or before < TERMINATE, "R3", f"{body[0]}: asked to end, and its checkpoint let it pass")

    def answered(self, task: str, terminate: bool, state: str) -> None:
        """Judge what a revocation was answered (R1, R2)."""
        self.world.branches[f"answered {state}"] += 1
        item = self.database.table(LEDGER).get(keys.task(task))
        if state in states.TERMINAL:
            self._require(text(item, "st") == state, "R1", f"{task}: answered {state} and is {text(item, 'st')}")
        else:
            self._require(number(item, "rvk") >= 1 + terminate, "R1", f"{task}: answered {state} and is not marked")

    def hears(self, process: Process, record: ControlRecord) -> None:
        """Note what a worker learned."""
        self.heard[process.number], self.paused[process.number] = frozenset(record.revoked), bool(record.paused)

    def _controlled(self, change: Change) -> None:
        """Judge a change of the control record: one pair comes or goes (R5)."""
        before, after = _pairs(change.old), _pairs(change.new)
        process: Process = change.author[0]
        self._require(process.number in self.operators, "I7", f"process {process.number} changed the control record")
        self._require(number(change.new, "clk") > number(change.old, "clk"), "C1", "the control record's clock ran back")
        mine = {pair for pair in before ^ after if pair.endswith(f"-{process.number}")}
        self._require(mine == before ^ after, "R5", f"process {process.number} changed {sorted((before ^ after) - mine)}")
        self.ever |= after
        self.since = {pair: self.since.get(pair, self.world.now) for pair in after}

    def stands(self, pair: str, *, revoked: bool) -> None:
        """Judge what a change of headers was answered (R5)."""
        self._require((pair in self.since) == revoked, "R5", f"{pair}: answered {revoked} and the control record says otherwise")


def _pairs(item: Item | None) -> set[str]:
    if item is None:
        return set()
    kept: Any = item["revoked"]
    return set(kept["M"])
