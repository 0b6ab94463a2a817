"""The streams that a stage may read, checked before a deployment: CloudFormation refuses a wrong one only after minutes.

Sources: AWS Lambda, "Process DynamoDB records with Lambda" and "Process Amazon Kinesis Data Streams records with Lambda": a stream of
another account is read if its owner's policy allows it, one of another Region is not.
"""

import re

DYNAMODB, KINESIS, SQS = "dynamodb", "kinesis", "sqs"
#: The form of the name of a Region: `eu-central-1`, `us-gov-west-1`, in the European Sovereign Cloud `eusc-de-east-1`.
REGION = r"[a-z]+(-[a-z]+)+-\d"
_PLACE = rf"arn:aws[a-z-]*:{{service}}:(?P<region>{REGION}):\d{{{{12}}}}:"
_TABLE = re.compile(_PLACE.format(service=DYNAMODB) + r"table/(?P<name>[\w.-]{3,255})(/stream/(?P<label>[\dT:.-]{10,40}))?")
_STREAM = re.compile(_PLACE.format(service=KINESIS) + r"stream/[\w.-]{1,128}(?P<consumer>/consumer/[\w.:-]+)?")
_QUEUE = re.compile(_PLACE.format(service=SQS) + r"[\w-]{1,80}(\.fifo)?")
#: The form in which the CDK writes a value that is known only when it deploys: `table.table_stream_arn` of a table in the same CDK app.
_PLACEHOLDER = re.compile(r"\$\{Token\[.+\]\}")
_EXAMPLES = (
    "the ARN of a stream, arn:aws:dynamodb:eu-central-1:123456789012:table/orders/stream/2026-11-22T10:00:00.000 "
    "or arn:aws:kinesis:eu-central-1:123456789012:stream/clicks, or of a queue, arn:aws:sqs:eu-central-1:123456789012:uploads"
)


def is_placeholder(arn: object) -> bool:
    """Return whether *arn* is a placeholder that the CDK fills in when it deploys."""
    return isinstance(arn, str) and _PLACEHOLDER.fullmatch(arn) is not None


def service_of(arn: str) -> str:
    """Return the service of the stream or queue with this valid *arn*: `DYNAMODB`, `KINESIS` or `SQS`."""
    return arn.split(":")[2]


def wrong_with(arn: object, region: str | None) -> str | None:
    """Return what was expected in place of *arn* by a stage in *region* (None: not known yet), or None if it can be used."""
    if is_placeholder(arn):
        return None
    if arn is None:
        return f"{_EXAMPLES}; a table of the CDK has one when it is made with stream= (a TableV2 with dynamo_stream=)"
    if not isinstance(arn, str):
        return _EXAMPLES
    found = _TABLE.fullmatch(arn) or _STREAM.fullmatch(arn) or _QUEUE.fullmatch(arn)
    if found is None:
        return _EXAMPLES
    said = found.groupdict()
    if "label" in said and said["label"] is None:
        return _stream_of(said["name"])
    if said.get("consumer"):
        return "the ARN of the stream itself: Lambda reads it without a consumer of its own"
    if region not in (None, said["region"]):
        return f"a stream in {region}, where the stage is: Lambda reads no stream or queue of another Region"
    return None


def _stream_of(table: str) -> str:
    return (
        f"the ARN of the table's stream, which `aws dynamodb describe-table --table-name {table} --query Table.LatestStreamArn` prints; if "
        f"that is null, `aws dynamodb update-table --table-name {table} --stream-specification "
        "StreamEnabled=true,StreamViewType=NEW_AND_OLD_IMAGES` turns one on"
    )
