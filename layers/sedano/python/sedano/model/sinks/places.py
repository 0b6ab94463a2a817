"""The places of sinks. Pure.

The deployment gives each sink its *place* as one text, an ARN or the address of a webhook; the kind of the sink follows from it.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple
from urllib.parse import quote, urlsplit

from sedano.errors import ConfigurationError, TooLarge
from sedano.model.addresses import literal_address, unfit

TABLE: Final = "dynamodb"
BUCKET: Final = "s3"
STREAM: Final = "firehose"
BUS: Final = "events"
QUEUE: Final = "sqs"
TOPIC: Final = "sns"
WEBHOOK: Final = "https"
KINDS = (TABLE, BUCKET, STREAM, BUS, QUEUE, TOPIC, WEBHOOK)
KEY = "id"
"""The partition key, a string, of a table that is a sink."""
LONGEST_PLACE = 2_048
MOST_BYTES: Mapping[str, int] = MappingProxyType({
    TABLE: 390 * 1_024, STREAM: 1_000 * 1_024 - 1, BUS: 1_022 * 1_024, QUEUE: 1_023 * 1_024, TOPIC: 255 * 1_024,
})  # fmt: skip
"""The most bytes of a document's text in a sink of each kind: the service's own limit, without room for names and attributes. The others
have no limit.
"""

_ACCOUNT = r"[a-z0-9-]+:\d{12}"
_ARN = re.compile(
    rf"arn:aws[a-z-]*:(?:(?P<dynamodb>dynamodb):{_ACCOUNT}:table/[A-Za-z0-9_.-]{{3,255}}"
    r"|(?P<s3>s3):::[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](?:/[A-Za-z0-9!_.()/=-]{0,700})?"
    rf"|(?P<firehose>firehose):{_ACCOUNT}:deliverystream/[A-Za-z0-9_.-]{{1,64}}"
    rf"|(?P<events>events):{_ACCOUNT}:event-bus/[A-Za-z0-9/_.-]{{1,256}}"
    rf"|(?P<sqs>sqs):{_ACCOUNT}:[A-Za-z0-9_-]{{1,80}}(?:\.fifo)?"
    rf"|(?P<sns>sns):{_ACCOUNT}:[A-Za-z0-9_-]{{1,256}}(?:\.fifo)?)"
)
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")
EXPECTED = (
    "the ARN of a table, a bucket (with a prefix: arn:aws:s3:::bucket/prefix/), a delivery stream, an event bus, a queue or a topic, or "
    "the address of a webhook, https://…"
)
"""The possible places of a sink, for errors."""


class SinkPlace(NamedTuple):
    """The place of a sink: its *kind*, one of `KINDS`, and the whole *text*: the ARN or the address."""

    kind: str
    text: str

    @property
    def name(self) -> str:
        """The name of the resource: of the table, the bucket, the stream, the queue; the whole text of a bus, a topic and a webhook."""
        if self.kind in (BUS, TOPIC, WEBHOOK):
            return self.text
        last = self.text.split(":")[5]
        return last.partition("/")[0] if self.kind == BUCKET else last.rpartition("/")[2]

    @property
    def prefix(self) -> str:
        """The prefix of the keys in a bucket."""
        return self.text.partition("/")[2] if self.kind == BUCKET else ""

    @property
    def account(self) -> str:
        """The account of the resource; empty for a bucket and a webhook."""
        return "" if self.kind == WEBHOOK else self.text.split(":")[4]

    @property
    def region(self) -> str:
        """The Region of the resource; empty for a bucket and a webhook."""
        return "" if self.kind == WEBHOOK else self.text.split(":")[3]

    @property
    def is_fifo(self) -> bool:
        """Whether a queue or a topic keeps order, and drops copies by their id."""
        return self.kind in (QUEUE, TOPIC) and self.text.endswith(".fifo")

    def key(self, document_id: str) -> str:
        """Return the key of the object of a document in a bucket."""
        return f"{self.prefix}{quote(document_id, safe='')}.json"


def place_of(text: object) -> SinkPlace:
    """Return *text* as the place of a sink.

    Raises:
        ConfigurationError: it is none; the message says what may be written.
    """
    if isinstance(text, str) and len(text) <= LONGEST_PLACE:
        found = _ARN.fullmatch(text)
        if found is not None:
            return SinkPlace(str(found.lastgroup), text)
        if _is_webhook(text):
            return SinkPlace(WEBHOOK, text)
    why = _unfit(text) if isinstance(text, str) else ""
    raise ConfigurationError(f"{text!r:.200} is not the place of a sink; expected {EXPECTED}" + (f"; {why}" if why else ""))


def require_fits(kind: str, text: str) -> None:
    """Raise `TooLarge` where a sink of this *kind* cannot take a document with this *text*."""
    size = len(text.encode())
    if size > MOST_BYTES.get(kind, size):
        raise TooLarge(f"the document has {size} bytes; a sink of {kind} takes at most {MOST_BYTES[kind]}: keep large values in a bucket")


def _unfit(text: str) -> str:
    try:
        return unfit(urlsplit(text)) if text.startswith("https://") else ""
    except ValueError as wrong:
        return str(wrong)


def _is_webhook(text: str) -> bool:
    """Return whether *text* is an address over TLS with a plain host; over HTTP only this machine, by its address."""
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return False
    strange = not text.isascii() or any(one <= " " or one in '<>"\\^`{|}\x7f' for one in text)
    if strange or "@" in parts.netloc or parts.fragment or unfit(parts):
        return False
    address = literal_address(host)
    if parts.scheme == "http":
        return address is not None and ipaddress.ip_address(address).is_loopback
    return parts.scheme == WEBHOOK and (address is not None or _HOST.fullmatch(host) is not None)
