"""Senders that check the address of a webhook before they use it, as Meta, Dropbox, X and Trello do."""

import hashlib
import hmac
from collections.abc import Iterator
from typing import Any

import pytest

from sedano import DomainEvent, Sedano
from sedano import testing as worlds
from sedano.errors import OptionError
from sedano.host.sources import answering
from sedano.memory import MemorySecretTexts
from sedano.model.sources.webhooks import Answer, ReceivedRequest
from sedano.webhooks import WebhookRequest, echo, hmac_sha256, hub, response_check, unsigned
from tests.stories.forge import closed

SIGNED = hmac_sha256(header="X-Hub-Signature-256", prefix="sha256=")
MINE = "hub.mode=subscribe&hub.verify_token=mine&hub.challenge=1158201444"
PLAIN = {"x-content-type-options": "nosniff", "cache-control": "no-store"}
app = Sedano("checked")
told: list[int] = []


@app.event
class Came(DomainEvent):
    """A message came."""

    number: int


@Came.subscribe
@app.task
def tell(number: int) -> None:
    """The number is noted."""
    told.append(number)


def read(request: WebhookRequest) -> Came:
    """What a request says."""
    return Came(number=request.json()["number"])


app.webhook("meta", verify=SIGNED, challenge=hub())(read)
app.webhook("box", verify=hmac_sha256(header="X-Dropbox-Signature"), challenge=echo("challenge"))(read)
app.webhook("x", verify=hmac_sha256(header="X-Twitter-Webhooks-Signature", encoding="base64"), challenge=response_check())(read)
app.webhook("open", verify=unsigned(), challenge=hub())(read)
app.webhook("plain", verify=SIGNED)(read)


@pytest.fixture
def world() -> Iterator[worlds.World]:
    """The app in memory, where the secrets are kept."""
    told.clear()
    with worlds.world(app) as built:
        built.secrets.update(meta="app secret\nverify:mine", box="s", x="s", open="verify:mine", plain="s")
        yield built


def get(world: worlds.World, path: str, method: str = "GET") -> Answer:
    """What a sender is told that asks for *path*."""
    return world.post(path, b"", method=method)


def posted(world: worlds.World, secret: str, number: int = 5) -> int:
    """The status of a message that Meta signed with *secret*."""
    signature = hmac.new(secret.encode(), closed(number), hashlib.sha256).hexdigest()
    return world.post("/meta", closed(number), {"X-Hub-Signature-256": f"sha256={signature}"}).status


def test_each_sender_gets_what_it_asks_for_and_then_its_messages_are_taken(world: worlds.World) -> None:
    assert get(world, f"/meta?{MINE}") == Answer(200, "1158201444", PLAIN)
    assert get(world, "/box?challenge=abc-1") == Answer(200, "abc-1", PLAIN)
    assert "response_token" in get(world, "/x?crc_token=abc").text
    assert get(world, f"/open?{MINE}").status == 200
    assert posted(world, "app secret") == 202
    world.drain()
    assert told == [5]


@pytest.mark.parametrize("name", ["meta", "box", "x", "open", "plain"])
def test_a_head_request_finds_each_webhook_that_there_is(world: worlds.World, name: str) -> None:
    assert get(world, f"/{name}", "HEAD") == Answer(200, "")
    assert get(world, "/nothing", "HEAD").status == 404


def test_the_verify_token_signs_no_request(world: worlds.World) -> None:
    assert [posted(world, "mine"), posted(world, "verify:mine")] == [401, 401]
    world.drain()
    assert told == []


@pytest.mark.parametrize(
    ("path", "status", "reason"),
    [
        (f"/meta?{MINE.replace('mine', 'other')}", 403, "wrong-signature"), (f"/meta?{MINE.replace('mine', '')}", 403, "no-signature"),
        ("/box?challenge=<script>", 403, "malformed-signature"), ("/box?challenge=a&challenge=b", 400, ""), ("/box?other=a", 405, ""),
        ("/box", 405, ""), ("/plain?challenge=a", 405, ""), ("/nothing?challenge=a", 404, ""),
    ],
)  # fmt: skip
def test_a_stranger_is_refused_and_counted(world: worlds.World, path: str, status: int, reason: str) -> None:
    answer = get(world, path)
    assert answer.status == status
    assert "script" not in answer.text
    assert world.telemetry.counted("WebhooksRefused") == bool(reason)
    if reason:
        assert world.telemetry.counted("WebhooksRefused", webhook=path[1:].partition("?")[0], reason=reason) == 1
    if status == 405:
        assert answer.headers == {"allow": "POST, HEAD"}


def test_a_new_verify_token_is_valid_at_the_next_look_at_the_secrets(world: worlds.World) -> None:
    other = f"/meta?{MINE.replace('mine', 'new')}"
    assert get(world, other).status == 403
    world.secrets["meta"] = "app secret\nverify:new"
    assert get(world, other).status == 403, "the secrets are read once in ten seconds"
    world.clock.advance(10)
    assert get(world, other).status == 200


def test_while_the_secrets_are_away_the_sender_is_asked_to_come_again(world: worlds.World) -> None:
    webhooks = answering(app, MemorySecretTexts({}))
    assert webhooks.answer(ReceivedRequest("GET", "/meta", {}, b"", MINE)).status == 503
    assert webhooks.answer(ReceivedRequest("GET", "/box", {}, b"", "challenge=a")).status == 200, "this needs no secret"


def test_a_challenge_that_is_none_is_refused_with_what_to_write() -> None:
    wrong: Any = "hub"
    with pytest.raises(OptionError, match=r"webhook a: challenge is 'hub'; write .*: echo\(\), hub\(\), or response_check\(\)"):
        Sedano("wrong").webhook("a", verify=SIGNED, challenge=wrong)(read)
