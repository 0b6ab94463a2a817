"""AWS Lambda between a queue and the shipped worker: environments that are started cold, reused, killed at their deadline, or not in time.

The event source takes what is visible, hands it to an idle environment as the event that Lambda makes of it, deletes what the handler does
not report, and leaves the rest to its visibility timeout. A killed environment is replaced by a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sedano.host.functions import Handler
from tests.simulation.process import Process
from tests.simulation.sqs import Message, Queues
from tests.simulation.world import World


@dataclass(frozen=True, slots=True)
class Limits:
    """How long an invocation may take, for how long a receipt hides, how many messages are a batch, and how many environments there are."""

    timeout: float
    visibility: float
    batch: int
    environments: int
    unpunctual: float
    """The chance that an invocation is not stopped at its deadline: a zombie. A tenth of it is that of an acknowledgement to be lost."""
    eager: float = 0.25
    """The chance that one more environment is started though another is idle."""


@dataclass(slots=True)
class Remaining:
    """What Lambda's context object says."""

    process: Process
    until: float

    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds until the invocation is stopped."""
        return max(0, int((self.until - self.process.world.now) * 1000))


class Environment:
    """One sandbox: a process and its handler."""

    def __init__(self, process: Process, handler: Handler) -> None:
        """Hold a warm *handler*."""
        self.process, self.handler = process, handler
        self.busy = False


class Lambda:
    """The event source of one command queue and its environments."""

    def __init__(self, world: World, queues: Queues, url: str, limits: Limits, start: Callable[[int], Environment]) -> None:
        """Serve the queue at *url*; *start* makes the environment of that number."""
        self.world, self.queues, self.url, self.limits, self.start = world, queues, url, limits, start
        self.environments: list[Environment] = []
        self.started = 0
        self._looks_at = -1.0
        self.delivered: Callable[[Process, Sequence[Message]], None] = lambda _process, _messages: None
        queues.arrived = self.arrived

    def arrived(self, url: str, moment: float) -> None:
        """Look again when a message becomes visible."""
        if url == self.url and moment != self._looks_at:
            self._looks_at = moment
            self.world.at(moment + 0.01, self.poll)

    def poll(self) -> None:
        """Hand out what is visible while somebody is idle."""
        while visible := self.queues.visible(self.url):
            environment = self._idle()
            if environment is None:
                return
            most = 1 + int(self.limits.batch * self.world.dice.random())
            self._invoke(environment, self.queues.take(self.url, visible, most, self.limits.visibility))

    def _idle(self) -> Environment | None:
        self.environments = [e for e in self.environments if e.process.alive]
        idle = [e for e in self.environments if not e.busy]
        if len(self.environments) < self.limits.environments and (not idle or self.world.draw() < self.limits.eager):
            self.started += 1
            self.environments.append(self.start(self.started))
            self.environments[-1].process.died = self.poll
            return self.environments[-1]
        return idle[int(len(idle) * self.world.dice.random())] if idle else None

    def _invoke(self, environment: Environment, messages: Sequence[Message]) -> None:
        environment.busy = True
        process, until = environment.process, self.world.now + self.limits.timeout
        process.invocation += 1
        process.until = until
        invocation = process.invocation
        self.delivered(process, messages)
        process.actor = self.world.spawn(process, lambda: self._run(environment, messages, until))
        process.unpunctual = self.world.strikes(self.limits.unpunctual) is not None
        if not process.unpunctual:
            self.world.at(until, lambda: self._stop(environment, invocation))

    def _stop(self, environment: Environment, invocation: int) -> None:
        process = environment.process
        if environment.busy and process.alive and process.invocation == invocation:
            self.world.branches["killed at the deadline"] += 1
            process.die()

    def _run(self, environment: Environment, messages: Sequence[Message], until: float) -> None:
        process = environment.process
        event = {"Records": [self._record(message) for message in messages]}
        answer = environment.handler(event, Remaining(process, until))
        failed = {failure["itemIdentifier"] for failure in answer["batchItemFailures"]}
        for message in messages:
            if str(message.number) not in failed and self.world.strikes(0.1 * self.limits.unpunctual) is None:
                self.queues.delete(self.url, message.number)
        environment.busy = False
        self.world.at(self.world.now, self.poll)

    def _record(self, message: Message) -> dict[str, Any]:
        return {
            "messageId": str(message.number),
            "receiptHandle": str(message.number),
            "body": message.body,
            "eventSourceARN": f"arn:aws:sqs:here:0:{self.url}",
            "messageAttributes": {name: {"stringValue": value["StringValue"]} for name, value in message.attributes.items()},
            "attributes": {"ApproximateReceiveCount": str(message.receives), "SentTimestamp": str(int(message.sent * 1000))},
        }
