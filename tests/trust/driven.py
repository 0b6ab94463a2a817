"""A deployed stage that moves only when told to: its mappings and its schedules are off, and what waits in its queues is handed over
batch by batch.

The functions are the deployed ones, each under its own role. Nothing waits for a poll, so a walk of a message takes as
long as its calls, and what a function was denied stands in the log by the time it answers.
"""

import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import boto3
import botocore.session
from botocore.config import Config
from botocore.loaders import create_loader

from sedano.local import LocalStage
from sedano.local.endpoint import REGION
from tests.trust.grants import kind_of
from tests.trust.killing import kill

WHOLE_BATCH = {
    "MaxNumberOfMessages": 10, "MessageAttributeNames": ["All"],
    "MessageSystemAttributeNames": ["ApproximateReceiveCount", "SentTimestamp"],
}  # fmt: skip
"""What a batch is received with: all that a function is handed of a message."""
HELD_BACK = ["ApproximateNumberOfMessagesDelayed", "ApproximateNumberOfMessagesNotVisible"]
SCHEDULE = {"GroupName", "Name", "ScheduleExpression", "FlexibleTimeWindow", "ActionAfterCompletion", "Target", "State"}
DESCRIPTIONS = create_loader()
"""Reads what the services are like once for all clients: that is most of what a client costs."""
MOST_ROUNDS = 40
MOST_SECONDS = 400.0
SOON_S = 10.0
ONCE = Config(read_timeout=MOST_SECONDS, retries={"max_attempts": 0})  # an invocation may take its time, and each is counted
ROLE = re.compile(r"sedano-\w+-(core|pipeline|release)-(\w*?)Role")
DENIED = re.compile(r"role/" + ROLE.pattern + r"\S+ is not authorized to perform: ([\w:]+)")


