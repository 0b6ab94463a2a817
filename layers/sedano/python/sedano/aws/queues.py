"""Queues over SQS: batches of at most ten messages and 1 MiB; each message has its own answer.

Promises: a queue's name is a key of this deployment's table, never an address taken from a message. A message that SQS would refuse is
found before the call, so it costs nothing and delays no other. A message counts as accepted only if its entry is among the successful ones
of a response; a response that does not list it confirms nothing. Once a call was sent, nothing is raised: each message has its own answer,
whatever happened to the others. When SQS is unavailable or refuses the calls, the first batch that fails answers for the rest, so the
caller does not wait for every batch. A tenant becomes the `MessageGroupId`, which on a standard queue means fairness between tenants (SQS
fair queues), not order.

On a FIFO queue a serial key becomes the `MessageGroupId`. SQS accepts or refuses each entry of a call separately, so two messages of one
key are never in one call: the second could be accepted although the first was not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sedano.aws.client.error_codes import LATER, MINE, class_of, is_known
from sedano.aws.client.faults import AWS_ERRORS, code_of, fault, meaning_of, verdict
from sedano.errors import ConfigurationError, NotAccepted, SedanoError, Unavailable
from sedano.model.queues import HOLD_MOST_S, MAX_ENTRIES, SQS, batches, is_fifo, misplaced, objection, unknown_queue, weigh
from sedano.ports import Delivery, Outgoing

POLL_S, LONG_POLL_S = 5, 20
"""The longest single poll: below the read timeout of the session's clients; for a client that waits longer, the maximum of SQS."""
_GONE = frozenset({"AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist"})
_LAPSED = frozenset({"AWS.SimpleQueueService.MessageNotInflight", "MessageNotInflight", "ReceiptHandleIsInvalid"})
_TOO_LONG = "InvalidParameterValue"
"""The errors of SQS for a hold beyond 12 hours after the receipt, and for a receipt handle that it cannot read."""


