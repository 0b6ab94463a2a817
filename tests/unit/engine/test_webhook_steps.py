"""How long the webhook function trusts the secrets that it has read, when it reads them again, and what it parks under which name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from sedano import memory
from sedano.engine.sources.webhooks import AGAIN_S, KEPT_S, Happened, Hook, Webhooks
from sedano.errors import ConfigurationError, MessageRefused, SedanoError, Unavailable
from sedano.memory import START, MemoryTelemetry, VirtualClock
from sedano.model.history.run_rows import Host
from sedano.model.messages.lamport import LamportClock
from sedano.model.sources.challenges import hub, response_check
from sedano.model.sources.signature_schemes import secret_token, unsigned
from sedano.model.sources.webhooks import ReceivedRequest, WebhookRequest
from sedano.ports import EVENTS, PARKED, Ports

TOKEN = secret_token(header="X-Token")
HUB = "hub.mode=subscribe&hub.challenge=1&hub.verify_token="


class Store:
    """A store of secrets that counts how often it was asked, and may be away."""

    def __init__(self) -> None:
        self.lines: tuple[str, ...] = ("old",)
        self.away: SedanoError | None = None
        self.reads = 0

    def read(self, webhook: str) -> tuple[str, ...]:
        """Return the secrets of *webhook*."""
        self.reads += 1
        if self.away is not None:
            raise self.away
        return self.lines


class Clock(VirtualClock):
    """A clock that can be set back by some seconds."""

    set_back = 0.0

    def now(self) -> float:
        """Return the time that it shows."""
        return super().now() - self.set_back


class Desk:
    """One webhook function with one webhook, `till`."""

    def __init__(self, *, read: Callable[[WebhookRequest], Any] = lambda _: [], delivery: Any = "", scheme: Any = TOKEN, **on: Any) -> None:
        self.clock, self.telemetry, self.store = Clock(START), MemoryTelemetry(), Store()
        self.ports: Ports = replace(memory.ports(), clock=self.clock, telemetry=self.telemetry)
        hook = Hook("till", scheme, read, delivery if callable(delivery) else lambda _: delivery, **on)
        lamport = LamportClock(lambda: int(self.clock.now() * 1_000_000))
        self.webhooks = Webhooks({"till": hook}, self.ports, Host("host", 1), lamport, self.store)

    def post(self, sent: str = "old", body: bytes = b"{}") -> int:
        """Return the status for a request with the token *sent*."""
        return self.webhooks.answer(ReceivedRequest("POST", "/till", {"X-Token": sent}, body)).status

    def get(self, token: str) -> int:
        """Return the status for a check of the address with *token*."""
        return self.webhooks.answer(ReceivedRequest("GET", "/till", {}, b"", HUB + token)).status

    def parked(self) -> list[Mapping[str, str]]:
        """The attributes of what was parked."""
        return [one.attributes for one in self.ports.queues.peek(PARKED)]  # type: ignore[attr-defined]


def test_secrets_are_read_once_for_the_time_that_they_are_kept() -> None:
    desk = Desk()
    assert [desk.post(), desk.post()] == [200, 200]
    desk.clock.advance(299.5)
    assert (desk.post(), desk.store.reads) == (200, 1)
    desk.clock.advance(0.5)
    assert (desk.post(), desk.store.reads) == (200, 2)


@pytest.mark.parametrize("seconds", [0.5, 3_600.0])
def test_a_clock_that_was_set_back_does_not_make_secrets_last(seconds: float) -> None:
    desk = Desk()
    desk.post()
    desk.clock.set_back = seconds
    desk.store.lines = ("new",)
    assert (desk.post("new"), desk.store.reads) == (200, 2)


def test_a_wrong_token_lets_the_secrets_be_read_again_once_in_a_while() -> None:
    desk = Desk()
    desk.post()
    assert ([desk.post("wrong") for _ in range(3)], desk.store.reads) == ([401] * 3, 1)
    desk.clock.advance(AGAIN_S - 0.5)
    assert (desk.post("wrong"), desk.store.reads) == (401, 1)
    desk.clock.advance(0.5)
    desk.store.lines = ("new",)
    assert (desk.post("new"), desk.store.reads) == (200, 2)
    assert (desk.post("old"), desk.store.reads) == (401, 2)


def test_while_the_store_is_away_known_secrets_hold_as_long_as_ever_and_no_longer() -> None:
    desk = Desk()
    desk.post()
    desk.store.away = Unavailable("throttled")
    desk.clock.advance(AGAIN_S)
    assert (desk.post("wrong"), desk.store.reads) == (503, 2), "whether it is wrong is not known without the store"
    assert (desk.post(), desk.store.reads) == (200, 2)
    desk.clock.advance(KEPT_S - AGAIN_S - 0.5)
    assert (desk.post(), desk.store.reads) == (200, 2)
    desk.clock.advance(0.5)
    assert (desk.post(), desk.store.reads) == (503, 3)
    desk.store.away = None
    assert (desk.post(), desk.store.reads) == (503, 3), "the store is asked once in ten seconds"
    desk.clock.advance(AGAIN_S)
    assert (desk.post(), desk.store.reads) == (200, 4)


@pytest.mark.parametrize(("back", "status"), [(AGAIN_S, 200), (AGAIN_S + 0.5, 503)])
def test_a_clock_that_was_set_back_to_before_the_secrets_were_read_needs_the_store(back: float, status: int) -> None:
    desk = Desk()
    desk.post()
    desk.store.away = Unavailable("throttled")
    desk.clock.advance(AGAIN_S)
    desk.post("wrong")
    desk.clock.set_back = back
    assert desk.post() == status


def test_the_error_of_a_store_is_logged_once_for_each_time_that_it_was_asked() -> None:
    desk = Desk()
    desk.store.away = ConfigurationError("no parameter")
    assert [desk.post(), desk.post()] == [503, 503]
    (line,) = [one for one in desk.telemetry.lines if one.level == "error"]
    assert (line.fields["webhook"], line.fields["error"]) == ("till", "no parameter")
    assert desk.telemetry.counted("WebhooksUnanswered") == 2


def test_a_check_of_the_address_reads_the_secrets_again_for_a_wrong_token_alone() -> None:
    desk = Desk(scheme=unsigned(), challenge=hub())
    desk.store.lines = ("verify:old",)
    assert [desk.get("old"), desk.get("wrong")] == [200, 403]
    desk.clock.advance(AGAIN_S)
    assert (desk.get("old"), desk.store.reads) == (200, 1)
    assert (desk.get(""), desk.store.reads) == (403, 1)
    desk.store.lines = ("verify:new",)
    assert (desk.get("new"), desk.store.reads) == (200, 2)


def test_a_process_that_takes_no_requests_says_so() -> None:
    desk = Desk()
    hooks = {"till": Hook("till", TOKEN, lambda _: [], lambda _: "")}
    without = Webhooks(hooks, desk.ports, Host("host", 1), LamportClock(lambda: 1), None)
    assert without.answer(ReceivedRequest("POST", "/till", {"X-Token": "a"}, b"")).status == 503
    (line,) = [one for one in desk.telemetry.lines if one.level == "error"]
    assert "webhook till: this process accepts no requests" in line.fields["error"]


def fails(_: WebhookRequest) -> Sequence[Happened]:
    """A function with a fault."""
    raise KeyError("order")


CASES: dict[str, tuple[dict[str, Any], str, str]] = {
    "a function that fails": ({"read": fails}, "body", "KeyError: 'order'"),
    "too many events": ({"read": lambda _: [("Sold", {})] * 1_001}, "return", "1001 events of one request"),
    "content that is not JSON": ({"read": lambda _: [("Sold", {"n": object()})]}, "event", "Unserialisable: data.n"),
    "an id that fails": ({"read": lambda _: [("Sold", {})], "delivery": fails}, "delivery", "KeyError: 'order'"),
    "an id that is a list": ({"read": lambda _: [("Sold", {})], "delivery": lambda _: []}, "delivery", "TypeError: a sender's id is text"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_read_is_parked_under_the_name_of_what_is_wrong(case: str) -> None:
    given, field, detail = CASES[case]
    desk = Desk(**given)
    assert desk.post() == 202
    (attributes,) = desk.parked()
    assert (attributes["reason"], attributes["field"], attributes["queue"]) == ("webhook", field, "webhook:till")
    assert attributes["detail"].startswith(detail)


def test_two_bodies_are_parked_as_two_messages_and_one_body_as_one() -> None:
    desk = Desk(read=fails)
    for body in (b"a", b"b", b"a"):
        desk.post(body=body)
    first, second, third = [one["message_id"] for one in desk.parked()]
    assert first == third != second


def test_without_an_id_of_the_sender_the_body_is_the_id_of_its_events() -> None:
    def ids(delivery: object) -> list[str]:
        desk = Desk(read=lambda _: [("Sold", {})], delivery=lambda _: delivery)
        desk.post(body=b"a")
        return [one.body.partition('"id":"')[2].partition('"')[0] for one in desk.ports.queues.peek(EVENTS)]  # type: ignore[attr-defined]

    assert ids(None) == ids("") != ids("None")
    assert ids(5) == ids("5") != ids("")


def test_a_thousand_events_of_one_request_are_published() -> None:
    desk = Desk(read=lambda _: [("Sold", {})] * 1_000)
    assert (desk.post(), desk.parked()) == (202, [])


def test_what_is_told_of_a_fault_has_at_most_512_characters() -> None:
    def breaks(_: WebhookRequest) -> Sequence[Happened]:
        raise ValueError("x" * 1_000)

    desk = Desk(read=breaks)
    desk.post()
    (parked,) = desk.ports.queues.peek(PARKED)  # type: ignore[attr-defined]
    with pytest.raises(MessageRefused) as refused:
        desk.webhooks.again("till", parked.body)
    assert refused.value.detail == "ValueError: " + "x" * 500


@pytest.mark.parametrize(("challenge", "status"), [(None, 200), (hub(), 401)])
def test_a_line_for_the_check_of_the_address_is_an_ordinary_secret_where_the_address_is_not_checked(challenge: Any, status: int) -> None:
    desk = Desk(challenge=challenge)
    desk.store.lines = ("verify:old",)
    assert desk.post("verify:old") == status


@pytest.mark.parametrize(
    ("scheme", "token", "status", "reason"),
    [(TOKEN, "old", 401, "wrong-signature"), (TOKEN, "", 401, "no-signature"), (unsigned(), "", 200, None)],
)
def test_a_body_that_a_check_of_the_address_would_sign_is_refused_as_wrong_if_it_is_signed(
    scheme: Any, token: str, status: int, reason: str | None
) -> None:
    desk = Desk(scheme=scheme, challenge=response_check())
    assert desk.post(token, b"token") == status
    assert desk.telemetry.counted("WebhooksRefused") == (reason is not None)
    assert reason is None or desk.telemetry.counted("WebhooksRefused", webhook="till", reason=reason) == 1
    assert desk.post("old", b'{"a": 1}') == 200


@pytest.mark.parametrize(("line", "is_told"), [("verify:old", False), ("old", True)])
def test_secrets_that_lack_what_the_check_of_the_address_needs_are_told(line: str, is_told: bool) -> None:
    desk = Desk(challenge=hub())
    desk.store.lines = (line,)
    desk.get("old")
    words = "webhook: its sender cannot check the address, because its secrets do not have all that the answer needs"
    missing = {"webhook": "till", "missing": "a line verify:TOKEN, the verify token that the sender was given"}
    assert [(one.level, one.message, dict(one.fields)) for one in desk.telemetry.lines] == [("warning", words, missing)] * is_told
