"""The sources of the stream function: the streams and foreign queues that an application reads, or their replacements on this machine."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from aws_cdk import CfnOutput, Stack
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from ..application import Declared
from ..config import StageConfig, require
from ..stream_arns import DYNAMODB, SQS
from .function import Function
from .streams import StreamQueue, StreamTable, service_of


@dataclass(frozen=True, slots=True)
class StreamSources:
    """The sources of the function, by the name of the stream: the UUIDs of the mappings of *streams*, and foreign *queues*."""

    streams: dict[str, str] = field(default_factory=dict)
    queues: dict[str, sqs.IQueue] = field(default_factory=dict)


def arns_of(scope: Stack, declared: Declared, config: StageConfig) -> dict[str, str]:
    """Return the ARN of each declared stream; on this machine a table or a queue replaces one without an ARN."""
    missing = [name for name in declared.streams if name not in config.streams]
    tables = {name: StreamTable(scope, f"Stream-{name}") for name in missing if name not in declared.formats}
    queues = {name: StreamQueue(scope, f"Stream-{name}", seconds=config.timeout) for name in missing if name in declared.formats}
    _tell(scope, "SedanoStreamTables", {name: one.table.table_name for name, one in tables.items()})
    _tell(scope, "SedanoStreamQueues", {name: one.queue.queue_url for name, one in queues.items()})
    made = {name: one.stream for name, one in tables.items()} | {name: one.queue.queue_arn for name, one in queues.items()}
    return {**made, **config.streams}


def _tell(scope: Stack, output: str, places: Mapping[str, str]) -> None:
    if places:
        CfnOutput(scope, output, value=scope.to_json_string(dict(places)))


def feed(scope: Construct, function: Function, declared: Declared, config: StageConfig, arns: Mapping[str, str]) -> StreamSources:
    """Let Lambda pass the records of each of *arns* to *function*.

    Raises:
        ConfigError: a place is not of the kind that the declaration of its stream needs.
    """
    found = StreamSources()
    for name, arn in arns.items():
        service, key = service_of(name, arn), config.stream_keys.get(name)
        narrowed = [task for task, operations in declared.streams[name].items() if operations]
        expected = f"the stream of a table, because {', '.join(narrowed)} asks for operations= of one"
        require(service == DYNAMODB or not narrowed, f"streams[{name}]", arn, expected)
        expected = f"the ARN of a queue, because @app.stream({name!r}) has reads={json.dumps(declared.formats.get(name))}"
        require(service == SQS or name not in declared.formats, f"streams[{name}]", arn, expected)
        if service == SQS:
            function.read_queue(name, arn, key=key)
            found.queues[name] = sqs.Queue.from_queue_arn(scope, f"Foreign-{name}", arn)
        else:
            found.streams[name] = function.follow(name, arn, service=service, key=key)
    return found
