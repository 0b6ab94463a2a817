"""One `Invoke` of a Lambda function, which waits for the response. It is never repeated here: its caller decides about another attempt."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from botocore.exceptions import ReadTimeoutError

from sedano.aws.client.faults import AWS_ERRORS, fault
from sedano.ports.functions import Called

_CALL = "lambda.Invoke"


class Invoker:
    """Lambda's functions, with one client for each time that a caller waits.

    Args:
        client_for: returns a botocore Lambda client that makes one attempt and waits at most so many seconds for the response.
    """

    def __init__(self, client_for: Callable[[float], Any]) -> None:
        """Make no client and no call yet."""
        self._client_for = client_for
        self._clients: dict[float, Any] = {}
        self._lock = threading.Lock()

    def once(self, function: str, payload: bytes, seconds: float) -> Called | None:
        """Invoke *function* (its name or ARN) once with *payload* and return its answer; None: it did not answer within *seconds*."""
        try:
            answer = self._client(seconds).invoke(FunctionName=function, Payload=payload)
            return Called(answer["Payload"].read(), failed="FunctionError" in answer)
        except ReadTimeoutError:
            return None
        except AWS_ERRORS as error:
            raise fault(error, _CALL) from error

    def _client(self, seconds: float) -> Any:
        with self._lock:
            if seconds not in self._clients:
                self._clients[seconds] = self._client_for(seconds)
            return self._clients[seconds]
