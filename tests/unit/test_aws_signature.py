"""The gate of the local stage checks signatures as AWS does: botocore signs, whatever is changed afterwards is refused."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from urllib.parse import urlsplit

import pytest
from botocore.auth import BaseSigner, S3SigV4Auth, S3SigV4QueryAuth, SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st

from sedano.emulator.signature import Request, SignatureRefusedError, proof_of

OWN = Credentials("AKIA22222222222222AA", "secret/of+this=run")
HOST = "127.0.0.1:4999"
JSON = {"X-Amz-Target": "DynamoDB_20120810.PutItem", "Content-Type": "application/x-amz-json-1.0"}


def sent(signer: BaseSigner, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None) -> Request:
    """The request as it arrives, once *signer* has signed it."""
    asked = AWSRequest(method, f"http://{HOST}{path}", data=body, headers={**(headers or {}), "Host": HOST})
    signer.add_auth(asked)
    url = urlsplit(asked.url)
    return Request(method, url.path, url.query, {name.lower(): value for name, value in asked.headers.items()})


def signed_by(credentials: Credentials, service: str = "dynamodb", body: bytes = b"{}") -> Request:
    """A call of a service that speaks JSON."""
    return sent(SigV4Auth(credentials, service, "us-east-1"), "POST", "/", body, JSON)


def seconds(request: Request) -> float:
    """When it was signed."""
    moment = proof_of(request).moment
    return datetime.strptime(moment, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).timestamp()


def check(request: Request, body: bytes = b"{}", *, secret: str = OWN.secret_key, later: float = 0.0) -> None:
    """Check it with what the gate knows, *later* seconds after it was signed."""
    proof_of(request).check(request, secret, body, seconds(request) + later)


def refusal(act: Callable[[], object]) -> str:
    """The code of the refusal."""
    with pytest.raises(SignatureRefusedError) as refused:
        act()
    return refused.value.code


@pytest.mark.parametrize(
    ("signer", "method", "path", "body"),
    [
        (SigV4Auth(OWN, "sqs", "eu-central-1"), "POST", "/", b"{}"),
        (SigV4Auth(OWN, "sts", "us-east-1"), "POST", "/", b"Action=GetCallerIdentity&Version=2011-06-15"),
        (
            SigV4Auth(OWN, "lambda", "us-east-1"),
            "GET",
            "/2015-03-31/functions/arn%3Aaws%3Alambda%3Aus-east-1%3A0%3Afunction%3Af?x=%20&a=",
            b"",
        ),
        (SigV4Auth(OWN, "scheduler", "us-east-1"), "POST", "/schedules/a~b_c.d-e", b"{}"),
        (S3SigV4Auth(OWN, "s3", "us-east-1"), "PUT", "/bucket/a%20b/%C3%BC%2B~%2541?uploads", b"x" * 10_000),
        (S3SigV4QueryAuth(OWN, "s3", "us-east-1", expires=60), "GET", "/bucket/a%20b/%C3%BC", b""),
        (SigV4QueryAuth(OWN, "sqs", "us-east-1", expires=60), "GET", "/?Action=ListQueues&b=1&a=%2F", b""),
    ],
)
def test_what_botocore_signs_is_accepted(signer: BaseSigner, method: str, path: str, body: bytes) -> None:
    check(sent(signer, method, path, body), body)


def test_a_session_signs_with_its_token() -> None:
    request = signed_by(Credentials(OWN.access_key, OWN.secret_key, "a session's token"))
    check(request)
    other = replace(request, headers={**request.headers, "x-amz-security-token": "another"})
    assert refusal(lambda: check(other)) == "SignatureDoesNotMatch"


def test_the_secret_of_another_run_signs_nothing() -> None:
    assert refusal(lambda: check(signed_by(Credentials(OWN.access_key, "another")))) == "SignatureDoesNotMatch"


@pytest.mark.parametrize("body", [b"", b"{} ", b"[]"])
def test_another_body_is_refused(body: bytes) -> None:
    assert refusal(lambda: check(signed_by(OWN), body)) == "SignatureDoesNotMatch"
    stored = sent(S3SigV4Auth(OWN, "s3", "us-east-1"), "PUT", "/bucket/key", b"{}")
    assert refusal(lambda: check(stored, body)) == "XAmzContentSHA256Mismatch"
    moved = replace(stored, headers={**stored.headers, "x-amz-content-sha256": hashlib.sha256(body).hexdigest()})
    assert refusal(lambda: check(moved, body)) == "SignatureDoesNotMatch", "the digest is signed too"


def test_a_signature_cannot_be_moved_to_another_call() -> None:
    request = signed_by(OWN)
    changed = [
        replace(request, method="PUT"),
        replace(request, path="/other"),
        replace(request, query="a=b"),
        replace(request, headers={**request.headers, "host": "127.0.0.1:5000"}),
        replace(request, headers={**request.headers, "x-amz-target": "DynamoDB_20120810.DeleteTable"}),
        replace(request, headers={**request.headers, "content-type": "text/plain"}),
        replace(request, headers={**request.headers, "x-amz-added": "later"}),
    ]
    assert [refusal(lambda one=one: check(one)) for one in changed] == ["SignatureDoesNotMatch"] * len(changed)


def test_a_signature_that_does_not_cover_the_host_is_refused() -> None:
    request = signed_by(OWN)
    text = request.headers["authorization"].replace("content-type;host;", "content-type;")
    bare = replace(request, headers={**request.headers, "authorization": text})
    with pytest.raises(SignatureRefusedError, match="headers that are not signed: host"):
        check(bare)


@pytest.mark.parametrize(("later", "code"), [(899.0, None), (901.0, "RequestExpired"), (-899.0, None), (-901.0, "RequestExpired")])
def test_a_signature_is_valid_for_fifteen_minutes(later: float, code: str | None) -> None:
    request = signed_by(OWN)
    if code is None:
        check(request, later=later)
    else:
        assert refusal(lambda: check(request, later=later)) == code


def test_a_presigned_address_is_valid_for_as_long_as_it_says_and_at_most_a_week() -> None:
    request = sent(S3SigV4QueryAuth(OWN, "s3", "us-east-1", expires=3_600), "GET", "/bucket/key")
    check(request, b"", later=3_599)
    assert refusal(lambda: check(request, b"", later=3_601)) == "RequestExpired"
    longer = replace(request, query=request.query.replace("X-Amz-Expires=3600", "X-Amz-Expires=7200"))
    assert refusal(lambda: check(longer, b"", later=1)) == "SignatureDoesNotMatch"
    forever = sent(S3SigV4QueryAuth(OWN, "s3", "us-east-1", expires=604_801), "GET", "/bucket/key")
    assert refusal(lambda: proof_of(forever)) == "AuthorizationQueryParametersError"


@pytest.mark.parametrize(
    ("header", "query", "code"),
    [
        (None, "", "MissingAuthenticationToken"),
        (None, "X-Amz-Algorithm=AWS4-HMAC-SHA256", "IncompleteSignature"),
        (None, "AWSAccessKeyId=a&Signature=b&Expires=9", "MissingAuthenticationToken"),
        ("Bearer x", "", "IncompleteSignature"),
        ("AWS4-HMAC-SHA256 Credential=a", "", "IncompleteSignature"),
        ("AWS4-ECDSA-P256-SHA256 Credential=a, SignedHeaders=b, Signature=c", "", "IncompleteSignature"),
        ("AWS4-HMAC-SHA256 Credential=a, SignedHeaders=b, Signature=c, Signature=d", "", "IncompleteSignature"),
        ("AWS4-HMAC-SHA256 " + "Credential=" * 9_999, "", "IncompleteSignature"),
    ],
)
def test_what_is_not_signed_or_cannot_be_read_is_refused(header: str | None, query: str, code: str) -> None:
    headers = {"host": HOST} if header is None else {"host": HOST, "authorization": header}
    assert refusal(lambda: proof_of(Request("POST", "/", query, headers))) == code


@given(position=st.integers(0, 10_000), letter=st.characters(max_codepoint=255))
def test_no_changed_character_of_the_authorization_is_accepted(position: int, letter: str) -> None:
    request = signed_by(OWN)
    text = request.headers["authorization"]
    place = position % len(text)
    changed = f"{text[:place]}{letter}{text[place + 1 :]}"
    other = replace(request, headers={**request.headers, "authorization": changed})
    try:
        check(other)
    except SignatureRefusedError:
        return
    if proof_of(other).key != OWN.access_key:
        return  # its secret is another one, or there is none
    assert changed == text or text[place] in " ,", "only what separates the fields may differ"
