"""Webhooks: what is posted becomes events once, whoever posts it how often; the sender is told what became of it, and nothing is lost."""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from sedano import Sedano
from sedano import testing as worlds
from sedano.cli import main
from sedano.engine.parked.redrive import parked, planned, redrive
from sedano.engine.sources.webhooks import Webhooks
from sedano.errors import OptionError, SedanoError, Unavailable
from sedano.host.sources import answering
from sedano.memory import MemorySecretTexts
from sedano.model.history.run_rows import Host
from sedano.model.queues import SQS
from sedano.model.sources.webhooks import Answer, ReceivedRequest
from sedano.ports import EVENTS, PARKED, Outgoing
from sedano.webhooks import WebhookRequest, unsigned
from tests.stories.forge import SECRET, IssueClosed, app, closed, github, standard, told
from tests.stories.opening import opened_forge
from tests.stories.terminals import items

BAD = closed("four")


@pytest.fixture
def world() -> Iterator[worlds.World]:
    """The forge's app in memory, where the forge's secret is kept."""
    with opened_forge() as built:
        yield built


def post(world: worlds.World, body: bytes, delivery: str = "72d3162e", secret: str = SECRET) -> Answer:
    """What GitHub is told."""
    return world.post("/github", body, github(body, delivery, secret))


def test_what_is_posted_runs_the_task_that_subscribed(world: worlds.World) -> None:
    assert post(world, closed(5)) == Answer(202, "published: 1")
    world.drain()
    assert told == [5]


def test_a_delivery_that_comes_again_runs_nothing_again(world: worlds.World) -> None:
    for _ in range(3):
        assert post(world, closed(5)).status == 202
        world.drain()
    assert told == [5]


def test_another_delivery_of_the_same_content_is_another_event(world: worlds.World) -> None:
    post(world, closed(5), "one")
    post(world, closed(5), "two")
    world.drain()
    assert told == [5, 5]


def test_several_events_of_one_request_are_told_apart(world: worlds.World) -> None:
    body = closed(0, "many", numbers=[1, 2, 2])
    for _ in range(2):
        assert post(world, body) == Answer(202, "published: 3")
    world.drain()
    assert sorted(told) == [1, 2, 2]


def test_where_no_id_is_given_the_body_is_its_own(world: worlds.World) -> None:
    for number in (1, 1, 2):
        assert world.post("/open", closed(number)).status == 202
    world.drain()
    assert sorted(told) == [1, 2]


def test_what_is_of_no_interest_is_answered_and_forgotten(world: worlds.World) -> None:
    assert post(world, closed(5, "opened")) == Answer(200, "nothing of interest")
    world.drain()
    assert (told, world.parked()) == ([], [])


@pytest.mark.parametrize(
    "headers", [{}, github(closed(6), "x"), github(closed(5), "x", "another secret"), {"X-Hub-Signature-256": "sha256="}]
)
def test_who_does_not_sign_is_refused_counted_and_leaves_nothing(world: worlds.World, headers: dict[str, str]) -> None:
    assert world.post("/github", closed(5), headers).status == 401
    assert world.telemetry.counted("WebhooksRefused") == 1
    world.drain()
    assert (told, world.parked(), world.sent("tests.stories.forge.IssueClosed")) == ([], [], [])


def test_only_a_post_to_a_name_that_is_declared_is_taken(world: worlds.World) -> None:
    assert world.post("/gitlab", b"").status == 404
    assert world.post("/", b"").status == 404
    assert world.post("/github/more", b"").status == 404
    assert world.post("/github", b"", method="GET") == Answer(405, "a webhook takes POST", {"allow": "POST, HEAD"})


@pytest.mark.parametrize(("more", "status"), [(-1, 202), (0, 202), (1, 413)])
def test_a_body_may_have_4_mib_and_no_byte_more(world: worlds.World, more: int, status: int) -> None:
    body = closed(5).ljust(4_194_304 + more)
    assert world.post("/open", body).status == status
    assert world.parked() == []


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b"[" * 100_000, closed(None), BAD, b'{"action": "many", "numbers": [1, "x"]}'])
def test_what_is_signed_and_cannot_be_read_is_set_aside_with_its_reason(world: worlds.World, body: bytes) -> None:
    assert post(world, body) == Answer(202, "accepted, but parked, because it could not be read")
    (found,) = world.parked()
    assert (found.attributes["reason"], found.attributes["queue"]) == ("webhook", "webhook:github")
    assert "Basic" not in found.body
    assert "authorization" not in found.body.lower()
    world.drain()
    assert told == [], "of several events all are published or none"