class SqsQueues:
    """The queues of one deployment.

    Args:
        client: a botocore SQS client.
        urls: each queue's URL by its key, such as `commands:default`.
        monotonic: seconds that never run backwards; measures how long `receive` has waited.
        visibility: whole seconds for which a received message stays invisible; None: for as long as its queue says.
        receiver: another client, whose read timeout exceeds `LONG_POLL_S`: messages are received by it, in polls of that length.
    """

    bounds = SQS

    def __init__(
        self, client: Any, urls: Mapping[str, str], monotonic: Callable[[], float] = time.monotonic, visibility: int | None = None,
        receiver: Any = None,
    ) -> None:  # fmt: skip
        """Use the queues at *urls*; no call is made yet."""
        self._hidden = {} if visibility is None else {"VisibilityTimeout": visibility}
        self._client = client
        self._receiver, self._longest = (client, POLL_S) if receiver is None else (receiver, LONG_POLL_S)
        self._urls = dict(urls)
        self._monotonic = monotonic

    def send(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        """Send all, ten to a call and within the byte limit; answer None for each that was accepted."""
        self._url(queue)
        answers = [
            objection(message.body, message.delay, message.tenant, message.attributes)
            or misplaced(queue, message.delay, message.serial_key, message.once)
            for message in messages
        ]  # fmt: skip
        fit = [position for position, answer in enumerate(answers) if answer is None]
        if is_fifo(queue):
            self._send_in_order(queue, messages, fit, answers)
        else:
            self._send_fit(queue, messages, fit, answers)
        return answers

    def _send_in_order(
        self, queue: str, messages: Sequence[Outgoing], fit: Sequence[int], answers: list[SedanoError | None]
    ) -> None:  # fmt: skip
        """Send those that *fit*, at most one of each key in a call; the messages after one that was not accepted now get its answer."""
        from sedano.model.order import turns

        keys = [messages[position].serial_key or "" for position in fit]
        stopped: dict[str, SedanoError] = {}
        for together in turns(keys, [False] * len(keys)):
            going = [fit[one] for one in together if keys[one] not in stopped]
            for one in together:
                answers[fit[one]] = stopped.get(keys[one])
            self._send_fit(queue, messages, going, answers)
            stopped |= {messages[one].serial_key or "": why for one in going if (why := answers[one]) is not None and not why.is_final}

    def _send_fit(
        self, queue: str, messages: Sequence[Outgoing], fit: Sequence[int], answers: list[SedanoError | None]
    ) -> None:  # fmt: skip
        """Send those that *fit*, ten to a call; when SQS is unavailable or refuses the calls, the first batch that fails answers for the
        rest."""
        weights = [weigh(messages[position].body, messages[position].attributes) for position in fit]
        away: SedanoError | None = None
        for batch in batches(weights):
            positions = fit[batch.start : batch.stop]
            away = away or self._send_batch(queue, messages, positions, answers)
            if away is not None:
                for position in positions:
                    answers[position] = away

    def through(self, client: Any, urls: Mapping[str, str], receiver: Any) -> SqsQueues:
        """Return the queues at *urls* through another *client*, with the visibility of these; *receiver* makes the client that receives
        messages, where these have one.
        """
        hidden = self._hidden.get("VisibilityTimeout")
        return SqsQueues(client, urls, self._monotonic, hidden, None if self._receiver is self._client else receiver())

    def addresses(self) -> Mapping[str, str]:
        """Return each queue's URL by its key."""
        return self._urls

    def receive(self, queue: str, most: int = 10, wait: float = 0.0) -> list[Delivery]:
        """Return up to *most* (at most 10) messages, waiting up to *wait* seconds for the first."""
        until = self._monotonic() + wait
        while True:
            left = until - self._monotonic()
            found = self._poll(queue, min(most, MAX_ENTRIES), max(0, min(self._longest, round(left))))
            if found or self._monotonic() >= until - 0.5:
                return found

    def delete(self, deliveries: Sequence[Delivery]) -> None:
        """Acknowledge these messages of one queue.

        Raises:
            Unavailable: some were not acknowledged and will be delivered again, which does no harm.
        """
        failed: list[str] = []
        for start in range(0, len(deliveries), MAX_ENTRIES):
            some = deliveries[start : start + MAX_ENTRIES]
            entries = [{"Id": str(number), "ReceiptHandle": delivery.receipt} for number, delivery in enumerate(some)]
            answer = self._call("DeleteMessageBatch", some[0].queue, self._client.delete_message_batch, Entries=entries)
            failed += _not_deleted(answer, len(some))
        if failed:
            raise Unavailable(f"sqs.DeleteMessageBatch: {len(failed)} messages: {failed[0]}")

    def hold(self, delivery: Delivery, seconds: float) -> None:
        """Make a received message invisible for *seconds* from now, at most until 12 hours after its receipt; a message that is visible
        again stays visible.

        SQS refuses a hold that is too long instead of shortening it, and does not report the remaining time. On Lambda, `HOLD_MOST_S` is
        always accepted; for a process that keeps a message for longer, the hold is halved until SQS accepts it.
        """
        whole = -int(-min(max(seconds, 0.0), HOLD_MOST_S) // 1)
        while not self._held(delivery, whole):
            whole //= 2

    def _held(self, delivery: Delivery, whole: int) -> bool:
        """Return whether SQS accepted the hold; False when it is too long."""
        url = self._url(delivery.queue)
        try:
            self._client.change_message_visibility(QueueUrl=url, ReceiptHandle=delivery.receipt, VisibilityTimeout=whole)
        except AWS_ERRORS as error:
            if code_of(error) == _TOO_LONG and whole:
                return False
            if code_of(error) not in _LAPSED:
                raise self._fault(error, "ChangeMessageVisibility", delivery.queue) from error
        return True

    def _url(self, key: str) -> str:
        try:
            return self._urls[key]
        except KeyError:
            raise unknown_queue(key, self._urls) from None

    def _call(self, operation: str, queue: str, method: Callable[..., Any], **parameters: Any) -> Mapping[str, Any]:
        url = self._url(queue)
        try:
            answer: Mapping[str, Any] = method(QueueUrl=url, **parameters)
        except AWS_ERRORS as error:
            raise self._fault(error, operation, queue) from error
        return answer

    def _fault(self, error: Exception, operation: str, queue: str) -> SedanoError:
        if code_of(error) in _GONE:
            return ConfigurationError(f"sqs.{operation}: the queue of {queue} does not exist: {self._urls[queue]}")
        return fault(error, f"sqs.{operation}")

    def _send_batch(
        self, queue: str, messages: Sequence[Outgoing], positions: Sequence[int], answers: list[SedanoError | None]
    ) -> SedanoError | None:
        """Send one batch and note each answer; return the error if nothing more can be sent now."""
        entries = [_entry(position, messages[position]) for position in positions]
        try:
            answer = self._client.send_message_batch(QueueUrl=self._url(queue), Entries=entries)
        except AWS_ERRORS as error:
            if meaning_of(error) == MINE and code_of(error):
                return self._refused(queue, messages, positions, answers, error)
            away = self._fault(error, "SendMessageBatch", queue)
            away.__cause__ = error
            return away.as_answer()
        taken = {entry.get("Id") for entry in answer.get("Successful", ())}
        failed = {entry.get("Id"): entry for entry in answer.get("Failed", ())}
        for position in positions:
            answers[position] = None if str(position) in taken else _refusal(failed.get(str(position)))
        return None

    def _refused(
        self, queue: str, messages: Sequence[Outgoing], positions: Sequence[int], answers: list[SedanoError | None], error: Exception
    ) -> SedanoError | None:
        """Answer for a batch that SQS refuses as a whole: each message is sent alone, so that only the invalid ones are refused."""
        if len(positions) == 1:
            answers[positions[0]] = NotAccepted(str(self._fault(error, "SendMessageBatch", queue)))
            return None
        away: SedanoError | None = None
        for position in positions:
            away = away or self._send_batch(queue, messages, [position], answers)
            answers[position] = away or answers[position]
        return away

    def _poll(self, queue: str, most: int, wait: int) -> list[Delivery]:
        answer = self._call(
            "ReceiveMessage",
            queue,
            self._receiver.receive_message,
            MaxNumberOfMessages=most,
            WaitTimeSeconds=wait,
            MessageSystemAttributeNames=["ApproximateReceiveCount", "SentTimestamp", "MessageGroupId"],
            MessageAttributeNames=["All"],
            **self._hidden,
        )
        return [_delivery(queue, message) for message in answer.get("Messages", ())]


def _entry(position: int, message: Outgoing) -> Mapping[str, Any]:
    entry: dict[str, Any] = {"Id": str(position), "MessageBody": message.body}
    if message.delay:
        entry["DelaySeconds"] = message.delay
    if message.serial_key is not None:
        entry["MessageGroupId"] = message.serial_key
        if message.once:
            entry["MessageDeduplicationId"] = message.once
    elif message.tenant is not None:
        entry["MessageGroupId"] = message.tenant
    if message.attributes:
        entry["MessageAttributes"] = {name: {"DataType": "String", "StringValue": value} for name, value in message.attributes.items()}
    return entry


def _refusal(failed: Mapping[str, Any] | None) -> SedanoError:
    """Return why an entry that is not among the successful ones was not accepted; None: the answer does not name it at all.

    The code decides, not `SenderFault`: SQS also sets that for throttled requests, of a key or of the queue.
    """
    if failed is None:
        return Unavailable("sqs.SendMessageBatch: the response does not list this message, so it is not known to be accepted")
    code, text = str(failed.get("Code", "")), str(failed.get("Message", ""))
    meaning = class_of(code, text=text) if is_known(code) else MINE if failed.get("SenderFault") else LATER
    said = verdict("sqs.SendMessageBatch", code, text, meaning)
    return NotAccepted(str(said)) if meaning == MINE else said


def _not_deleted(answer: Mapping[str, Any], number: int) -> list[str]:
    """Return why entries 0 to *number* of a DeleteMessageBatch were not deleted; an expired receipt handle has nothing left to delete."""
    done = {entry.get("Id") for entry in answer.get("Successful", ())}
    failed = {entry.get("Id"): entry for entry in answer.get("Failed", ())}
    done |= {name for name, entry in failed.items() if entry.get("Code") in _LAPSED}
    why = {name: f"{entry.get('Code')}: {entry.get('Message', '')}" for name, entry in failed.items()}
    return [why.get(str(one), "the response does not list it") for one in range(number) if str(one) not in done]


def _delivery(queue: str, message: Mapping[str, Any]) -> Delivery:
    system = message.get("Attributes", {})
    given = message.get("MessageAttributes", {})
    return Delivery(
        queue=queue, message_id=message["MessageId"], receipt=message["ReceiptHandle"], body=message["Body"],
        receives=int(system.get("ApproximateReceiveCount", 1)), sent=int(system.get("SentTimestamp", 0)) / 1000,
        attributes={name: value["StringValue"] for name, value in given.items() if "StringValue" in value},
        serial_key=system.get("MessageGroupId") if is_fifo(queue) else None,
    )  # fmt: skip
