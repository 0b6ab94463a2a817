"""The running part of a stage: the queues, the three functions that consume them, and the scheduler of periodic tasks.

    command queues -> worker -> command queues, events, records, parked
    events         -> router -> command queues, records, parked
    records        -> recorder -> history bucket, parked
    webhook URL    -> webhook -> events, parked (where the application declares a webhook)
    streams        -> stream -> command queues, parked (where the application declares a stream)
    each minute    -> scheduler -> command queues
                   -> controller -> limits of command queues, events (where the application needs one)

The first three keep in the blobs bucket what is too large for a message. Every permission is written here,
where both things that it joins are known.
"""

from collections.abc import Mapping
from typing import Any

from aws_cdk import ArnFormat, CfnOutput
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from ..application import Application, Declared
from ..config import DEFAULT_BUDGET, StageConfig
from ..constructs.configuration_layers import allow_layers
from ..constructs.function import FED_BY_QUEUES, Content, Function
from ..constructs.grants import EFFECTS, STATEMENTS, TABLES, Grants
from ..constructs.layers import application_layers, library_layers, require_that_they_fit
from ..constructs.metrics import Watched
from ..constructs.minute import Minute
from ..constructs.operators import Actions, allowed
from ..constructs.queue import FIFO, WorkQueue, names_begin
from ..constructs.sinks import allow_sinks
from ..constructs.stream_sources import StreamSources, arns_of, feed
from ..constructs.table import FAILURES, MEMBERS, ROLLUPS
from ..constructs.timers import Timers
from ..constructs.webhook_url import WebhookUrl
from ..places import FUNCTIONS, HISTORY_PREFIX
from .stage_stack import StageStack
from .state import BLOBS, CONTROL, HISTORY, KEY, LEDGER, PARKED, PARKED_ARN, PARKED_NAME, SETTINGS, TIMERS, StateStack

#: How many invocations' records become one object of the history, and how many seconds it may be late: an object costs as much as twelve
#: messages.
RECORDS_TOGETHER, RECORDS_WAIT = 100, 60
#: Why a function that is invoked every minute loses nothing when it fails.
NEXT_ROUND = "The next round does the work that a round missed: nothing is lost."
#: The recorder writes roll-ups into the control table and nothing else. `ForAllValues` suffices, because each PutItem has a key.
ROLLUPS_ALONE = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["ROLLUP#*"]}}
#: The id of the construct for processes that serve queues in place of the worker function.
PROCESSES = "Processes"
#: The service to which the timers' role may be passed.
SCHEDULER = "scheduler.amazonaws.com"


