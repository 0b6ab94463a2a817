"""Every error code of every call that sedano makes has a class, and only what lies in a message may end it."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from botocore import exceptions, xform_name
from botocore.exceptions import ClientError
from botocore.parsers import ResponseParserError
from botocore.retries.standard import ThrottledRetryableChecker, TransientRetryableChecker

from sedano.aws.client.error_codes import CLASSES, CONFIG, FINAL, LATER, MINE, class_of, class_of_transaction, is_throttling
from sedano.aws.client.faults import AWS_ERRORS, fault, is_conflict
from sedano.aws.client.session import SERVICES
from sedano.errors import ConfigurationError, NotAccepted, SedanoError, Throttled, TooLarge, Unavailable
from tests.house.tree import ROOT

ADAPTERS = ROOT / "layers/sedano/python/sedano/aws"
CALLED_WITH_A_CLIENT_OF_THE_USER = ("glue",)
WRONG_BEFORE = (
    "KMS.ThrottlingException", "KMS.InternalException", "KMS.KeyUnavailableException", "KMS.DependencyTimeoutException",
    "DependencyTimeoutException", "ReplicatedWriteConflictException", "ExpiredToken", "ExpiredTokenException",
    "TokenRefreshRequired", "RequestExpired", "RequestTimeTooSkewed", "RequestTimeoutException", "BandwidthLimitExceeded",
    "EC2ThrottledException", "ConflictException", "ServiceQuotaExceededException", "ResourceInUseException",
    "ResourceConflictException", "OperationTimeoutException", "ConcurrentModificationException",
    "ResourceNumberLimitExceededException", "ConcurrentRunsExceededException", "ConditionalRequestConflict", "IncompleteBody",
    "BadDigest", "XAmzContentSHA256Mismatch", "TemporaryRedirect", "TooManyUpdates",
)  # fmt: skip
"""The 28 codes that were taken for a wrong configuration and are none."""


def names_in(folder: Path) -> set[str]:
    """Every attribute and text in the adapters: among them the operations of clients, as methods and as names of paginators."""
    trees = [ast.parse(path.read_text()) for path in folder.rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return attributes | {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def called() -> Iterator[tuple[str, Any]]:
    """Yield the model of every operation that an adapter calls, with its service."""
    names, session = names_in(ADAPTERS), botocore.session.Session()
    for service in (*SERVICES, *CALLED_WITH_A_CLIENT_OF_THE_USER):
        model = session.get_service_model(service)
        for operation in model.operation_names:
            if xform_name(operation) in names:
                yield service, model.operation_model(operation)


def codes_of(model: Any) -> set[str]:
    """The codes that a service model names for an operation, by both of its protocols."""
    return {code for shape in model.error_shapes for code in (shape.name, shape.metadata.get("error", {}).get("code", shape.name))}


def test_the_walk_finds_the_calls_of_every_service() -> None:
    found = {f"{service}.{model.name}" for service, model in called()}
    assert {"sqs.SendMessageBatch", "dynamodb.UpdateItem", "dynamodb.TransactWriteItems", "s3.PutObject"} <= found
    assert {"scheduler.CreateSchedule", "lambda.UpdateEventSourceMapping", "ssm.GetParameter"} <= found
    assert {"glue.StartJobRun", "s3.ListObjectsV2"} <= found


def test_every_code_of_every_call_in_the_service_models_has_a_class() -> None:
    assert {f"{service}.{model.name}: {code}" for service, model in called() for code in codes_of(model) if code not in CLASSES} == set()


def test_every_code_that_botocore_itself_tries_again_is_later() -> None:
    again = {*ThrottledRetryableChecker._THROTTLED_ERROR_CODES, *TransientRetryableChecker._TRANSIENT_ERROR_CODES}
    assert {code for code in again if CLASSES.get(code) != LATER} == set()


@pytest.mark.parametrize("code", WRONG_BEFORE)
def test_what_passes_is_not_taken_for_a_wrong_configuration(code: str) -> None:
    assert type(fault(answered(code), "sqs.SendMessageBatch")) is (Throttled if is_throttling(code) else Unavailable)


@pytest.mark.parametrize("code", [*ThrottledRetryableChecker._THROTTLED_ERROR_CODES, "429", "AWS.SimpleQueueService.OverLimit"])
def test_a_service_that_gets_too_many_calls_says_so_by_its_code(code: str) -> None:
    about_a_write = {"PriorRequestNotComplete", "TransactionInProgressException", "LimitExceededException"}
    assert is_throttling(code) == (code not in about_a_write)


@pytest.mark.parametrize("code", [code for code, meaning in CLASSES.items() if meaning != FINAL and code != "ValidationException"])
def test_only_what_lies_in_a_message_is_final(code: str) -> None:
    assert not fault(answered(code), "dynamodb.UpdateItem").is_final


@pytest.mark.parametrize("code", [code for code, meaning in CLASSES.items() if meaning == FINAL])
def test_what_cannot_be_is_final(code: str) -> None:
    assert fault(answered(code), "sqs.SendMessageBatch").is_final


def test_a_code_of_the_older_protocol_has_the_class_of_its_name() -> None:
    assert class_of("AWS.SimpleQueueService.NonExistentQueue", 400) == CONFIG
    assert class_of("AWS.SimpleQueueService.TooManyEntriesInBatchRequest", 400) == MINE


@pytest.mark.parametrize(("status", "meaning"), [(400, CONFIG), (403, CONFIG), (408, LATER), (429, LATER), (500, LATER), (503, LATER)])
def test_a_code_that_no_model_names_is_judged_by_its_status_and_ends_nothing(status: int, meaning: str) -> None:
    assert class_of("Strange", status) == meaning


@pytest.mark.parametrize("code", ["InvalidSignatureException", "SignatureDoesNotMatch"])
def test_a_clock_that_is_wrong_is_not_taken_for_wrong_keys(code: str) -> None:
    late = fault(answered(code, text="Signature expired: 20261122T100000Z is now earlier than 20261122T101000Z"), "sqs.SendMessageBatch")
    assert type(late) is Unavailable
    assert "the clock of this machine is wrong" in str(late)
    assert type(fault(answered(code, text="the signature we calculated does not match"), "sqs.SendMessageBatch")) is ConfigurationError


@pytest.mark.parametrize(
    ("reasons", "meaning"),
    [
        (["None", "TransactionConflict"], LATER),
        (["ThrottlingError", "None", "ProvisionedThroughputExceeded"], LATER),
        (["ConditionalCheckFailed", "TransactionConflict"], MINE),
        (["ConditionalCheckFailed"], MINE),
        (["ValidationError", "TransactionConflict"], MINE),
        (["ItemCollectionSizeLimitExceeded", "TransactionConflict"], FINAL),
        (["AccessDenied"], CONFIG),
    ],
)
def test_a_cancelled_transaction_means_what_its_reasons_mean(reasons: list[str], meaning: str) -> None:
    assert class_of_transaction(reasons) == meaning
    found = fault(answered("TransactionCanceledException", reasons=reasons), "dynamodb.TransactWriteItems")
    assert isinstance(found, Unavailable) == (meaning == LATER)
    assert found.is_final == (meaning == FINAL)
    conflict = meaning == LATER and "TransactionConflict" in reasons
    assert is_conflict(answered("TransactionCanceledException", reasons=reasons)) == conflict


def test_a_write_that_a_transaction_in_progress_refuses_is_a_conflict() -> None:
    assert is_conflict(answered("TransactionConflictException"))
    assert not any(is_conflict(answered(code)) for code in ("ConditionalCheckFailedException", "ThrottlingException"))


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (exceptions.CredentialRetrievalError(provider="sso", error_msg="no answer"), Unavailable),
        (exceptions.MetadataRetrievalError(error_msg="no answer"), Unavailable),
        (exceptions.TokenRetrievalError(provider="sso", error_msg="no answer"), Unavailable),
        (exceptions.IncompleteReadError(actual_bytes=1, expected_bytes=2), Unavailable),
        (exceptions.ChecksumError(checksum_type="crc32", expected_checksum="1", actual_checksum="2"), Unavailable),
        (exceptions.SSLError(endpoint_url="https://x", error="handshake timed out"), Unavailable),
        (exceptions.SSLError(endpoint_url="https://x", error="[SSL: CERTIFICATE_VERIFY_FAILED] self-signed"), ConfigurationError),
        (ResponseParserError("Unable to parse response (not well-formed)"), Unavailable),
        (exceptions.ParamValidationError(report="a parameter"), ConfigurationError),
    ],
)  # fmt: skip
def test_an_error_of_botocore_itself_becomes_what_the_caller_can_do_about_it(error: Exception, kind: type[SedanoError]) -> None:
    assert isinstance(error, AWS_ERRORS)
    assert type(fault(error, "s3.GetObject")) is kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Item size to update has exceeded the maximum allowed size", TooLarge),
        ("Invalid UpdateExpression: Expression size has exceeded the maximum allowed size", ConfigurationError),
        ("One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit", ConfigurationError),
    ],
)
def test_only_an_item_is_too_large_and_not_what_we_wrote_around_it(text: str, kind: type[SedanoError]) -> None:
    assert type(fault(answered("ValidationException", text=text), "dynamodb.UpdateItem")) is kind


@pytest.mark.parametrize(("call", "setting"), [("scheduler.UpdateSchedule", "TIMERS_GROUP"), ("lambda.GetEventSourceMapping", "MAPPINGS")])
def test_what_is_missing_is_named_by_the_service_that_misses_it(call: str, setting: str) -> None:
    assert f"SEDANO_{setting}" in str(fault(answered("ResourceNotFoundException"), call))


def test_a_message_that_a_queue_refuses_is_final_and_says_why() -> None:
    found = fault(answered("InvalidMessageContents", text="U+FFFF"), "sqs.SendMessageBatch")
    assert type(found) is NotAccepted
    assert str(found) == "sqs.SendMessageBatch: InvalidMessageContents: U+FFFF"


def answered(code: str, status: int = 400, text: str = "because", reasons: list[str] | None = None) -> ClientError:
    """An error as a service answers it."""
    response: Any = {"Error": {"Code": code, "Message": text}, "ResponseMetadata": {"HTTPStatusCode": status}}
    if reasons is not None:
        response["CancellationReasons"] = [{"Code": reason} for reason in reasons]
    return ClientError(response, "Op")
