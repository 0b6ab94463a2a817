"""Senders that check the address of a webhook before they use it, as Meta, Dropbox, X and Trello do."""

import base64
import hashlib
import hmac
import json
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

OF_X = hmac_sha256(header="X-Twitter-Webhooks-Signature", prefix="sha256=", encoding="base64")
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
app.webhook("x", verify=OF_X, challenge=response_check())(read)
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


@pytest.mark.parametrize("text", ["12345", "null", "a" * 1_024])
def test_what_a_stranger_has_signed_by_a_check_of_the_address_fills_no_queue(world: worlds.World, text: str) -> None:
    """X signs its checks and its messages in one way: without a refusal, anybody could have parked as many messages as he likes."""
    signed = json.loads(get(world, f"/x?crc_token={text}").text)["response_token"]
    assert world.post("/x", text.encode(), {"X-Twitter-Webhooks-Signature": signed}).status == 401
    assert world.telemetry.counted("WebhooksRefused", webhook="x", reason="wrong-signature") == 1
    assert world.parked() == []
    body = closed(5)
    own = base64.b64encode(hmac.digest(b"s", body, "sha256")).decode()
    assert world.post("/x", body, {"X-Twitter-Webhooks-Signature": f"sha256={own}"}).status == 202
    world.drain()
    assert told == [5]


def test_a_webhook_whose_secrets_lack_the_verify_token_says_so_in_its_log(world: worlds.World) -> None:
    world.secrets["meta"] = "app secret"
    assert [get(world, f"/meta?{MINE}").status, get(world, f"/meta?{MINE}").status] == [403, 403]
    (line,) = [one for one in world.telemetry.lines if one.level == "warning"]
    assert line.fields == {"webhook": "meta", "missing": "a line verify:TOKEN, the verify token that the sender was given"}
    world.secrets["meta"] = "app secret\nverify: mine"
    world.clock.advance(10)
    assert get(world, f"/meta?{MINE}").status == 200


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
