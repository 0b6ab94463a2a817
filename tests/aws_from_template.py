"""Makes the tables, queues and buckets of a synthesised app by plain calls, for endpoints without CloudFormation.

The templates stay the one source of what a stage holds: a test that runs on moto meets the same keys, time-outs and
dead-letter queues as a deployed stage. Everything else in them (functions, roles, policies) is left out.
"""

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import boto3

from sedano.deploy import assembly

Properties = Mapping[str, Any]
IN_ORDER = ("FifoQueue", "ContentBasedDeduplication", "DeduplicationScope", "FifoThroughputLimit")
"""What a queue that keeps order says besides, and its name's ending, which CloudFormation adds by itself."""


def create_resources(
    template_dir: Path, session: boto3.Session, *, endpoint_url: str | None = None, prefix: str = ""
) -> dict[str, str]:
    """Creates what the cloud assembly in `template_dir` describes and returns the library's settings (`SEDANO_...`).

    Names begin with `prefix`, so that several tests can share an endpoint.
    """
    makers = _makers(session, endpoint_url)
    settings: dict[str, str] = {}
    for stack in assembly.stacks(template_dir):
        template = json.loads(stack.template)
        known = _Known({"AWS::StackId": f"arn:aws:cloudformation:eu-central-1:123456789012:stack/{stack.name}/{secrets.token_hex(4)}-0000"})
        for logical_id, resource in sorted(template["Resources"].items(), key=_dead_letters_first):
            if resource["Type"] in makers:
                made = makers[resource["Type"]].make(prefix + logical_id, known.resolved(resource["Properties"]))
                known.refs[logical_id], known.arns[logical_id] = made
        outputs = {name: known.resolved(output["Value"]) for name, output in template.get("Outputs", {}).items()}
        settings.update(assembly.settings({name: value for name, value in outputs.items() if value is not None}))
    return settings


@cache
def _makers(session: boto3.Session, endpoint_url: str | None) -> Mapping[str, Any]:
    """What makes a resource of each type; hundreds of tests share a session, and a client costs as much as several calls."""
    return {
        "AWS::SQS::Queue": _Queues(session.client("sqs", endpoint_url=endpoint_url)),
        "AWS::DynamoDB::Table": _Tables(session.client("dynamodb", endpoint_url=endpoint_url)),
        "AWS::S3::Bucket": _Buckets(session.client("s3", endpoint_url=endpoint_url)),
    }


def _dead_letters_first(entry: tuple[str, Properties]) -> bool:
    return "RedrivePolicy" in entry[1].get("Properties", {})


@dataclass
class _Known:
    """What was made so far, by logical id; what else a template refers to has no value here."""

    refs: dict[str, str]
    arns: dict[str, str] = field(default_factory=dict)

    def resolved(self, value: Any) -> Any:
        """`value` with every reference replaced by what it stands for."""
        match value:
            case {"Ref": logical_id}:
                return self.refs.get(logical_id)
            case {"Fn::GetAtt": [logical_id, "Arn"]}:
                return self.arns.get(logical_id)
            case {"Fn::Split": [glue, whole]}:
                return str(self.resolved(whole)).split(glue)
            case {"Fn::Select": [number, parts]}:
                return self.resolved(parts)[number]
            case {"Fn::Join": [glue, parts]}:
                return glue.join(str(self.resolved(part)) for part in parts)
            case dict():
                return {key: self.resolved(item) for key, item in value.items()}
            case list():
                return [self.resolved(item) for item in value]
        return value


@dataclass
class _Queues:
    client: Any

    def make(self, name: str, properties: Properties) -> tuple[str, str]:
        """The queue's address and ARN."""
        attributes = {
            attribute: json.dumps(properties[attribute]) if isinstance(properties[attribute], bool | dict) else str(properties[attribute])
            for attribute in ("VisibilityTimeout", "MessageRetentionPeriod", "RedrivePolicy", *IN_ORDER)
            if attribute in properties
        }
        made = name + (".fifo" if properties.get("FifoQueue") else "")
        url = self.client.create_queue(QueueName=properties.get("QueueName", made), Attributes=attributes)["QueueUrl"]
        account, name = url.split("/")[-2:]  # to ask for the ARN would be a third of all calls that a stage takes
        return url, f"arn:aws:sqs:{self.client.meta.region_name}:{account}:{name}"


@dataclass
class _Tables:
    client: Any

    def make(self, name: str, properties: Properties) -> tuple[str, str]:
        """The table's name and ARN."""
        described = self.client.create_table(
            TableName=name,
            KeySchema=properties["KeySchema"],
            AttributeDefinitions=properties["AttributeDefinitions"],
            BillingMode=properties["BillingMode"],
            **{name: properties[name] for name in ("GlobalSecondaryIndexes",) if name in properties},
        )
        self.client.update_time_to_live(TableName=name, TimeToLiveSpecification=properties["TimeToLiveSpecification"])
        return name, described["TableDescription"]["TableArn"]


@dataclass
class _Buckets:
    client: Any

    def make(self, name: str, _: Properties) -> tuple[str, str]:
        """The bucket's name and ARN."""
        self.client.create_bucket(Bucket=name.lower())
        return name.lower(), f"arn:aws:s3:::{name.lower()}"
