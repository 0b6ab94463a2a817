"""Errors of botocore, mapped at the rim: the rest of sedano never sees one.

Throttling, timeouts, refused connections and a service's own failures become `Unavailable`: trying later is safe. What
no retry can mend (a missing table, a denied action, bad credentials, a call the service calls invalid) becomes
`ConfigurationError` with the service, the operation and the service's own words.
"""

from __future__ import annotations

from botocore import exceptions
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError

from sedano.errors import ConfigurationError, SedanoError, TooLarge, Unavailable

AWS_ERRORS = (ClientError, BotoCoreError)
"""What a client's call may raise."""

_LATER = frozenset({
    "InternalFailure",
    "InternalServerError",
    "InternalError",
    "KmsThrottled",
    "LimitExceededException",
    "OperationAborted",
    "OverLimit",
    "PriorRequestNotComplete",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "RequestThrottled",
    "RequestThrottledException",
    "RequestTimeout",
    "ServiceUnavailable",
    "SlowDown",
    "ThrottledException",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
    "TransactionConflictException",
    "TransactionInProgressException",
})  # fmt: skip

_NOBODY = "name a profile in AWS_PROFILE, or give AWS_DEFAULT_REGION and keys; `aws sts get-caller-identity` answers when they are good"
_EXPIRED = "the credentials of this shell are not valid any more: renew them until `aws sts get-caller-identity` answers"
_FOREIGN = "the credentials of this shell are not known there: `aws sts get-caller-identity` tells whose they are, AWS_ENDPOINT_URL where"
_DENIED = "whoever has these credentials may not do this; is this the stage and the AWS account that the SEDANO_* variables were made for?"
_GONE = "is this the stage, and the AWS account and region, that the SEDANO_* variables were made for?"
_HINTS = {
    "ResourceNotFoundException": f"the table that SEDANO_LEDGER_TABLE or SEDANO_CONTROL_TABLE names is not there; {_GONE}",
    "ExpiredToken": _EXPIRED,
    "ExpiredTokenException": _EXPIRED,
    "InvalidAccessKeyId": _FOREIGN,
    "InvalidClientTokenId": _FOREIGN,
    "UnrecognizedClientException": _FOREIGN,
    "AccessDenied": _DENIED,
    "AccessDeniedException": _DENIED,
    "NoSuchBucket": f"the bucket that SEDANO_BLOBS_BUCKET or SEDANO_HISTORY_BUCKET names is not there; {_GONE}",
}
"""What to look at, where a service's own words name nothing."""


def code_of(error: Exception) -> str:
    """Return the service's error code, or an empty text when no service answered."""
    return str(error.response.get("Error", {}).get("Code", "")) if isinstance(error, ClientError) else ""


def status_of(error: Exception) -> int:
    """Return the HTTP status, or 0 when no service answered."""
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)) if isinstance(error, ClientError) else 0


def fault(error: Exception, call: str) -> SedanoError:
    """Return what *error* means for the caller; *call* is `service.Operation`."""
    if not isinstance(error, ClientError):
        if isinstance(error, (exceptions.ConnectionError, HTTPClientError)):
            return Unavailable(f"{call}: no answer: {error}")
        if isinstance(error, exceptions.NoCredentialsError | exceptions.NoRegionError | exceptions.ProfileNotFound):
            return ConfigurationError(f"{call}: {error} ({_NOBODY})")
        return ConfigurationError(f"{call}: {error}")
    code, text = code_of(error), str(error.response.get("Error", {}).get("Message", ""))
    if code in _LATER or status_of(error) >= 500:
        return Unavailable(f"{call}: {code}: {text}")
    if code == "ValidationException" and "size" in text and "exceeded" in text:
        return TooLarge(f"{call}: {text}")
    hint = _HINTS.get(code)
    return ConfigurationError(f"{call}: {code}: {text}{f' ({hint})' if hint else ''}")
