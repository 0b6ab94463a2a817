"""How new code of a function is deployed: with a tenth of the work for five minutes, then with all of it, and rolled back if it fails more
often.

Minute by minute, the share of failed invocations of the new version is compared with that of the version before it. So a fix is deployed
while the old version fails, and one invocation that ran out of memory in a busy minute causes no rollback.

The metrics are those of AWS's own example of a gradual deployment (AWS SAM, "Deploying serverless applications gradually"): the dimension
`ExecutedVersion` beside the alias distinguishes the two versions. Each version has an alarm of its own: CodeDeploy does not start while an
alarm is on, and an alarm that fired for the last release would block the next one.
"""

from typing import Any

from aws_cdk import ArnFormat, CfnElement, Duration, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_codedeploy as codedeploy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from ..config import RELEASES
from ..nag import acknowledge_wildcard
from .role import role_for

#: The alarm fires if the new version's share of failed invocations is so many percentage points above that of the old version.
WORSE_BY = 10
_ALIAS = "live"
CANARY = RELEASES[0]
#: From the metrics of the new version and of both: how much larger the share of failed invocations is for the new one; 0 before its first.
_WORSE = (
    "IF(FILL(newCalls, 0) > 0, 100 * FILL(newErrors, 0) / newCalls - IF(FILL(calls, 0) - newCalls > 0, "
    "100 * (FILL(errors, 0) - FILL(newErrors, 0)) / (calls - newCalls), 0), 0)"
)


class Release(Construct):
    """The alias that events go to. CodeDeploy moves it from one version of the function to the next.

    An invocation fails when the code does not import, runs out of memory or time; a task that fails does not fail its
    invocation, so users' bugs in single tasks do not stop a release.
    """

    def __init__(self, scope: Construct, name: str, *, function: lambda_.Function, way: str) -> None:
        """`way`: one of `RELEASES`."""
        super().__init__(scope, name)
        self._function = function
        #: The target of event source mappings and callers.
        self.alias = lambda_.Alias(self, "Live", alias_name=_ALIAS, version=function.current_version)
        role = self._role(function.function_arn)
        moved = self._step_by_step() if way == CANARY else {"deployment_config": codedeploy.LambdaDeploymentConfig.ALL_AT_ONCE}
        group = codedeploy.LambdaDeploymentGroup(self, "Group", alias=self.alias, role=role.without_policy_updates(), **moved)
        group.node.add_dependency(role)  # a release starts under this role as soon as the group exists

    def _step_by_step(self) -> dict[str, Any]:
        return {
            "deployment_config": codedeploy.LambdaDeploymentConfig.CANARY_10_PERCENT_5_MINUTES,
            "alarms": [self._alarm()],
            "auto_rollback": codedeploy.AutoRollbackConfig(failed_deployment=True, stopped_deployment=True, deployment_in_alarm=True),
        }

    def _role(self, function: str) -> iam.Role:
        """The rights of AWS's own policy for CodeDeploy and Lambda, for this one function only, without its hooks and buckets."""
        role = role_for(self, "Role", "codedeploy.amazonaws.com")
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
        version = self._function.current_version
        new = {"newCalls": self._counted("Invocations", version.version), "newErrors": self._counted("Errors", version.version)}
        both = {"calls": self._counted("Invocations"), "errors": self._counted("Errors")}
        worse = cloudwatch.MathExpression(
            expression=_WORSE, using_metrics={**new, **both}, period=Duration.minutes(1), label="percentage points worse"
        )
        alarm = worse.create_alarm(
            self,
            "Failures",
            threshold=WORSE_BY,
            evaluation_periods=1,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
            alarm_description=(
                f"The new version's share of failed invocations is {WORSE_BY} percentage points above that of the version before it: a "
                "release in progress is rolled back to that version."
            ),
        )
        _called_after(alarm, version)
        return alarm

    def _counted(self, metric: str, version: str | None = None) -> cloudwatch.Metric:
        """The metrics of Lambda for the alias, for one version behind it or for both."""
        dimensions = {"FunctionName": self._function.function_name, "Resource": f"{self._function.function_name}:{_ALIAS}"}
        if version is not None:
            dimensions["ExecutedVersion"] = version
        return cloudwatch.Metric(
            namespace="AWS/Lambda", metric_name=metric, dimensions_map=dimensions, statistic="Sum", period=Duration.minutes(1)
        )


def _called_after(alarm: cloudwatch.Alarm, version: lambda_.Version) -> None:
    """Give the alarm a logical id that changes when the version's does, so that each version has an alarm that has never fired."""
    made, numbered = alarm.node.default_child, version.node.default_child
    if isinstance(made, CfnElement) and isinstance(numbered, CfnElement):
        made.override_logical_id(f"Failures{numbered.logical_id}")
