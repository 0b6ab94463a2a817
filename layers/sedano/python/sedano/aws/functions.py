"""Boxed tasks in Lambda functions: each call is one `Invoke` that waits for the response. It is never repeated here; the task's retry
policy decides about another attempt.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from botocore.exceptions import ConnectTimeoutError, ReadTimeoutError

from sedano.aws.client.faults import AWS_ERRORS, fault
from sedano.errors import BoxMissing, BoxTimeout, ConfigurationError, NotAllowed
from sedano.ports.functions import Called

_CALL = "lambda.Invoke"


class LambdaFunctions:
    """The functions of one deployment.

    Args:
        client_for: returns a botocore Lambda client that makes one attempt and waits at most so many seconds for the response.
        names: the name or the ARN of each function, by the name that the app gives it.
    """

    def __init__(self, client_for: Callable[[float], Any], names: Mapping[str, str]) -> None:
        """Use these functions; no call is made yet."""
        self._client_for, self._names = client_for, names
        self._clients: dict[float, Any] = {}
        self._lock = threading.Lock()

    def call(self, function: str, payload: bytes, seconds: float) -> Called:
        """Call *function* once with *payload* and return its answer; wait at most *seconds*."""
        name = self._names.get(function)
        if name is None:
            raise BoxMissing(f"function {function!r}: SEDANO_FUNCTIONS does not name it; deploy with the setting functions={function}=ARN")
        try:
            answer = self._client(seconds).invoke(FunctionName=name, Payload=payload)
            return Called(answer["Payload"].read(), failed="FunctionError" in answer)
        except ConnectTimeoutError as error:
            raise fault(error, _CALL) from error
        except ReadTimeoutError:
            raise BoxTimeout(f"function {function!r}: no answer within timeout={seconds:g} s; it may still run") from None
        except AWS_ERRORS as error:
            raise _meaning(fault(error, _CALL), function, name) from error

    def _client(self, seconds: float) -> Any:
        with self._lock:
            if seconds not in self._clients:
                self._clients[seconds] = self._client_for(seconds)
            return self._clients[seconds]


def _meaning(found: Exception, function: str, name: str) -> Exception:
    """Return the error of a refused call: a function that does not exist, or that the worker may not call, is a missing box."""
    if isinstance(found, NotAllowed):
        return BoxMissing(f"function {function!r}: the worker may not call {name}: {found.action} is missing; list it in functions=")
    if isinstance(found, ConfigurationError):
        return BoxMissing(f"function {function!r}: {name} cannot be called: {found}")
    return found
