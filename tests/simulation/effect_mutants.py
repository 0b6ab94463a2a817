"""Planted faults of effects: the record's conditions dropped inside the transaction, and ways to write effects beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any

from botocore.exceptions import ClientError

from sedano.aws.client.error_codes import LATER
from sedano.aws.client.faults import meaning_of
from sedano.aws.effects import DynamoEffects
from sedano.aws.expressions import tasks
from sedano.aws.expressions.effects import part
from sedano.errors import EffectRefused, SedanoError
from sedano.model.effects import TableWrite
from sedano.model.ledger.records import Outcome, RecordAnswer, Recorded
from sedano.ports import Ports
from tests.simulation.campaign import Schedule, Stage
from tests.simulation.claims import Planted
from tests.simulation.effects import TICKETS, EffectWorld, PlantedEffects
from tests.simulation.weaken import each, without

Answer = RecordAnswer | EffectRefused


class Beside:
    """Writes effects in calls of their own. *before*: ahead of the record, not after it."""

    def __init__(self, inner: DynamoEffects, ports: Ports, before: bool) -> None:
        """Write what *inner* would, and record with the ledger of *ports*."""
        self.inner, self.ports, self.before = inner, ports, before

    def record(self, outcome: Outcome, effects: Sequence[TableWrite], *, claimed: bool) -> Answer:
        """Record, and write the effects, in two calls."""
        record = self.ports.ledger.record if claimed else self.ports.ledger.keep
        if self.before:
            self._write(effects)
            return record([outcome])[0]
        answer = record([outcome])[0]
        if isinstance(answer, Recorded) and answer.accepted:
            self._write(effects)
        return answer

    def _write(self, effects: Sequence[TableWrite]) -> None:
        parts = [part(effect, effect.table) for effect in effects]
        self.inner._client.transact_write_items(TransactItems=parts)


class Hasty(DynamoEffects):
    """Takes a conflict, or a store that was too busy, for done."""

    def _transact(self, parts: list[dict[str, Any]]) -> ClientError | None:
        try:
            return super()._transact(parts)
        except SedanoError as error:
            if isinstance(error.__cause__, Exception) and meaning_of(error.__cause__) == LATER:
                return None
            raise


class TokenOfTheTask(DynamoEffects):
    """Derives the token from the task, and not from what is written: a second run is answered for the first one."""

    def _transact(self, parts: list[dict[str, Any]]) -> ClientError | None:
        key, client = parts[0]["Update"]["Key"]["pk"]["S"], self._client
        self._client = _SameToken(client, key)
        try:
            return super()._transact(parts)
        finally:
            self._client = client


class _SameToken:
    def __init__(self, inner: Any, token: str) -> None:
        self._inner, self._token = inner, token

    def transact_write_items(self, **asked: Any) -> Any:
        """Send it under the other token."""
        return self._inner.transact_write_items(**{**asked, "ClientRequestToken": self._token})


class RecordsFirstAlone(DynamoEffects):
    """Takes a success whose effects were refused for recorded."""

    def record(self, outcome: Outcome, effects: Sequence[TableWrite], *, claimed: bool) -> Answer:
        """Record without the effects that were refused."""
        answer = super().record(outcome, effects, claimed=claimed)
        return super().record(outcome, (), claimed=claimed) if isinstance(answer, EffectRefused) else answer


def _as(kind: type[DynamoEffects]) -> PlantedEffects:
    def change(effects: DynamoEffects, _: Ports) -> DynamoEffects:
        effects.__class__ = kind
        return effects

    return PlantedEffects(effects=change)


def _unconditional_tickets(asked: Mapping[str, Any]) -> Mapping[str, Any]:
    """Send effects without conditions of their own."""
    if "TransactItems" not in asked:
        return asked
    entries = [
        {kind: {name: value for name, value in one.items() if one["TableName"] != TICKETS or not name.startswith("Cond")}}
        for entry in asked["TransactItems"]
        for kind, one in entry.items()
    ]
    return {**asked, "TransactItems": entries}


def stages() -> dict[str, Stage]:
    """Return the worlds of effects with each of the faults, by name."""
    planted: Mapping[str, Planted] = {
        **{name: Planted(rewrite=rewrite) for name, rewrite in each("RECORD", tasks.RECORD)},
        **{name: Planted(rewrite=rewrite) for name, rewrite in each("KEEP", tasks.KEEP)},
        "RECORD without fence and nonce": Planted(rewrite=without(tasks.RECORD, "nc = :nc", "att = :att")),
        "an effect without its own condition": Planted(rewrite=_unconditional_tickets),
        "effects before the record": PlantedEffects(effects=partial(Beside, before=True)),
        "effects after the record": PlantedEffects(effects=partial(Beside, before=False)),
        "a success without the effects that were refused": _as(RecordsFirstAlone),
        "a conflict is taken for done": _as(Hasty),
        "a token of the task, not of the run": _as(TokenOfTheTask),
    }
    return {f"effects: {name}": partial(_stage, fault) for name, fault in planted.items()}


def _stage(fault: Planted, seed: int, allowed: AbstractSet[int] | None) -> Schedule:
    return EffectWorld(seed, fault, allowed)
