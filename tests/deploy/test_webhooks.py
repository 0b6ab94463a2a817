"""A webhook of a deployed stage, under a role of its own: what is posted to its URL runs the task that subscribed."""

import base64
import hashlib
import hmac
import json
import ssl
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError

import pytest

from sedano.local import LocalStage, local_stage
from sedano.model.messages.lineage import derived_id
from sedano.model.sources.webhooks import delivery_id
from tests.deploy.kept import result

CODE = Path(__file__).parent / "hooks"
SECRET = base64.b64encode(b"a secret of twenty-four b").decode()


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStage]:
    """A stage of the application with webhooks, where each function may do what its role allows, and its sender's secret."""
    with local_stage(app="hooks:app", code=CODE, directory=tmp_path_factory.mktemp("hooks"), enforce_iam=True) as stage:
        ssm = stage.endpoint.session().client("ssm", endpoint_url=stage.endpoint.url)
        ssm.put_parameter(Name="/sedano/dev/webhooks/signed", Value=f"whsec_{SECRET}\nverify:mine", Type="SecureString")
        ssm.put_parameter(Name="/sedano/dev/webhooks/x", Value="of x", Type="SecureString")
        yield stage


def post(stage: LocalStage, name: str, body: bytes | Iterator[bytes] | None, headers: dict[str, str]) -> int:
    """The status that the sender is told."""
    url = f"{stage.environment['SEDANO_WEBHOOK_URL']}{name}"
    request = urllib.request.Request(url, body, headers)  # noqa: S310 - the stage on this machine
    trusted = ssl.create_default_context(cafile=str(stage.endpoint.certificate))
    try:
        with urllib.request.urlopen(request, context=trusted, timeout=30) as answer:  # noqa: S310 - as above
            return int(answer.status)
    except HTTPError as refused:
        return refused.code


def asked(stage: LocalStage, path: str, method: str) -> tuple[int, bytes]:
    """The status and the body that a sender is told that checks the address."""
    request = urllib.request.Request(f"{stage.environment['SEDANO_WEBHOOK_URL']}{path}", method=method)  # noqa: S310 - as above
    trusted = ssl.create_default_context(cafile=str(stage.endpoint.certificate))
    try:
        with urllib.request.urlopen(request, context=trusted, timeout=30) as answer:  # noqa: S310 - as above
            return int(answer.status), answer.read()
    except HTTPError as refused:
        return refused.code, b""


def signed(which: str, body: bytes) -> dict[str, str]:
    """The headers of a sender who keeps to Standard Webhooks."""
    said = f"{which}.{int(time.time())}"
    code = hmac.new(base64.b64decode(SECRET), f"{said}.".encode() + body, hashlib.sha256).digest()
    return {"webhook-id": which, "webhook-timestamp": said.partition(".")[2], "webhook-signature": f"v1,{base64.b64encode(code).decode()}"}


def heard(stage: LocalStage, webhook: str, delivery: str) -> str | None:
    """The result, as it is kept, of the task that heard of what was posted."""
    return result(stage, derived_id(derived_id(delivery_id(webhook, delivery, b""), 0), "hooks.length"))


def test_what_is_signed_runs_the_task_that_subscribed(stage: LocalStage) -> None:
    body = json.dumps({"text": "small"}).encode()
    assert post(stage, "signed", body, signed("msg_1", body)) == 202
    assert heard(stage, "signed", "msg_1") == "5"
    large = json.dumps({"text": "x" * 100_000}).encode()
    assert post(stage, "signed", large, signed("msg_2", large)) == 202
    assert heard(stage, "signed", "msg_2") == "100000"


def test_a_body_comes_through_as_it_was_sent_whatever_it_is_called_and_however_it_is_cut(stage: LocalStage) -> None:
    """Lambda hands over text as text and anything else as base64: the signature is that of the bytes in either case."""
    body = '{"text": "Ünicode ✓"}'.encode()
    for number, kind in enumerate(("application/json", "application/octet-stream", "application/x-www-form-urlencoded", "text/plain")):
        headers = {**signed(f"kind_{number}", body), "Content-Type": kind}
        assert post(stage, "signed", body, headers) == 202
        assert heard(stage, "signed", f"kind_{number}") == "9"
    pieces = iter([body[:7], body[7:8], body[8:]])
    assert post(stage, "signed", pieces, {**signed("cut", body), "Content-Type": "application/json"}) == 202
    assert heard(stage, "signed", "cut") == "9"


