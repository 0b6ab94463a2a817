"""Errors of botocore, mapped to errors of sedano; callers of the adapters never see the former.

`sedano.aws.client.error_codes` gives each code its class. An error that may pass (throttling, timeouts, refused connections, internal
failures of a service, expired credentials) becomes `Unavailable`. A call that can never succeed becomes `TooLarge` or `NotAccepted`. A
fault that a person must fix (a missing table, a denied action, unknown credentials), and an invalid call by sedano itself, becomes
`ConfigurationError` with the service, the operation and the service's own words: the message that the call was about is valid.
"""

from __future__ import annotations

import os
import re

from botocore import exceptions
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
from botocore.parsers import ResponseParserError

from sedano.aws.client.answer_checks import NotAnAnswer, Unanswered, Unmade
from sedano.aws.client.error_codes import FINAL, LATER, MINE, class_of, class_of_transaction, is_skew, is_throttling
from sedano.errors import ConfigurationError, NotAccepted, NotAllowed, NotCalled, SedanoError, Throttled, TooLarge, Unavailable

AWS_ERRORS = (ClientError, BotoCoreError, ResponseParserError)
"""The errors that a client's call may raise."""

_PASSING = (
    exceptions.ConnectionError, HTTPClientError, ResponseParserError, NotAnAnswer, Unanswered, exceptions.CredentialRetrievalError,
    exceptions.MetadataRetrievalError, exceptions.TokenRetrievalError, exceptions.IncompleteReadError, exceptions.ChecksumError,
    exceptions.FlexibleChecksumError, exceptions.CapacityNotAvailableError,
)  # fmt: skip
"""botocore's own errors for a missing or incomplete response."""
_VENDED = ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_WEB_IDENTITY_TOKEN_FILE")
"""If one of these variables is set, the credentials are from a service, which may be unavailable for a moment."""

_NOBODY = "set AWS_PROFILE, or AWS_DEFAULT_REGION and access keys; check them with `aws sts get-caller-identity`"
_EXPIRED = "the credentials of this shell have expired: renew them, and check them with `aws sts get-caller-identity`"
_FOREIGN = "the endpoint rejects these credentials: `aws sts get-caller-identity` shows their owner, AWS_ENDPOINT_URL its address"
_DENIED = "these credentials do not allow this; is this the stage and the AWS account that the SEDANO_* variables were made for?"
_GONE = "is this the stage, and the AWS account and region, that the SEDANO_* variables were made for?"
_CLOCK = "the clock of this machine is wrong: set it, or turn time synchronisation (NTP) on"
_MISSING = {
    "dynamodb": f"the table that SEDANO_LEDGER_TABLE or SEDANO_CONTROL_TABLE names does not exist; {_GONE}",
    "scheduler": f"the schedule or the group that SEDANO_TIMERS_GROUP names does not exist; {_GONE}",
    "lambda": f"the event source mapping that SEDANO_MAPPINGS names does not exist; {_GONE}",
}
"""The meaning of a `ResourceNotFoundException`, by the service."""
_HINTS = {
    "ExpiredToken": _EXPIRED,
    "ExpiredTokenException": _EXPIRED,
    "RequestExpired": _EXPIRED,
    "TokenRefreshRequired": _EXPIRED,
    "RequestTimeTooSkewed": _CLOCK,
    "RequestInTheFuture": _CLOCK,
    "InvalidAccessKeyId": _FOREIGN,
    "InvalidClientTokenId": _FOREIGN,
    "UnrecognizedClientException": _FOREIGN,
    "AccessDenied": _DENIED,
    "AccessDeniedException": _DENIED,
    "NoSuchBucket": f"the bucket that SEDANO_BLOBS_BUCKET or SEDANO_HISTORY_BUCKET names does not exist; {_GONE}",
}
"""The place to check, for errors whose message does not name it."""
_ARE_DENIALS = frozenset({"AccessDenied", "AccessDeniedException"})
_ACTIONS = {
    "HeadObject": "GetObject", "ListObjectsV2": "ListBucket", "DeleteObjects": "DeleteObject", "Invoke": "InvokeFunction",
    "SendMessageBatch": "SendMessage", "DeleteMessageBatch": "DeleteMessage", "ChangeMessageVisibilityBatch": "ChangeMessageVisibility",
}  # fmt: skip
"""The IAM action of an operation whose action has another name."""


