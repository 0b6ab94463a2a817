"""An application with two webhooks, of which one is signed."""

from sedano import Sedano
from sedano.webhooks import WebhookRequest, standard_webhooks, unsigned

app = Sedano("hooked", queues=("default", "bulk"))


@app.webhook("shop", verify=standard_webhooks())
@app.webhook("inside", verify=unsigned())
def nothing(request: WebhookRequest) -> None:
    """Nothing."""
