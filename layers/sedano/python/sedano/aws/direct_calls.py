"""Direct calls over AWS: one `Invoke` of the worker function, or one signed request to its URL, which waits for its answer. It is never
repeated here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import ceil
from typing import Any

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.exceptions import ReadTimeoutError
from botocore.httpsession import URLLib3Session

from sedano.aws.client.faults import AWS_ERRORS, fault
from sedano.aws.client.invoker import Invoker
from sedano.aws.client.session import CONNECT_TIMEOUT_S
from sedano.errors import ConfigurationError, NotAllowed, ResultTimeout, SedanoError, Unavailable

_URL_CALL = "lambda.InvokeFunctionUrl"
_REGION = re.compile(r"\.lambda-url\.([a-z0-9-]+)\.on\.aws").search
IDENTITY = "x-amzn-requestid"
"""The header that every answer of a function URL has; an answer without it is of a proxy."""
_ACTION = "lambda:InvokeFunctionUrl"
MOST_REPORT = 300
"""The most characters of the report of a failed function in an error."""


class LambdaDirectCalls:
    """The worker function of one deployment.

    Args:
        client_for: returns a botocore Lambda client that makes one attempt and waits at most so many seconds for the response.
        worker: the name or the ARN of the worker function, or of its alias.
    """

    def __init__(self, client_for: Callable[[float], Any], worker: str) -> None:
        """Use this function; no call is made yet."""
        self._invoker, self._worker = Invoker(client_for), worker

    def call(self, request: str, seconds: float) -> bytes:
        """Call the worker once with *request* and return its answer; wait at most *seconds*."""
        if not self._worker:
            raise ConfigurationError(
                "SEDANO_WORKER is not set, so app.invoke reaches no worker; `sedano outputs --stage NAME` prints it, unless the stage was "
                "deployed with an older version: then deploy it again"
            )
        try:
            answer = self._invoker.once(self._worker, request.encode(), ceil(seconds))
        except SedanoError as error:
            raise _meaning(error, self._worker) from error.__cause__
        if answer is None:
            raise _late(seconds)
        if answer.failed:
            raise Unavailable(f"the worker ended without an answer: {answer.payload[:MOST_REPORT].decode(errors='replace')}")
        return answer.payload


class UrlDirectCalls:
    """The worker function behind its URL, which lets in requests that IAM allows.

    Args:
        identity: see `Session.identity`; its Region signs for a URL that names none.
        url: the address.
    """

    def __init__(self, identity: Callable[[], tuple[Any, str, str | bool]], url: str) -> None:
        """Use this address; no call is made yet."""
        self._identity, self._url = identity, url

    def call(self, request: str, seconds: float) -> bytes:
        """Post *request* once, signed, and return the worker's answer; wait at most *seconds*."""
        credentials, region, trusted = self._identity()
        named, options = _REGION(self._url), dict[str, Any](verify=trusted, timeout=(CONNECT_TIMEOUT_S, seconds))
        asked = AWSRequest("POST", self._url, data=request.encode(), headers={"Content-Type": "application/json"})
        SigV4Auth(credentials, "lambda", named[1] if named else region).add_auth(asked)
        try:
            answer = URLLib3Session(**options).send(asked.prepare())
            data: bytes = answer.content
        except ReadTimeoutError:
            raise _late(seconds) from None
        except AWS_ERRORS as error:
            raise fault(error, _URL_CALL) from error
        return self._checked(answer.status_code, {name.lower() for name in answer.headers}, data)

    def _checked(self, status: int, headers: set[str], data: bytes) -> bytes:
        """Return *data* if it is the worker's answer."""
        said = data[:MOST_REPORT].decode(errors="replace")
        if IDENTITY not in headers:
            raise Unavailable(f"{_URL_CALL}: the response with status {status} is not from Lambda: is a proxy in between?")
        if status == 200:
            return data
        if status in (401, 403):
            why = f"does not let these credentials in ({said}): they need {_ACTION} and lambda:InvokeFunction"
            raise NotAllowed(f"SEDANO_WORKER: {self._url} {why}", _ACTION)
        if status == 404:
            raise ConfigurationError(f"SEDANO_WORKER: {self._url} cannot be called: {said}")
        raise Unavailable(f"the worker ended without an answer: status {status}, {said}")


def _late(seconds: float) -> ResultTimeout:
    return ResultTimeout(f"the worker did not answer within {seconds:g} s")


def _meaning(found: Exception, worker: str) -> Exception:
    """Return the error of a refused call, with what to do about it."""
    if isinstance(found, NotAllowed):
        return found
    if isinstance(found, ConfigurationError):
        return ConfigurationError(f"SEDANO_WORKER: {worker} cannot be called: {found}")
    return found
