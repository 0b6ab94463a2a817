"""The meaning of each AWS error code for the caller: one table with every code that a service model names for a call of sedano.

There are four classes. `LATER`: the service could not do it now; the same call may succeed later, so no task is ended because of it.
`MINE`: an answer that the adapter reads (a condition that did not hold, an expired receipt handle), or a call that sedano made wrongly;
repeating it changes nothing. `FINAL`: the service will never accept the message or the item. `CONFIG`: a person must change something (a
grant, a name, a key); the message is valid and stays in its queue. Only `FINAL`, and a fault in the content of a call, may end a message.

Sources: the service models of botocore, AWS's pages of common errors, the query codes of SQS, and the error list of S3. A test walks the
models and fails for a code that is not in the table, so a new call must add its codes. A code without a class is judged by its HTTP status.
"""

from __future__ import annotations

from collections.abc import Iterable

LATER, MINE, FINAL, CONFIG = "later", "mine", "final", "config"

_CODES = {
    LATER: (
        # any service: throttling, internal failures, expired credentials, a wrong clock
        "BandwidthLimitExceeded InternalError InternalFailure InternalServerError InternalServerException InternalServiceException "
        "LimitExceededException PriorRequestNotComplete RequestLimitExceeded RequestThrottled RequestThrottledException RequestTimeout "
        "RequestTimeoutException ServiceException ServiceUnavailable ServiceUnavailableException ThrottledException Throttling "
        "ThrottlingException TooManyRequestsException EC2ThrottledException "
        "ExpiredToken ExpiredTokenException RequestExpired TokenRefreshRequired RequestTimeTooSkewed RequestInTheFuture "
        # KMS, by the names under which other services pass its errors on
        "DependencyTimeoutException KMS.DependencyTimeoutException KMS.InternalException KMS.KeyUnavailableException "
        "KMS.ThrottlingException KMSInternalException KeyUnavailableException KmsThrottled "
        # DynamoDB; without "Exception": reasons of a cancelled transaction and of a batch of statements
        "ProvisionedThroughputExceeded ProvisionedThroughputExceededException ReplicatedWriteConflictException ThrottlingError "
        "TransactionConflict TransactionConflictException TransactionInProgressException "
        # SQS, S3 (409 and 400: HEAD has a status instead of a code), Scheduler, Lambda, Glue, SSM
        "OverLimit BadDigest ConditionalRequestConflict IncompleteBody OperationAborted SlowDown TemporaryRedirect "
        "XAmzContentSHA256Mismatch 400 408 409 429 ConflictException ServiceQuotaExceededException ResourceConflictException "
        "ResourceInUseException ConcurrentModificationException ConcurrentRunsExceededException OperationTimeoutException "
        "ResourceNumberLimitExceededException TooManyUpdates "
        # Lambda, about a function of the user: its network, its file system or its snapshot is not ready yet
        "CodeArtifactUserPendingException EC2UnexpectedException EFSIOException EFSMountConnectivityException EFSMountTimeoutException "
        "ENILimitReachedException ENINotReadyException ResourceNotReadyException S3FilesMountConnectivityException "
        "S3FilesMountTimeoutException SnapStartNotReadyException SnapStartRegenerationFailureException SnapStartTimeoutException "
        "SubnetIPAddressLimitReachedException "
        # EventBridge and SNS, as sinks
        "InternalException InternalErrorException KMSThrottling KMSThrottlingException"
    ),
    MINE: (
        "InvalidAction InvalidParameterCombination InvalidParameterValue InvalidParameterValueException InvalidQueryParameter "
        "MalformedQueryString MissingAction MissingParameter SerializationException UnknownOperationException ValidationError "
        "ValidationException "
        "ConditionalCheckFailed ConditionalCheckFailedException DuplicateItem DuplicateItemException IdempotentParameterMismatch "
        "IdempotentParameterMismatchException TransactionCanceledException "
        "BatchEntryIdsNotDistinct BatchRequestTooLong EmptyBatchRequest InvalidAttributeName InvalidAttributeValue InvalidBatchEntryId "
        "MessageNotInflight ReceiptHandleIsInvalid TooManyEntriesInBatchRequest "
        "404 412 EncryptionTypeMismatch InvalidRequest InvalidWriteOffset NoSuchKey NotFound PreconditionFailed TooManyParts "
        "InvalidInputException HierarchyLevelLimitExceededException HierarchyTypeMismatchException IncompatiblePolicyException "
        "InvalidAllowedPatternException InvalidPolicyAttributeException InvalidPolicyTypeException ParameterAlreadyExists "
        "ParameterMaxVersionLimitExceeded ParameterPatternMismatchException PoliciesLimitExceededException UnsupportedParameterType "
        "BadRequestException DurableExecutionAlreadyStartedException InvalidFilterKey InvalidFilterOption InvalidFilterValue "
        "InvalidNextToken InvalidRequestContentException UnsupportedMediaTypeException "
        "InvalidArgumentException InvalidParameter InvalidParameterException ParameterValueInvalid"
    ),
    FINAL: (
        "EntityTooLarge InvalidMessageContents ItemCollectionSizeLimitExceeded ItemCollectionSizeLimitExceededException "
        "RequestTooLargeException SerializedRequestEntityTooLargeException"
    ),
    CONFIG: (
        "AccessDenied AccessDeniedException AccountProblem AllAccessDisabled AuthorizationHeaderMalformed IncompleteSignature "
        "InvalidAccessKeyId InvalidClientTokenId InvalidSecurity InvalidSignatureException InvalidToken MissingAuthenticationToken "
        "MissingAuthenticationTokenException NotAuthorized OptInRequired SignatureDoesNotMatch UnrecognizedClientException "
        "ResourceNotFound ResourceNotFoundException "
        "KMS.AccessDeniedException KMS.DisabledException KMS.InvalidKeyUsageException KMS.InvalidStateException "
        "KMS.KMSInvalidStateException KMS.NotFoundException KMS.OptInRequired KMSAccessDeniedException KmsAccessDenied KmsDisabled "
        "KmsInvalidKeyUsage KmsInvalidState KmsNotFound KmsOptInRequired "
        "InvalidAddress NonExistentQueue QueueDeletedRecently QueueDoesNotExist UnsupportedOperation "
        "301 403 InvalidObjectState MethodNotAllowed MovedPermanently NoSuchBucket PermanentRedirect "
        "EntityNotFoundException InvalidKeyId ParameterLimitExceeded ParameterNotFound ParameterVersionNotFound "
        "CodeArtifactUserDeletedException CodeArtifactUserFailedException EC2AccessDeniedException EFSMountFailureException "
        "InvalidRuntimeException InvalidSecurityGroupIDException InvalidSubnetIDException InvalidZipFileException KMSDisabledException "
        "KMSInvalidStateException KMSNotFoundException ModeNotSupportedException NoPublishedVersionException RecursiveInvocationException "
        "RuntimeAliasDeletedException RuntimeVersionDeletedException S3FilesMountFailureException SnapStartException "
        # Firehose, EventBridge and SNS, as sinks
        "AuthorizationError AuthorizationErrorException EndpointDisabled EndpointDisabledException InvalidKMSResourceException "
        "InvalidSourceException InvalidSecurityException KMSAccessDenied KMSDisabled KMSInvalidState KMSNotFound KMSOptInRequired "
        "NotAuthorizedForDetailTypeException NotAuthorizedForSourceException NotFoundException PlatformApplicationDisabled "
        "PlatformApplicationDisabledException"
    ),
}
CLASSES = {code: meaning for meaning, codes in _CODES.items() for code in codes.split()}
"""The class of each code."""