def code_of(error: Exception) -> str:
    """Return the service's error code, or an empty string if no service answered."""
    return str(error.response.get("Error", {}).get("Code", "")) if isinstance(error, ClientError) else ""


def status_of(error: Exception) -> int:
    """Return the HTTP status, or 0 if no service answered."""
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)) if isinstance(error, ClientError) else 0


def reasons_of(error: Exception) -> list[str]:
    """Return why each write of a transaction was cancelled, in the order of the writes; empty for any other error."""
    if not isinstance(error, ClientError) or code_of(error) != "TransactionCanceledException":
        return []
    return [str(reason.get("Code", "")) for reason in error.response.get("CancellationReasons", ())]


def is_conflict(error: Exception) -> bool:
    """Return whether DynamoDB refused a write, or all writes of a transaction, because a transaction of another writer was in progress.

    Nothing was written. A transaction that a condition refuses too does not count.
    """
    if code_of(error) == "TransactionConflictException":
        return True
    return "TransactionConflict" in reasons_of(error) and meaning_of(error) == LATER


def meaning_of(error: Exception) -> str:
    """Return the class of a service's error (`sedano.aws.client.error_codes`), or of an error without an answer."""
    if not isinstance(error, ClientError):
        return LATER if _passes(error) else MINE
    reasons = reasons_of(error)
    return class_of_transaction(reasons) if reasons else class_of(code_of(error), status_of(error), _words(error))


def fault(error: Exception, call: str) -> SedanoError:
    """Return what *error* means for the caller; *call* is `service.Operation`."""
    if not isinstance(error, ClientError):
        return _unanswered(error, call)
    return verdict(call, code_of(error), _words(error), meaning_of(error))


def verdict(call: str, code: str, text: str, meaning: str) -> SedanoError:
    """Return the error for *call*, which the service answered with *code* and *text*; *meaning* is the class of the code."""
    said = f"{call}: {code}: {text}"
    if meaning == FINAL or (code == "ValidationException" and _is_too_large(text)):
        return TooLarge(said) if "ize" in text or "ize" in code else NotAccepted(said)
    hint = _hint(call.partition(".")[0], code, text)
    said += f" ({hint})" if hint else ""
    if meaning == LATER:
        return (Throttled if is_throttling(code) else Unavailable)(said)
    return NotAllowed(said, _action(call, text)) if code in _ARE_DENIALS else ConfigurationError(said)


def _unanswered(error: Exception, call: str) -> SedanoError:
    """Return what an error of botocore itself means: no service answered."""
    if _passes(error):
        return (NotCalled if isinstance(error, Unmade) else Unavailable)(f"{call}: no answer: {error}")
    if isinstance(error, exceptions.NoCredentialsError | exceptions.NoRegionError | exceptions.ProfileNotFound):
        return ConfigurationError(f"{call}: {error} ({_NOBODY})")
    return ConfigurationError(f"{call}: {error}")


def _passes(error: Exception) -> bool:
    if isinstance(error, exceptions.SSLError) and "CERTIFICATE_VERIFY_FAILED" in str(error):
        return False
    if isinstance(error, exceptions.NoCredentialsError):
        return any(os.environ.get(name) for name in _VENDED)
    return isinstance(error, _PASSING)


def _words(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Message", ""))


def _action(call: str, text: str) -> str:
    """Return the missing IAM action: the action that AWS's message names, else the action of the *call*."""
    named = re.search(r"perform: ([a-z0-9-]+:[A-Za-z]+)", text)
    service, _, operation = call.partition(".")
    return named.group(1) if named else f"{service}:{_ACTIONS.get(operation, operation)}"


def _is_too_large(text: str) -> bool:
    """Return whether the item of a call is too large; False for an expression or a key that is too long."""
    return text.startswith("Item size") and "exceeded" in text


def _hint(service: str, code: str, text: str) -> str | None:
    if code == "ResourceNotFoundException":
        return _MISSING.get(service)
    if is_skew(text) and code in ("InvalidSignatureException", "SignatureDoesNotMatch"):
        return _CLOCK
    return _HINTS.get(code)
