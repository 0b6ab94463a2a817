"""The slim client: makes the calls in `OPERATIONS` itself, and hands any other attribute and any unusual call to its botocore client."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from operator import is_
from typing import Any, NamedTuple

from botocore import exceptions
from botocore.exceptions import BotoCoreError, HTTPClientError

from sedano.aws.client.answer_checks import Unanswered, require_answer
from sedano.aws.client.slim.answers import AnswerReader
from sedano.aws.client.slim.clock_skew import SkewedClock
from sedano.aws.client.slim.connections import Connections
from sedano.aws.client.slim.http_answers import RawAnswer
from sedano.aws.client.slim.request_form import Declined, RequestForm, identity_of, way_of_calls
from sedano.aws.client.slim.request_shapes import Fits, checker
from sedano.aws.client.slim.signature import Identity
from sedano.ports import deadlines

OPERATIONS: Mapping[str, Mapping[str, str]] = {
    "dynamodb": {
        "update_item": "UpdateItem", "put_item": "PutItem", "get_item": "GetItem", "batch_get_item": "BatchGetItem",
        "batch_execute_statement": "BatchExecuteStatement", "transact_write_items": "TransactWriteItems",
    },
    "sqs": {
        "send_message_batch": "SendMessageBatch", "send_message": "SendMessage", "receive_message": "ReceiveMessage",
        "delete_message_batch": "DeleteMessageBatch", "change_message_visibility_batch": "ChangeMessageVisibilityBatch",
    },
}  # fmt: skip
"""The calls that the slim client makes itself, by service."""
_ARN = b'"arn:'
"""A table may be named by its ARN; then its account, which botocore's endpoint rules look at, is not that of the learned request."""
_dump = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


class Operation(NamedTuple):
    """One call of a service: its name, botocore's model of it, and the check of its parameters."""

    name: str
    model: Any
    fits: Fits
    reader: AnswerReader


class SlimCall(NamedTuple):
    """One call: its *body*, what signs it, the *context* that botocore's handlers share, and how many seconds the service may *wait*."""

    operation: Operation
    identity: Identity
    body: bytes
    context: dict[str, Any]
    wait: float


