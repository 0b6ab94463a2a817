"""Webhooks under strangers, broken functions and services that are away: nobody is let in, nothing is lost, the cost is bounded."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

from sedano import DomainEvent, Sedano
from sedano import testing as worlds
from sedano.engine.sources.webhooks import MOST_EVENTS, Webhooks
from sedano.errors import ConfigurationError, OptionError, SedanoError, Unavailable
from sedano.host.sources import answering
from sedano.memory import MemorySecretTexts
from sedano.model.history.run_rows import Host
from sedano.model.sources.webhooks import Answer, ReceivedRequest, delivery_id
from sedano.ports import EVENTS, Outgoing, Queues
from sedano.webhooks import WebhookRequest, unsigned
from tests.stories.forge import SECRET, app, closed, github, standard, told
from tests.stories.opening import opened_forge

ASIDE = Answer(202, "accepted, but parked, because it could not be read")
odd = Sedano("odd")


@odd.event
class Said(DomainEvent):
    """Something was said."""

    text: str


class Unspeakable(Exception):
    """Its own text cannot be had."""

    def __str__(self) -> str:
        """Fail, as a user's may."""
        raise RuntimeError("no words")


def unspeakable(request: WebhookRequest) -> None:
    """Raise what cannot be shown."""
    raise Unspeakable


def talkative(request: WebhookRequest) -> None:
    """Raise what has a whole body in its text."""
    raise ValueError(request.text)


def leaving(request: WebhookRequest) -> None:
    """End the process, as a function may that was a program once."""
    sys.exit("wrong arguments")


def reading(request: WebhookRequest) -> list[Said]:
    """One event for each text, and none for any other JSON."""
    said = request.json()
    return [Said(text=text) for text in said] if isinstance(said, list) else []


def asking(request: WebhookRequest) -> None:
    """Ask a service that is away."""
    raise Unavailable("the list of prices is away")


for function in (unspeakable, talkative, leaving, reading, asking):
    odd.webhook(function.__name__, verify=unsigned())(function)
odd.webhook("numbered", verify=unsigned(), delivery=lambda request: request.json()["id"])(
    lambda request: Said(text="") if request.json().get("said") else None
)
odd.webhook("lazy", verify=unsigned())(lambda request: (Said(text=text) for text in "ab"))


@pytest.fixture
def world() -> Iterator[worlds.World]:
    """The forge's app in memory, where the forge's secret is kept."""
    with opened_forge() as built:
        yield built


@pytest.fixture
def strange() -> Iterator[worlds.World]:
    """The odd app in memory."""
    with worlds.world(odd) as built:
        yield built


class Store:
    """Secrets in a store that may be away, or have none; how often it was asked."""

    def __init__(self) -> None:
        """Have the forge's secret."""
        self.asked, self.away = 0, cast(type[SedanoError] | None, None)

    def read(self, webhook: str) -> tuple[str, ...]:
        """Return the secret of *webhook*."""
        self.asked += 1
        if self.away is not None:
            raise self.away("the secret is not to be had")
        return (SECRET,)


def asked_of(world: worlds.World, store: Store) -> Webhooks:
    """What answers with the secrets of *store*."""
    return Webhooks(app.webhooks, world.ports, Host("stores", 1), app.outlet.lamport, store)


def knock(webhooks: Webhooks, secret: str = SECRET, delivery: str = "1") -> int:
    """The status that is told to who signs with *secret*."""
    return webhooks.answer(ReceivedRequest("POST", "/github", github(closed(5), delivery, secret), closed(5))).status


def test_an_empty_secret_of_standard_webhooks_lets_nobody_in(world: worlds.World) -> None:
    at = int(world.clock.now())
    for empty in ("whsec_", "whsec_  \n"):
        world.secrets["standard"] = empty
        world.clock.advance(11)
        assert world.post("/standard", closed(5), standard(closed(5), "msg_1", at + 11, b"")).status == 503
    world.drain()
    assert told == []


