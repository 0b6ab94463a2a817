"""Senders that send the secret itself, as GitLab does: who has it is let in, and it is kept nowhere."""

from collections.abc import Iterator

import pytest

from sedano import DomainEvent, Sedano
from sedano import testing as worlds
from sedano.errors import OptionError
from sedano.model.sources.webhooks import Answer
from sedano.webhooks import WebhookRequest, secret_token, standard_webhooks
from tests.stories.forge import closed, standard

app = Sedano("lab")
SEEN: list[WebhookRequest] = []
told: list[int] = []


@app.event
class Merged(DomainEvent):
    """A request was merged."""

    number: int


@Merged.subscribe
@app.task
def tell(number: int) -> None:
    """The number is noted."""
    told.append(number)


def read(request: WebhookRequest) -> Merged:
    """What a request says."""
    SEEN.append(request)
    return Merged(number=request.json()["number"])


app.webhook("lab", verify=secret_token(header="X-Lab-Token"), delivery="Idempotency-Key")(read)
app.webhook("gitlab", verify=standard_webhooks())(read)


@pytest.fixture
def world() -> Iterator[worlds.World]:
    """The app in memory, where the secrets are kept."""
    SEEN.clear()
    told.clear()
    with worlds.world(app) as built:
        built.secrets.update(lab="hush", gitlab="whsec_c2VjcmV0")
        yield built


def post(world: worlds.World, body: bytes, delivery: str, sent: str = "hush") -> Answer:
    """What a sender is told that sends its secret."""
    return world.post("/lab", body, {"x-LAB-token": sent, "Idempotency-Key": delivery})


def test_who_sends_the_secret_is_let_in_and_a_delivery_that_comes_again_runs_nothing_again(world: worlds.World) -> None:
    for delivery in ("a", "a", "b"):
        assert post(world, closed(5), delivery).status == 202
    world.drain()
    assert told == [5, 5]
    for sent in ("", "hus", "hush ", "hushh", "HUSH"):
        assert post(world, closed(6), "c", sent).status == 401
    assert world.post("/lab", closed(6), {"Idempotency-Key": "c"}).status == 401
    world.drain()
    assert told == [5, 5]


def test_the_secret_is_neither_seen_by_the_function_nor_kept_with_what_is_parked(world: worlds.World) -> None:
    assert post(world, b"no JSON with hush in its headers", "a") == Answer(202, "accepted, but parked, because it could not be read")
    (lying,) = world.parked()
    assert [dict(request.headers) for request in SEEN] == [{"idempotency-key": "a"}]
    assert "-token" not in lying.body
    assert "idempotency-key" in lying.body


def test_a_token_that_is_sent_beside_a_signature_is_not_kept_either(world: worlds.World) -> None:
    """GitLab sends its secret token beside the signature by its signing token, where both were entered."""
    headers = standard(b"no JSON", "msg_1", int(world.clock.now()), b"secret")
    assert world.post("/gitlab", b"no JSON", {**headers, "X-Gitlab-Token": "hush"}).status == 202
    (lying,) = world.parked()
    assert "x-gitlab-token" not in dict(SEEN[0].headers)
    assert "gitlab-token" not in lying.body


def test_the_header_with_the_secret_is_no_id_of_a_delivery() -> None:
    with pytest.raises(OptionError, match="delivery is 'X-LAB-Token'; name the header that holds the sender's id"):
        Sedano("plain").webhook("a", verify=secret_token(header="X-Lab-Token"), delivery="X-LAB-Token")(read)
