"""A function: its code, a role of its own without permissions at first, its own log group, and explicit limits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from ..config import StageConfig
from ..nag import acknowledge
from ..stream_arns import SQS
from .grants import CONSUME, Grants
from .release import Release
from .streams import READS, QueueMapping, StreamMapping

_NOT_CODE = ["README.md", "__pycache__", "*.pyc"]
#: The days of a setting as the CDK calls them.
RETENTION = {
    1: logs.RetentionDays.ONE_DAY,
    7: logs.RetentionDays.ONE_WEEK,
    14: logs.RetentionDays.TWO_WEEKS,
    30: logs.RetentionDays.ONE_MONTH,
    90: logs.RetentionDays.THREE_MONTHS,
    180: logs.RetentionDays.SIX_MONTHS,
    365: logs.RetentionDays.ONE_YEAR,
}
_PYTHON = "Python 3.13 is what Glue 6 runs, and one library serves the functions and the Glue jobs."
#: Why a function that queues feed loses no failure without a dead-letter queue of its own.
FED_BY_QUEUES = "It is not invoked asynchronously: a failed message stays in the queue that fed it, which has a dead-letter queue."
#: The other findings of cdk-nag about every function, and why they are accepted.
_ACCEPTED = {
    "AwsSolutions-L1": _PYTHON,
    "Serverless-LambdaLatestVersion": _PYTHON,
    "Serverless-LambdaTracing": "Trace context travels in each message; X-Ray's own SDK ends in 2027 and doubles a cold start.",
}


@dataclass(frozen=True, slots=True)
class Content:
    """The code of a function: its source, its layers, and its environment."""

    source: Path
    layers: Sequence[lambda_.ILayerVersion]
    environment: Mapping[str, str]


class Function(Construct):
    """One function. Its composer grants its permissions with `allow`."""

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        config: StageConfig,
        content: Content,
        may_loop: bool = False,
        at_once: int | None = None,
        loses_nothing: str = FED_BY_QUEUES,
    ) -> None:
        """`may_loop`: the function's messages may return to it, and `hops` in each bounds how often.

        `at_once`: its reserved concurrency, which is also its limit. `loses_nothing`: why its failures lose nothing.
        """
        super().__init__(scope, name)
        self._config, self._at_once = config, at_once
        self._role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        #: The grants of its role.
        self.grants = Grants(self._role, self._role.add_to_policy, local=config.local)
        #: Its log group.
        self.logs = logs.LogGroup(self, "Logs", retention=RETENTION[config.retention], removal_policy=RemovalPolicy.DESTROY)
        self.allow(["logs:CreateLogStream", "logs:PutLogEvents"], self.logs.log_group_arn)
        loops = lambda_.RecursiveLoop.ALLOW if may_loop else lambda_.RecursiveLoop.TERMINATE
        #: The function itself, whatever its version.
        self.function = self._make(content, self.logs, loops)
        released = config.permanent and not config.local
        #: The target of events: in production an alias to which new code is deployed step by step, else the function itself.
        self.target: lambda_.IFunction = (
            Release(self, "Release", function=self.function, way=config.release).alias if released else self.function
        )
        for finding, reason in {**_ACCEPTED, "Serverless-LambdaDLQ": loses_nothing}.items():
            acknowledge(self.function, finding, reason)

    def _make(self, content: Content, log_group: logs.ILogGroup, loops: lambda_.RecursiveLoop) -> lambda_.Function:
        return lambda_.Function(
            self,
            "Function",
            runtime=lambda_.Runtime(f"python{self._config.python}", lambda_.RuntimeFamily.PYTHON),
            architecture=lambda_.Architecture.ARM_64,
            handler="handler.handler",
            code=lambda_.Code.from_asset(str(content.source), exclude=_NOT_CODE),
            layers=list(content.layers),
            environment=dict(content.environment),
            role=self._role,
            memory_size=self._config.memory,
            timeout=Duration.seconds(self._config.timeout),
            recursive_loop=loops,
            reserved_concurrent_executions=self._at_once,
            log_group=log_group,
            logging_format=lambda_.LoggingFormat.JSON,
            system_log_level_v2=lambda_.SystemLogLevel.WARN,
            application_log_level_v2=lambda_.ApplicationLogLevel.INFO,
            code_signing_config=self._signing(),
            current_version_options=lambda_.VersionOptions(
                removal_policy=RemovalPolicy.RETAIN if self._config.permanent else RemovalPolicy.DESTROY
            ),
        )

    def _signing(self) -> lambda_.ICodeSigningConfig | None:
        """The required signers of the function's code, if the stage says so."""
        signing = self._config.code_signing
        return None if signing is None else lambda_.CodeSigningConfig.from_code_signing_config_arn(self, "Signing", signing)

    def allow(self, actions: Sequence[str], *resources: str, where: Mapping[str, Any] | None = None) -> None:
        """Lets the function's role call `actions` on `resources` (ARNs), `where` these conditions hold, and on nothing else."""
        self.grants.allow(actions, *resources, where=where)

    def may_pass(self, role: str, to: str) -> None:
        """Lets the function's role pass the role of this ARN to the service *to*, such as `scheduler.amazonaws.com`, and to no other."""
        self.grants.may_pass(role, to)

    def allow_objects(self, actions: Sequence[str], objects: str, reason: str) -> None:
        """Lets the role call `actions` on `objects` (an ARN that ends in `*`); `reason`: why none can be named."""
        self.grants.allow_objects(actions, objects, reason)

    def consume(self, name: str, queue: sqs.IQueue, *, concurrency: int, batch: int | None = None, window: int = 0) -> str:
        """Feeds batches of `queue` to the function, at most `concurrency` at once; it returns the failed messages.

        Returns the UUID of the mapping.

        A `batch` (default: the setting) waits up to `window` seconds until it is full.
        """
        self.allow(CONSUME, queue.queue_arn)
        mapping = lambda_.EventSourceMapping(
            self,
            name,
            target=self.target,
            event_source_arn=queue.queue_arn,
            batch_size=batch or self._config.batch,
            max_batching_window=Duration.seconds(window) if window else None,
            max_concurrency=concurrency,
            report_batch_item_failures=True,
        )
        reason = "Lambda supports no destination for a queue's mapping: failed messages go to the queue's own dead-letter queue."
        acknowledge(mapping, "Serverless-LambdaEventSourceMappingDestination", reason)
        return mapping.event_source_mapping_id

    def follow(self, name: str, arn: str, *, service: str, key: str | None) -> str:
        """Feeds the function the records of the stream called `name`, whose ARN this is, of `service` (a key of `READS`).

        Returns the UUID of the mapping.

        `key`: the ARN of your own key that encrypts it.

        The function returns the record from which reading must begin again, but never because of a record's contents: such a record would
        be repeated until the stream deletes it.
        """
        self.allow(READS[service], arn)
        if key is not None:
            self.allow(["kms:Decrypt"], key)
        return StreamMapping(self, f"From-{name}", function=self.target, arn=arn).uuid

    def read_queue(self, name: str, arn: str, *, key: str | None) -> None:
        """Feeds the function the messages of the foreign queue of the stream called `name`, whose ARN this is; `key`: as in `follow`."""
        self.allow(READS[SQS], arn)
        if key is not None:
            self.allow(["kms:Decrypt"], key)
        QueueMapping(self, f"From-{name}", function=self.target, arn=arn, concurrency=max(2, self._config.concurrency))
