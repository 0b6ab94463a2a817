"""`@app.webhook(…)`: how a sender signs, and which events its requests become."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields, is_dataclass
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from sedano.engine.declaration_origins import may_declare, module_of
from sedano.engine.registry import Registry
from sedano.engine.sources.webhooks import Happened, Hook
from sedano.errors import ArgumentError, OptionError
from sedano.model.sources.challenges import Challenge
from sedano.model.sources.signature_schemes import Scheme, is_header
from sedano.model.sources.webhooks import NAME, WebhookRequest, kept
from sedano.model.tasks.parameters import Parameters

_SCHEMES = "hmac_sha256(…), secret_token(…), stripe(), slack(), standard_webhooks(), or unsigned() to accept every request"
_CHALLENGES = "echo(), hub(), or response_check()"


class WebhookApp(Protocol):
    """The part of an app that the declaration of a webhook needs."""

    registry: Registry

    @property
    def webhooks(self) -> dict[str, Hook]:
        """The declared webhooks, by name."""


class Checks(NamedTuple):
    """The options of a webhook: how its sender signs, the sender's id of a delivery, and how the sender checks the address."""

    verify: Scheme
    delivery: str | Callable[[WebhookRequest], str] | None
    challenge: Challenge | None


def declare(app: WebhookApp, name: str, given: Checks, reader: Any) -> None:
    """Declare the webhook *name* of *app* with the options *given*; see `Sedano.webhook`.

    Raises:
        OptionError: an option cannot be honoured, or another webhook has the name.
    """
    if not re.fullmatch(NAME, str(name)):
        raise OptionError(f"webhook {name!r}: a name is a-z, then a-z, 0-9, - and _, at most 40 in all, because it is part of a URL")
    verify = given.verify
    if not all(hasattr(verify, part) for part in ("refusal", "signs", "token_header", "delivery", "greeting", "told")):
        raise OptionError(f"webhook {name}: verify is {verify!r}; write how its sender signs: {_SCHEMES}")
    if given.challenge is not None and not all(hasattr(given.challenge, part) for part in ("answer", "has_secret")):
        raise OptionError(f"webhook {name}: challenge is {given.challenge!r}; write how its sender checks the address: {_CHALLENGES}")
    if not callable(reader) or inspect.iscoroutinefunction(reader):
        raise OptionError(f"webhook {name}: decorate a plain function of the request; move slow work into a task")
    if inspect.isgeneratorfunction(reader) or inspect.isasyncgenfunction(reader):
        raise OptionError(f"webhook {name}: decorate a function that returns; return a list of events instead of yielding them")
    if not may_declare(app.registry, f"webhook {name}", reader, name in app.webhooks):
        raise OptionError(f"webhook {name}: declared twice; give one of them another name")
    delivery = _delivery(name, verify, given.delivery)
    app.webhooks[name] = Hook(name, verify, lambda request: _events(app.registry, name, reader(request)), delivery, given.challenge)


def _delivery(name: str, verify: Scheme, given: str | Callable[[WebhookRequest], str] | None) -> Callable[[WebhookRequest], str]:
    if given is None:
        return verify.delivery
    if callable(given) and not inspect.iscoroutinefunction(given):
        return given
    if not isinstance(given, str) or not is_header(given) or not kept({given: ""}, verify.token_header):
        raise OptionError(f"webhook {name}: delivery is {given!r}; name the header that holds the sender's id, or give a plain function")
    header = given
    return lambda request: request.header(header)


def _events(registry: Registry, name: str, returned: Any) -> Sequence[Happened]:
    """Return what a webhook's function *returned* as events by name; raise `ArgumentError` if it is anything else."""
    if returned is None:
        return []
    return [_event(registry, name, value) for value in (returned if isinstance(returned, list | tuple) else [returned])]


@lru_cache(256)
def _fields(cls: Any, event: str) -> Parameters:
    """Return the fields of the class of an *event*; one delivery may return hundreds of one class."""
    return Parameters(cls.__init__, 1, event)


def _event(registry: Registry, name: str, value: Any) -> Happened:
    cls: Any = type(value)
    event = f"{module_of(cls)}.{cls.__qualname__}"
    if event not in registry.subscriptions or not is_dataclass(value):
        raise ArgumentError("return", f"webhook {name} returned a {cls.__qualname__}; return an event of the app, a list of them, or None")
    given = {field.name: getattr(value, field.name) for field in fields(value)}
    fitted: Any = cls(**_fields(cls, event).fit((), given)[1])
    return event, asdict(fitted)
