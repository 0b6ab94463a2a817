"""The meaning of each error code of AWS for the caller: one table with every code that a service model names for a call of ours.

Four classes. `LATER`: the service could not do it now; the same call may succeed later, so nothing is given up because of it. `MINE`: an
answer that the adapter reads (a condition that did not hold, a receipt that lapsed), or a call that we made wrongly; repeating it changes
nothing. `FINAL`: the message or the item cannot be, whenever it is sent. `CONFIG`: a person must change something (a grant, a name, a key);
the message is good and stays where it is. Only `FINAL`, and a fault of the content of a call, may end a message.

Sources: the service models of botocore, AWS's pages of common errors, the query codes of SQS, and the error list of S3. The test of the
table walks the models, so a new call brings its codes here or fails. A code that is in no class here is judged by its status.
"""

from __future__ import annotations

from collections.abc import Iterable

LATER, MINE, FINAL, CONFIG = "later", "mine", "final", "config"

_CODES = {
    LATER: (
        # any service: throttled, its own failure, credentials that age, a clock that is off
        "BandwidthLimitExceeded InternalError InternalFailure InternalServerError InternalServerException InternalServiceException "
        "LimitExceededException PriorRequestNotComplete RequestLimitExceeded RequestThrottled RequestThrottledException RequestTimeout "
        "RequestTimeoutException ServiceException ServiceUnavailable ServiceUnavailableException ThrottledException Throttling "
        "ThrottlingException TooManyRequestsException EC2ThrottledException "
        "ExpiredToken ExpiredTokenException RequestExpired TokenRefreshRequired RequestTimeTooSkewed RequestInTheFuture "
        # KMS, under the names by which other services pass its answers on
        "DependencyTimeoutException KMS.DependencyTimeoutException KMS.InternalException KMS.KeyUnavailableException "
        "KMS.ThrottlingException KMSInternalException KeyUnavailableException KmsThrottled "
        # DynamoDB; without "Exception": reasons of a cancelled transaction and of a batch of statements
        "ProvisionedThroughputExceeded ProvisionedThroughputExceededException ReplicatedWriteConflictException ThrottlingError "
        "TransactionConflict TransactionConflictException TransactionInProgressException "
        # SQS, S3 (409 and 400: what HEAD says instead of a code), Scheduler, Lambda, Glue, SSM
        "OverLimit BadDigest ConditionalRequestConflict IncompleteBody OperationAborted SlowDown TemporaryRedirect "
        "XAmzContentSHA256Mismatch 400 408 409 429 ConflictException ServiceQuotaExceededException ResourceConflictException "
        "ResourceInUseException ConcurrentModificationException ConcurrentRunsExceededException OperationTimeoutException "
        "ResourceNumberLimitExceededException TooManyUpdates "
        # Lambda, about a function of the user's own that is called: its network, its files and its snapshot are not there yet
        "CodeArtifactUserPendingException EC2UnexpectedException EFSIOException EFSMountConnectivityException EFSMountTimeoutException "
        "ENILimitReachedException ENINotReadyException ResourceNotReadyException S3FilesMountConnectivityException "
        "S3FilesMountTimeoutException SnapStartNotReadyException SnapStartRegenerationFailureException SnapStartTimeoutException "
        "SubnetIPAddressLimitReachedException"
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
        "InvalidNextToken InvalidRequestContentException UnsupportedMediaTypeException"
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
        "RuntimeAliasDeletedException RuntimeVersionDeletedException S3FilesMountFailureException SnapStartException"
    ),
}
CLASSES = {code: meaning for meaning, codes in _CODES.items() for code in codes.split()}
"""The class of each code."""

_QUERY = "AWS.SimpleQueueService."
"""The prefix of SQS's codes in its older protocol."""
_SKEWED = frozenset({"InvalidSignatureException", "SignatureDoesNotMatch"})
_ASIDE = 500, 429, 408


def class_of(code: str, status: int = 0, text: str = "") -> str:
    """Return the class of *code*, which came with the HTTP *status* and the service's words *text*.

    A code that the table does not name is `LATER` with a status of 500 or more, 429 or 408, and else `CONFIG`: the message is given back,
    and nothing is ended on the word of a code that is not known.
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


def is_skew(text: str) -> bool:
    """Return whether a service refuses a signature because of its time: the clock of this machine is wrong, its keys are not."""
    return "expired" in text or "not yet current" in text


def class_of_transaction(reasons: Iterable[str]) -> str:
    """Return the class of a cancelled transaction by the codes of its *reasons*: refusals count before temporary errors."""
    classes = {class_of(code) for code in reasons if code and code != "None"}
    return next((meaning for meaning in (FINAL, CONFIG) if meaning in classes), LATER if classes == {LATER} else MINE)
