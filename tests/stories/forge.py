"""An app that a code forge tells of closed issues: its webhook, its event, and the task that hears of it; and how its sender signs."""

import base64
import hashlib
import hmac
import json
from typing import Any

from sedano import DomainEvent, Sedano
from sedano.webhooks import WebhookRequest, hmac_sha256, slack, standard_webhooks, unsigned

SECRET = "It's a Secret to Everybody"
app = Sedano("forge")
told: list[int] = []


@app.event
class IssueClosed(DomainEvent):
    """An issue was closed."""

    number: int


@IssueClosed.subscribe
@app.task
def tell(number: int) -> int:
    """The number, which is noted."""
    told.append(number)
    return number


def read(request: WebhookRequest) -> Any:
    """What a request says: one event, several, or nothing of interest."""
    said = request.json()
    if said["action"] == "many":
        return [IssueClosed(number=number) for number in said["numbers"]]
    return IssueClosed(number=said["number"]) if said["action"] == "closed" else None


app.webhook("github", verify=hmac_sha256(header="X-Hub-Signature-256", prefix="sha256="), delivery="X-GitHub-Delivery")(read)
app.webhook("bare", verify=hmac_sha256(header="X-Signature"))(read)
app.webhook("standard", verify=standard_webhooks())(read)
app.webhook("slack", verify=slack())(read)
app.webhook("open", verify=unsigned())(read)
app.webhook("odd", verify=unsigned(), delivery=lambda request: str(request.json()["id"]))(lambda request: request.json()["id"])


def github(body: bytes, delivery: str, secret: str = SECRET) -> dict[str, str]:
    """The headers by which GitHub signs."""
    signature = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return {"X-Hub-Signature-256": f"sha256={signature}", "X-GitHub-Delivery": delivery, "Authorization": "Basic c2VjcmV0"}


def standard(body: bytes, which: str, at: int, secret: bytes) -> dict[str, str]:
    """The headers by which a sender signs who keeps to Standard Webhooks."""
    signature = base64.b64encode(hmac.new(secret, f"{which}.{at}.".encode() + body, hashlib.sha256).digest()).decode()
    return {"webhook-id": which, "webhook-timestamp": str(at), "webhook-signature": f"v1,{signature}"}


def closed(number: object, action: str = "closed", **more: object) -> bytes:
    """What the forge says of a closed issue."""
    return json.dumps({"action": action, "number": number, **more}).encode()
