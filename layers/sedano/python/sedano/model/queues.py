"""The rules of a queue, as pure functions of its bounds. `SQS` has the bounds of SQS, which also apply in memory unless a test sets others.

The engine reads the bounds from the port (`ports.queues.bounds`) and does not contain figures of SQS. The size of a message is that of its
body and its attributes in UTF-8 bytes (names, types and values). A body must be XML-legal Unicode, because the API of SQS uses XML;
sedano's messages are ASCII JSON, so the check is one pass in C.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from sedano.errors import MessageRefused, OptionError, SedanoError, TooLarge, UnknownQueue
from sedano.model import refusals

MAX_BYTES = 1_048_576
"""The most bytes of one message, and of one batch, of SQS."""
MAX_ENTRIES = 10
"""The most messages of one batch of SQS."""
MAX_DELAY_S = 900
"""The most seconds for which SQS delays a message."""
MAX_HOLD_S = 43_200
"""The most seconds, from its receipt, for which a message can be invisible."""
HOLD_MOST_S = MAX_HOLD_S - 900 - 300 - 60
"""The most seconds of one hold: the rest of `MAX_HOLD_S` after the longest batching window and the longest run of a function."""
OLD_MESSAGE_S = 900
"""For how long (s) a message of a command queue may wait before the pages report the queue; the alarm of a stage fires at the same age."""
MAX_ATTRIBUTES = 10
MAX_NAME = 256
"""The most characters of an attribute's name."""
MAX_TENANT = 128
FIFO = ".fifo"
"""The suffix of the name of a queue that keeps order within each key (a message group of SQS); other queues do not keep order."""

DEFAULT_QUEUE = "default"
"""The queue of a task that names none and that no route names one for."""
COMMANDS = "commands:"
"""The prefix of the key of a command queue: an app's queue *q* has the key `commands:q` in the ports."""

LEAST_BYTES = 8_192
"""The lowest value of `QueueBounds.max_bytes`: room for a message whose data is in the blob store, inside the envelope of a timer."""
CLAIM_CHECK_BYTES = 60_000
"""Larger data is sent through the blob store even if the queue would accept it, because SQS bills each started 64 KB."""

_TYPE_BYTES = len("String")
_ILLEGAL = "[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
"""The characters that queues do not accept. The pattern is compiled at its first use, which is after a cold start."""


