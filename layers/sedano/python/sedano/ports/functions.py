"""The port of functions: the Lambda functions of the user's own that boxed tasks call."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Called(NamedTuple):
    """The answer to a call of a function: its *payload*, and whether that is the report of an error (*failed*)."""

    payload: bytes
    failed: bool = False


class CalledFunctions(Protocol):
    """The functions that a deployment knows, by the name that the app gives as `function=`."""

    def call(self, function: str, payload: bytes, seconds: float) -> Called:
        """Call *function* once with *payload* (JSON) and return its answer, waiting for at most *seconds*.

        Raises:
            BoxMissing: the deployment knows no such function, it does not exist, or the worker may not call it.
            BoxTimeout: it did not answer in time; it may still run.
            Unavailable: the call was throttled, or the service is out of reach.
        """
