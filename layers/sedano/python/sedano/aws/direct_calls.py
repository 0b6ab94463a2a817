"""Direct calls over AWS: one `Invoke` of the worker function, which waits for its answer. It is never repeated here."""

from __future__ import annotations

import threading
from collections.abc import Callable
from math import ceil
from typing import Any

from botocore.exceptions import ConnectTimeoutError, ReadTimeoutError

from sedano.aws.client.faults import AWS_ERRORS, fault
from sedano.errors import ConfigurationError, NotAllowed, ResultTimeout, Unavailable

_CALL = "lambda.Invoke"
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
        self._client_for, self._worker = client_for, worker
        self._clients: dict[float, Any] = {}
        self._lock = threading.Lock()

    def call(self, request: str, seconds: float) -> bytes:
        """Call the worker once with *request* and return its answer; wait at most *seconds*."""
        if not self._worker:
            raise ConfigurationError("SEDANO_WORKER is not set, so app.invoke reaches no worker; `sedano outputs --stage NAME` prints it")
        try:
            answer = self._client(ceil(seconds)).invoke(FunctionName=self._worker, Payload=request.encode())
            data: bytes = answer["Payload"].read()
        except ConnectTimeoutError as error:
            raise fault(error, _CALL) from error
        except ReadTimeoutError:
            raise ResultTimeout(f"the worker did not answer within {seconds:g} s") from None
        except AWS_ERRORS as error:
            raise _meaning(fault(error, _CALL), self._worker) from error
        if "FunctionError" in answer:
            raise Unavailable(f"the worker ended without an answer: {data[:MOST_REPORT].decode(errors='replace')}")
        return data

    def _client(self, seconds: int) -> Any:
        with self._lock:
            if seconds not in self._clients:
                self._clients[seconds] = self._client_for(seconds)
            return self._clients[seconds]


def _meaning(found: Exception, worker: str) -> Exception:
    """Return the error of a refused call, with what to do about it."""
    if isinstance(found, NotAllowed):
        return found
    if isinstance(found, ConfigurationError):
        return ConfigurationError(f"SEDANO_WORKER: {worker} cannot be called: {found}")
    return found