@pytest.mark.parametrize("why", [ConfigurationError, Unavailable])
def test_strangers_cannot_have_a_secret_that_is_not_to_be_had_asked_for_without_an_end(world: worlds.World, why: type[SedanoError]) -> None:
    store = Store()
    store.away, webhooks = why, asked_of(world, store)
    for _ in range(100):
        assert [knock(webhooks, "wrong"), webhooks.answer(ReceivedRequest("POST", "/bare", {}, b"")).status] == [503, 503]
        world.clock.advance(0.5)
    assert 10 <= store.asked <= 14
    assert len(world.telemetry.lines) == store.asked, "a line for each time it was asked"
    assert world.telemetry.counted("WebhooksUnanswered") == 200
    store.away = None
    world.clock.advance(11)
    assert knock(webhooks) == 202


def test_while_the_store_is_away_known_secrets_hold_for_five_minutes_whoever_knocks(world: worlds.World) -> None:
    store = Store()
    webhooks = asked_of(world, store)
    assert knock(webhooks, delivery="first") == 202
    store.away = Unavailable
    for minute in range(4):
        world.clock.advance(60)
        assert knock(webhooks, "wrong") == 503, "it may be signed with a secret that is new"
        assert knock(webhooks, delivery=str(minute)) == 202
    world.clock.advance(61)
    assert knock(webhooks) == 503, "a secret that was taken away would hold for ever"
    store.away = None
    world.clock.advance(11)
    assert [knock(webhooks, "wrong"), knock(webhooks, delivery="last")] == [401, 202]


def test_a_store_that_answers_late_or_never_is_not_waited_for_by_each_request(world: worlds.World) -> None:
    class Slow(Store):
        def read(self, webhook: str) -> tuple[str, ...]:
            world.clock.advance(24)
            return super().read(webhook)

    store = Slow()
    store.away = Unavailable
    webhooks = asked_of(world, store)
    assert [knock(webhooks) for _ in range(10)] == [503] * 10
    assert store.asked == 1


class Filling:
    """Queues that take so many messages and are away afterwards."""

    def __init__(self, queues: Queues, room: int) -> None:
        """Take *room* messages for *queues*."""
        self._queues, self._room, self.bounds = queues, room, queues.bounds

    def send(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        """Take what there is room for."""
        taken = messages[: self._room]
        self._room -= len(taken)
        return [*self._queues.send(queue, taken), *[Unavailable("the queue is away")] * (len(messages) - len(taken))]


@pytest.mark.parametrize("room", [0, 1, 24, 25])
def test_what_was_published_in_part_is_published_whole_when_it_comes_again_and_nothing_twice(world: worlds.World, room: int) -> None:
    body = closed(0, "many", numbers=list(range(25)))
    arrived = ReceivedRequest("POST", "/github", github(body, "72d3162e"), body)
    queues: Any = Filling(world.ports.queues, room)  # of queues, publishing asks this and the bounds
    filling = Webhooks(
        app.webhooks, replace(world.ports, queues=queues), Host("x", 1), app.outlet.lamport, MemorySecretTexts(world.secrets)
    )
    assert filling.answer(arrived).status == (503 if room < 25 else 202)
    world.drain()
    assert len(told) == room
    assert answering(app, MemorySecretTexts(world.secrets)).answer(arrived) == Answer(202, "published: 25")
    world.drain()
    assert sorted(told) == list(range(25))


def test_an_event_that_is_too_much_for_its_sender_to_wait_for_is_set_aside_whole(strange: worlds.World) -> None:
    for more, expected in ((0, Answer(202, f"published: {MOST_EVENTS}")), (1, ASIDE)):
        assert strange.post("/reading", json.dumps(["text"] * (MOST_EVENTS + more))) == expected
        assert len(strange.queues.peek(EVENTS)) == MOST_EVENTS
    (found,) = strange.parked()
    assert f"{MOST_EVENTS + 1} events of one request" in found.attributes["detail"]
    assert "return one event that contains them" in found.attributes["detail"]


@pytest.mark.parametrize(
    ("webhook", "body", "detail"),
    [
        ("leaving", b"", "SystemExit: wrong arguments"),
        ("unspeakable", b"", "Unspeakable: (the exception cannot be shown as text)"),
        ("lazy", b"", "ArgumentError: return: webhook lazy returned a generator; return an event of the app, a list of them, or None"),
        ("reading", b"[" * 100_000, "ValueError: the JSON of the body is nested too deeply"),
        ("reading", b"[1]", "expected str, got int"),
        ("reading", b'["\\ud800"]', "holds half a surrogate pair"),
        ("reading", b"\xff\xfe", "UnicodeDecodeError"),
        ("numbered", b'{"id": ["a"], "said": true}', "TypeError: a sender's id is text or a number, and this is a list"),
        ("numbered", b'{"said": true}', "KeyError: 'id'"),
    ],
)
def test_whatever_a_function_does_the_sender_is_answered_and_the_reason_told(
    strange: worlds.World, webhook: str, body: bytes, detail: str
) -> None:
    assert strange.post(f"/{webhook}", body) == ASIDE
    (found,) = strange.parked()
    assert detail in found.attributes["detail"]
    assert strange.queues.peek(EVENTS) == []


def test_a_function_that_finds_a_service_away_has_its_sender_come_again(strange: worlds.World) -> None:
    assert strange.post("/asking", b"{}").status == 503
    assert (strange.telemetry.counted("WebhooksUnanswered"), strange.parked()) == (1, [])
    assert "the list of prices is away" in str(strange.telemetry.lines)


def test_a_reason_as_long_as_a_body_is_cut_in_the_log_as_in_the_message(strange: worlds.World) -> None:
    assert strange.post("/talkative", b"x" * 1_000_000) == ASIDE
    assert max(len(str(line.fields)) for line in strange.telemetry.lines) < 1_000


def test_what_is_of_no_interest_needs_no_id(strange: worlds.World) -> None:
    assert strange.post("/numbered", b'{"zen": "Design for failure."}') == Answer(200, "nothing of interest")
    assert strange.post("/numbered", b'{"id": null, "said": true}') == Answer(202, "published: 1")
    assert strange.parked() == []


def test_a_form_where_json_was_meant_says_what_to_tell_its_sender(strange: worlds.World) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}
    assert strange.post("/reading", b"payload=%5B%5D", headers) == ASIDE
    (found,) = strange.parked()
    assert "configure its sender to send application/json" in found.attributes["detail"]


