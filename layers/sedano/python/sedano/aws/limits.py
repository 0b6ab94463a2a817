"""Limits in the control table: `sedano.ports.Limits` by the writes of `sedano.aws.expressions.limits`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from sedano.aws.client import keys
from sedano.aws.client.table import Item, Table
from sedano.aws.expressions import Write
from sedano.aws.expressions import limits as writes
from sedano.errors import SedanoError
from sedano.model import collection as holding
from sedano.model.collection import MOST_BASKET_BYTES, Basket, Latest
from sedano.model.ledger.records import RECORD_LIFETIME_S
from sedano.model.limits import rate as rates
from sedano.model.limits.concurrency import BOARD_SIZE, GUARD_MS, Board, BoardChanged, Permit, merged, outdated
from sedano.model.limits.rate import Line, LineChanged, Paces

LIFETIME_S = 8 * 86_400
"""How long an ended permit is kept: its token must outlive every request that was sent under it."""
_TURNS = rates.MOST_PACES
_NUMBERED: Mapping[str, Write] = {
    "take": writes.TAKE_PERMIT, "give back": writes.GIVE_BACK, "wait": writes.AWAIT_PERMIT, "call": writes.CALL_NEXT,
    "keep": writes.KEEP,
}  # fmt: skip


class DynamoLimits:
    """The lines, permits, latest calls and baskets of one deployment.

    Args:
        client: a botocore DynamoDB client.
        table: the control table's name; its partition key is `pk` (a string), its TTL attribute `ttl`.
        board_size: the permits of an item; all adapters over one table have the same.
    """

    def __init__(self, client: Any, table: str, board_size: int = BOARD_SIZE) -> None:
        """Use *table*; no call is made yet."""
        self._table, self._size = Table(client, table), board_size

    def begin(self, name: str, line: Line, limits: Paces) -> LineChanged:
        """Write *line* if none exists, or if all turns of the existing one are over."""
        return self._set(writes.BEGIN, name, line, {":idle": _number(rates.idle_before(limits, line.base))})

    def turn(self, name: str, line: Line, seen: Line) -> LineChanged:
        """Replace exactly the line that was *seen* by *line*."""
        return self._set(writes.TURN, name, line, {":seen": {"S": seen.nonce}, ":before": _number(seen.taken)})

    def join(self, name: str, limits: Paces, count: int, now: int) -> LineChanged:
        """Take *count* tickets of a line that is ahead of *now*."""
        steps = _padded([count * pace.every for pace in limits])
        turns = _padded(rates.thresholds(limits, now))
        values = {f":d{i}": _number(step) for i, step in enumerate(steps)} | {f":x{i}": _number(turn) for i, turn in enumerate(turns)}
        values |= {":count": _number(count), ":ttl": _ttl(now / rates.SECOND + count * max(pace.every for pace in limits) / rates.SECOND)}
        done, item = self._table.update(writes.JOIN, keys.rate(name), values, returns="ALL_NEW")
        return LineChanged(done, _line(item, len(limits)))

    def line(self, name: str, limits: Paces) -> Line | None:
        """Return the line of *name*, strongly consistent."""
        return _line(self._table.read_one(keys.rate(name)), len(limits))

    def take(self, name: str, permit: Permit, who: str, now: int) -> BoardChanged:
        """Take *permit* where it is over by *now* (epoch ms), or kept for *who*."""
        values = {
            ":nc": {"S": permit.nonce}, ":tok": _number(permit.token), ":own": {"S": permit.owner}, ":exp": _number(permit.expires),
            ":lapsed": _number(now - GUARD_MS), ":who": {"S": who}, ":ttl": _ttl(permit.expires / 1000),
        }  # fmt: skip
        answer = self._change("take", name, permit, values)
        if permit.number < self._size:
            self._forget_old(name, answer.board, now)
        return answer

    def give_back(self, name: str, permit: Permit) -> BoardChanged:
        """Give back *permit* where it is still its holder's."""
        return self._change("give back", name, permit, _mine(permit))

    def wait(self, name: str, seen: Permit, message: str, now: int) -> BoardChanged:
        """Leave *message* (at most ten) to be woken, where *seen* is still held at *now* and there is room."""
        values = {":tok": _number(seen.token), ":now": _number(now), ":message": {"L": [{"S": message}]}}
        return self._change("wait", name, seen, values)

    def call(self, name: str, permit: Permit, first: str, who: str, until: int) -> BoardChanged:
        """Remove the message *first*, if it is still the first, and keep *permit*, which was given back, for *who* until *until*."""
        values = {**_mine(permit), ":first": {"S": first}, ":who": {"S": who}, ":exp": _number(until)}
        return self._change("call", name, permit, values)

    def board(self, name: str) -> Board:
        """Return the first board of *name*, strongly consistent."""
        return _board(name, self._table.read_one(keys.permits(name)))

    def boards(self, name: str, count: int) -> Board:
        """Return the permits of the first *count* boards of *name*, and the messages in its line, strongly consistent."""
        line, wanted = keys.permit_line(name), [keys.permits(name, number) for number in range(count)]
        items = self._table.read([*wanted, line])
        waiting = items[line]["queued"]["SS"] if "queued" in items.get(line, {}) else ()
        found = Board(name, waiting=tuple(sorted(waiting)))
        for key in wanted:
            found = merged(found, _board(name, items.get(key)))
        return found

    def line_up(self, name: str, message: str, now: int) -> bool:
        """Put *message* in the line of *name*, unless ten are there."""
        done, _ = self._table.update(writes.LINE_UP, keys.permit_line(name), {**_one(message), ":ttl": _ttl(now / 1000)})
        return done

    def leave_line(self, name: str, message: str) -> bool:
        """Take *message* out of the line of *name*; return whether it was there."""
        done, _ = self._table.update(writes.LEAVE_LINE, keys.permit_line(name), _one(message))
        return done

    def keep(self, name: str, permit: Permit, who: str, until: int) -> bool:
        """Keep *permit*, which was given back, for *who* until *until*."""
        return self._change("keep", name, permit, {**_mine(permit), ":who": {"S": who}, ":exp": _number(until)}).done

    def note(self, name: str, call: Latest, now: float) -> Latest:
        """Note *call* unless a later one is noted, and return the latest."""
        values = {":clk": _number(call.clock), ":tid": {"S": call.task_id}, ":ttl": _ttl(now)}
        done, item = self._table.update(writes.LATEST, keys.latest(name), values)
        return call if done or item is None else _latest(item)

    def latest(self, name: str) -> Latest | None:
        """Return the latest call, strongly consistent."""
        item = self._table.read_one(keys.latest(name))
        return _latest(item) if item is not None else None

    def put(self, name: str, entries: Sequence[str], most: int, now: float) -> Basket | None:
        """Put *entries* into the basket *name* of at most *most* calls and return it; None when it is shut or has no room for them."""
        size = sum(len(entry.encode()) for entry in entries)
        values: dict[str, Any] = {
            ":entries": {"L": [{"S": entry} for entry in entries]}, ":count": _number(len(entries)), ":bytes": _number(size),
            ":left": _number(most - len(entries)), ":room": _number(MOST_BASKET_BYTES - size), ":ttl": _ttl(now + RECORD_LIFETIME_S),
        }  # fmt: skip
        done, item = self._table.update(writes.PUT, keys.basket(name), values, returns="ALL_NEW")
        found = _basket(item)
        return found if done or holding.holds(found, entries) else None

    def shut(self, name: str, now: float) -> Basket:
        """Shut the basket and return what is in it."""
        _, item = self._table.update(writes.SHUT, keys.basket(name), {":ttl": _ttl(now + RECORD_LIFETIME_S)}, returns="ALL_NEW")
        return _basket(item)

    def _set(self, write: Write, name: str, line: Line, values: Mapping[str, Any]) -> LineChanged:
        turns = {f":t{i}": _number(turn) for i, turn in enumerate(_padded(line.turns))}
        given = {":bas": _number(line.base), ":tkn": _number(line.taken), ":nc": {"S": line.nonce}}
        done, item = self._table.update(write, keys.rate(name), {**given, **turns, **values, ":ttl": _ttl(max(line.turns) / rates.SECOND)})
        found = line if done else _line(item, len(line.turns))
        return LineChanged(done or (found is not None and found.nonce == line.nonce), found)

    def _change(self, what: str, name: str, permit: Permit, values: Mapping[str, Any]) -> BoardChanged:
        key = keys.permits(name, permit.number // self._size)
        done, item = self._table.update(_numbered(what, permit.number), key, values, returns="ALL_NEW")
        board = _board(name, item)
        found = board.permits.get(permit.number)
        mine = what == "take" and found is not None and (found.nonce, found.token) == (permit.nonce, permit.token)
        return BoardChanged(done or mine, board)

    def _forget_old(self, name: str, board: Board, now: int) -> None:
        """Remove ten permits above the first ten that a version before boards left in the first item, if there are some that are over."""
        ten = outdated(board, now)
        if ten is None:
            return
        try:
            self._table.update(_tenth(ten), keys.permits(name), {":lapsed": _number(now - GUARD_MS)})
        except SedanoError:
            return  # the permit is taken; the next one that is taken of this board tries again


@lru_cache(maxsize=4_096)
def _numbered(what: str, number: int) -> Write:
    """Return a write of the permit *number*: its text is a constant, the attributes' names contain the number."""
    write = _NUMBERED[what]
    names = {name: f"{attribute[0]}{number}" if attribute.endswith("0") else attribute for name, attribute in write.names.items()}
    return dataclasses.replace(write, names=names)


@lru_cache(maxsize=100)
def _tenth(ten: int) -> Write:
    """Return the write that removes the permits from 10 * *ten* on."""
    names = {name: f"{attribute[0]}{BOARD_SIZE * ten + int(attribute[1:])}" for name, attribute in writes.FORGET_OLD.names.items()}
    return dataclasses.replace(writes.FORGET_OLD, names=names)


def _one(message: str) -> dict[str, Any]:
    return {":one": {"S": message}, ":message": {"SS": [message]}}


def _number(value: int) -> Mapping[str, str]:
    return {"N": str(value)}


def _ttl(until: float) -> Mapping[str, str]:
    return _number(int(until) + LIFETIME_S)


def _mine(permit: Permit) -> dict[str, Mapping[str, str]]:
    return {":nc": {"S": permit.nonce}, ":tok": _number(permit.token)}


def _padded(numbers: Sequence[int]) -> list[int]:
    """Return *numbers* padded to the number of turns of a line: a repeated pace changes nothing."""
    return [*numbers, *(numbers[0] for _ in range(_TURNS - len(numbers)))]


def _line(item: Item | None, paces: int) -> Line | None:
    if not item:
        return None
    turns = tuple(int(item[f"t{i}"]["N"]) for i in range(paces))
    return Line(int(item["bas"]["N"]), int(item["tkn"]["N"]), turns, item["nc"]["S"])


def _board(name: str, item: Item | None) -> Board:
    if not item:
        return Board(name)
    numbers = [int(attribute[1:]) for attribute in item if attribute[0] == "k" and attribute[1:].isdigit()]
    waiting = tuple(message["S"] for message in item["queued"]["L"]) if "queued" in item else ()
    return Board(name, {number: _permit(item, number) for number in sorted(numbers)}, waiting)


def _permit(item: Item, number: int) -> Permit:
    kept = item[f"w{number}"]["S"] if f"w{number}" in item else ""
    nonce, owner = item[f"n{number}"]["S"], item[f"o{number}"]["S"]
    return Permit(
        number=number, token=int(item[f"k{number}"]["N"]), nonce=nonce, owner=owner, expires=int(item[f"e{number}"]["N"]), kept=kept,
    )  # fmt: skip


def _latest(item: Item) -> Latest:
    return Latest(int(item["clk"]["N"]), item["tid"]["S"])


def _basket(item: Item | None) -> Basket:
    if not item or "entries" not in item:
        return Basket({}, bool(item))
    return Basket(holding.read([entry["S"] for entry in item["entries"]["L"]]), "shut" in item)
