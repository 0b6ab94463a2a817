"""How new code of a function is let in: a tenth of the work for five minutes, then all of it, and back at the first failure."""

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_codedeploy as codedeploy
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from ..nag import acknowledge

_MANAGED_POLICY = "arn:<AWS::Partition>:iam::aws:policy/service-role/AWSCodeDeployRoleForLambdaLimited"


class Release(Construct):
    """The alias that events go to. CodeDeploy moves it from one version of the function to the next.

    An invocation fails when the code does not import, runs out of memory or time; a task that fails does not fail its
    invocation, so users' bugs in single tasks do not stop a release.
    """

    def __init__(self, scope: Construct, name: str, *, function: lambda_.Function) -> None:
        super().__init__(scope, name)
        #: What event source mappings and callers aim at.
        self.alias = lambda_.Alias(self, "Live", alias_name="live", version=function.current_version)
        group = codedeploy.LambdaDeploymentGroup(
            self,
            "Group",
            alias=self.alias,
            deployment_config=codedeploy.LambdaDeploymentConfig.CANARY_10_PERCENT_5_MINUTES,
            alarms=[self._alarm()],
            auto_rollback=codedeploy.AutoRollbackConfig(failed_deployment=True, stopped_deployment=True, deployment_in_alarm=True),
        )
        reason = "AWS's own policy for CodeDeploy's work on Lambda, the smaller of the two that it offers."
        acknowledge(group.role, f"AwsSolutions-IAM4[Policy::{_MANAGED_POLICY}]", reason)

    def _alarm(self) -> cloudwatch.Alarm:
        return self.alias.metric_errors(period=Duration.minutes(1), statistic="Sum").create_alarm(
            self,
            "Failures",
            threshold=1,
            evaluation_periods=1,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
            alarm_description="Invocations fail: a release that is under way goes back to the version before it.",
        )