@dataclass
class Driven:
    """What drives a stage, and what it saw. Roles are called by what works under them: `worker`, `timers`, `eachminute`, `pipeline`."""

    stage: LocalStage
    feeds: dict[str, str] = field(default_factory=dict)
    functions: dict[str, str] = field(default_factory=dict)
    roles: dict[str, str] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    unfinished: dict[str, tuple[str, str]] = field(default_factory=dict)
    _read: int = 0

    def __post_init__(self) -> None:
        """Find the functions and roles, and turn every mapping and every schedule off."""
        self._session = self.stage.endpoint.session()
        self._lambda, self._sqs, self._s3 = functions, _, _ = self.client("lambda"), self.client("sqs"), self.client("s3")
        for function in functions.list_functions()["Functions"]:
            name = re.sub(r"^sedano-\w+-core-|Function.*$", "", function["FunctionName"]).lower()
            self.functions[name] = function["FunctionName"]
        self.find_roles()
        for schedule in self.schedules():
            self.client("scheduler").update_schedule(**{**schedule, "State": "DISABLED"})
        for mapping in functions.list_event_source_mappings()["EventSourceMappings"]:
            functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
            if ":sqs:" in mapping["EventSourceArn"]:
                owner = mapping["FunctionArn"].split(":")[6]
                self.feeds[mapping["EventSourceArn"]] = next(name for name, function in self.functions.items() if function == owner)

    def find_roles(self) -> None:
        """Know every role that is deployed by now."""
        names = [role["RoleName"] for role in self.client("iam").list_roles()["Roles"]]
        self.roles = {_called(found): name for name in names if (found := ROLE.match(name))}

    def client(self, service: str) -> Any:
        """A client of whoever deployed the stage; it may do everything."""
        return self._session.client(service, endpoint_url=self.stage.endpoint.url)

    def become(self, role: str, service: str) -> Any:
        """A client that may do what this role may."""
        given = self._given(role)
        core = botocore.session.Session()
        core.register_component("data_loader", DESCRIPTIONS)
        core.set_config_variable("ca_bundle", str(self.stage.endpoint.certificate))
        return boto3.Session(botocore_session=core, region_name=REGION, **given).client(service, endpoint_url=self.stage.endpoint.url)

    @contextmanager
    def acting(self, role: str) -> Iterator[None]:
        """Whatever asks the environment of this process who it is, is told: this role; while the block runs."""
        before = dict(os.environ)
        os.environ.update({name.upper(): value for name, value in self._given(role).items()})
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)

    def _given(self, role: str) -> dict[str, str]:
        """The keys of this role, as a session of boto3 calls them."""
        arn = f"arn:aws:iam::{self.account}:role/{self.roles[role]}"
        given = self.client("sts").assume_role(RoleArn=arn, RoleSessionName=role)["Credentials"]
        names = {"access_key_id": "AccessKeyId", "secret_access_key": "SecretAccessKey", "session_token": "SessionToken"}
        return {f"aws_{name}": str(given[there]) for name, there in names.items()}

    @property
    def account(self) -> str:
        """The account that the stage is in."""
        return str(self.client("sts").get_caller_identity()["Account"])

    def schedules(self, group: str = "default") -> list[dict[str, Any]]:
        """The schedules of a group, as they were asked for."""
        scheduler = self.client("scheduler")
        names = [entry["Name"] for entry in scheduler.list_schedules(GroupName=group)["Schedules"]]
        found = [scheduler.get_schedule(GroupName=group, Name=name) for name in names]
        return [{name: one[name] for name in SCHEDULE & one.keys()} for one in found]

    def mappings(self) -> dict[str, str]:
        """The UUIDs of the mappings, by the kind of queue or stream that each joins to a function; of several of a kind, any."""
        found = self._lambda.list_event_source_mappings()["EventSourceMappings"]
        return {kind_of(mapping["EventSourceArn"]): mapping["UUID"] for mapping in found}

    def move(self, wait: int = 0) -> None:
        """Hand over what waits, and what follows from it, until nothing came for `wait` seconds."""
        for _ in range(MOST_ROUNDS):
            if not sum([self._hand_over(arn) for arn in self.feeds]) and not (wait and self.move_one("commands", wait)):
                return
        raise AssertionError(f"messages come again and again; the end of the log:\n{self.stage.endpoint.last_lines()}")

    def move_one(self, kind: str, wait: int = 0) -> int:
        """Hand over one batch of the queue of this kind, if something comes within `wait` seconds, and return how many messages it had."""
        return self._hand_over(self.arn(kind), wait)

    def move_at_once(self, kind: str, processes: int, wait: int = 0) -> None:
        """Hand over so many batches of the queue of this kind at the same time: as many processes of its function work."""
        with ThreadPoolExecutor(processes) as together:
            list(together.map(lambda _: self.move_one(kind, wait), range(processes)))

    def _hand_over(self, arn: str, wait: int = 0) -> int:
        sqs, url = self._sqs, self.url(arn)
        found = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=wait, **WHOLE_BATCH).get("Messages", [])
        if found:
            failed = self.invoke(self.feeds[arn], [record(message, arn) for message in found])
            for message in found:
                if message["MessageId"] in failed:
                    self.unfinished[message["MessageId"]] = url, message["ReceiptHandle"]
                else:
                    self.unfinished.pop(message["MessageId"], None)
                    sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        return len(found)

    def settle(self, *results: Any) -> None:
        """Move until all of these have ended; what a crash left behind comes again at once.

        What then waits for the end of the dead worker's claim comes by itself, as it does on AWS: hurried too, it would
        be received so often that it counts as poison.
        """
        give_up = time.monotonic() + MOST_SECONDS
        self.hurry()
        while not all(result.ready() for result in results):
            assert time.monotonic() < give_up, [result.state for result in results]
            failed = len(self.failures)
            self.move(1)
            if len(self.failures) > failed:
                self.hurry()

    @contextmanager
    def moving(self) -> Iterator[None]:
        """What waits in queues moves by itself while the block runs."""
        self._switch(on=True)
        try:
            yield
        finally:
            self._switch(on=False)

    def _switch(self, *, on: bool) -> None:
        for mapping in self._lambda.list_event_source_mappings()["EventSourceMappings"]:
            self._lambda.update_event_source_mapping(UUID=mapping["UUID"], Enabled=on and mapping["EventSourceArn"] in self.feeds)

    def counted(self, metric: str) -> float:
        """The sum of a metric that the functions emitted since the last `forget`."""
        text = self.stage.endpoint.log.read_text(errors="replace")[self._read :]
        return sum(float(value) for value in re.findall(rf'"{metric}":\[([\d.]+)', text))

    def comes_to(self, metric: str, number: float) -> bool:
        """Whether the sum of a metric comes to `number`: what a function said stands in the log soon after its answer."""
        give_up = time.monotonic() + SOON_S
        while self.counted(metric) != number and time.monotonic() < give_up:
            time.sleep(0.05)
        return self.counted(metric) == number

    def cool(self) -> None:
        """Let every function start cold at its next invocation; one that is only about to die would still be handed it."""
        for process in self.stage.endpoint.functions():
            kill(process.pid)

    def hurry(self) -> None:
        """Let what was held back, or given back, come again now instead of when its time is over."""
        for url, receipt in self.unfinished.values():
            self._sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=receipt, VisibilityTimeout=0)
        self.unfinished.clear()

    def invoke(self, function: str, records: list[Mapping[str, Any]]) -> set[str]:
        """Invoke a function with these records and return which of them it could not finish: all, when it fails as a whole."""
        said = self.ask(function, {"Records": records})
        return {record["messageId"] for record in records} if said is None else {one["itemIdentifier"] for one in said["batchItemFailures"]}

    def round(self, function: str) -> Mapping[str, int]:
        """Let the scheduler or the controller do a round, as each minute does, and return what it did: nothing, when it failed."""
        return self.ask(function, {}) or {}

    def rounds(self, function: str, number: int) -> list[Mapping[str, int]]:
        """Let so many rounds run at the same time, in as many processes."""
        once = self.stage.endpoint.session().client("lambda", endpoint_url=self.stage.endpoint.url, config=ONCE)
        with ThreadPoolExecutor(number) as together:
            return list(together.map(lambda _: self.ask(function, {}, once) or {}, range(number)))

    def ask(self, function: str, event: Mapping[str, Any], client: Any = None) -> Mapping[str, Any] | None:
        """Invoke a function with this event and return its answer; None when it failed, which is remembered."""
        answer = (client or self._lambda).invoke(FunctionName=self.functions[function], Payload=json.dumps(event))
        said: Mapping[str, Any] = json.load(answer["Payload"])
        if "FunctionError" not in answer:
            return said
        self.failures.append(f"{function}: {said}")
        return None

    def arn(self, kind: str) -> str:
        """The ARN of the queue of this kind that feeds a function."""
        return next(arn for arn in self.feeds if kind_of(arn) == kind)

    def url(self, arn: str) -> str:
        """The address of the queue with this ARN."""
        return str(self._sqs.get_queue_url(QueueName=arn.rpartition(":")[2])["QueueUrl"])

    def send(self, kind: str, body: str) -> None:
        """Send a message as anybody may write it."""
        self._sqs.send_message(QueueUrl=self.url(self.arn(kind)), MessageBody=body)

    def parked(self) -> int:
        """How many messages were set aside since the last `forget`."""
        return self._number(self.stage.environment["SEDANO_PARKED_QUEUE"])

    def forget_keys(self) -> None:
        """Let the stage have no keys, as when it was just deployed, and every function start cold."""
        ssm = self.client("ssm")
        ssm.delete_parameters(Names=[f"/sedano/{self.stage.environment['SEDANO_STAGE']}/keys"])
        self.cool()

    def marked(self) -> list[bool]:
        """For each message that was set aside, whether it bears a mark."""
        url = self.stage.environment["SEDANO_PARKED_QUEUE"]
        found = self._sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=0, MessageAttributeNames=["All"])
        return ["seal" in one.get("MessageAttributes", {}) for one in found.get("Messages", ())]

    def waiting(self, kind: str) -> int:
        """How many messages there are in the queue of this kind, those included that it holds back."""
        return self._number(self.url(self.arn(kind)), *HELD_BACK)

    def _number(self, url: str, *more: str) -> int:
        asked = ["ApproximateNumberOfMessages", *more]
        return sum(map(int, self._sqs.get_queue_attributes(QueueUrl=url, AttributeNames=asked)["Attributes"].values()))

    def keys(self, bucket: str, prefix: str = "") -> list[str]:
        """The keys below a prefix that a bucket holds: `BLOBS` or `HISTORY`."""
        name = self.stage.environment[f"SEDANO_{bucket}_BUCKET"]
        pages = self._s3.get_paginator("list_objects_v2").paginate(Bucket=name, Prefix=prefix)
        return [entry["Key"] for page in pages for entry in page.get("Contents", [])]

    def remove_objects(self, bucket: str) -> None:
        """Empty a bucket, as nobody but its owner can."""
        name = self.stage.environment[f"SEDANO_{bucket}_BUCKET"]
        for key in self.keys(bucket):
            self._s3.delete_object(Bucket=name, Key=key)

    def forget(self) -> None:
        """Empty every queue, so that one walk leaves nothing to the next, and read the log to its end."""
        for url in self._sqs.list_queues()["QueueUrls"]:
            self._sqs.purge_queue(QueueUrl=url)
        self.failures.clear()
        self.unfinished.clear()
        self.denied()

    def denied(self) -> list[str]:
        """What was denied to the functions since this was asked last, each once: whose role, and the action."""
        text = self.stage.endpoint.log.read_text(errors="replace")
        fresh, self._read = text[self._read :], len(text)
        return sorted({f"{_called(found)} {found[3]}" for found in DENIED.finditer(fresh)})


def _called(found: re.Match[str]) -> str:
    """How a role is called: a stack that has but one is called as its stack."""
    return found[2].lower() or found[1]


def record(message: Mapping[str, Any], arn: str) -> Mapping[str, Any]:
    """Return what Lambda makes of a received *message* for the function."""
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": message["Attributes"],
        "messageAttributes": {
            name: {"dataType": held["DataType"], "stringValue": held["StringValue"]}
            for name, held in message.get("MessageAttributes", {}).items()
        },
        "md5OfBody": message["MD5OfBody"],
        "eventSource": "aws:sqs",
        "eventSourceARN": arn,
        "awsRegion": "us-east-1",
    }
