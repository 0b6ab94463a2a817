"""An application that is told of measurements from outside: by a sender who signs, and by one who need not."""

import json

from sedano import DomainEvent, Sedano
from sedano.webhooks import WebhookRequest, echo, hmac_sha256, hub, response_check, standard_webhooks, unsigned

app = Sedano("hooks")


@app.event
class Measured(DomainEvent):
    """Something was measured."""

    text: str


@Measured.subscribe
@app.task
def length(text: str) -> int:
    """How long what was measured is."""
    return len(text)


@app.webhook("signed", verify=standard_webhooks(), challenge=hub())
@app.webhook("x", verify=hmac_sha256(header="X-Signature", prefix="sha256=", encoding="base64"), challenge=response_check())
@app.webhook("box", verify=hmac_sha256(header="X-Dropbox-Signature"), challenge=echo())
@app.webhook("open", verify=unsigned(), delivery="X-Delivery")
def measured(request: WebhookRequest) -> Measured:
    """What a sender measured."""
    return Measured(text=json.loads(request.body)["text"])
