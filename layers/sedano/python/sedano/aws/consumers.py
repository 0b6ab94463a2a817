"""The consumers of the command queues, over SQS and Lambda: `sedano.ports.Consumers`.

The numbers are attributes of the queue, which are approximate and at most a minute old. The limit is the `MaximumConcurrency` of the
queue's event source mapping. Setting it is a call of Lambda's control plane, which allows about one a second for a whole account, so the
call is made only when the limit changes.

SQS has no attribute for the age of a message, so ages are CloudWatch's metric `ApproximateAgeOfOldestMessage`: one GetMetricData for up to
500 queues, charged by the queue. CloudWatch has a new value each minute, so an answer is used for a minute.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sedano.aws.client.faults import AWS_ERRORS, fault
from sedano.aws.queues import SqsQueues
from sedano.errors import ConfigurationError
from sedano.model.budgets import Load
from sedano.model.queues import unknown_queue
from sedano.ports import Clock, Delivery
from sedano.ports.consumers import DeadLetter

_NUMBERS = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
EMPTY_POLLS = 3
"""SQS may return no message from a queue that has some; after so many empty polls in a row the search ends."""


AGES_S, PERIOD_S, LOOK_BACK_S = 60.0, 60, 600.0
"""How long an answer of CloudWatch is used, the period of its metric, and how old its latest value may be."""
MOST_METRICS = 500
"""The most queues of one GetMetricData."""


class LambdaConsumers:
    """The consumers of one deployment's queues.

    Args:
        sqs: a botocore SQS client.
        functions: a botocore Lambda client.
        urls: each queue's URL by its key.
        mappings: the UUID of the event source mapping of each command queue, by its key; only setting limits needs them.
        metrics: a botocore CloudWatch client, and the clock by which its answers age; only ages need them: without it they are unknown.
    """

    def __init__(
        self, sqs: Any, functions: Any, urls: Mapping[str, str], mappings: Mapping[str, str], metrics: tuple[Any, Clock] | None = None
    ) -> None:  # fmt: skip
        """Use these clients; no call is made yet."""
        self._sqs, self._functions, self._urls, self._mappings, self._metrics = sqs, functions, urls, mappings, metrics
        self._ages: dict[str, tuple[float, float | None]] = {}

    def load(self, queue: str) -> Load:
        """Return how many messages wait and could be received, and how many were received and are not deleted yet."""
        found = self._attributes(queue, *_NUMBERS)
        return Load(*(int(found.get(name, 0)) for name in _NUMBERS))

    def ages(self, queues: Sequence[str]) -> Mapping[str, float | None]:
        """Return the latest value of CloudWatch for each of *queues*, at most a minute after it was asked; None: it has none."""
        unknown = [queue for queue in queues if queue not in self._urls]
        if unknown:
            raise unknown_queue(unknown[0], self._urls)
        if self._metrics is None:
            return dict.fromkeys(queues)
        client, clock = self._metrics
        now = clock.now()
        old = [queue for queue in queues if not 0 <= now - self._ages.get(queue, (-AGES_S, None))[0] < AGES_S]
        for first in range(0, len(old), MOST_METRICS):
            some = old[first : first + MOST_METRICS]
            self._ages |= {queue: (now, age) for queue, age in zip(some, self._asked(client, some, now), strict=True)}
        return {queue: self._ages[queue][1] for queue in queues}

    def _asked(self, client: Any, queues: Sequence[str], now: float) -> list[float | None]:
        """Return the latest value of CloudWatch for each of *queues*."""
        queries = [{"Id": f"q{number}", "MetricStat": _age_of(self._urls[queue])} for number, queue in enumerate(queues)]
        try:
            answer = client.get_metric_data(
                MetricDataQueries=queries, StartTime=now - LOOK_BACK_S, EndTime=now, ScanBy="TimestampDescending"
            )  # fmt: skip
        except AWS_ERRORS as error:
            raise fault(error, "cloudwatch.GetMetricData") from error
        found = {one["Id"]: float(one["Values"][0]) for one in answer.get("MetricDataResults", ()) if one.get("Values")}
        return [found.get(query["Id"]) for query in queries]

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


def _age_of(url: str) -> Mapping[str, Any]:
    """Return the metric of the queue at *url*: the age of its oldest message."""
    name = [{"Name": "QueueName", "Value": url.rpartition("/")[2]}]
    metric = {"Namespace": "AWS/SQS", "MetricName": "ApproximateAgeOfOldestMessage", "Dimensions": name}
    return {"Metric": metric, "Period": PERIOD_S, "Stat": "Maximum"}