class CoreStack(StageStack):
    """The queues and functions of one stage."""

    def __init__(self, scope: Construct, *, config: StageConfig, application: Application, state: StateStack) -> None:
        super().__init__(scope, "core", config=config, about="queues and functions", protected=config.permanent)
        self._config, self._app, self._begin = config, application.reference, names_begin(self, config.stage)
        self._connect, self._layers_read = application.declared.connect, application.declared.layers_and_parameters()
        self._spending, self._polls = application.declared.spending, bool(application.declared.polls)
        self._scheduled = config.schedules or bool(application.declared.schedules)
        self._ledger = dynamodb.Table.from_table_name(self, "Ledger", state.output(LEDGER))
        self._control = dynamodb.Table.from_table_name(self, "Control", state.output(CONTROL))
        self._blobs = s3.Bucket.from_bucket_name(self, "Blobs", state.output(BLOBS))
        self._history = s3.Bucket.from_bucket_name(self, "History", state.output(HISTORY))
        self._key = kms.Key.from_key_arn(self, "Key", state.output(KEY)) if config.own_key else None
        self._work_queues: dict[str, WorkQueue] = {}
        self._functions: dict[str, Function] = {}
        self._mappings: dict[str, str] = {}
        self._sources = StreamSources()
        self._commands = {name: self._work_queue(f"Commands-{name}", called=f"{self._begin}{name}") for name in application.declared.queues}
        self._events = self._work_queue("Events")
        self._records = self._work_queue("Records", wait=0 if config.local else RECORDS_WAIT)
        self._parked = self._parked_of(state)
        self._timers = self._timers_of(state)
        layers = [*library_layers(self, "Library", config.python), *application_layers(self, "Application", application, config.python)]
        require_that_they_fit(layers)
        self._layers: list[lambda_.ILayerVersion] = [layer.version for layer in layers]
        environment = {**self._environment(), **{name: state.output(output) for name, output in SETTINGS.items()}}
        for add in (self._add_worker, self._add_router, self._add_recorder):
            add(environment)
        #: The settings by which a program finds the stage.
        self.variables: Mapping[str, str] = {**environment, "SEDANO_WORKER": self._functions["worker"].target.function_arn}
        self._add_what_is_declared(environment, application.declared)
        self._add_outputs()

    def _work_queue(self, name: str, wait: int = 0, called: str | None = None) -> sqs.Queue:
        """A queue whose messages may wait so many seconds for others of their batch; *called*: its name on SQS."""
        hidden, kept = self._config.visibility + wait, self._config.permanent
        self._work_queues[name] = made = WorkQueue(self, name, visibility=hidden, permanent=kept, key=self._key, called=called)
        return made.queue

    def _timers_of(self, state: StateStack) -> Timers:
        group, local = state.output(TIMERS), self._config.local
        return Timers(self, "Timers", group=group, targets=self._unordered(), undelivered=self._parked, local=local)

    def _parked_of(self, state: StateStack) -> sqs.IQueue:
        """The queue of parked messages, which outlives this stack."""
        arn, url, name = map(state.output, (PARKED_ARN, PARKED, PARKED_NAME))
        return sqs.Queue.from_queue_attributes(self, "Parked", queue_arn=arn, queue_url=url, queue_name=name)

    def _environment(self) -> dict[str, str]:
        return {
            "SEDANO_APP": self._app,
            "SEDANO_STAGE": self._config.stage,
            "SEDANO_QUEUES": self._command_names(),
            "SEDANO_EVENTS_QUEUE": self._events.queue_url,
            "SEDANO_RECORDS_QUEUE": self._records.queue_url,
            "SEDANO_TIMERS_ROLE": self._timers.role.role_arn,
            "SEDANO_SCHEDULER": self._scheduler_state(),
            **self._chosen(),
            **self._ceiling(),
            **({"SEDANO_CONNECT": self._connect} if self._connect else {}),
        }

    def _ceiling(self) -> dict[str, str]:
        """The largest budget of a message without a mark, where it is not the library's own."""
        most = self._config.most_budget
        return {"SEDANO_MOST_BUDGET": str(most)} if most != DEFAULT_BUDGET else {}

    def _chosen(self) -> dict[str, str]:
        config, client = self._config, {"SEDANO_AWS_CLIENT": self._config.aws_client}
        switches = {"SEDANO_TASK_METRICS": config.task_metrics, "SEDANO_GROUP_COMMIT": config.group_commit}
        return client | {variable: "on" for variable, is_on in switches.items() if is_on}

    def _scheduler_state(self) -> str:
        """Whether periodic tasks may be added at run time: a client that adds one without a scheduler must get an error."""
        return "on" if self._scheduled else "off"

    def _command_names(self) -> str:
        """The names of the command queues; the library completes their addresses (`sedano.aws.settings`)."""
        return self.to_json_string({self._begin: list(self._commands)})

    def _command_arns(self) -> list[str]:
        return [queue.queue_arn for queue in self._commands.values()]

    def _unordered(self) -> list[sqs.Queue]:
        """The target queues of timers, events and schedules: these have no order, so they send to no queue that keeps one."""
        return [queue for name, queue in self._commands.items() if not name.endswith(FIFO)]

    def _unordered_arns(self) -> list[str]:
        return [queue.queue_arn for queue in self._unordered()]

    def _function(
        self,
        name: str,
        environment: Mapping[str, str],
        *,
        may_loop: bool = False,
        at_once: int | None = None,
        loses_nothing: str = FED_BY_QUEUES,
    ) -> Function:
        content = Content(FUNCTIONS / name, self._layers, environment)
        made = Function(
            self, name.title(), config=self._config, content=content, may_loop=may_loop, at_once=at_once, loses_nothing=loses_nothing
        )
        self._functions[name] = made
        return made

    def _add_what_is_declared(self, environment: Mapping[str, str], declared: Declared) -> None:
        """Add the functions that an application needs only because of its declarations."""
        if self._scheduled:
            self._add_scheduler(environment)
        if declared.tended:
            self._add_controller(environment)
        if declared.webhooks:
            self._add_webhook(environment, declared.webhooks)
        if declared.streams:
            self._add_stream(environment, declared)

    def _add_worker(self, environment: Mapping[str, str]) -> None:
        given = {"SEDANO_TABLES": self._config.tables, "SEDANO_FUNCTIONS": self._config.functions, "SEDANO_SINKS": self._config.sinks}
        named = {variable: self.to_json_string(dict(arns)) for variable, arns in given.items() if arns}
        mine = {name: queue for name, queue in self._commands.items() if name not in self._config.processes_serve}
        worker = self._function("worker", {**environment, **named}, may_loop=bool(mine))
        for name, queue in mine.items():
            self._mappings[name] = worker.consume(f"From-{name}", queue, concurrency=self._config.concurrency_of(name))
        self._grant_work(worker.grants)
        if self._config.worker_url:
            CfnOutput(self, "SedanoWorkerUrl", value=worker.target.add_function_url(auth_type=lambda_.FunctionUrlAuthType.AWS_IAM).url)
        if processes := {name: queue for name, queue in self._commands.items() if name not in mine}:
            from ..constructs.processes import Processes

            variables = {**environment, **named}
            Processes(self, PROCESSES, config=self._config, queues=processes, app=self._app, variables=variables, grant=self._grant_work)

    def _grant_work(self, worker: Grants) -> None:
        """Grant all permissions for running tasks, wherever they run, except for receiving them."""
        if self._config.tables:
            worker.allow(EFFECTS, *self._config.tables.values())
        if self._config.functions:
            worker.allow(["lambda:InvokeFunction"], *self._config.functions.values())
        if self._config.sinks:
            allow_sinks(worker, self, self._config)
        targets = [self._events.queue_arn, self._records.queue_arn, self._parked.queue_arn]
        worker.allow(["sqs:SendMessage"], *self._command_arns(), *targets)
        worker.allow(TABLES, self._ledger.table_arn, self._control.table_arn)
        if self._config.group_commit:
            worker.allow(STATEMENTS, self._ledger.table_arn)
        self._allow_blobs(worker, "s3:GetObject", "s3:PutObject")
        self._allow_keys(worker)
        allow_layers(worker, self, self._layers_read, local=self._config.local)
        worker.may_pass(self._timers.role.role_arn, SCHEDULER)
        worker.allow_objects(
            ["scheduler:CreateSchedule", "scheduler:DeleteSchedule"],
            self._timers.schedules,
            reason="A timer is named by the id of its task, so the names cannot be listed beforehand.",
        )

    def _add_router(self, environment: Mapping[str, str]) -> None:
        router = self._function("router", environment, may_loop=bool(self._mappings))
        router.consume("From-events", self._events, concurrency=self._config.concurrency_aside)
        router.allow(["sqs:SendMessage"], *self._unordered_arns(), self._records.queue_arn, self._parked.queue_arn)
        self._allow_blobs(router, "s3:GetObject", "s3:PutObject")
        self._allow_keys(router)

    def _add_recorder(self, environment: Mapping[str, str]) -> None:
        tenants = {"SEDANO_SPENDING": self.to_json_string([*self._spending])} if self._spending else {}
        recorder = self._function("recorder", {**environment, **tenants})
        together = {} if self._config.local else {"batch": RECORDS_TOGETHER, "window": RECORDS_WAIT}
        recorder.consume("From-records", self._records, concurrency=self._config.concurrency_aside, **together)
        recorder.allow(["sqs:SendMessage"], self._parked.queue_arn)
        recorder.allow(["dynamodb:PutItem"], self._control.table_arn, where=ROLLUPS_ALONE)
        self._allow_blobs(recorder, "s3:PutObject")
        self._allow_keys(recorder)
        recorder.allow_objects(
            ["s3:PutObject"],
            self._history.arn_for_objects(f"{HISTORY_PREFIX}*"),
            reason="The key of a record is its day and a hash of its content, so the keys cannot be listed beforehand.",
        )

    def _add_scheduler(self, environment: Mapping[str, str]) -> None:
        made = self._function("scheduler", environment, loses_nothing=NEXT_ROUND)
        Minute(self, "EachMinute", function=made.target, local=self._config.local)
        made.allow(["sqs:SendMessage"], *self._unordered_arns())
        made.allow(["dynamodb:GetItem", "dynamodb:BatchGetItem"], self._ledger.table_arn)
        made.allow(["dynamodb:BatchGetItem", "dynamodb:UpdateItem"], self._control.table_arn)
        made.may_pass(self._timers.role.role_arn, SCHEDULER)
        made.allow_objects(
            ["scheduler:CreateSchedule"],
            self._timers.schedules,
            reason="An occurrence that jitter puts off by more than 900 s becomes a timer, named by the id of its task.",
        )

    def _add_controller(self, environment: Mapping[str, str]) -> None:
        every = len(self._mappings) == len(self._commands)
        known = {"SEDANO_MAPPINGS": self.to_json_string([*self._mappings.values()] if every else self._mappings)}
        made = self._function("controller", {**environment, **known}, loses_nothing=NEXT_ROUND)
        Minute(self, "ControlEachMinute", function=made.target, local=self._config.local)
        made.allow(["sqs:GetQueueAttributes"], *self._command_arns())
        made.allow(["sqs:SendMessage"], self._events.queue_arn)
        made.allow(["dynamodb:GetItem", "dynamodb:BatchGetItem"], self._ledger.table_arn)
        made.allow(["dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:UpdateItem"], self._control.table_arn)
        indexes = [MEMBERS, *([ROLLUPS] if self._spending else [])]
        made.allow(["dynamodb:Query"], *(f"{self._control.table_arn}/index/{index}" for index in indexes))
        colon = ArnFormat.COLON_RESOURCE_NAME
        mappings = [
            self.format_arn(service="lambda", resource="event-source-mapping", resource_name=one, arn_format=colon)
            for one in self._mappings.values()
        ]
        made.allow(["lambda:GetEventSourceMapping", "lambda:UpdateEventSourceMapping"], *mappings)

    def _add_webhook(self, environment: Mapping[str, str], webhooks: Mapping[str, bool]) -> None:
        answered = "The sender waits for the answer: it gets a failure, and sends again."
        made = self._function("webhook", environment, at_once=self._config.webhook_concurrency or None, loses_nothing=answered)
        made.allow(["sqs:SendMessage"], self._events.queue_arn, self._parked.queue_arn)
        self._allow_blobs(made, "s3:PutObject")
        self._allow_keys(made)
        path = f"sedano/{self._config.stage}/webhooks"
        signed = [name for name, signs in webhooks.items() if signs]
        secrets = [self.format_arn(service="ssm", resource="parameter", resource_name=f"{path}/{name}") for name in signed]
        if secrets:
            made.allow(["ssm:GetParameter"], *secrets)
        CfnOutput(self, "SedanoWebhookUrl", value=WebhookUrl(self, "WebhookUrl", function=made).url)

    def _add_stream(self, environment: Mapping[str, str], declared: Declared) -> None:
        arns = arns_of(self, declared, self._config)
        followed = "A stream feeds it: Lambda reads records that could not be sent from there again."
        made = self._function("stream", {**environment, "SEDANO_STREAMS": self.to_json_string(arns)}, loses_nothing=followed)
        self._sources = feed(self, made, declared, self._config, arns)
        queues = [self._commands[queue].queue_arn for queue in declared.queues_of_streams()]
        made.allow(["sqs:SendMessage"], *queues, self._parked.queue_arn)
        self._allow_blobs(made, "s3:PutObject")
        self._allow_keys(made)

    def _allow_keys(self, function: Function | Grants) -> None:
        """Allow the keys with which functions mark parked messages and moments of slots: the first that needs the keys creates them.

        CloudFormation cannot make a SecureString. A role that reads them could sign anyway, so creating them adds nothing to what it may
        do; none may overwrite or delete them.
        """
        keys = self._keys_arn()
        function.allow(["ssm:GetParameter"], keys)
        function.allow(["ssm:PutParameter"], keys, where={"StringEqualsIfExists": {"ssm:Overwrite": "false"}})

    def _keys_arn(self) -> str:
        return self.format_arn(service="ssm", resource="parameter", resource_name=f"sedano/{self._config.stage}/keys")

    def _allow_blobs(self, function: Function | Grants, *actions: str) -> None:
        function.allow_objects(
            actions,
            self._blobs.arn_for_objects("*"),
            reason="The key of a large value is the hash of its content, so the keys cannot be listed beforehand.",
        )
        if "s3:GetObject" in actions:
            # Without it S3 answers "access denied" for a missing object.
            function.allow(["s3:ListBucket"], self._blobs.bucket_arn)

    def grant_publish(self, grantee: iam.IGrantable) -> None:
        """Let *grantee* call tasks, publish events and set timers, with arguments of any size."""
        targets = [*self._command_arns(), self._events.queue_arn]
        timed = {"StringEquals": {"iam:PassedToService": SCHEDULER}}
        self._grant(grantee, ["sqs:SendMessage"], *targets)
        self._grant(grantee, ["s3:PutObject"], self._blobs.arn_for_objects("*"))
        self._grant(grantee, ["dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:UpdateItem"], self._ledger.table_arn)
        self._grant(grantee, ["scheduler:CreateSchedule"], self._timers.schedules)
        self._grant(grantee, ["iam:PassRole"], self._timers.role.role_arn, conditions=timed)

    def grant_results(self, grantee: iam.IGrantable) -> None:
        """Let *grantee* read the states of tasks, and their results."""
        self._grant(grantee, ["dynamodb:GetItem", "dynamodb:BatchGetItem"], self._ledger.table_arn)
        self._grant(grantee, ["s3:GetObject"], self._blobs.arn_for_objects("*"))
        self._grant(grantee, ["s3:ListBucket"], self._blobs.bucket_arn)  # without it S3 answers "access denied" for a missing object

    def grant_invoke(self, grantee: iam.IGrantable) -> None:
        """Let *grantee* call tasks directly, with arguments of any size: it calls the worker, and seals its calls with the stage's keys."""
        called = ["lambda:InvokeFunction", *(["lambda:InvokeFunctionUrl"] if self._config.worker_url else [])]
        self._grant(grantee, called, self._functions["worker"].target.function_arn)
        self._grant(grantee, ["ssm:GetParameter"], self._keys_arn())
        self._grant(grantee, ["s3:PutObject"], self._blobs.arn_for_objects("*"))

    def grant_people(self, grantee: iam.IGrantable, *roles: Actions) -> None:
        """Let *grantee*, the identity of a person, do what *roles* of `constructs.operators` allow."""
        arns = {
            "ledger": [self._ledger.table_arn], "control": [self._control.table_arn], "settings": [self._control.table_arn],
            "members": [f"{self._control.table_arn}/index/{MEMBERS}"], "rollups": [f"{self._control.table_arn}/index/{ROLLUPS}"],
            "failures": [f"{self._ledger.table_arn}/index/{FAILURES}"], "history": [self._history.bucket_arn],
            "events": [self._history.arn_for_objects(f"{HISTORY_PREFIX}*")], "blobs": [self._blobs.bucket_arn],
            "values": [self._blobs.arn_for_objects("*")], "commands": self._command_arns(), "topics": [self._events.queue_arn],
            "parked": [self._parked.queue_arn], "records": [self._records.queue_arn], "timers": [self._timers.schedules],
            "keys": [self._keys_arn()],
            "metrics": ["*"],
            "stacks": [self.format_arn(service="cloudformation", resource="stack", resource_name=name) for name in self._described()],
        }  # fmt: skip
        for statement in (one for role in roles for one in allowed(role, arns)):
            grantee.grant_principal.add_to_principal_policy(statement)

    def _described(self) -> list[str]:
        """The stacks with the outputs by which a program finds the stage, whatever their ids."""
        return [f"sedano-{self._config.stage}-{part}/*" for part in ("state", "core")]

    def _grant(self, grantee: iam.IGrantable, actions: list[str], *arns: str, conditions: Mapping[str, Any] | None = None) -> None:
        given = Grants(self, grantee.grant_principal.add_to_principal_policy, local=self._config.local)
        given.allow(actions, *arns, where=conditions)

    @property
    def worker(self) -> iam.IRole:
        """The role under which tasks run."""
        role = self._functions["worker"].function.role
        if role is None:
            raise ValueError("the worker is a function of this stack, and those have roles")
        return role

    def watched(self) -> Watched:
        """The parts of this stack and of the tables to watch."""
        return Watched(
            stage=self._config.stage,
            queues={name: made.queue for name, made in self._work_queues.items()},
            dead={name: made.dead for name, made in self._work_queues.items()},
            parked=self._parked,
            functions={name: made.function for name, made in self._functions.items()},
            logs={name: made.logs for name, made in self._functions.items()},
            streams=self._sources.streams,
            foreign=self._sources.queues,
            tables={"ledger": self._ledger, "control": self._control},
            timers=self._timers.group,
            spends=bool(self._spending),
            polls=self._polls,
            memory=self._config.memory,
        )

    def _add_outputs(self) -> None:
        CfnOutput(self, "SedanoStage", value=self._config.stage)
        CfnOutput(self, "SedanoApp", value=self._app)
        CfnOutput(self, "SedanoQueues", value=self._command_names())
        CfnOutput(self, "SedanoEventsQueue", value=self._events.queue_url)
        CfnOutput(self, "SedanoRecordsQueue", value=self._records.queue_url)
        CfnOutput(self, "SedanoWorker", value=self.variables["SEDANO_WORKER"])
        CfnOutput(self, "SedanoWorkerLogs", value=self._functions["worker"].logs.log_group_name)
        CfnOutput(self, "SedanoTimersRole", value=self._timers.role.role_arn)
        CfnOutput(self, "SedanoScheduler", value=self._scheduler_state())
        for value in self._ceiling().values():
            CfnOutput(self, "SedanoMostBudget", value=value)
