"""The errors of a deployment."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from botocore.exceptions import BotoCoreError, ClientError

from sedano.errors import NotAllowed, SedanoError, Unavailable

_DENIED = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"})
_ACTION = re.compile(r"perform: ([a-z0-9-]+:[A-Za-z]+)")


class DeployError(SedanoError):
    """A stage could not be deployed; the message says what to do."""


@contextmanager
def aws_errors() -> Iterator[None]:
    """Raise the errors of AWS clients in the block as errors of sedano.

    Raises:
        NotAllowed: a right is missing; its `action` names it.
        DeployError: AWS refuses a call.
        Unavailable: AWS did not answer.
    """
    try:
        yield
    except ClientError as error:
        raise _refused(error) from error
    except BotoCoreError as error:
        raise Unavailable(f"AWS did not answer: {error}; check the network, then try again") from error


def _refused(error: ClientError) -> SedanoError:
    said = error.response.get("Error", {})
    code, text = str(said.get("Code", "")), str(said.get("Message", ""))
    if code not in _DENIED:
        return DeployError(f"AWS refuses {error.operation_name} ({code}): {text}")
    named = _ACTION.search(text)
    action = named[1] if named else error.operation_name
    return NotAllowed(f"AWS refuses {error.operation_name} ({code}): {text}; add the right to your user or role", action)