def test_what_a_function_returns_is_an_event_of_its_app_or_set_aside(world: worlds.World) -> None:
    assert world.post("/odd", b'{"id": 5}').status == 202
    (found,) = world.parked()
    assert "webhook odd returned a int; return an event of the app, a list of them, or None" in found.attributes["detail"]


def test_what_was_set_aside_is_taken_once_more_when_the_function_can_read_it(world: worlds.World) -> None:
    post(world, BAD, "late")
    (stays,) = redrive(world.ports, planned(world.ports, parked(world.ports, lambda one: True)), answering(app).again)
    assert stays is not None
    assert "four" in str(stays) or "number" in str(stays)
    hook = app.webhooks["github"]
    app.webhooks["github"] = hook._replace(read=lambda request: [("tests.stories.forge.IssueClosed", {"number": 4})])
    try:
        assert redrive(world.ports, planned(world.ports, parked(world.ports, lambda one: True)), answering(app).again) == [None]
    finally:
        app.webhooks["github"] = hook
    world.drain()
    assert (told, world.parked()) == ([4], [])


def test_the_command_line_takes_it_once_more_and_says_so(world: worlds.World, capsys: pytest.CaptureFixture[str]) -> None:
    post(world, BAD)
    named = ("--app", "tests.stories.forge:app")
    assert main(["parked", "list", *named]) == 0
    assert "webhook:github" in capsys.readouterr().out
    assert main(["parked", "redrive", "--why", "webhook", "--yes", *named]) == 1
    assert "stays parked: webhook: body: " in capsys.readouterr().err
    other = Sedano("other")
    other.attach(world.ports)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.stories.forge.other", other, raising=False)
        assert main(["parked", "redrive", "--all", "--yes", "--app", "tests.stories.forge:other"]) == 1
    assert "this app does not declare it; name the app that does with --app" in capsys.readouterr().err
    assert len(world.parked()) == 1


