"""Planted faults of group commit: statements without a condition, and ledgers that read a reply as something else than it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any

from sedano.aws import group_commit
from sedano.aws.expressions.statements import END
from sedano.aws.group_commit import GroupCommitLedger, Together
from sedano.aws.ledger import DynamoLedger
from sedano.model.ledger.records import Claim, ClaimAnswer, Claimed, Outcome, RecordAnswer, Recorded
from tests.simulation.campaign import Schedule, Stage
from tests.simulation.claims import NOTHING, Planted
from tests.simulation.groups import GroupWorld
from tests.simulation.network import Rewrite

Reply = Mapping[str, Any]
Changed = Callable[[Mapping[str, Any]], Mapping[str, Any]]
_COMPARED = {"st": ":running", "nc": ":nc", "att": ":att"}


def _each(begins: str, change: Changed) -> Rewrite:
    """Return what changes each statement that *begins* so."""

    def rewrite(asked: Mapping[str, Any]) -> Mapping[str, Any]:
        if "Statements" not in asked:
            return asked
        return {**asked, "Statements": [change(one) if one["Statement"].startswith(begins) else one for one in asked["Statements"]]}

    return rewrite


def unconditional(statement: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an INSERT that replaces what is there."""
    return {**statement, "Statement": statement["Statement"].replace("INSERT", "UPSERT", 1)}


def weaker(statement: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """Return an UPDATE that does not compare the attributes *names*."""
    text, left = statement["Statement"], list(zip(END.parameters, statement["Parameters"], strict=True))
    for name in names:
        assert f" AND {name} = ?" in text
        text = text.replace(f" AND {name} = ?", "")
        left = [(token, value) for token, value in left if token != _COMPARED[name]]
    return {**statement, "Statement": text, "Parameters": [value for _, value in left]}


class GrantsDuplicates(GroupCommitLedger):
    """Takes an item that is there for its own."""

    def claim(self, claims: Sequence[Claim]) -> list[ClaimAnswer]:
        """Believe any reply."""
        return self._claimed(claims, lambda claim, reply: group_commit._granted(claim, {} if _is(reply, "DuplicateItem") else reply))

    def _claimed(self, claims: Sequence[Claim], read: Callable[[Claim, Reply], ClaimAnswer | None]) -> list[ClaimAnswer]:
        numbers = [number for number in group_commit._first(claims) if group_commit._is_new(claims[number])]
        together = [Together(number, group_commit._inserted(claims[number])) for number in numbers]
        return self._answers(claims, self._insertion, together, read, partial(self._singly, claims))

    def _singly(self, _: Sequence[Claim], left: Sequence[Claim]) -> list[ClaimAnswer]:
        return DynamoLedger.claim(self, left)


class GrantsThrottled(GrantsDuplicates):
    """Takes a throttled statement for one that was carried out."""

    def claim(self, claims: Sequence[Claim]) -> list[ClaimAnswer]:
        """Believe it."""
        return self._claimed(claims, lambda claim, reply: group_commit._granted(claim, {} if _is(reply, "ThrottlingError") else reply))


class RefusesDuplicates(GrantsDuplicates):
    """Takes an item that is there for a refusal without a record."""

    def claim(self, claims: Sequence[Claim]) -> list[ClaimAnswer]:
        """Ask no further."""
        return self._claimed(
            claims, lambda claim, reply: Claimed(False, None) if _is(reply, "DuplicateItem") else group_commit._granted(claim, reply)
        )


class DrawsAgain(GrantsDuplicates):
    """Goes on singly under another nonce."""

    def claim(self, claims: Sequence[Claim]) -> list[ClaimAnswer]:
        """Read as it should be."""
        return self._claimed(claims, group_commit._granted)

    def _singly(self, _: Sequence[Claim], left: Sequence[Claim]) -> list[ClaimAnswer]:
        return DynamoLedger.claim(self, [claim._replace(nonce=f"{claim.nonce}'") for claim in left])


class FirstFence(DrawsAgain):
    """Takes every grant for the first."""

    def _singly(self, _: Sequence[Claim], left: Sequence[Claim]) -> list[ClaimAnswer]:
        found = DynamoLedger.claim(self, left)
        return [
            one._replace(record=one.record._replace(fence=1)) if isinstance(one, Claimed) and one.granted and one.record else one
            for one in found
        ]


class MatchesWhatIsThere(GroupCommitLedger):
    """Matches replies by position though one is missing."""

    def _executed(self, prepared: Any, call: Sequence[Together]) -> Sequence[Reply]:
        client = self._client
        found: Sequence[Reply] = client.batch_execute_statement(Statements=[prepared.statement(part.values) for part in call])["Responses"]
        return [*found, *[{"Error": {}}] * (len(call) - len(found))]


class AcceptsRefused(GroupCommitLedger):
    """Takes every reply to a record for its acceptance, if *only* it has this code."""

    only = "ConditionalCheckFailed"

    def record(self, outcomes: Sequence[Outcome]) -> list[RecordAnswer]:
        """Believe it."""
        together = [part for number in group_commit._first(outcomes) if (part := group_commit._part(number, outcomes[number])) is not None]
        return self._answers(outcomes, self._ending, together, self._read, super().record)

    def _read(self, outcome: Outcome, reply: Reply) -> RecordAnswer | None:
        return Recorded(True) if _is(reply, self.only) else group_commit._recorded(outcome, reply)


class AcceptsThrottled(AcceptsRefused):
    """Takes a throttled record for recorded."""

    only = "ThrottlingError"


def _is(reply: Reply, code: str) -> bool:
    return bool(reply.get("Error", {}).get("Code") == code)


def stages() -> dict[str, Stage]:
    """Return the worlds of group commit with each of the faults, by name."""
    texts: Mapping[str, Rewrite] = {
        "INSERT over what is there": _each("INSERT", unconditional),
        **{f"END without {name}": _each("UPDATE", partial(_weaker, (name,))) for name in _COMPARED},
        "END without nonce and fence": _each("UPDATE", partial(_weaker, ("nc", "att"))),
    }
    kinds: Mapping[str, type[GroupCommitLedger]] = {
        "takes an item for its own": GrantsDuplicates, "takes a throttled claim for granted": GrantsThrottled,
        "takes an item for a refusal": RefusesDuplicates, "draws another nonce": DrawsAgain, "takes a fence for the first": FirstFence,
        "matches replies though one is missing": MatchesWhatIsThere,
        "takes a refused record for accepted": AcceptsRefused, "takes a throttled record for accepted": AcceptsThrottled,
    }  # fmt: skip
    planted = {name: partial(_stage, Planted(rewrite=rewrite), GroupCommitLedger) for name, rewrite in texts.items()}
    planted |= {name: partial(_stage, NOTHING, kind) for name, kind in kinds.items()}
    return {f"groups: {name}": stage for name, stage in planted.items()}


def _weaker(names: Sequence[str], statement: Mapping[str, Any]) -> Mapping[str, Any]:
    return weaker(statement, *names)


def _stage(planted: Planted, ledger: type[GroupCommitLedger], seed: int, allowed: AbstractSet[int] | None) -> Schedule:
    return GroupWorld(seed, planted, allowed, ledger)
