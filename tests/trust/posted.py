"""Roads that begin at the webhook URL: what a sender posts to it, signed."""

import base64
import hashlib
import hmac
import json
import ssl
import time
import urllib.request
from typing import Any
from urllib.error import HTTPError
from uuid import uuid4

from sedano.model.messages.lineage import derived_id
from sedano.model.sources.webhooks import delivery_id
from tests.trust.driven import Driven
from tests.trust.grants import Grant
from tests.trust.roads import LARGE, Road

FUNCTION = "webhook"
_SECRET = b"a secret of twenty-four b"


def _post(driven: Driven, body: bytes, delivery: str) -> int:
    """Post to a function that starts cold, signed by Standard Webhooks; the status that the sender is told."""
    secret = f"whsec_{base64.b64encode(_SECRET).decode()}"
    name = f"/sedano/{driven.stage.environment['SEDANO_STAGE']}/webhooks/walks"
    driven.client("ssm").put_parameter(Name=name, Value=secret, Type="SecureString", Overwrite=True)
    driven.cool()
    at = str(int(time.time()))
    code = hmac.new(_SECRET, f"{delivery}.{at}.".encode() + body, hashlib.sha256).digest()
    headers = {"webhook-id": delivery, "webhook-timestamp": at, "webhook-signature": f"v1,{base64.b64encode(code).decode()}"}
    url = f"{driven.stage.environment['SEDANO_WEBHOOK_URL']}walks"
    request = urllib.request.Request(url, body, headers)  # noqa: S310 - the stage on this machine
    trusted = ssl.create_default_context(cafile=str(driven.stage.endpoint.certificate))
    try:
        with urllib.request.urlopen(request, context=trusted, timeout=60) as answer:  # noqa: S310 - as above
            return int(answer.status)
    except HTTPError as refused:
        return refused.code


def _told(driven: Driven, walks: Any, text: str) -> None:
    delivery = uuid4().hex
    status = _post(driven, json.dumps({"text": text}).encode(), delivery)
    assert status == 202, status
    driven.move()
    told = derived_id(delivery_id("walks", delivery, b""), 0)
    found = walks.app.result(derived_id(told, "walks.length"))
    assert found.state == "SUCCESS", f"{found.state}: {driven.failures}"
    assert found.get(timeout=0) == len(text)


def posted(driven: Driven, walks: Any) -> None:
    """What is posted becomes an event, and the task that subscribed runs."""
    _told(driven, walks, "small")


def posted_large(driven: Driven, walks: Any) -> None:
    """The same with large content."""
    _told(driven, walks, LARGE + "posted")


def unread(driven: Driven, walks: Any) -> None:
    """What is signed and cannot be read is set aside."""
    assert walks.app
    status = _post(driven, b"{", uuid4().hex)
    assert status == 202, status
    assert driven.parked() == 1


def marked(driven: Driven, walks: Any) -> None:
    """The same in a new stage: it bears the mark of a key that was made for it."""
    driven.forget_keys()
    unread(driven, walks)
    assert driven.marked() == [True]


ROADS: tuple[Road, ...] = (posted, posted_large, unread, marked)
NEEDED: dict[Grant, Road] = {
    Grant(FUNCTION, "ssm:GetParameter", "secret"): posted,
    Grant(FUNCTION, "ssm:GetParameter", "keys"): marked,
    Grant(FUNCTION, "ssm:PutParameter", "keys"): marked,
    Grant(FUNCTION, "sqs:SendMessage", "events"): posted,
    Grant(FUNCTION, "sqs:SendMessage", "parked"): unread,
    Grant(FUNCTION, "s3:PutObject", "blobs"): posted_large,
}