def test_the_command_line_shows_a_request_as_it_was_sent_and_moves_no_cursor(
    world: worlds.World, capsys: pytest.CaptureFixture[str]
) -> None:
    body = '{"action": "clos\x1b[2Jed",\r\n "title": "Ünlesbar \u202e"}'.encode() + b"\xff"
    post(world, body, "\x1b[2Jlate")
    (found,) = world.parked()
    named = (found.attributes["message_id"], "--app", "tests.stories.forge:app")
    assert main(["parked", "show", *named]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("request ")
    assert said[2].startswith("POST /github at ")
    assert "x-github-delivery: \\x1b[2Jlate" in said
    assert said[-3:] == ["", '{"action": "clos\\x1b[2Jed",', ' "title": "Ünlesbar \\u202e"}\\xff']
    assert main(["parked", "show", *named, "--json"]) == 0
    assert base64.b64decode(json.loads(items(capsys.readouterr().out)[0]["body"])["body"]) == body


def test_what_an_app_declares_names_its_webhooks_and_whether_they_are_signed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["discover", "--app", "tests.stories.forge:app"]) == 0
    said = capsys.readouterr().out
    assert "\n/github: a webhook, signed\n" in said
    assert "\n/open: a webhook, unsigned\n" in said
    assert main(["discover", "--app", "tests.stories.forge:app", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["webhooks"]["github"] is True


def test_a_parked_request_of_a_webhook_that_is_no_more_stays_parked(world: worlds.World) -> None:
    post(world, BAD)
    other = Sedano("other")
    other.attach(world.ports)
    (stays,) = redrive(world.ports, planned(world.ports, parked(world.ports, lambda one: True)), answering(other).again)
    assert "this app does not declare it" in str(stays)
    assert len(world.parked()) == 1


class Away:
    """Queues that do not answer."""

    bounds = SQS

    def send(self, queue: str, messages: Sequence[Outgoing]) -> list[SedanoError | None]:
        """Take nothing."""
        raise Unavailable(f"{queue} is away")


def test_when_the_queue_is_away_the_sender_is_asked_to_come_again(world: worlds.World) -> None:
    away: Any = Away()  # of queues, publishing and parking ask this and the bounds
    ports, secrets = replace(world.ports, queues=away), MemorySecretTexts(world.secrets)
    without = Webhooks(app.webhooks, ports, Host("away", 1), app.outlet.lamport, secrets)
    for body in (closed(5), BAD):
        answer = without.answer(ReceivedRequest("POST", "/github", github(body, "72d3162e"), body))
        assert (answer.status, answer.headers["retry-after"]) == (503, "30")
    assert world.telemetry.counted("WebhooksUnanswered") == 2
    assert post(world, closed(5)).status == 202
    world.drain()
    assert (told, world.queues.peek(EVENTS), world.queues.peek(PARKED)) == ([5], [], [])


def test_without_a_secret_nobody_is_let_in_and_the_log_says_what_to_do(world: worlds.World) -> None:
    assert world.post("/bare", closed(5), {"X-Signature": "00"}).status == 503
    assert world.telemetry.counted("WebhooksUnanswered") == 1
    assert any("no secret is set" in str(line.fields) for line in world.telemetry.lines)


def test_a_secret_follows_another_without_a_request_being_refused(world: worlds.World) -> None:
    assert post(world, closed(1), "a").status == 202
    world.secrets["github"] = f"{SECRET}\nthe next one\n"
    world.clock.advance(11)
    assert post(world, closed(2), "b", "the next one").status == 202
    assert post(world, closed(3), "c").status == 202
    world.secrets["github"] = "the next one"
    world.clock.advance(301)
    assert post(world, closed(4), "d").status == 401
    assert post(world, closed(5), "e", "the next one").status == 202


def test_wrong_signatures_let_nobody_ask_for_secrets_without_an_end(world: worlds.World) -> None:
    asked: list[str] = []

    class Counting:
        def read(self, webhook: str) -> tuple[str, ...]:
            asked.append(webhook)
            return (SECRET,)

    world.__dict__["_webhooks"] = answering(app, Counting())
    for _ in range(100):
        assert post(world, closed(5), secret="wrong").status == 401
        world.clock.advance(0.5)
    assert 5 <= len(asked) <= 7


def test_standard_webhooks_are_known_by_the_id_that_is_signed(world: worlds.World) -> None:
    world.secrets["standard"] = "whsec_c2VjcmV0"
    at = int(world.clock.now())
    for which in ("msg_1", "msg_1", "msg_2"):
        assert world.post("/standard", closed(5), standard(closed(5), which, at, b"secret")).status == 202
    world.drain()
    assert told == [5, 5]
    world.clock.advance(400)
    assert world.post("/standard", closed(5), standard(closed(5), "msg_3", at, b"secret")).status == 401


def test_slack_hears_200_without_a_word_whatever_becomes_of_what_it_sent(world: worlds.World) -> None:
    """It shows whoever gave a command what the answer says, and takes no other status for a yes."""
    world.secrets["slack"] = "hush"
    challenge = b'{"type": "url_verification", "challenge": "3eZbrw1a"}'
    for body, text in ((closed(5), ""), (closed(5, "opened"), ""), (BAD, ""), (b"command=%2Fclose", ""), (challenge, "3eZbrw1a")):
        at = str(int(world.clock.now()))
        code = hmac.new(b"hush", f"v0:{at}:".encode() + body, hashlib.sha256).hexdigest()
        headers = {"X-Slack-Signature": f"v0={code}", "X-Slack-Request-Timestamp": at}
        assert world.post("/slack", body, headers) == Answer(200, text)
        assert world.post("/slack", body + b" ", headers).status == 401
    world.drain()
    assert (told, len(world.parked())) == ([5], 2)


def test_a_webhook_is_declared_with_what_can_be_honoured() -> None:
    plain = Sedano("plain")
    for name in ("Upper", "a/b", "", "a" * 41, "1"):
        with pytest.raises(OptionError, match="it is part of a URL"):
            plain.webhook(name, verify=unsigned())(lambda request: None)
    with pytest.raises(OptionError, match=r"verify is None; write how its sender signs"):
        plain.webhook("a", verify=None)(lambda request: None)  # type: ignore[arg-type] # what is refused
    with pytest.raises(OptionError, match="delivery is 'x y'"):
        plain.webhook("a", verify=unsigned(), delivery="x y")(lambda request: None)

    async def slow(request: WebhookRequest) -> None:
        """Nothing."""

    with pytest.raises(OptionError, match="a plain function"):
        plain.webhook("a", verify=unsigned())(slow)
    plain.webhook("a", verify=unsigned())(lambda request: None)
    with pytest.raises(OptionError, match="declared twice"):
        plain.webhook("a", verify=unsigned())(lambda request: None)


def test_the_function_stays_what_it_was() -> None:
    plain = Sedano("plain")

    @plain.webhook("a", verify=unsigned())
    def nothing(request: WebhookRequest) -> None:
        """Nothing."""

    assert nothing(WebhookRequest("a", {}, b"", 0.0)) is None
    assert IssueClosed(number=5).number == 5
