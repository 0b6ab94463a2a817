"""An application that is told of measurements from outside: by a sender who signs, and by one who need not."""

import json

from sedano import DomainEvent, Sedano
from sedano.webhooks import WebhookRequest, hub, standard_webhooks, unsigned

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
@app.webhook("open", verify=unsigned(), delivery="X-Delivery")
def measured(request: WebhookRequest) -> Measured:
    """What a sender measured."""
    return Measured(text=json.loads(request.body)["text"])
