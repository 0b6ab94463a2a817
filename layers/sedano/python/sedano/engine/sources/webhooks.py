"""Webhooks: a sender's request becomes domain events. The sender gets the outcome as an HTTP status.

    find -> verify -> read -> publish -> answer

Ids of events are derived from the webhook's name and the sender's own id of the delivery, so a request that is delivered again publishes
the same events, and copies are recognised downstream. A request without a valid signature is refused and not kept, because any stranger
could fill a queue. A signed request that the user's function cannot read is parked, because the sender is not at fault; `sedano parked
redrive` processes it again. If a service is unavailable, the sender is asked to send again, and the repetition completes what was published
in part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import inf
from typing import Any, NamedTuple, TypeVar

from sedano.engine.batch import Batch, Parking
from sedano.engine.drafts import Composer
from sedano.engine.parked.parking import ParkingLot
from sedano.engine.publisher.sender import Publisher
from sedano.engine.unexpected_errors import unexpected
from sedano.errors import ConfigurationError, MessageRefused, SedanoError, Unavailable
from sedano.model import refusals
from sedano.model.history.run_rows import Chronicle, Host
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.lineage import ROOT, derived_id
from sedano.model.messages.message import Event
from sedano.model.sources.challenges import Challenge, parameters, secrets
from sedano.model.sources.signature_schemes import WRONG, Scheme
from sedano.model.sources.webhooks import (
    MAX_BODY_BYTES,
    QUEUE,
    Answer,
    ReceivedRequest,
    WebhookRequest,
    delivery_id,
    kept,
    read_back,
    written,
)
from sedano.ports import Delivery, Ports
from sedano.ports.webhook_secrets import SecretTexts

KEPT_S = 300.0
"""How long (s) secrets are cached."""
AGAIN_S = 10.0
"""A wrong signature may be made with a new secret: the secrets are read again, at most once in so many seconds. The same holds for a
missing secret: the store answers an account 40 times a second, and strangers must not use that up."""
MOST_EVENTS = 1_000
"""This many events are sent in one or two seconds; senders wait for three (Slack) to ten (GitHub) seconds before they send again."""
DETAIL_CHARACTERS = 512
"""The longest description of a fault in a parked message and in the log."""
AGAIN = {"retry-after": "30"}
NOT_POST = Answer(405, "a webhook takes POST", {"allow": "POST, HEAD"})
_Found = TypeVar("_Found")
Happened = tuple[str, Mapping[str, Any]]
"""The name of an event and its fields."""


class Hook(NamedTuple):
    """A webhook: how its sender signs, the function that turns a request into events, unless the kind of sender defines it, the id of a
    delivery, and how the sender checks the address (None: it does not)."""

    name: str
    scheme: Scheme
    read: Callable[[WebhookRequest], Sequence[Happened]]
    delivery: Callable[[WebhookRequest], object]
    challenge: Challenge | None = None

    def signing(self, lines: Sequence[str]) -> Sequence[str]:
        """Return those of the *lines* of the webhook's secrets with which its sender signs."""
        return lines if self.challenge is None else secrets(lines)

    def is_forgeable(self, body: bytes) -> bool:
        """Return whether a stranger can have *body* signed by the check of the address."""
        return self.scheme.signs and self.challenge is not None and self.challenge.signs(body)


class _Known(NamedTuple):
    """The *secrets* as they were *at* some time; when they were *asked* for last, and why that failed."""

    secrets: tuple[str, ...] = ()
    at: float = -inf
    asked: float = -inf
    error: SedanoError | None = None


