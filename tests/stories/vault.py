"""An app with a task that nobody should reach through the parked queue, an event, a webhook and a stream; what a stranger sends to it."""

import json
from datetime import UTC, datetime
from typing import Any

from sedano import DomainEvent, Sedano, testing
from sedano.ports import PARKED, Outgoing
from sedano.webhooks import WebhookRequest, unsigned

app = Sedano("vault", queues=("default", "secret"))
ran: list[Any] = []


@app.event
class Opened(DomainEvent):
    """The vault was opened."""

    number: int


@app.task(name="wipe", queue="secret")
def wipe(n: int) -> None:
    """Wipe."""
    ran.append(("wipe", n))


@Opened.subscribe
@app.task(name="look")
def look(number: int) -> None:
    """Look."""
    ran.append(("look", number))


@app.webhook("door", verify=unsigned())
def door(request: WebhookRequest) -> Opened:
    """Make an event of a request."""
    return Opened(number=int(request.json()["number"]))


def command(world: testing.World, name: str, n: object, message_id: str) -> str:
    """A command as anybody can write it."""
    moment = datetime.fromtimestamp(world.clock.now(), UTC).isoformat().replace("+00:00", "Z")
    return json.dumps({
        "specversion": "1.0", "type": "sedano.command.v1", "source": "stranger", "subject": name, "id": message_id, "time": moment,
        "clock": str(int(world.clock.now() * 1e6)), "data": {"args": [n]},
    })  # fmt: skip


def plant(world: testing.World, body: str, **attributes: str) -> None:
    """Put a message into the parked queue, as whoever may send there can."""
    world.queues.send(PARKED, [Outgoing(body, attributes=attributes)])
