"""Grants for which AWS asks and the endpoint on this machine does not: what AWS says of each, in short, and on what it is needed.

No road can show that they are needed; what can be shown is that each is granted on the one thing that AWS asks about, and on nothing else.
"""

from tests.trust.driven import Driven
from tests.trust.streamed import table_stream

_LOGS = (
    "Lambda automatically captures logs for all function invocations and sends them to CloudWatch Logs, provided your function's execution "
    "role has the necessary permissions. https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs.html"
)
_RELEASE = (
    "AWSCodeDeployRoleForLambdaLimited: provides CodeDeploy service limited access to perform a Lambda deployment on your behalf. "
    "https://docs.aws.amazon.com/aws-managed-policy/latest/reference/AWSCodeDeployRoleForLambdaLimited.html"
)
_STREAM = (
    "[Lambda when a mapping is made:] Cannot access stream. Please ensure the role can perform the GetRecords, GetShardIterator, "
    "DescribeStream, and ListStreams Actions on your stream in IAM. https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-eventsourcemapping.html"
)
#: Action, and what AWS says of it. The endpoint asks for the log group without the `:*` that AWS asks for, for no change of a mapping, for
#: a function in place of its versions, for all alarms and for a table's stream by the bare `*`, and for one and the same when an alias is
#: read and when it is moved.
BY_AWS = {
    "logs:CreateLogStream": _LOGS,
    "logs:PutLogEvents": _LOGS,
    "iam:PassRole": (
        "To pass a role (and its permissions) to an AWS service, a user must have permissions to pass the role to the service. "
        "https://docs.aws.amazon.com/IAM/latest/UserGuide/id_roles_use_passrole.html"
    ),
    "s3:ListBucket": (
        "If you don't have the s3:ListBucket permission, Amazon S3 returns an HTTP status code 403 Access Denied error [for an object that "
        "does not exist]. https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetObject.html"
    ),
    "lambda:UpdateEventSourceMapping": (
        "UpdateEventSourceMapping: grants permission to update the configuration of an AWS Lambda event source mapping. "
        "https://docs.aws.amazon.com/service-authorization/latest/reference/list_awslambda.html"
    ),
    "lambda:GetAlias": _RELEASE,
    "lambda:GetProvisionedConcurrencyConfig": _RELEASE,
    "cloudwatch:DescribeAlarms": _RELEASE,
    "dynamodb:DescribeStream": _STREAM,
    "dynamodb:GetRecords": _STREAM,
    "dynamodb:GetShardIterator": _STREAM,
    "dynamodb:ListStreams": _STREAM,
}


def asked_about(driven: Driven, function: str, action: str) -> str:
    """The one thing on which AWS asks whether this function may do this."""
    if action.startswith("logs:"):
        asked = driven.client("lambda").get_function_configuration(FunctionName=driven.functions[function])
        return f"log-group:{asked['LoggingConfig']['LogGroup']}:*"
    if action.startswith("dynamodb:"):
        return table_stream(driven)
    worker = f":function:{driven.functions['worker']}"
    return {
        "lambda:GetAlias": worker,
        "lambda:GetProvisionedConcurrencyConfig": f"{worker}:*",
        "cloudwatch:DescribeAlarms": f":{driven.account}:alarm:*",
        "iam:PassRole": driven.stage.environment["SEDANO_TIMERS_ROLE"],
        "s3:ListBucket": f"arn:aws:s3:::{driven.stage.environment['SEDANO_BLOBS_BUCKET']}",
        "lambda:UpdateEventSourceMapping": f":event-source-mapping:{driven.mappings()['commands']}",
    }[action]