def test_over_the_wire_only_a_post_of_a_name_is_taken_and_only_so_much(stage: LocalStage) -> None:
    body = b'{"text": "x"}'
    assert [post(stage, path, body, signed("msg_4", body)) for path in ("signed%2F..", "signed/more", "SIGNED", "")] == [404] * 4
    assert post(stage, "signed", None, {}) == 405
    long = b"{" + b" " * (4 * 1024 * 1024)
    assert post(stage, "signed", long, signed("msg_5", long)) == 413
    twice = signed("msg_6", body)
    twice["webhook-signature"] = f"{twice['webhook-signature']} v1,{'A' * 43}="
    assert post(stage, "signed?token=x", body, twice) == 202
    assert post(stage, "signed?token=x", body, {**twice, "webhook-timestamp": str(int(time.time()) - 9)}) == 401, "the time is signed"


def test_a_sender_that_checks_the_address_gets_its_challenge_back(stage: LocalStage) -> None:
    check = "signed?hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token="
    assert asked(stage, f"{check}mine", "GET") == (200, b"1158201444")
    assert asked(stage, f"{check}yours", "GET") == (403, b"")
    assert [asked(stage, name, "HEAD") for name in ("signed", "x", "box", "open")] == [(200, b"")] * 4
    assert asked(stage, "box?challenge=aB-1", "GET") == (200, b"aB-1"), "this needs no secret, and none is stored"
    assert asked(stage, "box?challenge=%3Cscript%3E", "GET") == (403, b"")


def test_what_x_signs_for_anybody_is_no_request(stage: LocalStage) -> None:
    status, answer = asked(stage, "x?crc_token=12345", "GET")
    signature = base64.b64encode(hmac.digest(b"of x", b"12345", "sha256")).decode()
    assert (status, json.loads(answer)) == (200, {"response_token": f"sha256={signature}"})
    assert post(stage, "x", b"12345", {"X-Signature": f"sha256={signature}"}) == 401
    body = b'{"text": "own"}'
    own = base64.b64encode(hmac.digest(b"of x", body, "sha256")).decode()
    assert post(stage, "x", body, {"X-Signature": f"sha256={own}"}) == 202


def test_what_is_not_signed_is_refused_and_what_cannot_be_read_set_aside(stage: LocalStage) -> None:
    assert post(stage, "signed", b"{}", {}) == 401
    assert post(stage, "nobody", b"{}", {}) == 404
    assert post(stage, "signed", b"{", signed("msg_3", b"{")) == 202
    sqs = stage.endpoint.session().client("sqs", endpoint_url=stage.endpoint.url)
    found = sqs.receive_message(QueueUrl=stage.environment["SEDANO_PARKED_QUEUE"], WaitTimeSeconds=5, MessageAttributeNames=["All"])
    (message,) = found["Messages"]
    assert message["MessageAttributes"]["queue"]["StringValue"] == "webhook:signed"


def test_a_page_of_a_browser_reaches_no_webhook_and_a_webhooks_address_leads_to_nothing_else(stage: LocalStage) -> None:
    body = b'{"text": "x"}'
    assert post(stage, "signed", body, {**signed("page", body), "Origin": "https://shop.example"}) == 403
    assert post(stage, "signed", body, {**signed("page", body), "Sec-Fetch-Site": "cross-site"}) == 403
    assert post(stage, "signed", body, {**signed("page", body), "Host": f"rebound.example:{stage.endpoint.port}"}) == 403
    target = {"X-Amz-Target": "AmazonSQS.CreateQueue", "Content-Type": "application/x-amz-json-1.0"}
    assert post(stage, "signed", b'{"QueueName": "planted"}', target) == 401, "the function itself answers"
    assert post(stage, "../../../", b'{"QueueName": "planted"}', target) in (403, 404)
    sqs = stage.endpoint.session().client("sqs", endpoint_url=stage.endpoint.url)
    assert not sqs.list_queues(QueueNamePrefix="planted").get("QueueUrls")
    assert post(stage, "signed", body, signed("own", body)) == 202, "the developer's own program"
