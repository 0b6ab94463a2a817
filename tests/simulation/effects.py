"""A world of tasks that write to tables of their user in the transaction of their record, in the weather of tasks.

The workers, the queue and the ledger are those of `tests.simulation.claims`; `DynamoEffects` is the shipped one. Messages come twice,
workers die and pause at every call, transactions meet others, their requests arrive late and again, and zombies record when others have
taken over. In half of the worlds the store remembers a `ClientRequestToken`, in the others it has forgotten it: the conditions must hold
alone.

The referee judges beyond that of claims: H, an effect is applied if and only if its task is SUCCESS by that very run, with all other
effects of that run, once. Each run writes its own number, returns it, and adds one to a sum that has no condition of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import greenlet

from sedano import Sedano, current
from sedano.aws.effects import DynamoEffects
from sedano.errors import EffectRefused
from sedano.model import states
from sedano.model.effects import Row, TableWrite
from sedano.model.ledger.records import Outcome, RecordAnswer, Recorded
from sedano.ports import Ports
from tests.simulation import chores
from tests.simulation.claim_referee import LEDGER, ClaimReferee, number, text
from tests.simulation.claims import SETTINGS, ClaimWorld, Plan, Planted, plan_of
from tests.simulation.dynamodb import Change
from tests.simulation.network import Client
from tests.simulation.process import Process

ORDERS, STOCK, TICKETS = "orders", "stock", "tickets"
SUM = "sum"
KINDS = (*("sell",) * 5, *("jammed",) * 2, *("once",) * 3, *("ticket",) * 2)
app = Sedano("shop", retry=chores.SOON)
for _table in (ORDERS, STOCK, TICKETS):
    app.table(_table, key="pk")


def _sells() -> int:
    """Collect this run's effects, take a while, and return the number of this run."""
    owner: Process = greenlet.getcurrent().owner  # type: ignore[attr-defined] # bodies run in actors
    run = owner.world.branches["runs"] = owner.world.branches["runs"] + 1
    current().effects.put(ORDERS, {"pk": current().id, "run": run})
    chores._work()
    current().effects.update(STOCK, {"pk": SUM}, add={"sold": 1})
    return run


@app.task(name="sell")
def sell() -> int:
    """Sell, under a claim."""
    return _sells()


@app.task(name="jammed")
def jammed() -> int:
    """Fail the first time, after the effects were collected."""
    run = _sells()
    if current().attempt == 0:
        raise ValueError("the till is jammed")
    return run


@app.task(name="once", delivery="record_once")
def once() -> int:
    """Sell without a claim."""
    return _sells()


@app.task(name="ticket")
def ticket() -> int:
    """Sell the last ticket: whoever finds it sold fails in the end."""
    run, effects = _sells(), current().effects
    effects.put(TICKETS, {"pk": "last", "of": current().id}, condition=effects.ABSENT)
    return run


TASKS = {"sell": sell, "jammed": jammed, "once": once, "ticket": ticket}


@dataclass(frozen=True, slots=True)
class PlantedEffects(Planted):
    """A fault of what writes effects."""

    effects: Callable[[DynamoEffects, Ports], Any] = lambda effects, _: effects


NOTHING = PlantedEffects()


