"""The schedule that invokes a function every minute, without a running process."""

from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from .role import role_for


class Minute(Construct):
    """A schedule of EventBridge Scheduler that invokes `function` once a minute, occasionally twice."""

    def __init__(self, scope: Construct, name: str, *, function: lambda_.IFunction, local: bool) -> None:
        """`local`: for the endpoint on this machine."""
        super().__init__(scope, name)
        role = role_for(self, "Role", "scheduler.amazonaws.com", local=local)
        role.add_to_policy(iam.PolicyStatement(actions=["lambda:InvokeFunction"], resources=[function.function_arn]))
        late = scheduler.CfnSchedule.RetryPolicyProperty(maximum_event_age_in_seconds=60, maximum_retry_attempts=2)  # then the next
        scheduler.CfnSchedule(
            self,
            "Schedule",
            schedule_expression="rate(1 minute)",
            flexible_time_window=scheduler.CfnSchedule.FlexibleTimeWindowProperty(mode="OFF"),
            target=scheduler.CfnSchedule.TargetProperty(arn=function.function_arn, role_arn=role.role_arn, retry_policy=late),
        )
