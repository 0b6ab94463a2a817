"""Bodies that GitHub sent, delivered as GitHub delivers: in any order, more than once, and never altered on the way.

Whether what an app heard is what stands in them is judged by another reading: the kind of event by the file's name, the fields by where
they stand in the text.
"""

import base64
import hashlib
import hmac
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID, uuid5

import pytest

from sedano import testing as worlds
from sedano.aws.function_url import arrived
from sedano.host.sources import answering
from sedano.memory import MemorySecretTexts
from sedano.model.sources.webhooks import Answer
from tests.stories.hub import app, heard

DATA = Path(__file__).parents[3] / "shared" / "data" / "github_webhooks"
SECRET = "a secret\tof GitHub's, ünlike others"
NAMESPACE = UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
Heard = tuple[str, dict[str, Any]]
#: Of each file whose name begins so: what is heard of it, of each element of which list, and where its fields stand.
WANTED: dict[str, tuple[str, str, dict[str, str]]] = {
    "issues__opened": (
        "issue", "", {"number": "issue.number", "title": "issue.title", "labels": "issue.labels.*.name", "at": "issue.created_at"},
    ),
    "pull_request__closed": (
        "pull request", "", {"number": "number", "merged": "pull_request.merged", "body": "pull_request.body"},
    ),
    "push__": ("commit", "commits", {"ref": "ref", "commit": "commits.@.id"}),
    "workflow_job__completed": ("job", "", {"job": "workflow_job.id", "conclusion": "workflow_job.conclusion"}),
}  # fmt: skip


class Sent(NamedTuple):
    """A delivery of GitHub's: its *name* is that of the file."""

    name: str
    body: bytes

    @property
    def headers(self) -> dict[str, str]:
        """What GitHub sends with it."""
        signature = hmac.new(SECRET.encode(), self.body, hashlib.sha256).hexdigest()
        return {
            "Content-Type": "application/json", "User-Agent": "GitHub-Hookshot/044aadd", "X-GitHub-Event": self.name.partition("__")[0],
            "X-GitHub-Delivery": str(uuid5(NAMESPACE, self.name)), "X-Hub-Signature-256": f"sha256={signature}",
        }  # fmt: skip


@pytest.fixture(scope="module")
def bodies() -> list[Sent]:
    """Every body, in order of name."""
    if not DATA.exists():
        pytest.skip(f"{DATA.name} is not part of the project: put it into ../shared/data to run this")
    return [Sent(path.stem, path.read_bytes()) for path in sorted(DATA.glob("*.json"))]


@pytest.fixture
def world() -> Iterator[worlds.World]:
    """The app in memory, where GitHub's secret is kept."""
    heard.clear()
    with worlds.world(app) as built:
        built.secrets["github"] = SECRET
        yield built


def at(found: Any, path: str) -> Any:
    """What stands in *found* at *path*; `*` is each element of a list."""
    name, _, rest = path.partition(".")
    if not name:
        return found
    return [at(one, rest) for one in found] if name == "*" else at(found[int(name) if isinstance(found, list) else name], rest)


def wanted(sent: Sent) -> list[Heard]:
    """What is to be heard of *sent*."""
    found = json.loads(sent.body)
    for begins, (kind, each, fields) in WANTED.items():
        if sent.name.startswith(begins):
            places = range(len(at(found, each))) if each else range(1)
            told = [{name: at(found, path.replace("@", str(place))) for name, path in fields.items()} for place in places]
            return [(kind, {name: _as_heard(value) for name, value in one.items()}) for one in told]
    return []


def _as_heard(value: Any) -> Any:
    """A time with its offset as Python writes it."""
    return f"{value[:-1]}+00:00" if isinstance(value, str) and value.endswith("Z") and value[:4].isdigit() else value


def post(world: worlds.World, sent: Sent, dice: random.Random, body: bytes | None = None) -> Answer:
    """What GitHub is told, through the address or as Lambda hands it over, as text or as base64."""
    body = sent.body if body is None else body
    if dice.random() < 0.5:
        return world.post("/github", body, sent.headers)
    encoded = dice.random() < 0.5 or not _is_text(body)
    event = {
        "version": "2.0", "rawPath": "/github", "requestContext": {"http": {"method": "POST"}}, "isBase64Encoded": encoded,
        "headers": {name.lower(): text for name, text in sent.headers.items()},
        "body": base64.b64encode(body).decode() if encoded else body.decode(),
    }  # fmt: skip
    return answering(app, MemorySecretTexts(world.secrets)).answer(arrived(event))


def _is_text(body: bytes) -> bool:
    try:
        return bool(body.decode())
    except UnicodeDecodeError:
        return False


def altered(body: bytes, dice: random.Random) -> bytes:
    """*body* with one bit of it another."""
    changed = bytearray(body)
    changed[dice.randrange(len(body))] ^= 1 << dice.randrange(8)
    return bytes(changed)


def sorted_of(some: list[Heard]) -> list[str]:
    """*some* in an order of their own."""
    return sorted(json.dumps(one, sort_keys=True) for one in some)


def test_each_kind_that_is_wanted_is_among_the_bodies(bodies: list[Sent]) -> None:
    assert {kind for sent in bodies for kind, _ in wanted(sent)} == {kind for kind, *_ in WANTED.values()}
    assert any(not wanted(sent) for sent in bodies)


def test_each_body_is_answered_by_what_is_published_of_it(bodies: list[Sent], world: worlds.World) -> None:
    dice = random.Random(6)
    for sent in bodies:
        number = len(wanted(sent))
        assert post(world, sent, dice) == (Answer(202, f"published: {number}") if number else Answer(200, "nothing of interest")), sent.name
    assert world.parked() == []


@pytest.mark.parametrize("seed", range(3))
def test_what_is_delivered_in_any_order_and_again_is_heard_once(bodies: list[Sent], world: worlds.World, seed: int) -> None:
    dice = random.Random(seed)
    print("seed", seed)
    deliveries = [sent for sent in bodies for _ in range(dice.randint(1, 3))]
    dice.shuffle(deliveries)
    for sent in deliveries:
        assert post(world, sent, dice).status in (200, 202)
        if dice.random() < 0.2:
            world.drain()
    world.drain()
    assert sorted_of(heard) == sorted_of([one for sent in bodies for one in wanted(sent)])
    world.clock.advance(86_400)
    for sent in dice.sample(bodies, len(bodies)):
        assert post(world, sent, dice).status in (200, 202), "asked for once more on GitHub's page, a day later"
    world.drain()
    assert len(heard) == sum(len(wanted(sent)) for sent in bodies)


def test_a_body_of_which_one_bit_was_altered_is_refused_and_the_true_one_is_taken_afterwards(
    bodies: list[Sent], world: worlds.World
) -> None:
    dice = random.Random(8)
    for sent in bodies:
        assert post(world, sent, dice, altered(sent.body, dice)).status == 401, sent.name
    world.drain()
    assert (heard, world.parked(), world.telemetry.counted("WebhooksRefused")) == ([], [], len(bodies))
    for sent in bodies:
        assert post(world, sent, dice).status in (200, 202)
    world.drain()
    assert sorted_of(heard) == sorted_of([one for sent in bodies for one in wanted(sent)])


def test_a_body_that_was_cut_on_its_way_is_refused(bodies: list[Sent], world: worlds.World) -> None:
    dice = random.Random(9)
    for sent in bodies:
        assert post(world, sent, dice, sent.body[: dice.randrange(1, len(sent.body))]).status == 401
    assert world.telemetry.counted("WebhooksRefused") == len(bodies)
