"""Sinks on AWS: each kind is one call, which writes a document once where the service recognises its id.

    table            a conditional put of {id, name, task_id, source, time, value}; the table's only key is `id`
    bucket           PREFIX<id>.json, under `If-None-Match: *`
    queue, topic     the document as the message; a FIFO one drops copies of an id for five minutes
    event bus        source `sedano`, the document's name as the detail type, the document as the detail
    delivery stream  one line of JSON
    webhook          `sedano.aws.sinks.webhook`

The last three, and queues and topics that are not FIFO, take a second delivery as another document; the receiver recognises it by its id.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

from sedano.aws.client.error_codes import class_of
from sedano.aws.client.faults import AWS_ERRORS, code_of, fault, verdict
from sedano.aws.expressions.effects import attributes
from sedano.aws.expressions.sinks import ONCE
from sedano.errors import ConfigurationError
from sedano.model.canonical_json import canonical_json
from sedano.model.sinks.content import Content
from sedano.model.sinks.places import BUCKET, BUS, QUEUE, STREAM, TABLE, TOPIC, WEBHOOK, SinkPlace, place_of, require_fits
from sedano.ports.sinks import Sinks

SOURCE = "sedano"
"""The source of the events on a bus."""
_THERE = {TABLE: "ConditionalCheckFailedException", BUCKET: "PreconditionFailed"}
_CALLS = {
    TABLE: "dynamodb.PutItem", BUCKET: "s3.PutObject", STREAM: "firehose.PutRecord", BUS: "events.PutEvents", QUEUE: "sqs.SendMessage",
    TOPIC: "sns.Publish",
}  # fmt: skip


class AwsSinks:
    """The sinks of one deployment.

    Args:
        client_for: returns the botocore client of a service, by its name.
        places: the place of each sink (`sedano.model.sinks.places.place_of`), by the name that the app declares.
        webhook: makes the sink of a webhook from its name and its address.
    """

    def __init__(self, client_for: Callable[[str], Any], places: Mapping[str, str], webhook: Callable[[str, str], Sinks]) -> None:
        """Use these sinks; no call is made yet."""
        self._client_for, self._places, self._webhook = client_for, places, webhook
        self._webhooks: dict[str, Sinks] = {}
        self._addresses: dict[str, str] = {}
        self._lock = threading.Lock()

    def write(self, sink: str, content: Content) -> bool:
        """Write *content* to *sink* once; see `sedano.ports.sinks.Sinks.write`."""
        if sink not in self._places:
            raise ConfigurationError(f"sink {sink!r}: SEDANO_SINKS does not name it; deploy with the setting sinks={sink}=ARN")
        place = place_of(self._places[sink])
        if place.kind == WEBHOOK:
            return self._webhook_of(sink, place.text).write(sink, content)
        try:
            self._written(place, content)
        except AWS_ERRORS as error:
            if code_of(error) == _THERE.get(place.kind):
                return False
            raise fault(error, _CALLS[place.kind]) from error
        return True

    def _written(self, place: SinkPlace, content: Content) -> None:
        client, text = self._client_for(place.kind), canonical_json(content)
        require_fits(place.kind, text)
        match place.kind:
            case "dynamodb":
                client.put_item(TableName=place.text, Item=attributes(content), **ONCE)
            case "s3":
                client.put_object(
                    Bucket=place.name, Key=place.key(content["id"]), Body=text.encode(), ContentType="application/json", IfNoneMatch="*"
                )  # fmt: skip
            case "firehose":
                client.put_record(DeliveryStreamName=place.name, Record={"Data": f"{text}\n".encode()})
            case "events":
                _put_event(client, place.text, content["name"], text)
            case "sqs":
                client.send_message(QueueUrl=self._address(client, place), MessageBody=text, **_as_message(place, content))
            case _:
                client.publish(TopicArn=place.text, Message=text, **_as_message(place, content))

    def _webhook_of(self, sink: str, address: str) -> Sinks:
        with self._lock:
            if sink not in self._webhooks:
                self._webhooks[sink] = self._webhook(sink, address)
            return self._webhooks[sink]

    def _address(self, client: Any, place: SinkPlace) -> str:
        """Return the URL of a queue, which one call of this process asks for."""
        if place.text not in self._addresses:
            answer = client.get_queue_url(QueueName=place.name, QueueOwnerAWSAccountId=place.account)
            self._addresses[place.text] = answer["QueueUrl"]
        return self._addresses[place.text]


def _put_event(client: Any, bus: str, name: str, detail: str) -> None:
    """Put one event; the service reports the refusal of an entry in a successful response."""
    answer = client.put_events(Entries=[{"EventBusName": bus, "Source": SOURCE, "DetailType": name, "Detail": detail}])
    entry = answer["Entries"][0]
    if "EventId" not in entry or answer.get("FailedEntryCount"):
        code, words = str(entry.get("ErrorCode", "")), str(entry.get("ErrorMessage", ""))
        raise verdict(_CALLS[BUS], code, words, class_of(code, 500 if code in _BUSY else 0))


_BUSY = frozenset({"", "InternalFailure", "InternalException", "ThrottlingException"})


def _as_message(place: SinkPlace, content: Content) -> dict[str, Any]:
    """Return the attributes of a message, by which its receiver can filter, and its place in a FIFO queue or topic."""
    said: dict[str, Any] = {"MessageAttributes": {"name": {"DataType": "String", "StringValue": content["name"]}}}
    if place.is_fifo:
        group, once = (sha256(content[part].encode()).hexdigest() for part in ("name", "id"))
        said |= {"MessageGroupId": group, "MessageDeduplicationId": once}
    return said
