"""Elections in DynamoDB: `sedano.ports.Elections` by the writes of `sedano.aws.expressions.elections`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sedano.aws import ledger_items as items
from sedano.aws.client import keys
from sedano.aws.client.faults import AWS_ERRORS, fault, reasons_of
from sedano.aws.client.table import Item, Table
from sedano.aws.expressions import Write
from sedano.aws.expressions.elections import CLOSE, DISPATCH, HOLDS, OPENING, PASS, REGISTER
from sedano.model.elections import CLOSED, Ballot, Election

ELECTION_LIFETIME_S = 8 * 86_400
_REFUSED = "ConditionalCheckFailed"
Values = dict[str, Mapping[str, Any]]


class DynamoElections:
    """The elections of one deployment.

    Args:
        client: a botocore DynamoDB client.
        table: the control table's name; its partition key is `pk` (a string), its TTL attribute `ttl`.
        ledger: the name of the ledger table, in which a close notes the task that it dispatches.
    """

    def __init__(self, client: Any, table: str, ledger: str) -> None:
        """Use *table* and *ledger*; no call is made yet."""
        self._client, self._name, self._ledger = client, table, ledger
        self._table = Table(client, table)

    def open(self, election: Election, at: float) -> Ballot:
        """Create *election* unless one exists."""
        if self._table.put(OPENING, _item(election, at)):
            return Ballot(True, election)
        found = self.read(election.election_id)
        return Ballot(found is not None and found.nonce == election.nonce, found)

    def read(self, election_id: str) -> Election | None:
        """Return the election, strongly consistent."""
        item = self._table.read_one(keys.election(election_id))
        return _election(item) if item is not None else None

    def register(self, election_id: str, name: str, clock: int) -> Ballot:
        """Register *name* with *clock*, once, while the election is open."""
        values: Values = {":name": {"S": name}, ":names": {"SS": [name]}, ":entry": {"SS": [_entry(name, clock)]}}
        done, found = self._write(REGISTER, election_id, values)
        return Ballot(done or (found is not None and found.candidates.get(name) == clock), found)

    def close(self, election: Election, at: float, fence: int) -> Ballot:
        """Close the election as *election* says, if its call is still held under *fence*, and note its task in the ledger."""
        values: Values = {
            ":ver": {"N": str(election.version)}, ":win": {"S": election.winner}, ":by": {"S": election.by},
            ":term": {"N": str(election.term)}, ":until": {"N": str(election.until)},
        }  # fmt: skip
        note: Values = {":by": {"S": election.by}, ":ttl": items.ttl(at)}
        close = {"Update": self._part(self._name, keys.election(election.election_id), CLOSE, values)}
        holds = {"ConditionCheck": self._part(self._ledger, keys.task(election.by), HOLDS, {":att": {"N": str(fence)}})}
        noted = {"Update": self._part(self._ledger, keys.task(election.task_id), DISPATCH, note)}
        refused = self._transact([close, holds, noted])
        if refused == [False, False, True]:  # the ledger has the task already
            refused = self._transact([close, holds])
        if refused is None:
            return Ballot(True, election)
        found = self.read(election.election_id)
        if refused[1] and (found is None or found.state != CLOSED):
            return Ballot(False, None)
        return Ballot(found is not None and _same_close(found, election), found)

    def advance(self, election: Election, seen: Election) -> Ballot:
        """Make the winner of *election* the leader until the time in it, if the election is still as *seen*."""
        values: Values = {
            ":seen": {"S": seen.winner}, ":before": {"N": str(seen.term)}, ":lapsed": {"N": str(seen.until)},
            ":win": {"S": election.winner}, ":term": {"N": str(election.term)}, ":until": {"N": str(election.until)},
        }  # fmt: skip
        done, found = self._write(PASS, election.election_id, values)
        mine = found is not None and (found.winner, found.term, found.until) == (election.winner, election.term, election.until)
        return Ballot(done or mine, found)

    def _write(self, write: Write, election_id: str, values: Values) -> tuple[bool, Election | None]:
        done, item = self._table.update(write, keys.election(election_id), values, returns="ALL_NEW")
        return done, _election(item) if item else None

    @staticmethod
    def _part(table: str, key: str, write: Write, values: Values) -> dict[str, Any]:
        """Return *write* as an item of a transaction."""
        return {"TableName": table, "Key": {"pk": {"S": key}}, "ExpressionAttributeValues": {**write.values, **values}, **write.parameters}

    def _transact(self, parts: list[dict[str, Any]]) -> list[bool] | None:
        """Make all writes or none; return None when made, else which of the *parts* were refused by their conditions."""
        try:
            self._client.transact_write_items(TransactItems=parts)
        except AWS_ERRORS as error:
            refused = [code == _REFUSED for code in reasons_of(error)]
            if any(refused):
                return refused
            raise fault(error, "dynamodb.TransactWriteItems") from error
        return None


def _same_close(found: Election, election: Election) -> bool:
    return found.state == CLOSED and found.by == election.by


def _entry(name: str, clock: int) -> str:
    return f"{clock} {name}"


def _item(election: Election, at: float) -> Item:
    item: dict[str, Any] = {
        "pk": {"S": keys.election(election.election_id)}, "elect": {"S": election.election_id}, "topic": {"S": election.topic},
        "task": {"S": election.task_id}, "draft": {"S": election.draft}, "nc": {"S": election.nonce}, "st": {"S": election.state},
        "ver": {"N": str(election.version)}, "win": {"S": election.winner}, "closer": {"S": election.by},
        "term": {"N": str(election.term)}, "until": {"N": str(election.until)}, "ttl": {"N": str(int(at) + ELECTION_LIFETIME_S)},
    }  # fmt: skip
    if election.need:
        item["need"] = {"SS": sorted(election.need)}
    if election.candidates:
        item["voters"] = {"SS": sorted(election.candidates)}
        item["cand"] = {"SS": sorted(_entry(name, clock) for name, clock in election.candidates.items())}
    return item


def _election(item: Item) -> Election:
    text = {name: item[name]["S"] for name in ("elect", "topic", "task", "draft", "nc", "st")}
    entries = (entry.partition(" ") for entry in item["cand"]["SS"]) if "cand" in item else ()
    need = frozenset(item["need"]["SS"]) if "need" in item else frozenset[str]()
    return Election(
        election_id=text["elect"], topic=text["topic"], task_id=text["task"], draft=text["draft"], nonce=text["nc"], state=text["st"],
        need=need, candidates={name: int(clock) for clock, _, name in entries}, version=int(item["ver"]["N"]), winner=item["win"]["S"],
        by=item["closer"]["S"], term=int(item["term"]["N"]), until=int(item["until"]["N"]),
    )  # fmt: skip
