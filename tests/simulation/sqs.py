"""SQS standard queues as their clients see them: at least once, in no order, invisible for a while after each receipt.

A message may be handed out again while it is invisible (a copy), any visible one may come first, and what is deleted may come back once.
Whoever watches (`Queues.sent_watchers`, `deleted_watchers`) is told of every message that is accepted and of every one that is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.simulation.world import World

LATEST_S = 2.0
"""How long a message that was accepted may take until it can be received; most take a few milliseconds."""


@dataclass(slots=True)
class Message:
    """One message as the queue keeps it; *author* sent it."""

    number: int
    body: str
    author: Any
    sent: float
    visible: float
    receives: int = 0
    attributes: Mapping[str, Any] = field(default_factory=dict)
    deleted: bool = False


class Queues:
    """Queues by URL. *arrived* is told when a message of a queue may be visible from some moment on."""

    def __init__(self, world: World) -> None:
        """Have no queue; one comes into being when it is first used."""
        self.world = world
        self.kept: dict[str, dict[int, Message]] = {}
        self.sent_watchers: list[Callable[[str, Message], None]] = []
        self.deleted_watchers: list[Callable[[str, Message], None]] = []
        self.arrived: Callable[[str, float], None] = lambda _url, _moment: None
        self._numbers = 0

    def call(self, operation: str, author: Any, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Carry out *operation* as a client would ask for it."""
        return _OPERATIONS[operation](self, author, parameters)

    def queue(self, url: str) -> dict[int, Message]:
        """Return the messages of a queue by number."""
        return self.kept.setdefault(url, {})

    def put(self, url: str, body: str, author: Any, delay: float = 0.0, attributes: Mapping[str, Any] | None = None) -> Message:
        """Accept one message."""
        self._numbers += 1
        now = self.world.now
        visible = now + delay + LATEST_S * self.world.draw() ** 8
        message = Message(self._numbers, body, author, now, visible, attributes=attributes or {})
        self.queue(url)[message.number] = message
        for watcher in self.sent_watchers:
            watcher(url, message)
        self.arrived(url, message.visible)
        return message

    def visible(self, url: str) -> list[Message]:
        """Return the messages of a queue that may be handed out now."""
        now = self.world.now
        return [message for message in self.kept.get(url, {}).values() if message.visible <= now]

    def take(self, url: str, visible: list[Message], most: int, visibility: float) -> list[Message]:
        """Hand out up to *most* of the *visible* messages, in any order, and hide them for *visibility* seconds."""
        if len(visible) > 1:
            self.world.dice.shuffle(visible)
        for message in visible[:most]:
            message.receives += 1
            self.hide(url, message, visibility)
        return visible[:most]

    def hide(self, url: str, message: Message, seconds: float) -> None:
        """Let *message* be invisible for *seconds* from now."""
        message.visible = self.world.now + seconds
        self.arrived(url, message.visible)

    def delete(self, url: str, number: int) -> None:
        """Delete a message; one that is gone already stays so."""
        message = self.queue(url).pop(number, None)
        if message is not None:
            message.deleted = True
            for watcher in self.deleted_watchers:
                watcher(url, message)

    def send_message_batch(self, author: Any, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Accept a batch."""
        for entry in asked["Entries"]:
            self.put(asked["QueueUrl"], entry["MessageBody"], author, entry.get("DelaySeconds", 0), entry.get("MessageAttributes"))
        return {"Successful": [{"Id": entry["Id"]} for entry in asked["Entries"]], "Failed": []}

    def change_message_visibility(self, _: Any, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Hide a message from now on."""
        message = self.queue(asked["QueueUrl"]).get(int(asked["ReceiptHandle"]))
        if message is not None and message.visible > self.world.now:
            self.hide(asked["QueueUrl"], message, asked["VisibilityTimeout"])
        return {}

    def delete_message_batch(self, _: Any, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Delete a batch."""
        for entry in asked["Entries"]:
            self.delete(asked["QueueUrl"], int(entry["ReceiptHandle"]))
        return {"Successful": [], "Failed": []}


_OPERATIONS: Mapping[str, Callable[..., dict[str, Any]]] = {
    "SendMessageBatch": Queues.send_message_batch,
    "ChangeMessageVisibility": Queues.change_message_visibility,
    "DeleteMessageBatch": Queues.delete_message_batch,
}
