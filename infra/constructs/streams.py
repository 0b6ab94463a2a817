"""Streams and foreign queues that feed a function: the rights of its role on each, Lambda's reading of it, and its replacement on this
machine.

A function that only sends on a stream's records fails only because of its environment, never because of a record. So Lambda gives no record
up: it retries from the first one that could not be sent, until the stream itself deletes it (DynamoDB after 24 hours, Kinesis after its
retention time). Halving a batch would not find a faulty record, because none exists.
"""

from collections.abc import Mapping

from aws_cdk import Duration, RemovalPolicy, Tokenization
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from ..config import require
from ..nag import acknowledge
from ..stream_arns import DYNAMODB, KINESIS, SQS, is_placeholder
from ..stream_arns import service_of as service_in

#: The actions of Lambda, under the function's role, on the stream that feeds it: AWS Lambda, "Process DynamoDB records with Lambda" and
#: "Process Amazon Kinesis Data Streams records with Lambda", less SubscribeToShard, which a consumer of its own would need; "Using Lambda
#: with Amazon SQS".
READS: Mapping[str, tuple[str, ...]] = {
    DYNAMODB: ("dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator", "dynamodb:ListStreams"),
    KINESIS: (
        "kinesis:DescribeStream",
        "kinesis:DescribeStreamSummary",
        "kinesis:GetRecords",
        "kinesis:GetShardIterator",
        "kinesis:ListShards",
    ),
    SQS: ("sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"),
}
#: The most records of one invocation: ten calls to SQS.
RECORDS = 100
#: The most messages of a foreign queue in one invocation: more would wait for one another.
MESSAGES = 10
#: The metrics that a mapping emits only on request (AWS Lambda, "Event source mapping metrics"). They distinguish a stream that is not read
#: from an idle one: a mapping that polls an idle stream counts 0 records, and a disabled mapping emits nothing.
COUNTED = "EventCount"
#: The key of the table that replaces a stream on this machine.
LOCAL_KEY = "id"
_UNLIMITED = -1
_STREAMS = {
    ("AWS::DynamoDB::Table", "StreamArn"): DYNAMODB,
    ("AWS::DynamoDB::GlobalTable", "StreamArn"): DYNAMODB,
    ("AWS::Kinesis::Stream", "Arn"): KINESIS,
    ("AWS::SQS::Queue", "Arn"): SQS,
}


def service_of(name: str, arn: str) -> str:
    """Return the service of the stream *arn*, also if the CDK fills the ARN in later; *name* is the stream's name in the settings.

    Raises:
        ConfigError: it is another attribute of a resource than the ARN of its stream.
    """
    if not is_placeholder(arn):
        return service_in(arn)
    found = Tokenization.reverse_string(arn).first_token
    kind = getattr(getattr(found, "target", None), "cfn_resource_type", None)
    service = _STREAMS.get((str(kind), str(getattr(found, "display_name", None))))
    require(service, f"streams[{name}]", kind or arn, "table.table_stream_arn, stream.stream_arn, queue.queue_arn or an ARN in full")
    return str(service)


class StreamMapping(Construct):
    """Makes Lambda pass the records of the stream `arn`, from the oldest one on, each shard in order, to `function`."""

    def __init__(self, scope: Construct, name: str, *, function: lambda_.IFunction, arn: str) -> None:
        super().__init__(scope, name)
        mapping = lambda_.CfnEventSourceMapping(
            self,
            "Mapping",
            function_name=function.function_name,
            event_source_arn=arn,
            batch_size=RECORDS,
            starting_position="TRIM_HORIZON",
            function_response_types=["ReportBatchItemFailures"],
            maximum_retry_attempts=_UNLIMITED,
            maximum_record_age_in_seconds=_UNLIMITED,
            bisect_batch_on_function_error=False,
            parallelization_factor=1,
            metrics_config=lambda_.CfnEventSourceMapping.MetricsConfigProperty(metrics=[COUNTED]),
        )
        reason = "No record is given up, so nothing would ever go there: sending is tried again, and an alarm reports the record's age."
        acknowledge(mapping, "Serverless-LambdaEventSourceMappingDestination", reason)
        #: The UUID of the mapping, which identifies its metrics.
        self.uuid = mapping.ref


class QueueMapping(Construct):
    """Makes Lambda pass the messages of the foreign queue `arn` to `function`, in at most `concurrency` invocations at once."""

    def __init__(self, scope: Construct, name: str, *, function: lambda_.IFunction, arn: str, concurrency: int) -> None:
        super().__init__(scope, name)
        mapping = lambda_.CfnEventSourceMapping(
            self,
            "Mapping",
            function_name=function.function_name,
            event_source_arn=arn,
            batch_size=MESSAGES,
            function_response_types=["ReportBatchItemFailures"],
            scaling_config=lambda_.CfnEventSourceMapping.ScalingConfigProperty(maximum_concurrency=concurrency),
        )
        reason = "Lambda supports no destination for a queue's mapping: a message that was not sent stays in its queue."
        acknowledge(mapping, "Serverless-LambdaEventSourceMappingDestination", reason)


class StreamQueue(Construct):
    """A queue of a stage on this machine, if no ARN is given: the stream function reads the messages that are sent to it."""

    def __init__(self, scope: Construct, name: str, *, seconds: int) -> None:
        super().__init__(scope, name)
        self.queue = sqs.Queue(
            self,
            "Queue",
            visibility_timeout=Duration.seconds(6 * seconds),
            retention_period=Duration.days(14),
            enforce_ssl=True,
            removal_policy=RemovalPolicy.DESTROY,
        )
        reason = "It ends with a stage on this machine; the function parks what it cannot read, and gives no message up."
        for rule in ("AwsSolutions-SQS3", "Serverless-SQSRedrivePolicy"):
            acknowledge(self.queue, rule, reason)


class StreamTable(Construct):
    """A table of a stage on this machine, if no ARN is given: its stream reports the writes to it."""

    def __init__(self, scope: Construct, name: str) -> None:
        super().__init__(scope, name)
        self.table = dynamodb.Table(
            self,
            "Table",
            partition_key=dynamodb.Attribute(name=LOCAL_KEY, type=dynamodb.AttributeType.STRING),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            stream=dynamodb.StreamViewType.NEW_AND_OLD_IMAGES,
            removal_policy=RemovalPolicy.DESTROY,
        )
        acknowledge(self.table, "AwsSolutions-DDB3", "It ends with a stage on this machine, and was written to only to try that stage.")
        #: The ARN of its stream, which it has, as it is asked for above.
        self.stream = str(self.table.table_stream_arn)
