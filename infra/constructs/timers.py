"""Timers: one group of one-time schedules, and the role in whose name EventBridge Scheduler sends their messages."""

from collections.abc import Sequence

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sqs as sqs
from constructs import Construct


class Timers(Construct):
    """A group for schedules that the worker and clients make at run time: they send to `targets`, and what fails to `undelivered`."""

    def __init__(
        self, scope: Construct, name: str, *, targets: Sequence[sqs.IQueue], undelivered: sqs.IQueue, local: bool = False
    ) -> None:
        """`local`: for the endpoint on this machine, which authorises every schedule as one of the group `default`."""
        super().__init__(scope, name)
        stack = Stack.of(self)
        group = scheduler.CfnScheduleGroup(self, "Group")
        group.override_logical_id(f"{name}Group")
        #: The name of the group.
        self.group = group.ref
        #: The schedules of the group, as a policy names them.
        self.schedules = stack.format_arn(service="scheduler", resource="schedule", resource_name=f"{'default' if local else group.ref}/*")
        #: What sends.
        self.role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("scheduler.amazonaws.com"))
        queues = [queue.queue_arn for queue in (*targets, undelivered)]
        self.role.add_to_policy(iam.PolicyStatement(actions=["sqs:SendMessage"], resources=queues))
