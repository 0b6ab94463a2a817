"""Boxed tasks in Lambda functions: each call is one `Invoke` that waits for the response. It is never repeated here; the task's retry
policy decides about another attempt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sedano.aws.client.invoker import Invoker
from sedano.errors import BoxMissing, BoxTimeout, ConfigurationError, NotAllowed, SedanoError
from sedano.ports.functions import Called


class LambdaFunctions:
    """The functions of one deployment.

    Args:
        client_for: returns a botocore Lambda client that makes one attempt and waits at most so many seconds for the response.
        names: the name or the ARN of each function, by the name that the app gives it.
    """

    def __init__(self, client_for: Callable[[float], Any], names: Mapping[str, str]) -> None:
        """Use these functions; no call is made yet."""
        self._invoker, self._names = Invoker(client_for), names

    def call(self, function: str, payload: bytes, seconds: float) -> Called:
        """Call *function* once with *payload* and return its answer; wait at most *seconds*."""
        name = self._names.get(function)
        if name is None:
            raise BoxMissing(f"function {function!r}: SEDANO_FUNCTIONS does not name it; deploy with the setting functions={function}=ARN")
        try:
            answer = self._invoker.once(name, payload, seconds)
        except SedanoError as error:
            raise _meaning(error, function, name) from error.__cause__
        if answer is None:
            raise BoxTimeout(f"function {function!r}: no answer within timeout={seconds:g} s; it may still run")
        return answer


def _meaning(found: Exception, function: str, name: str) -> Exception:
    """Return the error of a refused call: a function that does not exist, or that the worker may not call, is a missing box."""
    if isinstance(found, NotAllowed):
        return BoxMissing(f"function {function!r}: the worker may not call {name}: {found.action} is missing; list it in functions=")
    if isinstance(found, ConfigurationError):
        return BoxMissing(f"function {function!r}: {name} cannot be called: {found}")
    return found
