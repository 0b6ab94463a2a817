"""A driven stage to which things happen: workers die, versions meet, and what was left behind comes again."""

import json
import time
from collections.abc import Mapping
from typing import Any

from tests.trust.driven import MOST_SECONDS, ONCE, WHOLE_BATCH, Driven, record

IN_QUEUE = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed"]


class Struck(Driven):
    """What drives such a stage."""

    def client(self, service: str) -> Any:
        """A client of whoever deployed the stage, which asks once."""
        return self.stage.endpoint.session().client(service, endpoint_url=self.stage.endpoint.url, config=ONCE)

    def drain(self) -> None:
        """Let the stage move by itself until nothing is left in a queue that feeds a function."""
        give_up = time.monotonic() + MOST_SECONDS
        while any(map(self._left, self.feeds)):
            assert time.monotonic() < give_up, "messages are left"
            time.sleep(0.5)

    def _left(self, arn: str) -> int:
        found = self._sqs.get_queue_attributes(QueueUrl=self.url(arn), AttributeNames=IN_QUEUE)["Attributes"]
        return sum(map(int, found.values()))

    def take(self, kind: str) -> list[Mapping[str, Any]]:
        """Receive what waits in the queue of this kind, ten at most, as a function is handed it."""
        arn = self.arn(kind)
        found = self._sqs.receive_message(QueueUrl=self.url(arn), **WHOLE_BATCH)
        return [record(message, arn) for message in found.get("Messages", [])]

    def hand_over(self, records: list[Mapping[str, Any]], version: str) -> set[str]:
        """Invoke a version of the worker with these records and return which of them it gives back."""
        asked = {"FunctionName": self.functions["worker"], "Qualifier": version}
        answer = self._lambda.invoke(**asked, Payload=json.dumps({"Records": records}))
        return {failure["itemIdentifier"] for failure in json.load(answer["Payload"])["batchItemFailures"]}

    def said(self) -> str:
        """What the functions wrote since the last `forget`."""
        return self.stage.endpoint.log.read_text(errors="replace")[self._read :]
