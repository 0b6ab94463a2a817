"""A deployed stage that moves only when told to: its mappings are off, and what waits in its queues is handed over batch by batch.

The functions are the deployed ones, each under its own role. Nothing waits for a poll, so a walk of a message takes as
long as its calls, and what a function was denied stands in the log by the time it answers.
"""

import json
import os
import re
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sedano.local import LocalStage
from tests.trust.grants import kind_of

ATTRIBUTES = ["ApproximateReceiveCount", "SentTimestamp"]
MOST_ROUNDS = 40
MOST_SECONDS = 400.0
DENIED = re.compile(r"role/[\w-]+-(Worker|Router|Recorder)Role\S+ is not authorized to perform: ([\w:]+)")


@dataclass
class Driven:
    """What drives a stage, and what it saw."""

    stage: LocalStage
    feeds: dict[str, str] = field(default_factory=dict)
    functions: dict[str, str] = field(default_factory=dict)
    roles: dict[str, str] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    unfinished: dict[str, tuple[str, str]] = field(default_factory=dict)
    _read: int = 0

    def __post_init__(self) -> None:
        """Find the functions and turn every mapping off."""
        self._lambda, self._sqs, self._s3 = functions, _, _ = self.client("lambda"), self.client("sqs"), self.client("s3")
        for function in functions.list_functions()["Functions"]:
            name = re.sub(r"^sedano-\w+-core-|Function.*$", "", function["FunctionName"]).lower()
            self.functions[name], self.roles[name] = function["FunctionName"], function["Role"].split("/")[-1]
        for mapping in functions.list_event_source_mappings()["EventSourceMappings"]:
            functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
            owner = mapping["FunctionArn"].split(":")[6]
            self.feeds[mapping["EventSourceArn"]] = next(name for name, function in self.functions.items() if function == owner)

    def client(self, service: str) -> Any:
        """A client of whoever deployed the stage; it may do everything."""
        return self.stage.endpoint.session().client(service, endpoint_url=self.stage.endpoint.url)

    def move(self, wait: int = 0) -> None:
        """Hand over what waits, and what follows from it, until nothing came for `wait` seconds."""
        for _ in range(MOST_ROUNDS):
            if not sum([self._move_one(arn) for arn in self.feeds]) and not (wait and self._move_one(self.arn("commands"), wait)):
                return
        raise AssertionError(f"messages come again and again; the end of the log:\n{self.stage.endpoint.last_lines()}")

    def _move_one(self, arn: str, wait: int = 0) -> int:
        sqs, url = self._sqs, self.url(arn)
        asked = {"QueueUrl": url, "MaxNumberOfMessages": 10, "WaitTimeSeconds": wait, "MessageSystemAttributeNames": ATTRIBUTES}
        found = sqs.receive_message(**asked).get("Messages", [])
        if found:
            failed = self.invoke(self.feeds[arn], [_record(message, arn) for message in found])
            for message in found:
                if message["MessageId"] in failed:
                    self.unfinished[message["MessageId"]] = url, message["ReceiptHandle"]
                else:
                    self.unfinished.pop(message["MessageId"], None)
                    sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        return len(found)

    def settle(self, *results: Any) -> None:
        """Move, at least once a second, until all of these have ended: what crashed is begun again when its claim has run out."""
        give_up = time.monotonic() + MOST_SECONDS
        while not all(result.ready() for result in results):
            assert time.monotonic() < give_up, [result.state for result in results]
            self.hurry()
            self.move(1)

    @contextmanager
    def moving(self) -> Iterator[None]:
        """The stage moves by itself while the block runs."""
        self._switch(on=True)
        try:
            yield
        finally:
            self._switch(on=False)

    def _switch(self, *, on: bool) -> None:
        for mapping in self._lambda.list_event_source_mappings()["EventSourceMappings"]:
            self._lambda.update_event_source_mapping(UUID=mapping["UUID"], Enabled=on)

    def counted(self, metric: str) -> float:
        """The sum of a metric that the functions emitted since the last `forget`."""
        text = self.stage.endpoint.log.read_text(errors="replace")[self._read :]
        return sum(float(value) for value in re.findall(rf'"{metric}":\[([\d.]+)', text))

    def cool(self) -> None:
        """Let every function start cold at its next invocation."""
        for process in self.stage.endpoint.functions():
            os.kill(process.pid, signal.SIGKILL)

    def hurry(self) -> None:
        """Let what was held back, or given back, come again now instead of when its time is over."""
        for url, receipt in self.unfinished.values():
            self._sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=receipt, VisibilityTimeout=0)
        self.unfinished.clear()

    def invoke(self, function: str, records: list[Mapping[str, Any]]) -> set[str]:
        """Invoke a function with these records and return which of them it could not finish: all, when it fails as a whole."""
        answer = self._lambda.invoke(FunctionName=self.functions[function], Payload=json.dumps({"Records": records}))
        said = json.load(answer["Payload"])
        if "FunctionError" in answer:
            self.failures.append(f"{function}: {said}")
            return {record["messageId"] for record in records}
        return {failure["itemIdentifier"] for failure in said["batchItemFailures"]}

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
        url = self.stage.environment["SEDANO_PARKED_QUEUE"]
        asked = self._sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages"])
        return int(asked["Attributes"]["ApproximateNumberOfMessages"])

    def objects(self, bucket: str) -> int:
        """How many objects a bucket holds: `BLOBS` or `HISTORY`."""
        return int(self._s3.list_objects_v2(Bucket=self.stage.environment[f"SEDANO_{bucket}_BUCKET"])["KeyCount"])

    def remove_objects(self, bucket: str) -> None:
        """Empty a bucket, as nobody but its owner can."""
        name = self.stage.environment[f"SEDANO_{bucket}_BUCKET"]
        for entry in self._s3.list_objects_v2(Bucket=name).get("Contents", []):
            self._s3.delete_object(Bucket=name, Key=entry["Key"])

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
        return sorted({f"{found[1].lower()} {found[2]}" for found in DENIED.finditer(fresh)})


def _record(message: Mapping[str, Any], arn: str) -> Mapping[str, Any]:
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": message["Attributes"],
        "messageAttributes": {},
        "md5OfBody": message["MD5OfBody"],
        "eventSource": "aws:sqs",
        "eventSourceARN": arn,
        "awsRegion": "us-east-1",
    }
