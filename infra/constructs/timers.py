"""Timers: one group of one-time schedules, and the role with which EventBridge Scheduler sends their messages."""

from collections.abc import Sequence

from aws_cdk import RemovalPolicy, Stack
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from .role import role_for, statements


class TimersGroup(Construct):
    """The group of the schedules that the worker and clients make at run time: each of them is a call for later."""

    def __init__(self, scope: Construct, name: str, *, permanent: bool) -> None:
        """`permanent`: the group is kept with its schedules when its stack is deleted."""
        super().__init__(scope, name)
        group = scheduler.CfnScheduleGroup(self, "Group")
        group.override_logical_id(f"{name}Group")
        group.apply_removal_policy(RemovalPolicy.RETAIN if permanent else RemovalPolicy.DESTROY)
        #: The name of the group.
        self.name = group.ref


class Timers(Construct):
    """The sender for the schedules of a group: to `targets`, and failures to `undelivered`."""

    def __init__(
        self, scope: Construct, name: str, *, group: str, targets: Sequence[sqs.IQueue], undelivered: sqs.IQueue, local: bool = False
    ) -> None:
        """`local`: for the endpoint on this machine, which authorises every schedule as one of the group `default`."""
        super().__init__(scope, name)
        stack = Stack.of(self)
        #: The name of the group.
        self.group = group
        #: The schedules of the group, as a policy names them.
        self.schedules = stack.format_arn(service="scheduler", resource="schedule", resource_name=f"{'default' if local else group}/*")
        #: The role that sends.
        self.role = role_for(self, "Role", "scheduler.amazonaws.com", local=local)
        queues = [queue.queue_arn for queue in (*targets, undelivered)]
        for statement in statements(["sqs:SendMessage"], queues):
            self.role.add_to_policy(statement)
