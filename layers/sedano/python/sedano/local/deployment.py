"""Creates the stacks of a cloud assembly on a fresh endpoint, as `cdk deploy` does, through CloudFormation.

For the local stage only: it creates stacks and never updates them, and it grants all permissions of the template. To deploy to a real
account, use the CDK's own command line (`make deploy`).
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import boto3
from botocore.exceptions import ClientError

from sedano.deploy import assembly
from sedano.local.failure import LocalStageError

_BOOTSTRAP_VERSION = ("/cdk-bootstrap/hnb659fds/version", "31")
_DONE = "CREATE_COMPLETE"
SECONDS_TO_CREATE = 180.0
FUNCTION_URLS = ("SEDANO_WEBHOOK_URL", "SEDANO_WORKER_URL")
"""The settings with the URLs of functions."""
TEMPLATES = "sedano-local-templates"


@dataclass(frozen=True, slots=True)
class LocalDeployment:
    """The created stacks: their names, and the settings with which the library finds their resources."""

    stacks: tuple[str, ...]
    settings: Mapping[str, str]


def deploy(session: boto3.Session, endpoint_url: str, directory: Path) -> LocalDeployment:
    """Create every stack of the cloud assembly in `directory` and wait for each.

    Raise `LocalStageError` with CloudFormation's reason if a resource cannot be created.
    """
    target = _Target(session, endpoint_url)
    settings: dict[str, str] = {}
    stacks = assembly.stacks(directory)
    for stack in stacks:
        for asset in stack.assets:
            target.publish(asset)
        settings.update(assembly.settings(target.create(stack)))
    settings.update({name: reachable(settings[name], endpoint_url) for name in FUNCTION_URLS if name in settings})
    return LocalDeployment(tuple(stack.name for stack in stacks), MappingProxyType(settings))


def reachable(url: str, endpoint_url: str) -> str:
    """Return the local address of the function URL *url*, below the endpoint's own address, because its host name does not resolve."""
    return f"{endpoint_url}/_aws/lambda-url/{url.removeprefix('https://').partition('.')[0]}/"


class _Target:
    """The endpoint on which the stacks are created, prepared as by `cdk bootstrap`."""

    def __init__(self, session: boto3.Session, endpoint_url: str) -> None:
        self._cloudformation = session.client("cloudformation", endpoint_url=endpoint_url)
        self._s3 = session.client("s3", endpoint_url=endpoint_url)
        account = session.client("sts", endpoint_url=endpoint_url).get_caller_identity()["Account"]
        self._places = {"${AWS::AccountId}": account, "${AWS::Region}": self._s3.meta.region_name}
        self._buckets: set[str] = set()
        name, version = _BOOTSTRAP_VERSION
        session.client("ssm", endpoint_url=endpoint_url).put_parameter(Name=name, Value=version, Type="String", Overwrite=True)

    def publish(self, asset: assembly.Asset) -> None:
        """Upload one asset to the place that the template names."""
        bucket = self._filled(asset.bucket)
        if bucket not in self._buckets:
            self._s3.create_bucket(Bucket=bucket)
            self._buckets.add(bucket)
        self._s3.put_object(Bucket=bucket, Key=self._filled(asset.key), Body=asset.body())

    def _filled(self, text: str) -> str:
        for place, value in self._places.items():
            text = text.replace(place, value)
        return text

    def create(self, stack: assembly.StackFiles) -> dict[str, str]:
        """Create one stack; return its outputs."""
        try:
            url = self._put(f"{stack.name}.template.json", stack.template)
            self._cloudformation.create_stack(StackName=stack.name, TemplateURL=url, Capabilities=["CAPABILITY_NAMED_IAM"])
        except ClientError as error:
            raise LocalStageError(f"stack {stack.name} is refused: {error.response['Error']['Message']}") from error
        deadline = time.monotonic() + SECONDS_TO_CREATE
        described = self._described(stack.name)
        while described["StackStatus"].endswith("IN_PROGRESS") and time.monotonic() < deadline:
            time.sleep(0.1)
            described = self._described(stack.name)
        if described["StackStatus"] != _DONE:
            raise LocalStageError(f"stack {stack.name} is {described['StackStatus']}: {self._reasons(stack.name)}")
        return {output["OutputKey"]: output["OutputValue"] for output in described.get("Outputs", [])}

    def _put(self, key: str, template: str) -> str:
        """Upload a template and return its address for CloudFormation, because a request may contain only 51 200 bytes of it."""
        if TEMPLATES not in self._buckets:
            self._s3.create_bucket(Bucket=TEMPLATES)
            self._buckets.add(TEMPLATES)
        self._s3.put_object(Bucket=TEMPLATES, Key=key, Body=template.encode())
        return f"{self._s3.meta.endpoint_url}/{TEMPLATES}/{key}"

    def _described(self, name: str) -> Mapping[str, Any]:
        return self._cloudformation.describe_stacks(StackName=name)["Stacks"][0]

    def _reasons(self, name: str) -> str:
        events = self._cloudformation.describe_stack_events(StackName=name)["StackEvents"]
        failed = [event for event in reversed(events) if event["ResourceStatus"].endswith("FAILED")]
        reasons = [f"{event['LogicalResourceId']}: {event.get('ResourceStatusReason', 'no reason')}" for event in failed]
        return "; ".join(reasons) or "no resource has a reason"
