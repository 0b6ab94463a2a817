"""Whoever is on call for a stage: its alarms, and the figure that each looks at.

The endpoint does not know alarms over CloudWatch's query language, so alarms are read where they were synthesised for
AWS, and what they look at is found on the stage. It counts invocations as AWS does; the rest is asked for where it comes
from: a queue's messages of the queue, refused requests of the door that refused them, the library's metrics of the lines
that CloudWatch reads them from.
"""

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from tests.infra.template import Templates
from tests.trust.struck import Struck
from tests.trust.weather import Door

SUM = re.compile(r'SELECT SUM\((\w+)\) FROM "([\w/]+)"')
EMITTED = re.compile(r'\{.*"_aws":.*\}')
LOOKED_BACK_S = 3600


class OnCall:
    """What the alarms of a stage look at, from the beginning of its life or the last `forget`."""

    def __init__(self, driven: Struck, templates: Templates) -> None:
        """`templates` are those of the same stage as AWS would get it."""
        self._driven, self._cloudwatch, self._sqs = driven, driven.client("cloudwatch"), driven.client("sqs")
        self._templates, self._deployed = templates, dict(_deployed(driven))
        self._alarms = templates.of_type("CloudWatch::Alarm")
        self._before: dict[str, float] = {}

    def forget(self) -> None:
        """Count from now on."""
        self._before = {name: self._failed(alarm) for name, alarm in self._alarms.items() if alarm.get("MetricName") == "Errors"}

    def rings(self, name: str, door: Door | None = None) -> bool:
        """Tell whether what the alarm looks at has reached its threshold."""
        return self.figure(name, door) >= float(self._alarms[self._full(name)]["Threshold"])

    def figure(self, name: str, door: Door | None = None) -> float:
        """Return what the alarm `name` of `infra/constructs/alarms.py` looks at; `door` is where requests to a table were refused."""
        full = self._full(name)
        alarm = self._alarms[full]
        if "Metrics" in alarm:
            ((metric, space),) = SUM.findall(alarm["Metrics"][0]["Expression"])
            return sum(self._emitted(space, metric))
        counts: Mapping[str, Callable[[], float]] = {
            "Errors": lambda: self._failed(alarm) - self._before.get(full, 0.0),
            "ApproximateNumberOfMessagesVisible": lambda: self._visible(alarm),
            "ApproximateAgeOfOldestMessage": lambda: self._oldest(alarm),
            "WriteThrottleEvents": lambda: 0 if door is None else door.refused_of(self._watched(alarm)),
        }
        return counts[alarm["MetricName"]]()

    def _full(self, name: str) -> str:
        """The logical id of an alarm."""
        (found,) = (full for full in self._alarms if re.fullmatch(f"Alarms{name.replace('-', '')}[0-9A-F]{{8}}", full))
        return found

    def _emitted(self, space: str, metric: str) -> Iterator[float]:
        """The values of a metric in CloudWatch's embedded format, wherever the functions wrote it."""
        for found in EMITTED.finditer(self._driven.said()):
            line = json.loads(found[0])
            for directive in line["_aws"]["CloudWatchMetrics"]:
                if directive["Namespace"] == space and metric in [one["Name"] for one in directive["Metrics"]]:
                    yield from line[metric]

    def _failed(self, alarm: Mapping[str, Any]) -> float:
        now = time.time()
        found = self._cloudwatch.get_metric_statistics(
            Namespace=alarm["Namespace"],
            MetricName=alarm["MetricName"],
            Dimensions=[{"Name": alarm["Dimensions"][0]["Name"], "Value": self._watched(alarm)}],
            Statistics=[alarm["Statistic"]],
            Period=alarm["Period"],
            StartTime=datetime.fromtimestamp(now - LOOKED_BACK_S, UTC),
            EndTime=datetime.fromtimestamp(now + alarm["Period"], UTC),
        )
        return sum(float(point[alarm["Statistic"]]) for point in found["Datapoints"])

    def _visible(self, alarm: Mapping[str, Any]) -> float:
        asked = self._sqs.get_queue_attributes(QueueUrl=self._url(alarm), AttributeNames=["ApproximateNumberOfMessages"])
        return float(asked["Attributes"]["ApproximateNumberOfMessages"])

    def _oldest(self, alarm: Mapping[str, Any]) -> float:
        """How long the oldest of the queue's messages waits, of the ten that it shows."""
        asked = {"MaxNumberOfMessages": 10, "VisibilityTimeout": 0, "MessageSystemAttributeNames": ["SentTimestamp"]}
        found = self._sqs.receive_message(QueueUrl=self._url(alarm), **asked).get("Messages", [])
        return max((time.time() - int(message["Attributes"]["SentTimestamp"]) / 1000 for message in found), default=0.0)

    def _url(self, alarm: Mapping[str, Any]) -> str:
        return str(self._sqs.get_queue_url(QueueName=self._watched(alarm))["QueueUrl"])

    def _watched(self, alarm: Mapping[str, Any]) -> str:
        """The name on the stage of the queue, function or table that an alarm looks at."""
        (dimension,) = alarm["Dimensions"]
        return self._deployed[self._templates.exported(dimension["Value"])]


def _deployed(driven: Struck) -> Iterator[tuple[str, str]]:
    """The name of each of the stage's resources by its logical id; of a queue, what its address ends with."""
    cloudformation = driven.client("cloudformation")
    for stack in driven.stage.stacks:
        for page in cloudformation.get_paginator("list_stack_resources").paginate(StackName=stack):
            for resource in page["StackResourceSummaries"]:
                yield resource["LogicalResourceId"], resource["PhysicalResourceId"].rpartition("/")[2]
