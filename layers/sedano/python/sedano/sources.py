"""`@app.webhook(…)`: what the world tells an app, declared in code. Part of `Sedano`; loaded whole by whoever declares a webhook.

@app.webhook("github", verify=hmac_sha256(header="X-Hub-Signature-256", prefix="sha256="), delivery="X-GitHub-Delivery")
def closed(request: WebhookRequest) -> IssueClosed | None: ...
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from sedano.engine.registry import Registry

if TYPE_CHECKING:
    from sedano.engine.webhooks import Hook
    from sedano.model.signed import Scheme
    from sedano.model.webhook import WebhookRequest

Reader = TypeVar("Reader", bound="Callable[[WebhookRequest], Any]")


class Sources:
    """What an app knows of those who tell it things from outside."""

    registry: Registry

    @cached_property
    def webhooks(self) -> dict[str, Hook]:
        """What is declared in code, by the names of the webhooks."""
        return {}

    def webhook(
        self, name: str, *, verify: Scheme, delivery: str | Callable[[WebhookRequest], str] | None = None
    ) -> Callable[[Reader], Reader]:
        """Declare a webhook: the function below makes events of what is posted to `/NAME` of the stage's webhook URL.

        It returns an event (`IssueClosed(number=5)`), a list of events, or None when a request is of no interest. It is the user's own
        afterwards, to be called in tests. What it raises sets the request aside; what it returns is published once for each delivery.

        Args:
            name: the last part of the address: a-z, then a-z, 0-9, - and _, at most 40 in all.
            verify: how the sender signs, from `sedano.webhooks`: `hmac_sha256(…)`, `stripe()`, `slack()`, `standard_webhooks()`; or
                `unsigned()`, which lets anybody in.
            delivery: the sender's own id of a delivery, the same when it comes again: the name of the header that holds it, or a function
                of the request. By default what `verify` knows of this kind of sender, else the body is its own id.

        Raises:
            OptionError: an option cannot be honoured, or another webhook has the name.
        """

        def declare(reader: Reader) -> Reader:
            importlib.import_module("sedano.webhooks").declare(self, name, verify, delivery, reader)
            return reader

        return declare