class SlimClient:
    """Wraps a botocore client. Thread-safe.

    Args:
        client: the botocore client, with everything registered that observes its calls.
        service: its service.
        form: the form of its requests.
        credentials: botocore's credentials of the client.
        count: counts an attempt, by the name of its event.
        clock: seconds since the epoch, to sign with.
        sleep: waits before another attempt.
    """

    def __init__(
        self, client: Any, service: str, form: RequestForm, credentials: Any, count: Callable[[str], None], *,
        clock: Callable[[], float] = time.time, sleep: Callable[[float], None] = time.sleep,
    ) -> None:  # fmt: skip
        """Make no connection yet."""
        config = client.meta.config
        self._client, self._service, self._form, self._credentials = client, service, form, credentials
        self._count, self._sleep, self._clock = count, sleep, SkewedClock(clock)
        self._connections = Connections(form.address, config.connect_timeout, config.max_pool_connections, form.trusted)
        self._read_s, self._most = config.read_timeout, config.retries["total_max_attempts"]
        self._events, self._way = client.meta.events, way_of_calls()
        self._observed = False
        self._operations: dict[str, Operation] = {}

    @property
    def meta(self) -> ObservedMeta:
        """The client's own `meta`. Its events see each call that follows: then botocore makes them all."""
        return ObservedMeta(self._client.meta, self._observe)

    def close(self) -> None:
        """Close the connections."""
        self._connections.close()
        self._client.close()

    def __getattr__(self, name: str) -> Any:
        """Return the operation *name*, or that attribute of botocore's client."""
        if name.startswith("_"):  # a copy that is not initialised yet
            raise AttributeError(name)
        botocores = getattr(self._client, name)
        known = OPERATIONS[self._service].get(name)
        if known is None:
            return botocores
        operation = self._operation(known)

        def call(**parameters: Any) -> Any:
            return self._call(operation, botocores, parameters)

        self.__dict__[name] = call
        return call

    def _observe(self) -> None:
        self._observed = True

    def _operation(self, name: str) -> Operation:
        model = self._client.meta.service_model.operation_model(name)
        return Operation(name, model, checker(model.input_shape), AnswerReader(model))

    def _call(self, operation: Operation, botocores: Callable[..., Any], parameters: dict[str, Any]) -> Any:
        """Make one call, or let botocore make it."""
        identity = self._identity(operation, parameters)
        if identity is None:
            return botocores(**parameters)
        meta = self._client.meta
        context = {"client_config": meta.config, "client_region": meta.region_name, "has_streaming_input": False}
        event = f"{self._service}.{operation.name}"
        self._events.emit(f"before-parameter-build.{event}", params=parameters, model=operation.model, context=context)
        body = _dump(parameters).encode()
        if _ARN in body and self._service == "dynamodb":
            return botocores(**parameters)
        http, parsed = self._answered(SlimCall(operation, identity, body, context, parameters.get("WaitTimeSeconds", 0)))
        self._events.emit(f"after-call.{event}", http_response=http, parsed=parsed, model=operation.model, context=context)
        if http.status_code < 300:
            return parsed
        code = context.get("error_code_override") or parsed.get("Error", {}).get("Code")
        raise self._client.exceptions.from_code(code)(parsed, operation.name)

    def _identity(self, operation: Operation, parameters: dict[str, Any]) -> Identity | None:
        """Return what signs a call of *operation*; None if botocore must make the call."""
        if self._observed or not all(map(is_, way_of_calls(), self._way)) or not operation.fits(parameters):
            return None
        try:
            return identity_of(self._credentials)
        except Declined:
            return None

    def _answered(self, request: SlimCall) -> tuple[RawAnswer, dict[str, Any]]:
        """Send *request* until it is answered or botocore's retry handler gives up; raise the error of an attempt without an answer."""
        attempts, has_corrected = 0, False
        while True:
            attempts += 1
            found, error = self._attempt(request)
            if found is not None:
                http, parsed = found
                parsed["ResponseMetadata"]["RetryAttempts"] = attempts - 1
                if http.status_code == 200:
                    return found
                if not has_corrected and attempts < self._most and self._clock.learn(parsed.get("Error", {}), http.headers):
                    has_corrected = True
                    continue
            if not self._waited(request, attempts, found, error):
                if found is None:
                    raise error or Unanswered(why="no attempt was made")
                return found

    def _attempt(self, request: SlimCall) -> tuple[tuple[RawAnswer, dict[str, Any]] | None, BotoCoreError | None]:
        """Send *request* once; return the answer, or the error of the connection."""
        left = deadlines.left(time.monotonic())
        if left is not None and left <= 0:
            raise Unanswered(why="the deadline of the whole call has passed")
        seconds = self._read_s if left is None else min(self._read_s, left + request.wait)
        name = request.operation.name
        text = self._form.request(name, request.identity, request.body, self._clock.date())
        self._count(f"request-created.{self._service}.{name}")
        try:
            http = self._connections.exchange(text, seconds)
        except (HTTPClientError, exceptions.ConnectionError) as error:
            return None, error
        require_answer({"status_code": http.status_code, "headers": http.headers, "body": http.content})
        return (http, request.operation.reader.read(http)), None

    def _waited(
        self, request: SlimCall, attempts: int, found: tuple[RawAnswer, dict[str, Any]] | None, error: BotoCoreError | None
    ) -> bool:  # fmt: skip
        """Return whether another attempt is due, after the pause that botocore's retry handler chose for it."""
        name, asked = request.operation.name, {"context": request.context}
        answers = self._events.emit(
            f"needs-retry.{self._service}.{name}", response=found, endpoint=None, operation=request.operation.model, attempts=attempts,
            caught_exception=error, request_dict=asked,
        )  # fmt: skip
        pause = next((answer for _, answer in answers if answer is not None), None)
        if pause is None or pause is False:
            return False
        left = deadlines.left(time.monotonic())
        if left is not None and pause >= left:
            return False
        self._sleep(pause)
        return True


class ObservedMeta:
    """A client's `meta`, which reports when its events are requested."""

    __slots__ = ("_meta", "_observe")

    def __init__(self, meta: Any, observe: Callable[[], None]) -> None:
        """Wrap *meta*; call *observe* when its events are requested."""
        self._meta, self._observe = meta, observe

    @property
    def events(self) -> Any:
        """The client's events, which from now on see all its calls."""
        self._observe()
        return self._meta.events

    def __getattr__(self, name: str) -> Any:
        """Return the attribute of the client's own `meta`."""
        return getattr(self._meta, name)