class EffectReferee(ClaimReferee):
    """Watches one world of effects."""

    def changed(self, change: Change) -> None:
        """Judge a write to a record, and one to a user's table: it happens with the record of its run (H)."""
        super().changed(change)
        if change.table == ORDERS:
            self._require(change.old is None, "H", "{}: its effect was applied twice", change.key)
            state, result = self._state(change.key), text(self._record(change.key), "res")
            self._require(state == states.SUCCESS, "H", "{}: has an effect while it is {}", change.key, state or "not recorded")
            own = result == str(number(change.new, "run"))
            self._require(own, "H", "{}: recorded {}, with the effects of another run", change.key, result)
            self.world.branches["effects applied"] += 1
        elif change.table == TICKETS:
            self._require(change.old is None, "H", "a ticket was sold twice")

    def believed(self, outcome: Outcome) -> None:
        """Judge that a worker which follows *outcome* follows what is recorded."""
        nonce = text(self._record(outcome.task_id), "nc")
        self._require(nonce == outcome.nonce, "H", "{}: {} follows what {} recorded", outcome.task_id, outcome.nonce, nonce or "nobody")

    def at_rest(self, expected: Counter[str], most_claims: int) -> None:
        """Judge a world in which nothing happens any more: no success without all its effects, no effects without it (H)."""
        super().at_rest(expected, most_claims)
        ended = {task for task in self.names if self._state(task) == states.SUCCESS}
        orders = set(self.database.table(ORDERS))
        self._require(orders == ended, "H", f"{len(orders)} orders of {len(ended)} that succeeded")
        sold = number(self.database.table(STOCK).get(SUM), "sold")
        self._require(sold == len(ended), "H", f"{sold} were counted of {len(ended)} that succeeded")
        holders = [text(one, "of") for one in self.database.table(TICKETS).values()]
        buyers = [task for task in ended if self.names[task] == "ticket"]
        self._require(holders == buyers, "H", f"the last ticket was sold to {buyers}, and belongs to {holders}")


class Believed:
    """Stands for the effects of a worker: what it takes for recorded must be its own run's (H)."""

    def __init__(self, inner: Any, referee: EffectReferee) -> None:
        """Stand for *inner*."""
        self._inner, self._referee = inner, referee

    def record(self, outcome: Outcome, effects: Sequence[TableWrite], *, claimed: bool) -> RecordAnswer | EffectRefused:
        """Record, and judge the answer."""
        answer: RecordAnswer | EffectRefused = self._inner.record(outcome, effects, claimed=claimed)
        if isinstance(answer, Recorded) and answer.accepted:
            self._referee.believed(outcome)
        return answer

    def read(self, table: str, key: Row) -> Row | None:
        """Return the item at *key*."""
        found: Row | None = self._inner.read(table, key)
        return found


class EffectWorld(ClaimWorld):
    """One schedule."""

    app = app
    judge = EffectReferee
    referee: EffectReferee

    def __init__(self, seed: int, planted: Planted = NOTHING, allowed: AbstractSet[int] | None = None) -> None:
        """Set the stage of *seed*."""
        dice = Random(f"effects of {seed}")
        kinds = tuple(dice.choice(KINDS) for _ in range(dice.choice((1, 1, 2, 3))))
        plan: Plan = replace(plan_of(seed), kinds=kinds, queues=None)
        super().__init__(seed, plan, planted, allowed)
        self.tokens: set[str] | None = set() if dice.random() < 0.5 else None

    def ports(self, process: Process) -> Ports:
        """Return the ports of *process*, with the shipped effects over a simulated client."""
        ports = super().ports(process)
        client = Client(process, self._carried_out, self.plan.weather, self.planted.rewrite)
        effects = DynamoEffects(client, LEDGER, {name: name for name in (ORDERS, STOCK, TICKETS)}, (0.0, 0.0))
        change = self.planted.effects if isinstance(self.planted, PlantedEffects) else NOTHING.effects
        return replace(ports, effects=Believed(change(effects, ports), self.referee))

    def at_rest(self) -> None:
        """Judge the world when nothing is left to happen."""
        self.referee.at_rest(Counter(self.plan.kinds), SETTINGS.poison_after)

    def _publish(self) -> None:
        for kind in self.plan.kinds:
            TASKS[kind].delay()

    def _carried_out(self, operation: str, author: Any, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a transaction whose token is remembered as done, without doing it again."""
        token = asked.get("ClientRequestToken")
        if token is None or self.tokens is None:
            return self.database.call(operation, author, asked)
        if token in self.tokens:
            self.world.branches["a token was remembered"] += 1
            return {}
        answer = self.database.call(operation, author, asked)
        self.tokens.add(token)
        return answer
