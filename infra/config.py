"""The settings of one deployed stage: its size, its retention times, its account, its ceilings of cost.

    StageConfig(stage="prod", memory=1024, queue_concurrency={"mail": 2}, alarm_topic="arn:aws:sns:eu-central-1:123456789012:on-call")

A `StageConfig` that exists is valid: every field is checked when it is made, and an error names the field, its value, and the valid values.
The same fields are the settings of the command line (`infra/context.py`).
"""

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType

from . import sink_places, stream_arns
from .checked import ConfigError as ConfigError
from .checked import require as require
from .checked import require_within as _require_within
from .fleet import FARGATE, LAMBDA, PROCESS, SERVERS, Fleet
from .glue_schedule import wrong_with

#: The days that logs may be kept: the usual choices of CloudWatch Logs.
LOG_RETENTIONS = (1, 7, 14, 30, 90, 180, 365)
#: The visibility timeout in function timeouts: with less, SQS delivers a batch again while it still runs (AWS's own rule).
VISIBILITY_FACTOR = 6
#: The smallest and the largest limit of concurrent invocations of an event source mapping.
LEAST_CONCURRENCY, MOST_CONCURRENCY = 2, 1000
#: The longest timeout of a Lambda function, in seconds.
LONGEST_TIMEOUT = 900
#: How many descendants a message without a budget may cause; the library's own figure.
DEFAULT_BUDGET = 10_000
#: How many write units a claimed task takes of the ledger: its claim and its outcome.
WRITES_A_TASK = 2
#: The shortest life in days of a large argument or result: a message lives 14 in its queue and 14 as a dead letter.
SHORTEST_BLOB_LIFE = 29
#: The fewest days that event lines are kept: a history job that is off or failing has a month to process them.
SHORTEST_HISTORY = 30
#: The services that run the history job.
PIPELINES = ("glue", "emr", "none")
#: The clients of DynamoDB and SQS (`sedano.aws.client.slim`).
AWS_CLIENTS = ("botocore", "slim")
#: The ways in which production deploys new code.
RELEASES = ("canary", "all-at-once")
#: The longest delay of the history, in hours, up to which its alarm may wait.
LONGEST_LAG = 24
#: How many tags AWS allows, less the tags of CloudFormation and sedano.
MOST_TAGS = 40

_STAGE = re.compile(r"[a-z][a-z0-9-]{0,15}")
_ACCOUNT = re.compile(r"\d{12}")
_REGION = re.compile(stream_arns.REGION)
_TAG_KEY = re.compile(r"(?!aws:)[\w .:/=+@-]{1,128}")
_TAG_VALUE = re.compile(r"[\w .:/=+@-]{0,256}")
_KEY = re.compile(rf"arn:aws[a-z-]*:kms:{_REGION.pattern}:\d{{12}}:key/[\w-]{{8,64}}")
_FUNCTION = re.compile(rf"arn:aws[a-z-]*:lambda:{_REGION.pattern}:\d{{12}}:function:[\w-]{{1,64}}(:[\w$-]{{1,128}})?")
_BOX = re.compile(r"[A-Za-z0-9_-]{1,64}")
_TABLE = re.compile(rf"arn:aws[a-z-]*:dynamodb:{_REGION.pattern}:\d{{12}}:table/[\w.-]{{3,255}}")
_ARNS = {
    "permissions_boundary": ("iam", r"policy/[\w+=,.@/-]+", "policy/developers"),
    "code_signing": ("lambda", r"code-signing-config:csc-[a-z0-9]{17}", "code-signing-config:csc-0123456789abcdefg"),
    "alarm_topic": ("sns", r"[\w.-]{1,256}", "on-call"),
}
#: Those that may also be a value of another resource in the same CDK app, known only when it deploys.
_ALSO_MADE_BESIDE = ("alarm_topic",)


