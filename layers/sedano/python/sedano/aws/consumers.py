"""The consumers of the command queues, over SQS and Lambda: `sedano.ports.Consumers`.

The numbers are attributes of the queue, which are approximate and at most a minute old. The limit is the `MaximumConcurrency` of the
queue's event source mapping. Setting it is a call of Lambda's control plane, which allows about one a second for a whole account, so the
call is made only when the limit changes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sedano.aws.client.faults import AWS_ERRORS, fault
from sedano.aws.queues import SqsQueues
from sedano.errors import ConfigurationError
from sedano.model.budgets import Load
from sedano.model.queues import unknown_queue
from sedano.ports import Delivery
from sedano.ports.consumers import DeadLetter

_NUMBERS = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
EMPTY_POLLS = 3
"""SQS may return no message from a queue that has some; after so many empty polls in a row the search ends."""


class LambdaConsumers:
    """The consumers of one deployment's queues.

    Args:
        sqs: a botocore SQS client.
        functions: a botocore Lambda client.
        urls: each queue's URL by its key.
        mappings: the UUID of the event source mapping of each command queue, by its key; only setting limits needs them.
    """

    def __init__(self, sqs: Any, functions: Any, urls: Mapping[str, str], mappings: Mapping[str, str]) -> None:
        """Use these clients; no call is made yet."""
        self._sqs, self._functions, self._urls, self._mappings = sqs, functions, urls, mappings

    def load(self, queue: str) -> Load:
        """Return how many messages wait and could be received, and how many were received and are not deleted yet."""
        found = self._attributes(queue, *_NUMBERS)
        return Load(*(int(found.get(name, 0)) for name in _NUMBERS))

    def limit(self, queue: str) -> int | None:
        """Return how many invocations *queue* may have at once; None when its mapping is unknown, or has no limit."""
        if queue not in self._mappings:
            return None
        try:
            answer = self._functions.get_event_source_mapping(UUID=self._mappings[queue])
        except AWS_ERRORS as error:
            raise fault(error, "lambda.GetEventSourceMapping") from error
        found: int | None = answer.get("ScalingConfig", {}).get("MaximumConcurrency")
        return found

    def set_limit(self, queue: str, limit: int) -> None:
        """Let *queue* have *limit* invocations at once."""
        if queue not in self._mappings:
            raise ConfigurationError(f"SEDANO_MAPPINGS does not name the event source mapping of {queue}; the deployed controller has it")
        try:
            scaling = {"MaximumConcurrency": limit}
            self._functions.update_event_source_mapping(UUID=self._mappings[queue], ScalingConfig=scaling)
        except AWS_ERRORS as error:
            raise fault(error, "lambda.UpdateEventSourceMapping") from error

    def dead(self, queue: str, most: int) -> list[DeadLetter]:
        """Return up to *most* dead letters of *queue*; they are received and then made visible again."""
        policy = json.loads(self._attributes(queue, "RedrivePolicy").get("RedrivePolicy", "{}"))
        name = str(policy.get("deadLetterTargetArn", "")).rpartition(":")[2]
        if not name:
            return []
        try:
            url = self._sqs.get_queue_url(QueueName=name)["QueueUrl"]
        except AWS_ERRORS as error:
            raise fault(error, "sqs.GetQueueUrl") from error
        letters, found, empty = SqsQueues(self._sqs, {queue: url}), dict[str, Delivery](), 0
        while empty < EMPTY_POLLS and len(found) < most:
            received = letters.receive(queue, min(10, most - len(found)))
            empty = 0 if received else empty + 1
            found |= {delivery.message_id: delivery for delivery in received}
        for delivery in found.values():
            letters.hold(delivery, 0.0)
        return [DeadLetter(d.message_id, d.body, d.receives, d.sent) for d in found.values()]

    def _attributes(self, queue: str, *names: str) -> Mapping[str, str]:
        if queue not in self._urls:
            raise unknown_queue(queue, self._urls)
        try:
            answer = self._sqs.get_queue_attributes(QueueUrl=self._urls[queue], AttributeNames=[*names])
        except AWS_ERRORS as error:
            raise fault(error, "sqs.GetQueueAttributes") from error
        found: Mapping[str, str] = answer.get("Attributes", {})
        return found
