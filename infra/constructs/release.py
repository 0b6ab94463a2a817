"""How new code of a function is let in: a tenth of the work for five minutes, then all of it, and back at the first failure."""

from aws_cdk import ArnFormat, Duration, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_codedeploy as codedeploy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from ..nag import acknowledge_wildcard


class Release(Construct):
    """The alias that events go to. CodeDeploy moves it from one version of the function to the next.

    An invocation fails when the code does not import, runs out of memory or time; a task that fails does not fail its
    invocation, so users' bugs in single tasks do not stop a release.
    """

    def __init__(self, scope: Construct, name: str, *, function: lambda_.Function) -> None:
        super().__init__(scope, name)
        #: What event source mappings and callers aim at.
        self.alias = lambda_.Alias(self, "Live", alias_name="live", version=function.current_version)
        role = self._role(function.function_arn)
        group = codedeploy.LambdaDeploymentGroup(
            self,
            "Group",
            alias=self.alias,
            role=role.without_policy_updates(),
            deployment_config=codedeploy.LambdaDeploymentConfig.CANARY_10_PERCENT_5_MINUTES,
            alarms=[self._alarm()],
            auto_rollback=codedeploy.AutoRollbackConfig(failed_deployment=True, stopped_deployment=True, deployment_in_alarm=True),
        )
        group.node.add_dependency(role)  # a release is begun in its name as soon as it stands

    def _role(self, function: str) -> iam.Role:
        """What AWS's own policy for CodeDeploy and Lambda allows on every function, on this one alone; none of its hooks and buckets."""
        role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("codedeploy.amazonaws.com"))
        colon = ArnFormat.COLON_RESOURCE_NAME
        alarms = Stack.of(self).format_arn(service="cloudwatch", resource="alarm", resource_name="*", arn_format=colon)
        versions = f"{function}:*"
        allowed = {
            function: ["lambda:GetAlias", "lambda:UpdateAlias"],
            versions: ["lambda:GetProvisionedConcurrencyConfig"],
            alarms: ["cloudwatch:DescribeAlarms"],
        }
        for resource, actions in allowed.items():
            role.add_to_policy(iam.PolicyStatement(actions=actions, resources=[resource]))
        policy = role.node.find_child("DefaultPolicy")
        acknowledge_wildcard(policy, versions, "CodeDeploy looks at versions of the function, whose numbers are not known beforehand.")
        acknowledge_wildcard(policy, alarms, "CodeDeploy reads what state alarms are in, and may ask for all at once.")
        return role

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
