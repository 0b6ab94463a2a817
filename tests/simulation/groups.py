"""A world of tasks whose workers commit in groups: claims of a batch in one call, and records of those that end together.

Everything else is that of `tests.simulation.claims`. A statement has faults of its own besides those of its call: it is throttled, it is
carried out and answered as an internal error, at once or much later, and the replies to a call may be too few. Messages wait for others of
their batch, as with a batching window. Records go together as they do when every lane comes late: after the last body of the batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

from sedano.aws.client import keys
from sedano.aws.group_commit import GroupCommitLedger
from sedano.engine.worker.pipeline import Worker
from sedano.engine.worker.record_threads import Lanes
from sedano.model import states
from sedano.model.ledger.records import Claim, ClaimAnswer, Claimed
from sedano.ports import Ports
from tests.simulation import chores
from tests.simulation.claim_referee import LEDGER, number, text
from tests.simulation.claims import NOTHING, ClaimWorld, Plan, Planted, plan_of
from tests.simulation.dynamodb import Change, written_as
from tests.simulation.network import Client
from tests.simulation.process import Process
from tests.simulation.world import World

STATEMENTS = "BatchExecuteStatement"
KINDS = tuple(kind for kind in chores.KINDS if kind != "elected")


class LateLanes(Lanes):
    """Lanes whose threads never come: the caller does everything when it has put the last item."""

    def __init__(self) -> None:
        """Have no thread."""
        super().__init__(1)
        self._started = True


def _late(worker: Worker, planted: Planted) -> None:
    worker._lanes = LateLanes()
    planted.worker(worker)


def plan_of_groups(seed: int) -> Plan:
    """Draw what the schedule of *seed* is about: more tasks than in `plan_of`, and larger batches."""
    plan, dice = plan_of(seed), Random(f"groups of {seed}")
    kinds = tuple(dice.choice(KINDS) for _ in range(dice.choice((2, 2, 3, 5))))
    return replace(plan, kinds=kinds, limits=replace(plan.limits, batch=dice.choice((4, 10, 30))), queues=None)


class JudgedLedger:
    """A ledger whose answers to claims are judged (B): what is granted was written under that nonce and fence, and a claim of one's own is
    not taken for another's.
    """

    def __init__(self, inner: GroupCommitLedger, world: World, grants: AbstractSet[tuple[str, str, int]]) -> None:
        """Judge the answers of *inner* by the *grants* that were written: of which task, under which nonce and fence."""
        self._inner, self._world, self._grants = inner, world, grants

    def __getattr__(self, name: str) -> Any:
        """Return the ledger's own operation."""
        return getattr(self._inner, name)

    def claim(self, claims: Sequence[Claim]) -> list[ClaimAnswer]:
        """Claim, and judge the answers."""
        answers = self._inner.claim(claims)
        for claim, answer in zip(claims, answers, strict=True):
            record = answer.record if isinstance(answer, Claimed) else None
            if record is None or not isinstance(answer, Claimed):
                continue
            known = (claim.task_id, record.nonce, record.fence) in self._grants
            if answer.granted and not (known and record.nonce == claim.nonce):
                self._world.fail("B", f"{claim.task_id}: believes in a claim that was not granted")
            if not answer.granted and record.state == states.RUNNING and record.nonce == claim.nonce:
                self._world.fail("B", f"{claim.task_id}: takes its own claim for another's")
        return answers


class GroupWorld(ClaimWorld):
    """One schedule. *ledger*: the class of the ledger, for a planted fault."""

    def __init__(
        self, seed: int, planted: Planted = NOTHING, allowed: AbstractSet[int] | None = None,
        ledger: type[GroupCommitLedger] = GroupCommitLedger,
    ) -> None:  # fmt: skip
        """Set the stage of *seed*."""
        self.ledger = ledger
        super().__init__(seed, plan_of_groups(seed), replace(planted, worker=partial(_late, planted=planted)), allowed)
        self.grants: set[tuple[str, str, int]] = set()
        self.database.watchers.append(self._granted)
        window = Random(f"window of {seed}").choice((0.5, 3.0, 3.0))
        self.queues.arrived = lambda url, moment: self.function.arrived(url, moment + window)

    def ports(self, process: Process) -> Ports:
        """Return the ports of *process*, with group commit."""
        client, clock = Client(process, self.carry_out, self.plan.weather, self.planted.rewrite), process.clock
        ledger: Any = JudgedLedger(self.ledger(client, LEDGER, lanes=1, now=clock.now), self.world, self.grants)
        return replace(super().ports(process), ledger=ledger, group_commit=True)

    def _granted(self, change: Change) -> None:
        if change.table == LEDGER and text(change.new, "st") == states.RUNNING:
            task = change.key.removeprefix(keys.TASK)
            self.grants.add((task, text(change.new, "nc"), number(change.new, "att")))

    def carry_out(self, operation: str, author: Any, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Carry out a call; the statements of a group each have their own fate."""
        if operation != STATEMENTS:
            return self.database.call(operation, author, asked)
        self.database.call(STATEMENTS, author, {"Statements": []})
        given = [written_as(statement) for statement in asked["Statements"]]
        self.world.branches["statements together"] += len(given)
        replies = [self.execute(author, one) for one in given]
        if self.world.strikes(self.plan.weather.chance / 8) is not None:
            self.world.branches["a reply is missing"] += 1
            replies.pop(self.world.dice.randrange(len(replies)))
        return {"Responses": replies}

    def execute(self, author: Any, one: Mapping[str, Any]) -> dict[str, Any]:
        """Carry out one statement, or not, and reply."""
        world, drawn = self.world, self.world.strikes(self.plan.weather.chance / 2)
        if drawn is None:
            reply = self.database.execute(author, one)
            world.branches[reply.get("Error", {}).get("Code", "statement carried out")] += 1
            return reply
        if drawn < 0.4:
            world.branches["a statement is throttled"] += 1
            return {"Error": {"Code": "ThrottlingError", "Message": "slow down"}}
        world.branches["a statement is carried out and not known to be"] += 1
        if drawn < 0.7:
            self.database.execute(author, one)
        else:
            world.at(world.now + 60.0 * world.dice.random() ** 3, partial(self._late, author, one))
        return {"Error": {"Code": "InternalServerError", "Message": "oops"}}

    def _late(self, author: Any, one: Mapping[str, Any]) -> None:
        self.database.execute(author, one)