class QueueBounds(NamedTuple):
    """The bounds of one deployment's queues.

    Args:
        max_bytes: the most bytes of one message with its attributes, and of one batch; at least `LEAST_BYTES`.
        max_batch: the most messages of one call, sent or received.
        max_delay: the most whole seconds for which a message can be delayed; 0: messages cannot be delayed.
        ordered: whether a queue whose name ends in `FIFO` keeps order within a key.
    """

    max_bytes: int = MAX_BYTES
    max_batch: int = MAX_ENTRIES
    max_delay: int = MAX_DELAY_S
    ordered: bool = True

    @property
    def inline_bytes(self) -> int:
        """The most bytes of data in a message: inside the envelope of a timer, a message is at most twice as long."""
        return min(CLAIM_CHECK_BYTES, self.max_bytes // 4)


SQS = QueueBounds()
"""The bounds of SQS."""


def weigh(body: str, attributes: Mapping[str, str]) -> int:
    """Return the size of a message in bytes."""
    total = _bytes(body)
    for name, value in attributes.items():
        total += _bytes(name) + _TYPE_BYTES + _bytes(value)
    return total


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def objection(
    body: str, delay: int, tenant: str | None, attributes: Mapping[str, str], bounds: QueueBounds = SQS
) -> SedanoError | None:  # fmt: skip
    """Return the error with which a queue of these *bounds* would refuse this message, or None; it is checked before the call."""
    size = weigh(body, attributes)
    if size > bounds.max_bytes:
        return TooLarge(f"body: {size} bytes with its attributes; a message may have {bounds.max_bytes}")
    if not body:
        return MessageRefused(refusals.MALFORMED, "body", "is empty")
    if not body.isprintable() and (bad := re.search(_ILLEGAL, body)):
        return MessageRefused(refusals.MALFORMED, "body", f"U+{ord(bad[0]):04X} at {bad.start()} is not legal in a queue")
    if not 0 <= delay <= bounds.max_delay:
        return OptionError(f"delay: {delay} is not between 0 and {bounds.max_delay} seconds")
    if tenant is not None and not _is_tenant(tenant):
        return OptionError(f"tenant: {tenant[:40]!r} is not 1 to 128 printable ASCII characters without spaces")
    return _attributes(attributes) if attributes else None


def _is_tenant(text: str) -> bool:
    return 1 <= len(text) <= MAX_TENANT and text.isascii() and text.isprintable() and " " not in text


def _attributes(attributes: Mapping[str, str]) -> SedanoError | None:
    if len(attributes) > MAX_ATTRIBUTES:
        return OptionError(f"attributes: {len(attributes)} attributes; a message may have {MAX_ATTRIBUTES}")
    for name, value in attributes.items():
        if not _is_name(name):
            return OptionError(
                f"attributes: {name[:40]!r} is not a valid name: use 1 to {MAX_NAME} letters, digits, _ and -, with single dots inside; "
                "AWS. and Amazon. at the start are reserved"
            )
        if not value or re.search(_ILLEGAL, value):
            return OptionError(f"attributes.{name}: is empty or has a character that is not legal in a queue")
    return None


def _is_name(name: str) -> bool:
    if len(name) > MAX_NAME or name.lower().startswith(("aws.", "amazon.")):
        return False
    return all(part.replace("_", "a").replace("-", "a").isalnum() and part.isascii() for part in name.split("."))


def command_queue(name: str) -> str:
    """Return the key of the command queue *name*."""
    return COMMANDS + name


def band_of(queue: str, band: object, queues: Sequence[str]) -> str:
    """Return the queue of the priority *band* of *queue*, one of *queues*.

    Raises:
        OptionError: *band* is not a name, or the app does not have its queue.
    """
    if not isinstance(band, str) or not band:
        raise OptionError(f"priority: {band!r} is not the name of a band; a band 'high' of the queue {queue!r} is the queue '{queue}-high'")
    found = f"{queue}-{band}"
    if found not in queues:
        raise OptionError(f"priority: the band {band!r} is the queue {found!r}, which is not one of this app's {tuple(queues)}; add it")
    return found


def queue_of(key: str) -> str:
    """Return the name of a queue in an app: `q` for the key `commands:q`; any other key is also the name."""
    return key.removeprefix(COMMANDS)


def unknown_queue(key: str, known: Iterable[str]) -> UnknownQueue:
    """Return the error for the unknown queue *key*; *known* has the keys of the existing queues. The message has the names of an app."""
    name, own = queue_of(key), sorted(queue_of(k) for k in known if k.startswith(COMMANDS))
    if name == key:
        return UnknownQueue(f"queue: {key!r} is not known to this deployment; if sedano itself uses it, deploy the app with this version")
    there = ", ".join(map(repr, own))
    return UnknownQueue(f"queue: {name!r} is not known to this deployment, which has {there}; name it in Sedano(queues=…) and deploy again")


def is_fifo(queue: str) -> bool:
    """Return whether *queue* keeps order, by its name or its key."""
    return queue.endswith(FIFO)


def misplaced(queue: str, delay: int, serial_key: str | None, once: str = "", bounds: QueueBounds = SQS) -> SedanoError | None:
    """Return why *queue* cannot keep the requested order, or recognise copies by *once*; None if it can."""
    if not bounds.ordered and is_fifo(queue):
        return OptionError(f"queue: {queue} must keep order, but the queues of this deployment do not keep order")
    if not is_fifo(queue):
        found = OptionError(f"serial_key: {queue} does not keep order; use a queue whose name ends in {FIFO}")
        return found if serial_key is not None else None
    if serial_key is None or not _is_tenant(serial_key):
        return OptionError(f"serial_key: {queue} keeps order within a key; give 1 to 128 printable ASCII characters without spaces")
    if once and not _is_tenant(once):
        return OptionError(f"once: {once[:40]!r} is not 1 to 128 printable ASCII characters without spaces")
    return OptionError(f"delay: {queue} keeps order and cannot delay a single message; remove countdown and eta") if delay else None


def batches(weights: Sequence[int], bounds: QueueBounds = SQS) -> Iterator[range]:
    """Yield ranges of positions, each a batch within *bounds*."""
    start, total = 0, 0
    for position, weight in enumerate(weights):
        if position - start == bounds.max_batch or (position > start and total + weight > bounds.max_bytes):
            yield range(start, position)
            start, total = position, 0
        total += weight
    if start < len(weights):
        yield range(start, len(weights))


def messages_wait(number: int) -> str:
    """Return "1 message waits", "2 messages wait"."""
    return "1 message waits" if number == 1 else f"{number} messages wait"