_BUSY = frozenset({
    "429", "BandwidthLimitExceeded", "OverLimit", "ProvisionedThroughputExceeded", "ProvisionedThroughputExceededException",
    "RequestLimitExceeded", "SlowDown", "TooManyRequestsException",
})  # fmt: skip
"""The codes of a service that gets too many calls, besides those with this meaning in their name."""
_QUERY = "AWS.SimpleQueueService."
"""The prefix of SQS's codes in its older protocol."""
_SKEWED = frozenset({"InvalidSignatureException", "SignatureDoesNotMatch"})
_ASIDE = 500, 429, 408


def class_of(code: str, status: int = 0, text: str = "") -> str:
    """Return the class of an error *code*, with its HTTP *status* and the *text* of the service's message.

    A code that is not in the table is `LATER` if the status is 500 or more, 429 or 408, and `CONFIG` otherwise: the message returns to its
    queue, because an unknown code must not end a message.
    """
    found = CLASSES.get(code.removeprefix(_QUERY))
    if code in _SKEWED and is_skew(text):
        return LATER
    if status >= _ASIDE[0] and found in (None, CONFIG):
        return LATER
    if found is not None:
        return found
    return LATER if status in _ASIDE else CONFIG


def is_known(code: str) -> bool:
    """Return whether the table names *code*."""
    return code.removeprefix(_QUERY) in CLASSES


def is_throttling(code: str) -> bool:
    """Return whether *code* says that the service gets too many calls."""
    return "Throttl" in code or code.removeprefix(_QUERY) in _BUSY


def is_skew(text: str) -> bool:
    """Return whether a service rejects a signature because of its time: this machine's clock is wrong, not its keys."""
    return "expired" in text or "not yet current" in text


def class_of_transaction(reasons: Iterable[str]) -> str:
    """Return the class of a cancelled transaction by the codes of its *reasons*: a refusal takes precedence over a temporary error."""
    classes = {class_of(code) for code in reasons if code and code != "None"}
    return next((meaning for meaning in (FINAL, CONFIG) if meaning in classes), LATER if classes == {LATER} else MINE)
