"""What lies between a process and a service: a client with botocore's face, over a network that loses, delays and repeats.

A call is up to three attempts, as botocore makes them: an attempt without an answer is made again with the very same parameters. What can
happen to an attempt is a kind of `Fault`; a late one is carried out while its sender is long somewhere else, or dead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any

from botocore.exceptions import ClientError, ReadTimeoutError

from tests.simulation.dynamodb import error
from tests.simulation.process import Process

TRIES = 3
TIMEOUT_S = 8.0
"""Attempts of one call and how long each waits, as `sedano.aws.client.session` sets them."""
_PAUSE_S = 0.05
SLOWEST_S = 0.4
"""How long a request is under way at the most while nothing is wrong; most take a few milliseconds."""


class Fault(Enum):
    """What happens to one attempt, or to the process that makes it."""

    REQUEST_LOST = "request lost"
    RESPONSE_LOST = "response lost"
    DELAYED = "delayed"
    LATE = "arrives after the sender gave up"
    TWICE = "delivered late a second time"
    THROTTLED = "throttled"
    FAILED = "fails after it was done"
    CONFLICT = "transaction conflict"
    PAUSE = "the process pauses"
    CRASH_BEFORE = "the process dies before it"
    CRASH_AFTER = "the process dies after it"


@dataclass(frozen=True, slots=True)
class Weather:
    """How bad a world is: the *chance* that a fault strikes an attempt, and which *kinds* there are."""

    chance: float
    kinds: tuple[Fault, ...]


Rewrite = Callable[[Mapping[str, Any]], Mapping[str, Any]]


class Call:
    """One call of one process to one service operation."""

    __slots__ = ("author", "carry_out", "operation", "parameters", "process", "world")

    def __init__(self, process: Process, operation: str, carry_out: Any, parameters: Mapping[str, Any]) -> None:
        """Call *operation* on behalf of *process*."""
        self.process, self.operation, self.parameters = process, operation, parameters
        self.author, self.carry_out, self.world = (process, process.mark), carry_out, process.world

    def answer(self, weather: Weather) -> dict[str, Any]:
        """Return what the service answers, after as many attempts as botocore makes."""
        world, chance = self.world, weather.chance
        for _ in range(TRIES):
            drawn = world.strikes(chance)
            if drawn is None:
                world.sleep(0.001 + SLOWEST_S * world.draw() ** 6)
                return self.arrive()
            kind = weather.kinds[int(drawn * len(weather.kinds))]
            world.branches[kind.value] += 1
            world.note(self.process.number, self.operation, kind.value)
            answer = self.suffer(kind)
            if answer is not None:
                return answer
            world.sleep(_PAUSE_S * world.dice.random())
        raise ReadTimeoutError(endpoint_url=self.operation)

    def suffer(self, kind: Fault) -> dict[str, Any] | None:
        """Go through *kind*; return the answer if there is one, or None to try again."""
        world, process = self.world, self.process
        if kind is Fault.CRASH_BEFORE:
            process.die()
        elif kind is Fault.PAUSE:
            process.pause(90.0 * world.dice.random() ** 2, stops=world.dice.random() < 0.5 and not process.steps)
            return self.arrive()
        elif kind is Fault.THROTTLED:
            world.sleep(0.1 * world.dice.random())
        elif kind is Fault.CONFLICT:
            raise error("TransactionConflictException", self.operation)
        elif kind is Fault.DELAYED:
            world.sleep(TIMEOUT_S * world.dice.random())
            return self.arrive()
        elif kind is Fault.TWICE:
            world.sleep(0.03 * world.dice.random())
            world.at(world.now + 60.0 * world.dice.random() ** 3, self.late)
            return self.arrive()
        else:
            self.unanswered(kind)
        return None

    def unanswered(self, kind: Fault) -> None:
        """Make the attempt and learn nothing of it."""
        world = self.world
        if kind is Fault.LATE:
            world.at(world.now + TIMEOUT_S + 60.0 * world.dice.random() ** 3, self.late)
        elif kind is not Fault.REQUEST_LOST:
            world.sleep(0.03 * world.dice.random())
            self.late()
        if kind is Fault.CRASH_AFTER:
            self.process.die()
        if kind is Fault.FAILED:
            return
        world.sleep(TIMEOUT_S)

    def arrive(self) -> dict[str, Any]:
        """Let the service carry it out and bring its answer back."""
        world = self.world
        try:
            answer: dict[str, Any] = self.carry_out(self.operation, self.author, self.parameters)
        except ClientError as refused:
            world.note(self.process.number, self.operation, refused.response["Error"]["Code"])
            self.recognised(refused, "own write recognised")
            raise
        world.trace.append((world.now, self.process.number, self.operation))
        if world.draw() < 0.4:
            world.sleep(0.03 * world.draw())
        return answer

    def late(self) -> None:
        """Let the service carry it out; nobody waits for the answer."""
        try:
            self.carry_out(self.operation, self.author, self.parameters)
            self.world.note("network", self.operation, "carried out unheard", self.author[1])
        except ClientError as refused:
            self.world.note("network", self.operation, refused.response["Error"]["Code"], self.author[1])
            self.world.branches["late duplicate refused"] += 1

    def recognised(self, refused: ClientError, branch: str) -> None:
        """Count a refusal by an item that bears the nonce of this very write."""
        nonce = self.parameters.get("ExpressionAttributeValues", {}).get(":nc")
        item: Any = refused.response.get("Item")
        if nonce is not None and item and item.get("nc") == nonce:
            self.world.branches[branch] += 1


@lru_cache(64)
def operation_of(name: str) -> str:
    """Return the operation that botocore's method *name* calls."""
    return name.title().replace("_", "")


class Client:
    """A botocore client of one process: `update_item` and the like become calls. *rewrite* plants a fault in what is sent."""

    def __init__(self, process: Process, carry_out: Any, weather: Weather, rewrite: Rewrite | None = None) -> None:
        """Reach the service that carries calls out through *weather*."""
        self._given = process, carry_out, weather, rewrite

    def __getattr__(self, name: str) -> Any:
        """Return the operation that botocore calls *name*; it is made once, and holds nothing that holds the client."""
        if name.startswith("_"):
            raise AttributeError(name)
        operation = operation_of(name)
        process, carry_out, weather, rewrite = self._given

        def call(**parameters: Any) -> dict[str, Any]:
            asked = rewrite(parameters) if rewrite is not None else parameters
            if not process.alive:
                process.die()
            return Call(process, operation, carry_out, asked).answer(weather)

        self.__dict__[name] = call
        return call

    def get_paginator(self, name: str) -> Pages:
        """Return a paginator of one page."""
        return Pages(getattr(self, name))


@dataclass(frozen=True, slots=True)
class Pages:
    """A paginator: everything in one page."""

    call: Any

    def paginate(self, **parameters: Any) -> Iterator[dict[str, Any]]:
        """Yield the page."""
        yield self.call(**parameters)