class Webhooks:
    """Answers requests. One per process; one request at a time."""

    def __init__(self, hooks: Mapping[str, Hook], ports: Ports, host: Host, lamport: LamportClock, secrets: SecretTexts | None) -> None:
        """Answer for *hooks*; *secrets*: None where all requests are refused, but parked requests are processed again."""
        self._hooks, self._ports, self._secrets, self._host = hooks, ports, secrets, host
        self._composer = Composer(host.hostname, lamport, ports)
        self._publisher = Publisher(ports.queues, ports.timers, ports.clock, ports.entropy, ports.telemetry)
        self._parking = ParkingLot(ports, lamport)
        self._known: dict[str, _Known] = {}

    def answer(self, arrived: ReceivedRequest) -> Answer:
        """Publish the events of the request *arrived*, and return the answer to its sender."""
        hook = self._hooks.get(arrived.path.strip("/"))
        if hook is None:
            return Answer(404, "there is no webhook of this name")
        if arrived.method == "HEAD":
            return Answer(200, "")
        if arrived.method == "GET" and hook.challenge is not None:
            return self._contained(hook, partial(self._checked, hook, hook.challenge, arrived))
        if arrived.method != "POST":
            return NOT_POST
        if len(arrived.body) > MAX_BODY_BYTES:
            return Answer(413, f"a body may have {MAX_BODY_BYTES} bytes")
        return self._contained(hook, lambda: self._refusal(hook, arrived) or self._let_in(hook, arrived))

    def again(self, name: str, text: str) -> int:
        """Process a parked request again, and return how many events it made.

        Raises:
            SedanoError: the webhook *name* is no longer declared, or its function cannot read the request yet, or it cannot be sent.
        """
        request = read_back(text)
        hook = self._hooks.get(name)
        if hook is None:
            raise ConfigurationError(f"webhook {name}: this app does not declare it; name the app that does with --app")
        happened = self._happened(hook, request)
        self._publish(hook, request, happened)
        return len(happened)

    def _contained(self, hook: Hook, answer: Callable[[], Answer]) -> Answer:
        """Return *answer*, or, if it raises, the request to send again."""
        try:
            return answer()
        except Exception as error:  # noqa: BLE001 - the last resort: the sender comes again, and nothing is half done
            return self._unanswered(hook, unexpected(self._ports.telemetry, error))

    def _checked(self, hook: Hook, challenge: Challenge, arrived: ReceivedRequest) -> Answer:
        """Return the answer to a sender that checks the address; it is 405 if the request has no challenge."""
        given = parameters(arrived.query)
        if given is None:
            return Answer(400, "the parameters of the address cannot be read")
        found = self._judged(hook, challenge.has_secret, partial(challenge.answer, given))
        if not isinstance(found, str):
            return found or NOT_POST
        self._ports.telemetry.count("WebhooksRefused", webhook=hook.name, reason=found)
        return Answer(403, "the challenge or its token is missing or wrong")

    def _refusal(self, hook: Hook, arrived: ReceivedRequest) -> Answer | None:
        """Return the answer to a refused request; None if it is accepted."""
        headers = {name.lower(): text for name, text in arrived.headers.items()}
        now = self._ports.clock.now()
        why = self._judged(hook, hook.scheme.signs, lambda lines: hook.scheme.refusal(headers, arrived.body, hook.signing(lines), now))
        if why is None and hook.is_forgeable(arrived.body):
            why = WRONG
        if why is None:
            return None
        # No log line beside the count: a stranger could have it written any number of times, and logs cost more than answers.
        self._ports.telemetry.count("WebhooksRefused", webhook=hook.name, reason=why)
        return Answer(401, "the signature is missing or wrong")

    def _judged(self, hook: Hook, needed: bool, judge: Callable[[Sequence[str]], _Found]) -> _Found:
        """Return what *judge* finds by the lines of the secrets of *hook*; if that is `WRONG`, by lines that are newer."""
        lines = self._current(hook, needed, KEPT_S)
        found = judge(lines)
        if found != WRONG:
            return found
        newer = self._current(hook, needed, AGAIN_S)
        return found if newer == lines else judge(newer)

    def _current(self, hook: Hook, needed: bool, most: float) -> tuple[str, ...]:
        """Return the lines of the secrets of *hook*, at most *most* seconds old; they are read only if *needed*."""
        if not needed:
            return ()
        now, known = self._ports.clock.now(), self._known.get(hook.name, _Known())
        if not 0 <= now - known.at < most and not 0 <= now - known.asked < AGAIN_S:
            self._known[hook.name] = known = self._asked(hook, known, now)
        if known.error is not None and not 0 <= now - known.at < most:
            raise known.error.as_answer()
        return known.secrets

    def _asked(self, hook: Hook, known: _Known, now: float) -> _Known:
        """Read the secrets of *hook*; if that fails, the *known* ones stay."""
        if self._secrets is None:
            raise ConfigurationError(f"webhook {hook.name}: this process accepts no requests")
        try:
            lines = self._secrets.read(hook.name)
        except SedanoError as error:
            self._log(hook.name, error)
            return known._replace(asked=self._ports.clock.now(), error=error)  # a store that does not answer was waited for
        missing = hook.challenge.missing(lines) if hook.challenge is not None else ""
        if missing:
            told = "webhook: its sender cannot check the address, because its secrets do not have all that the answer needs"
            self._ports.telemetry.log("warning", told, webhook=hook.name, missing=missing)
        return _Known(lines, now, now)

    def _let_in(self, hook: Hook, arrived: ReceivedRequest) -> Answer:
        request = WebhookRequest(hook.name, kept(arrived.headers, hook.scheme.token_header), arrived.body, self._ports.clock.now())
        greeting = hook.scheme.greeting(request)
        return hook.scheme.told(self._taken(hook, request)) if greeting is None else Answer(200, greeting)

    def _taken(self, hook: Hook, request: WebhookRequest) -> Answer:
        try:
            happened = self._happened(hook, request)
            self._publish(hook, request, happened)
        except Exception as error:
            answer = unexpected(self._ports.telemetry, error)
            if not isinstance(answer, MessageRefused):
                raise
            return self._park(hook, request, answer)
        return Answer(202, f"published: {len(happened)}") if happened else Answer(200, "nothing of interest")

    def _happened(self, hook: Hook, request: WebhookRequest) -> Sequence[Happened]:
        """Let the user's function turn *request* into events; raise `MessageRefused` if it fails."""
        try:
            happened = hook.read(request)
        except Unavailable:
            raise
        except (Exception, SystemExit) as error:
            raise MessageRefused(refusals.WEBHOOK, "body", _detail(error)) from error
        if len(happened) > MOST_EVENTS:
            many = f"{len(happened)} events of one request, and at most {MOST_EVENTS} are published while its sender waits"
            raise MessageRefused(refusals.WEBHOOK, "return", f"{many}; return one event that contains them, and let its task publish them")
        return happened

    def _publish(self, hook: Hook, request: WebhookRequest, happened: Sequence[Happened]) -> None:
        if not happened:
            return
        which = self._id(hook, request)
        try:
            drafts = [Event(derived_id(which, index), name, data=data) for index, (name, data) in enumerate(happened)]
            answers = self._publisher.publish_all([self._composer.compose(draft, ROOT) for draft in drafts])
        except (TypeError, ValueError) as wrong:  # an event's content that is not JSON, or too much of it
            raise MessageRefused(refusals.WEBHOOK, "event", _detail(wrong)) from wrong
        for error in answers:
            if error is not None:
                raise error

    def _id(self, hook: Hook, request: WebhookRequest) -> str:
        """Return the id of the delivery; raise `MessageRefused` when its function fails."""
        try:
            told = hook.delivery(request)
            if not isinstance(told, str | int | None):
                raise TypeError(f"a sender's id is text or a number, and this is a {type(told).__name__}")
            return delivery_id(hook.name, "" if told is None else str(told), request.body)
        except (Exception, SystemExit) as error:
            raise MessageRefused(refusals.WEBHOOK, "delivery", _detail(error)) from error

    def _park(self, hook: Hook, request: WebhookRequest, unread: MessageRefused) -> Answer:
        """Park a signed request that cannot be read; the sender is not at fault and gets 202."""
        which = delivery_id(hook.name, "", request.body)
        delivery = Delivery(f"{QUEUE}{hook.name}", which, "", written(request))
        batch = Batch(self._ports.clock.now(), Chronicle(self._host))
        batch.parkings.append(Parking(delivery, unread.code, unread.field, unread.detail))
        self._parking.settle(batch)
        if batch.given_back:
            return self._unanswered(hook, Unavailable("it cannot be read, and could not be parked"))
        return Answer(202, "accepted, but parked, because it could not be read")

    def _unanswered(self, hook: Hook, error: SedanoError) -> Answer:
        self._ports.telemetry.count("WebhooksUnanswered")
        if error is not self._known.get(hook.name, _Known()).error:  # which has its line already, one for each time that it was asked for
            self._log(hook.name, error)
        return Answer(503, "temporarily unavailable; please send it again", AGAIN)

    def _log(self, name: str, error: SedanoError) -> None:
        self._ports.telemetry.log("error", "webhook: the sender is asked to send again", webhook=name, error=str(error))


def _detail(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - a user's __str__ may raise as well; the type's name still tells
        text = "(the exception cannot be shown as text)"
    return f"{type(error).__name__}: {text}"[:DETAIL_CHARACTERS]
