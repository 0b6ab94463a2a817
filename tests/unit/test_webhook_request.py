"""A webhook's request as a value: what its function may ask of it, and the text as which it is set aside."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sedano.errors import MessageRefused
from sedano.model.messages.timestamps import LAST_SECOND
from sedano.model.sources.webhooks import WebhookRequest, delivery_id, kept, read_back, written

texts = st.text(st.characters())  # half characters too: no header shall be one that cannot be set aside
requests = st.builds(
    WebhookRequest,
    webhook=st.from_regex(r"[a-z][a-z0-9_-]{0,39}", fullmatch=True),
    headers=st.dictionaries(texts, texts, max_size=5),
    body=st.binary(max_size=200),
    at=st.floats(0, LAST_SECOND),
)
GOOD: dict[str, Any] = {"webhook": "till", "at": 0.0, "headers": {}, "body": ""}


def asked(body: bytes, **headers: str) -> WebhookRequest:
    """A request with this body."""
    return WebhookRequest("till", kept({name.replace("_", "-"): text for name, text in headers.items()}), body, 0.0)


@given(requests)
def test_what_is_set_aside_is_read_back(request: WebhookRequest) -> None:
    text = written(request)
    assert text.isascii()
    assert read_back(text) == request


AT, HEADERS = "the time of its receipt must be in epoch seconds", "headers must be an object of strings"


@pytest.mark.parametrize(
    ("wrong", "field", "fault"),
    [
        ("", "body", "JSONDecodeError"), ("null", "body", "TypeError"), ("[]", "body", "TypeError"), ("7", "body", "TypeError"),
        ("[" * 100_000, "body", "RecursionError"), (json.dumps({**GOOD, "at": "noon"}), "body", "ValueError"),
        *((json.dumps({**GOOD, "at": at}), "at", AT) for at in (float("nan"), -1, LAST_SECOND + 1, 1e300)),
        (json.dumps({**GOOD, "at": 10**400}), "body", "OverflowError"), (json.dumps({**GOOD, "headers": []}), "headers", HEADERS),
        (json.dumps({**GOOD, "headers": {"a": 5}}), "headers", HEADERS), (json.dumps({**GOOD, "body": "{}"}), "body", "Error"),
        (json.dumps({**GOOD, "body": 5}), "body", "TypeError"),
        *((json.dumps({name: value for name, value in GOOD.items() if name != missing}), "body", "KeyError") for missing in GOOD),
    ],
)  # fmt: skip
def test_what_is_no_request_is_refused_and_its_values_are_not_told(wrong: str, field: str, fault: str) -> None:
    with pytest.raises(MessageRefused) as refused:
        read_back(wrong)
    assert (refused.value.code, refused.value.field, refused.value.detail) == ("schema", field, f"not a webhook's request: {fault}")


def test_a_request_of_the_last_second_of_the_year_9999_is_read_back() -> None:
    assert read_back(json.dumps({**GOOD, "at": LAST_SECOND})).at == LAST_SECOND


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "Expecting value"), (b"[" * 100_000, "nested too deeply"), (b"\xff", "decode byte"), (b"1" * 5_000, "4300 digits"),
        (b"\xef\xbb\xbf{}", "BOM"), (b"payload=%7B%7D", "Expecting value"),
    ],
)  # fmt: skip
def test_a_body_that_is_no_json_is_a_value_error_and_nothing_else(body: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        asked(body).json()
    assert asked(body).field("id") == ""


@pytest.mark.parametrize("kind", ["", "application/json", "text/plain; charset=utf-8"])
def test_a_body_that_is_no_json_is_called_a_form_only_if_its_header_says_so(kind: str) -> None:
    with pytest.raises(ValueError, match=r"^Expecting value: line 1 column 1 \(char 0\)$"):
        asked(b"payload=%7B%7D", Content_Type=kind).json()


def test_a_form_is_told_by_its_header_alone() -> None:
    with pytest.raises(ValueError, match="not JSON but application/x-www-form-urlencoded: configure its sender to send application/json"):
        asked(b"payload=%7B%7D", Content_Type="Application/X-WWW-Form-Urlencoded; charset=utf-8").json()
    assert asked(b"{}", Content_Type="application/x-www-form-urlencoded").json() == {}


@pytest.mark.parametrize(
    ("body", "found"), [(b'{"id": "a"}', "a"), (b'{"id": 7}', "7"), (b'{"id": null}', ""), (b'{"id": ["a"]}', ""), (b"[]", "")]
)
def test_a_field_is_text_or_a_number(body: bytes, found: str) -> None:
    assert asked(body).field("id") == found


def test_headers_are_asked_for_in_whatever_case_and_those_that_let_in_are_not_there() -> None:
    request = asked(b"", X_Id="5", AUTHORIZATION="Basic c2VjcmV0", Cookie="session=1", Proxy_Authorization="x", X_Amz_Security_Token="x")
    assert (request.header("x-ID"), request.header("X-Nothing"), dict(request.headers)) == ("5", "", {"x-id": "5"})


def test_the_id_of_a_delivery_stays_the_same_between_releases() -> None:
    """A delivery that its sender repeats after a deployment is recognised by it."""
    assert delivery_id("till", "7", b"") == "841e78bb-ba7b-567b-a435-ac961195ac1d"
    assert delivery_id("till", "", b"{}") == "f777cda2-f8f2-59e9-ae36-870f0c8215e9"


@given(st.text(min_size=1), st.binary())
def test_an_id_and_a_body_never_meet(given_id: str, body: bytes) -> None:
    by_id, by_body = delivery_id("till", given_id, body), delivery_id("till", "", body)
    assert by_id != by_body
    assert by_id == delivery_id("till", given_id, b"another")
    assert by_body != delivery_id("till", "", body + b"x")
    assert len({by_id, by_body, delivery_id("door", given_id, body), delivery_id("door", "", body)}) == 4