@pytest.mark.parametrize(
    "path",
    ["", "/", "//", "/github%2F..", "/github/../github", "/../github", "/GitHub", "/%67ithub", "/github;a", "/github\0"],
)
def test_only_the_name_itself_is_an_address(world: worlds.World, path: str) -> None:
    assert world.post(path, closed(5), github(closed(5), "1")) == Answer(404, "there is no webhook of this name")


def test_a_signature_for_one_webhook_is_none_for_another_and_their_ids_never_meet(world: worlds.World) -> None:
    world.secrets["bare"] = "another"
    signature = github(closed(5), "1")["X-Hub-Signature-256"].removeprefix("sha256=")
    assert world.post("/bare", closed(5), {"X-Signature": signature}).status == 401
    assert len({delivery_id(name, "1", b"") for name in app.webhooks}) == len(app.webhooks)


def generating(request: WebhookRequest) -> Iterator[Said]:
    """Yield an event."""
    yield Said(text="")


async def waiting(request: WebhookRequest) -> str:
    """An id that must be waited for."""
    return ""


@pytest.mark.parametrize("delivery", [waiting, "X Id", "", 5, "Authorization"])
def test_an_id_that_can_never_be_had_is_refused_where_it_is_declared(delivery: Any) -> None:
    with pytest.raises(
        OptionError, match=r"webhook a: delivery is .*; name the header that holds the sender's id, or give a plain function"
    ):
        Sedano("plain").webhook("a", verify=unsigned(), delivery=delivery)(reading)


@pytest.mark.parametrize(
    ("function", "word"), [(generating, "return a list of events instead of yielding them"), (waiting, "plain function")]
)
def test_a_function_that_does_not_return_is_refused_where_it_is_declared(function: Callable[..., Any], word: str) -> None:
    with pytest.raises(OptionError, match=word):
        Sedano("plain").webhook("a", verify=unsigned())(function)