@dataclass(frozen=True, slots=True, kw_only=True)
class StageConfig:
    """One stage of one application.

    Args:
        stage: its name, part of every stack's name: a-z, then a-z, 0-9 and -, at most 16 in all.
        account, region: where it is deployed; by default the account and Region of the deployer's credentials.
        memory: of each function, MB (128 to 10 240).
        timeout: of each function, seconds (1 to 900); a received message stays hidden six times as long.
        batch: messages per invocation (1 to 10).
        concurrency: invocations at once per queue (2 to 1 000).
        queue_concurrency: the same for single queues, by name.
        served_by: what serves a queue, by its name: `lambda`, which serves those that are not named; `fargate`, a service of ECS with
            `sedano worker`; or `process`, `sedano worker` on your own hosts. Lambda receives nothing from a queue of the other two.
        fleet: the processes on Fargate.
        retention: days that logs are kept.
        blob_days: days that large arguments and results are kept (29 to 3 650).
        history_days: days that event lines are kept in the history bucket's `events/` (30 to 3 650); by default for ever. The tables that
            were made of them stay, with all that a run needs to write them again; `build --rebuild`, which reads every line again, is
            refused once a file was deleted.
        most_reads, most_writes: the ceiling of each table in request units per second: requests above it are throttled and retried.
            The default is a tenth of an account's quota: a runaway then costs at most 9 USD an hour in writes.
        most_budget: the most descendants that a message without a mark by a key of the stage may claim (1 to 2 147 483 647), which limits
            what one message of an outside sender can cause. A larger claim is reduced to it.
        most_failures: how many tasks may end as FAILURE in five minutes without an alarm (0 to 1 000 000).
        production: data outlives its stack and tables are protected from deletion; by default in the stage `prod`.
        own_key: a KMS key of the stage encrypts its tables, buckets and queues, instead of AWS's; only in production, because the key has
            to outlive the encrypted data.
        empty_buckets: in a CDK app of your own, empty the stage's buckets when `cdk destroy` deletes them, by a function that the CDK adds;
            without it CloudFormation refuses to delete a bucket that is not empty. `make destroy` of a clone empties them itself.
        tags: on every resource.
        permissions_boundary: the ARN of an IAM policy that bounds every role.
        code_signing: the ARN of a Lambda code signing configuration that every function gets.
        alarm_topic: the ARN of the SNS topic for alarms, in the stage's Region; in a CDK app of your own also `topic.topic_arn`.
        budget: dollars a month above which an alarm reports the cost of the stage.
        task_metrics: count by task: each task has its own CloudWatch metrics, at 0.30 dollars a month for each that occurs. Without it
            metrics are those of the stage, and log lines name the task.
        aws_client: how functions and Fargate's workers call DynamoDB and SQS: `slim`, which makes the calls of each task itself at a
            fraction of the CPU, or `botocore`.
        group_commit: the worker claims the tasks of a batch by one call of DynamoDB, and records those that end together by one call.
        schedules: run the scheduler although the application declares no periodic task, because some are added at run time.
        release: how production deploys new code: `canary` gives it a tenth of the work for five minutes, and rolls back if it fails more
            often than the code before it; `all-at-once` is for a fix that must not wait.
        worker_url: give the worker an address for direct calls (`app.invoke`), which lets in signed requests that IAM allows.
        webhook_concurrency: requests at once that the webhook URL accepts (1 to 1 000), which limits the cost that anyone on the internet
            can cause. It is reserved from the account's concurrency; 0 reserves none, and then the account's own limit is the ceiling.
        streams: the ARN of each stream that the application declares, by its name there: a DynamoDB table's, one of Kinesis, or that of a
            queue, in the stage's Region; in a CDK app of your own also `table.table_stream_arn`, `stream.stream_arn` or `queue.queue_arn`.
        stream_keys: the ARN of the KMS key, by the stream's name, if a key of your own encrypts it or the queue.
        tables: the ARN of each table that tasks write to by `current().effects`, by the name of `app.table`; the worker is granted it.
        functions: the ARN of each Lambda function that boxed tasks call, by the name in `app.boxed(…, function=…)`; the worker may call it.
        sinks: the place of each sink, by the name of `app.sink`: the ARN of a table, bucket, delivery stream, event bus, queue or topic, or
            the address of a webhook; the worker may write to it.
        pipeline: the service that runs the history job: `glue`, `emr` or `none`.
        pipeline_schedule: the times at which it starts automatically, such as `cron(15 * * * ? *)`.
        pipeline_by_task: let tasks start the Glue job, wait for it and stop it (`sedano.spark.spark_task`). The arguments of a run can name
            further code, which then runs under the job's role: leave it off unless you trust every task with the history.
        pipeline_lag: hours without a successful run after which an alarm reports that the tables are behind.
        local: for the endpoint on this machine: its Python.

    Raises:
        ConfigError: a field cannot be used.
    """

    stage: str = "dev"
    account: str | None = None
    region: str | None = None
    memory: int = 512
    timeout: int = 60
    batch: int = 10
    concurrency: int = 10
    queue_concurrency: Mapping[str, int] = field(default_factory=dict)
    served_by: Mapping[str, str] = field(default_factory=dict)
    fleet: Fleet | None = None
    retention: int = 30
    blob_days: int = 60
    history_days: int | None = None
    most_reads: int = 4_000
    most_writes: int = 4_000
    most_budget: int = DEFAULT_BUDGET
    most_failures: int = 0
    production: bool | None = None
    own_key: bool = False
    empty_buckets: bool = False
    tags: Mapping[str, str] = field(default_factory=dict)
    permissions_boundary: str | None = None
    code_signing: str | None = None
    alarm_topic: str | None = None
    budget: float | None = None
    task_metrics: bool = False
    aws_client: str = "slim"
    group_commit: bool = False
    schedules: bool = False
    worker_url: bool = False
    release: str = "canary"
    webhook_concurrency: int = 10
    streams: Mapping[str, str] = field(default_factory=dict)
    stream_keys: Mapping[str, str] = field(default_factory=dict)
    tables: Mapping[str, str] = field(default_factory=dict)
    functions: Mapping[str, str] = field(default_factory=dict)
    sinks: Mapping[str, str] = field(default_factory=dict)
    pipeline: str = "glue"
    pipeline_schedule: str | None = None
    pipeline_by_task: bool = False
    pipeline_lag: int = 6
    local: bool = False

    def __post_init__(self) -> None:
        """Refuse settings that cannot be deployed, and protect the given mappings from later changes."""
        require(_is(_STAGE, self.stage), "stage", self.stage, "a-z, then a-z, 0-9 and -, at most 16 in all")
        self._check_place()
        self._check_sizes()
        self._check_concurrency()
        self._check_servers()
        self._check_tags()
        self._check_arns()
        self._check_streams()
        self._check_tables()
        self._check_functions()
        self._check_sinks()
        self._check_pipeline()
        self.require_in(self.region)
        require(self.production is None or isinstance(self.production, bool), "production", self.production, "True or False")
        require(isinstance(self.own_key, bool), "own_key", self.own_key, "True or False")
        outlives = "production=True as well: the key has to outlive the encrypted data, and is not deleted with the stage"
        require(self.permanent or not self.own_key, "own_key", self.own_key, outlives)
        require(self.release in RELEASES, "release", self.release, f"one of {', '.join(RELEASES)}")
        require(isinstance(self.empty_buckets, bool), "empty_buckets", self.empty_buckets, "True or False")
        stays = "production=False as well: in production buckets are kept with their objects"
        require(not (self.empty_buckets and self.permanent), "empty_buckets", self.empty_buckets, stays)
        require(isinstance(self.local, bool), "local", self.local, "True or False")
        require(isinstance(self.task_metrics, bool), "task_metrics", self.task_metrics, "True or False")
        require(self.aws_client in AWS_CLIENTS, "aws_client", self.aws_client, f"one of {', '.join(AWS_CLIENTS)}")
        require(isinstance(self.group_commit, bool), "group_commit", self.group_commit, "True or False")
        require(isinstance(self.schedules, bool), "schedules", self.schedules, "True or False")
        require(isinstance(self.worker_url, bool), "worker_url", self.worker_url, "True or False")
        for name in ("queue_concurrency", "served_by", "tags", "streams", "stream_keys", "tables", "functions", "sinks"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def _check_place(self) -> None:
        require(self.account is None or _is(_ACCOUNT, self.account), "account", self.account, "the twelve digits of an AWS account")
        require(self.region is None or _is(_REGION, self.region), "region", self.region, "an AWS Region such as eu-central-1")
        together = (self.account is None) == (self.region is None)
        missing, given = ("region", "account") if self.region is None else ("account", "region")
        require(together, missing, None, f"a value, because {given} is given: set both or omit both")

    def _check_sizes(self) -> None:
        _require_within("memory", self.memory, 128, 10240)
        _require_within("timeout", self.timeout, 1, LONGEST_TIMEOUT)
        _require_within("batch", self.batch, 1, 10)
        require(self.retention in LOG_RETENTIONS, "retention", self.retention, f"one of {LOG_RETENTIONS} days")
        _require_within("blob_days", self.blob_days, SHORTEST_BLOB_LIFE, 3650)
        if self.history_days is not None:
            _require_within("history_days", self.history_days, SHORTEST_HISTORY, 3650)
        _require_within("most_reads", self.most_reads, 1, 1_000_000)
        _require_within("most_writes", self.most_writes, 1, 1_000_000)
        _require_within("most_budget", self.most_budget, 1, 2**31 - 1)
        _require_within("most_failures", self.most_failures, 0, 1_000_000)
        require(self.budget is None or _is_sum(self.budget), "budget", self.budget, "dollars a month, above 0 and at most 1000000")
        told = self.budget is None or self.alarm_topic is not None
        require(told, "budget", self.budget, "an alarm_topic as well, to receive the alarms")

    def _check_concurrency(self) -> None:
        _require_within("concurrency", self.concurrency, LEAST_CONCURRENCY, MOST_CONCURRENCY)
        _require_within("webhook_concurrency", self.webhook_concurrency, 0, MOST_CONCURRENCY)
        for queue, number in self.queue_concurrency.items():
            _require_within(f"queue_concurrency[{queue}]", number, LEAST_CONCURRENCY, MOST_CONCURRENCY)

    def _check_servers(self) -> None:
        for queue, server in self.served_by.items():
            require(server in SERVERS, f"served_by[{queue}]", server, f"one of {', '.join(SERVERS)}")
            free = server == LAMBDA or queue not in self.queue_concurrency
            require(free, f"queue_concurrency[{queue}]", self.queue_concurrency.get(queue), f"a queue of Lambda's: {server} serves {queue}")
        require(self.fleet is None or isinstance(self.fleet, Fleet), "fleet", self.fleet, "Fleet(image=…), as a text image=…,drain=60")
        needed = [queue for queue, server in self.served_by.items() if server == FARGATE]
        expected = f"Fleet(image=…) with the image of your code, because Fargate serves {', '.join(needed)}"
        require(not needed or self.fleet is not None, "fleet", self.fleet, expected)
        require(needed or self.fleet is None, "fleet", self.fleet, "a queue in served_by with the server fargate as well")

    def _check_tags(self) -> None:
        require(len(self.tags) <= MOST_TAGS, "tags", f"{len(self.tags)} tags", f"at most {MOST_TAGS}")
        for key, value in self.tags.items():
            usable = _is(_TAG_KEY, key) and _is(_TAG_VALUE, value)
            require(usable, "tags", f"{key}={value}", "a key of at most 128 and a value of at most 256 letters, digits, spaces, _.:/=+-@")

    def _check_arns(self) -> None:
        for name, (service, resource, example) in _ARNS.items():
            value = getattr(self, name)
            place = r"" if service == "iam" else _REGION.pattern
            usable = value is None or _is(re.compile(rf"arn:aws[a-z-]*:{service}:{place}:(\d{{12}}|aws):{resource}"), value)
            usable |= name in _ALSO_MADE_BESIDE and stream_arns.is_placeholder(value)
            region = "" if service == "iam" else "eu-central-1"
            require(usable, name, value, f"an ARN such as arn:aws:{service}:{region}:123456789012:{example}")

    def _check_streams(self) -> None:
        for name, arn in self.streams.items():
            others = [other for other, same in self.streams.items() if same == arn and other != name]
            require(not others, f"streams[{name}]", arn, f"one name for each stream: several tasks may read {''.join(others[:1])}")
        for name, key in self.stream_keys.items():
            require(name in self.streams, "stream_keys", name, "a stream to which streams= gives an ARN")
            usable = _is(_KEY, key) or stream_arns.is_placeholder(key)
            require(usable, f"stream_keys[{name}]", key, "an ARN such as arn:aws:kms:eu-central-1:123456789012:key/KEY-ID (no alias)")

    def _check_tables(self) -> None:
        for name, arn in self.tables.items():
            usable = _is(_TABLE, arn) or stream_arns.is_placeholder(arn)
            require(usable, f"tables[{name}]", arn, "an ARN such as arn:aws:dynamodb:eu-central-1:123456789012:table/orders")

    def _check_functions(self) -> None:
        for name, arn in self.functions.items():
            require(_is(_BOX, name), "functions", name, "a name of letters, digits, - and _, as in app.boxed(…, function=…)")
            usable = _is(_FUNCTION, arn) or stream_arns.is_placeholder(arn)
            require(usable, f"functions[{name}]", arn, "an ARN such as arn:aws:lambda:eu-central-1:123456789012:function:resize")

    def _check_sinks(self) -> None:
        for name, place in self.sinks.items():
            require(_is(_BOX, name), "sinks", name, "a name of letters, digits, - and _, as in app.sink(…)")
            require(sink_places.kind_of(place) is not None, f"sinks[{name}]", place, sink_places.EXPECTED)

    def require_in(self, region: str | None) -> None:
        """Refuse ARNs that a stage in *region* (None: not known yet) cannot use.

        Raises:
            ConfigError: an ARN is not that of a stream, or a setting names a resource in another Region.
        """
        for name, arn in self.streams.items():
            wrong = stream_arns.wrong_with(arn, region)
            require(wrong is None, f"streams[{name}]", arn, f"{wrong}")
        named = {"alarm_topic": self.alarm_topic, "code_signing": self.code_signing}
        by_name = {"stream_keys": self.stream_keys, "tables": self.tables, "functions": self.functions}
        each = {f"{setting}[{one}]": arn for setting, given in by_name.items() for one, arn in given.items()}
        for name, other in {**named, **each}.items():
            there = other is None or region is None or stream_arns.is_placeholder(other) or other.split(":")[3] == region
            require(there, name, other, f"an ARN in {region}, where the stage is")
        for name, text in self.sinks.items():
            there = region is None or sink_places.region_of(text) in ("", region)
            require(there, f"sinks[{name}]", text, f"an ARN in {region}, where the stage is")

    def _check_pipeline(self) -> None:
        engine, schedule = self.pipeline, self.pipeline_schedule
        require(engine in PIPELINES, "pipeline", engine, f"one of {', '.join(PIPELINES)}")
        wrong = None if schedule is None else wrong_with(str(schedule), datetime.now(UTC).year)
        require(wrong is None, "pipeline_schedule", schedule, f"{wrong}")
        runs = schedule is None or engine != "none"
        require(runs, "pipeline_schedule", schedule, "pipeline=glue or pipeline=emr as well; pipeline is none")
        require(isinstance(self.pipeline_by_task, bool), "pipeline_by_task", self.pipeline_by_task, "True or False")
        starts = not self.pipeline_by_task or engine == "glue"
        require(starts, "pipeline_by_task", self.pipeline_by_task, f"pipeline=glue as well, which tasks can start; pipeline is {engine}")
        _require_within("pipeline_lag", self.pipeline_lag, 1, LONGEST_LAG)

    @property
    def visibility(self) -> int:
        """How many seconds a received message stays hidden from other receivers."""
        return VISIBILITY_FACTOR * self.timeout

    @property
    def permanent(self) -> bool:
        """Whether data outlives its stack: in production it does."""
        return self.stage == "prod" if self.production is None else self.production

    def capacity_sentence(self) -> str:
        """Return a sentence about how many tasks the stage can process: by its tables, and by the invocations of a queue."""
        at_once, tasks = self.concurrency * self.batch, self.most_writes // WRITES_A_TASK
        return (
            f"its tables can take about {tasks} claimed tasks a second (most_writes={self.most_writes}), and a queue has at most {at_once} "
            f"in progress (concurrency={self.concurrency}, batch={self.batch})"
        )

    def concurrency_of(self, queue: str) -> int:
        """How many invocations at once the queue of this name may have."""
        return self.queue_concurrency.get(queue, self.concurrency)

    def server_of(self, queue: str) -> str:
        """Return what serves *queue*. On this machine, where Fargate is missing, the worker function does so in its place."""
        server = self.served_by.get(queue, LAMBDA)
        return LAMBDA if self.local and server == FARGATE else server

    @property
    def processes_serve(self) -> frozenset[str]:
        """The queues that Lambda does not serve."""
        return frozenset(queue for queue in self.served_by if self.server_of(queue) in (FARGATE, PROCESS))

    @property
    def concurrency_aside(self) -> int:
        """How many invocations at once the router and the recorder may have: on this machine, the minimum."""
        return LEAST_CONCURRENCY if self.local else self.concurrency

    @property
    def python(self) -> str:
        """The version of Python that runs the functions: Lambda's on AWS, this machine's on the local endpoint."""
        return f"{sys.version_info.major}.{sys.version_info.minor}" if self.local else "3.13"


def _is(pattern: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _is_sum(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1_000_000
