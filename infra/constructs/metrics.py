"""The metrics by which a stage is monitored: those of AWS for each resource, and those of the library.

The library's metrics (`sedano.aws.telemetry`) are in a namespace of the stage, by function and where it matters by reason; by task only
with `task_metrics=true`. An alarm over them queries the sum over all of them; CloudWatch charges such an alarm by the metrics that it
reads, and only metrics that occurred exist.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sqs as sqs

MINUTES = Duration.minutes(5)


@dataclass(frozen=True, slots=True)
class Watched:
    """The watched parts of a stage, each under its readable name."""

    stage: str
    queues: Mapping[str, sqs.IQueue]
    dead: Mapping[str, sqs.IQueue]
    parked: sqs.IQueue
    functions: Mapping[str, lambda_.IFunction]
    logs: Mapping[str, logs.ILogGroup]
    #: The UUID of the mapping that reads each.
    streams: Mapping[str, str]
    #: The queues of other programs that the stream function reads, by the name of the stream.
    foreign: Mapping[str, sqs.IQueue]
    tables: Mapping[str, dynamodb.ITable]
    timers: str
    memory: int
    #: Whether the application declares a spending limit.
    spends: bool = False
    #: Whether the application declares a poll.
    polls: bool = False

    def own(self, metric: str, period: Duration = MINUTES, *, but: str = "") -> cloudwatch.MathExpression:
        """The sum of one of the library's metrics over all tasks, reasons (except the harmless one, `but`) and functions."""
        where = f" WHERE reason != '{but}'" if but else ""
        query = f'SELECT SUM({metric}) FROM "{namespace(self.stage)}"{where}'  # noqa: S608 - CloudWatch's own language, over names from code
        return cloudwatch.MathExpression(expression=query, using_metrics={}, period=period, label=metric)


def namespace(stage: str) -> str:
    """The namespace of the library's metrics of a stage; `sedano.host.functions` writes them there."""
    return f"sedano/{stage}"


def of_queue(
    queue: sqs.IQueue, metric: str, *, statistic: str = "Maximum", period: Duration = MINUTES, label: str | None = None
) -> cloudwatch.Metric:
    """The metrics of SQS for `queue`."""
    return _of("AWS/SQS", metric, {"QueueName": queue.queue_name}, statistic, period, label)


def of_function(
    function: lambda_.IFunction, metric: str, *, statistic: str = "Sum", period: Duration = MINUTES, label: str | None = None
) -> cloudwatch.Metric:
    """The metrics of Lambda for `function`."""
    return _of("AWS/Lambda", metric, {"FunctionName": function.function_name}, statistic, period, label)


def of_stream(
    mapping: str, metric: str, *, statistic: str = "Sum", period: Duration = MINUTES, label: str | None = None
) -> cloudwatch.Metric:
    """The metrics of Lambda for the mapping with this UUID, which reads a stream."""
    return _of("AWS/Lambda", metric, {"EventSourceMappingUUID": mapping}, statistic, period, label)


def of_table(
    table: dynamodb.ITable, metric: str, *, statistic: str = "Sum", period: Duration = MINUTES, label: str | None = None
) -> cloudwatch.Metric:
    """The metrics of DynamoDB for `table`."""
    return _of("AWS/DynamoDB", metric, {"TableName": table.table_name}, statistic, period, label)


def of_timers(group: str, metric: str, *, period: Duration = MINUTES) -> cloudwatch.Metric:
    """The metrics of Scheduler for the schedules in `group`."""
    return _of("AWS/Scheduler", metric, {"ScheduleGroup": group}, "Sum", period, None)


def of_logs(group: logs.ILogGroup, *, period: Duration) -> cloudwatch.Metric:
    """The bytes that were written to a log group, before compression, as they are billed."""
    return _of("AWS/Logs", "IncomingBytes", {"LogGroupName": group.log_group_name}, "Sum", period, None)


def _of(space: str, metric: str, dimensions: Mapping[str, str], statistic: str, period: Duration, label: str | None) -> cloudwatch.Metric:
    return cloudwatch.Metric(
        namespace=space, metric_name=metric, dimensions_map=dict(dimensions), statistic=statistic, period=period, label=label
    )
