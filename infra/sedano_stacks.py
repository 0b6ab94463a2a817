"""Everything that one stage of an application needs on AWS, for any CDK app:

    SedanoStacks(app, app="shop.tasks:app", code="src", config=StageConfig(stage="prod", account="123456789012", region="eu-central-1"))

The state stack stores data, core runs tasks, observability has the alarms and the dashboard, pipeline turns the history into tables.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from aws_cdk import Tags
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from constructs import Construct

from .application import TIME_TO_RECORD, application
from .config import StageConfig
from .constructs.operators import ADMIN, OPERATOR, VIEWER
from .stacks.core import PROCESSES, CoreStack
from .stacks.observability import ObservabilityStack
from .stacks.pipeline import PipelineStack
from .stacks.state import StateStack

#: Flags of the CDK on which these templates depend: with them they are the same in every CDK app.
FLAGS = {
    "@aws-cdk/aws-iam:minimizePolicies": True,
    "@aws-cdk/aws-lambda:recognizeLayerVersion": True,
    "@aws-cdk/core:defaultCrossStackReferences": "weak",
}


class SedanoStacks(Construct):
    """The stacks of one stage of one application."""

    def __init__(
        self,
        scope: Construct,
        name: str | None = None,
        *,
        app: str,
        code: str | Path,
        config: StageConfig | None = None,
        requirements: str | Path | None = None,
        ignore: Sequence[str] = (),
    ) -> None:
        """Compose them.

        Args:
            scope: a CDK app, or a stage of one.
            name: of the construct; by default `sedano-STAGE`.
            app: the application, as `module:attribute`; it is imported, and its queues are made.
            code: the directory that holds its modules, or the package itself.
            config: the settings of the stage.
            requirements: the packages that it pins; by default `requirements.txt` in `code`, if there is one.
            ignore: files that are not deployed, as lines of a `.sedanoignore`, whose own lines take precedence.

        Raises:
            ConfigError: a setting cannot be used; the message begins with its name.
            AssetError: packages or compiled code do not run on Lambda, or are too large for it.
            DiscoveryError: the application does not import.
        """
        config = config or StageConfig()
        super().__init__(scope, name or f"sedano-{config.stage}")
        for flag, value in FLAGS.items():
            self.node.set_context(flag, value)
        #: The application: its declarations, and its files that are deployed.
        self.application = application(app, Path(code), config, Path(requirements) if requirements else None, tuple(ignore))
        config = self._timed(config)
        #: The stack of the data.
        self.state = StateStack(self, config=config)
        #: The stack of the queues and functions.
        self.core = CoreStack(self, config=config, application=self.application, state=self.state)
        self.core.add_stack_dependency(self.state)
        if not config.local:  # this machine needs no alarms, and its endpoint has no Spark: the job runs without it
            self._watch(config)
        self._apply(config)

    def variables(self) -> dict[str, str]:
        """Return the variables by which a program finds the stage, as the environment of a function or a container takes them."""
        return dict(self.core.variables)

    def grant_publish(self, grantee: iam.IGrantable) -> None:
        """Let *grantee*, such as a role or a function, call tasks, publish events and set timers.

        A policy of the grantee names the stage's queues, its blobs bucket, its ledger (a canvas and a deduplicated call are reserved there)
        and its group of timers.
        """
        self.core.grant_publish(grantee)

    def grant_results(self, grantee: iam.IGrantable) -> None:
        """Let *grantee* read the results of tasks: `AsyncResult.get()`, `.state` and similar."""
        self.core.grant_results(grantee)

    def grant_invoke(self, grantee: iam.IGrantable) -> None:
        """Let *grantee* call tasks directly (`app.invoke`): it may call the worker function, and read the keys that seal its calls.

        A holder of these keys can also send commands to the inbox of workers, so grant it to programs of your own only.
        """
        self.core.grant_invoke(grantee)

    def grant_view(self, grantee: iam.IGrantable) -> None:
        """Let *grantee*, such as the role that colleagues assume, look: `sedano web`, `sedano top`, and every verb that changes nothing."""
        self.core.grant_people(grantee, VIEWER)

    def grant_operate(self, grantee: iam.IGrantable) -> None:
        """Let *grantee* also retry, revoke, pause, resume, limit, redrive and trigger, on pages and at the command line."""
        self.core.grant_people(grantee, VIEWER, OPERATOR)

    def grant_administer(self, grantee: iam.IGrantable) -> None:
        """Let *grantee* also release locks in place of their holders, and purge queues."""
        self.core.grant_people(grantee, VIEWER, OPERATOR, ADMIN)

    def _timed(self, config: StageConfig) -> StageConfig:
        """Return *config*; on this machine, where the timeout is short by default, a task with a time limit gets enough time for it."""
        longest = self.application.declared.longest(but=config.processes_serve)[1]
        needed = math.ceil(longest + TIME_TO_RECORD)
        longer = config.local and longest and needed > config.timeout
        return replace(config, timeout=needed) if longer else config

    def _watch(self, config: StageConfig) -> None:
        #: The stack of the alarms and the dashboard.
        self.observability = ObservabilityStack(self, config=config, core=self.core)
        self.observability.add_stack_dependency(self.core)
        if config.pipeline != "none":
            #: The stack of the history job.
            self.pipeline = PipelineStack(self, config=config, state=self.state, worker=self.core.worker)
            self.pipeline.add_stack_dependency(self.core)

    def _apply(self, config: StageConfig) -> None:
        """Apply the settings for all resources."""
        for key, value in {"sedano:stage": config.stage, **config.tags}.items():
            Tags.of(self).add(key, value)
        if config.permissions_boundary is not None:
            boundary = iam.ManagedPolicy.from_managed_policy_arn(self.state, "Boundary", config.permissions_boundary)
            iam.PermissionsBoundary.of(self).apply(boundary)
        if config.alarm_topic is not None:
            for alarm in self.node.find_all():
                # The alarm of a service starts its first task: it has an action of its own.
                if isinstance(alarm, cloudwatch.CfnAlarm) and f"/{PROCESSES}/" not in alarm.node.path:
                    alarm.alarm_actions = [config.alarm_topic]
