"""Timers over EventBridge Scheduler: each is a one-time schedule of the deployment's group, which deletes itself when it has fired.

A schedule has the name of its timer, and Scheduler refuses a second schedule with that name: setting a timer twice sets one. The target is
the queue itself, so no function runs to send a message. A message that Scheduler cannot deliver for a day is put among the parked messages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar

from sedano.aws.client.faults import AWS_ERRORS, code_of, fault
from sedano.aws.client.parallel_calls import ParallelCalls
from sedano.errors import ConfigurationError, MessageRefused
from sedano.model.queues import unknown_queue
from sedano.model.timers import Foreign, Timer, foreign, opened, sealed

Out = TypeVar("Out")
TRY_FOR_S = 86_400
"""How long Scheduler retries a message that the queue does not accept."""
LANES = 8
"""How many schedules are read at a time."""
_GONE = "ResourceNotFoundException"
_URL = re.compile(r"^https?://(?:sqs\.(?P<region>[a-z0-9-]+)\.)?[^/]+/(?P<account>\d{12})/(?P<name>[^/]+)$")
_PARTITIONS = {"cn-": "aws-cn", "us-gov-": "aws-us-gov"}


class TimerGroup(NamedTuple):
    """Where timers are kept: the schedule group's *name*, the *role* that sends for it, the ARN of the queue for the *undelivered*."""

    name: str
    role: str
    undelivered: str = ""


def arn_of(url: str, region: str) -> str:
    """Return the ARN of the queue at *url*; its Region is *region* (the client's) if *url* has none, as for a VPC, FIPS or local endpoint.

    Raises:
        ConfigurationError: the address does not have the format of SQS, or the Region is unknown, so Scheduler could not send there.
    """
    found = _URL.search(url)
    if found is None:
        raise ConfigurationError(f"{url}: not the address of an SQS queue, https://…/ACCOUNT/NAME; timers cannot send to it")
    where = found["region"] or region
    if not where:
        raise ConfigurationError(f"{url}: the address names no Region; set AWS_DEFAULT_REGION, or a Region in the profile")
    return f"arn:{_partition(where)}:sqs:{where}:{found['account']}:{found['name']}"


def _partition(region: str) -> str:
    return next((partition for start, partition in _PARTITIONS.items() if region.startswith(start)), "aws")


class SchedulerTimers:
    """The timers of one deployment.

    Args:
        client: a botocore EventBridge Scheduler client.
        group: where they are kept.
        arns: each queue's ARN by its key, such as `commands:default`.
    """

    def __init__(self, client: Any, group: TimerGroup, arns: Mapping[str, str]) -> None:
        """Keep timers in *group*; no call is made yet.

        Raises:
            ConfigurationError: the deployment has no group for timers.
        """
        if not group.name or not group.role:
            raise ConfigurationError(
                "SEDANO_TIMERS_GROUP and SEDANO_TIMERS_ROLE are not set; delays beyond 900 s need them: deploy the stage again"
            )
        self._client, self._group, self._arns = client, group, dict(arns)
        self._lanes = ParallelCalls(LANES)

    def set(self, timer: Timer) -> bool:
        """Send its message at its moment; False if a timer of this name exists, which is left unchanged."""
        return self._call("CreateSchedule", "ConflictException", self._client.create_schedule, **self._schedule(timer))

    def edit(self, name: str, at: float) -> bool:
        """Move a timer to *at* (epoch s); False if none has this name: it has fired, was cancelled, or never existed."""
        found = self._read(name)
        if found is None:
            return False
        return self._call("UpdateSchedule", _GONE, self._client.update_schedule, **self._schedule(found._replace(at=at)))

    def cancel(self, name: str) -> bool:
        """Delete a timer; False if none has this name."""
        return self._call("DeleteSchedule", _GONE, self._client.delete_schedule, GroupName=self._group.name, Name=name)

    def list(self) -> list[Timer]:
        """Return the existing timers, the next to fire first. Makes one call for each timer, so it is for people, not for workers."""
        found = [timer for timer in self._each(self._read) if timer is not None]
        return sorted(found, key=lambda timer: (timer.at, timer.name))

    def foreign(self) -> Iterator[Foreign]:
        """Yield the schedules of the group that are not timers. Makes one call for each schedule of the group, so it is for people, not for
        workers."""
        return (found for found in self._each(self._foreign) if found is not None)

    def _each(self, look: Callable[[str], Out]) -> Iterator[Out]:
        """Yield what *look* finds at each schedule of the group, by its name; a page at a time, a few schedules at once."""
        try:
            for page in self._client.get_paginator("list_schedules").paginate(GroupName=self._group.name):
                names = [entry["Name"] for entry in page["Schedules"]]
                yield from self._lanes.each(look, names, names)
        except AWS_ERRORS as error:
            raise fault(error, "scheduler.ListSchedules") from error

    def _read(self, name: str) -> Timer | None:
        found = self._schedule_of(name)
        try:
            return opened(found["Target"].get("Input", "")) if found is not None else None
        except MessageRefused:
            return None  # it is not a timer

    def _foreign(self, name: str) -> Foreign | None:
        found = self._schedule_of(name)
        return foreign(found, self._group.role, self._arns.values(), self._group.undelivered) if found is not None else None

    def _schedule_of(self, name: str) -> Mapping[str, Any] | None:
        try:
            found: Mapping[str, Any] = self._client.get_schedule(GroupName=self._group.name, Name=name)
        except AWS_ERRORS as error:
            if code_of(error) == _GONE:
                return None
            raise fault(error, "scheduler.GetSchedule") from error
        return found

    def _schedule(self, timer: Timer) -> Mapping[str, Any]:
        try:
            arn = self._arns[timer.queue]
        except KeyError:
            raise unknown_queue(timer.queue, self._arns) from None
        target = {
            "Arn": arn,
            "RoleArn": self._group.role,
            "Input": sealed(timer),
            "RetryPolicy": {"MaximumEventAgeInSeconds": TRY_FOR_S, "MaximumRetryAttempts": 185},
        }
        if self._group.undelivered:
            target["DeadLetterConfig"] = {"Arn": self._group.undelivered}
        return {
            "GroupName": self._group.name,
            "Name": timer.name,
            "ScheduleExpression": f"at({datetime.fromtimestamp(int(timer.fires), UTC):%Y-%m-%dT%H:%M:%S})",
            "FlexibleTimeWindow": {"Mode": "OFF"},
            "ActionAfterCompletion": "DELETE",
            "Target": target,
        }

    def _call(self, operation: str, refusal: str, method: Any, **parameters: Any) -> bool:
        """Call *method*; return whether it was not refused with the code *refusal*."""
        try:
            method(**parameters)
        except AWS_ERRORS as error:
            if code_of(error) == refusal:
                return False
            raise fault(error, f"scheduler.{operation}") from error
        return True
