"""The app that is fuzzed: one task of each kind, each form of canvas, an event, a workflow, webhooks and a stream.

`EFFECTS` notes the runs of `good`, the task of the neighbours; every other body is short, and fails or publishes as its kind asks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from sedano import Breaker, Retry, Sedano, current, poisonous, retry
from sedano.canvas import chain, chord, fork, group
from sedano.event import DomainEvent
from sedano.streams import QueueMessage, StreamRecord, TableChange
from sedano.webhooks import WebhookRequest, echo, hmac_sha256, hub, response_check, secret_token, slack, standard_webhooks, stripe, unsigned
from sedano.workflow import Input, Step, Workflow, each, own

app = Sedano("stall", queues=("default", "orders.fifo"), retry=Retry(max_retries=2, interval_start=1, jitter=False))
price = app.document("price", sinks=[app.sink("bi"), app.sink("lake")])
EFFECTS: Counter[str] = Counter()
RAN: Counter[str] = Counter()


@app.task(name="good")
def good(which: str) -> str:
    """The neighbour of hostile messages; claimed."""
    EFFECTS[which] += 1
    return which


@app.task(name="good.once", delivery="record_once")
def good_once(which: str) -> str:
    """The same, recorded without a claim."""
    EFFECTS[which] += 1
    return which


@app.task(name="good.light", delivery="at_least_once", ignore_result=True)
def good_light(which: str) -> None:
    """The same, without any record."""
    EFFECTS[which] += 1


@app.task(name="add")
def add(a: int, b: int = 1) -> int:
    """Add."""
    RAN["add"] += 1
    return a + b


@app.task(name="total", sinks="bi")
def total(parts: list[Any]) -> int:
    """Sum what is a number."""
    RAN["total"] += 1
    return sum(part for part in parts if isinstance(part, int) and abs(part) < 1 << 60)


@app.task(name="anything")
def anything(*args: Any, **kwargs: Any) -> Any:
    """Take what comes, and return it."""
    RAN["anything"] += 1
    return [*args, kwargs]


@app.task(name="waits", ignore_result=True)
async def waits(n: int = 0) -> None:
    """An async body."""
    RAN["waits"] += 1


@app.task(name="boom", retry=False)
def boom(*args: Any) -> None:
    """Fail for good."""
    RAN["boom"] += 1
    raise ValueError("boom")


@app.task(name="again")
def again(n: int = 0) -> int:
    """Fail once, then succeed."""
    RAN["again"] += 1
    if not current().attempt:
        raise ValueError("again")
    return n


@app.task(name="sections")
def sections(n: int = 0) -> int:
    """Fail inside a section."""
    RAN["sections"] += 1
    with retry(max_retries=1):
        if not n and not current().attempt:
            raise ValueError("in a section")
    with poisonous():
        return n


@app.task(name="errback")
def errback(*args: Any) -> None:
    """Called for those that failed."""
    RAN["errback"] += 1


@app.task(name="instead", bind=True)
def instead(self: Any, n: int = 1) -> Any:
    """Replaced by a chain."""
    RAN["instead"] += 1
    return self.replace(chain(add.s(n, 1), add.s(2)))


@app.task(name="grows", bind=True)
def grows(self: Any, n: int = 1) -> int:
    """Adds a member to its chord."""
    RAN["grows"] += 1
    if n > 1:
        self.add_to_chord(add.s(1, 1))
    return n


@app.task(name="spawns")
def spawns(n: int = 2) -> None:
    """Publish children."""
    RAN["spawns"] += 1
    for number in range(min(max(n, 0), 5)):
        add.delay(number, 1)


@app.task(name="alone", singleton="key")
def alone(key: str = "k") -> str:
    """One run for each key."""
    RAN["alone"] += 1
    return key


@app.task(name="paced", rate="100/s", burst=3, key="{key}")
def paced(key: str = "k") -> None:
    """At a rate."""
    RAN["paced"] += 1


@app.task(name="few", concurrency=2)
def few(n: int = 0) -> None:
    """Two at a time."""
    RAN["few"] += 1


@app.task(name="quiet", debounce=5, key="{key}")
def quiet(key: str = "k") -> None:
    """After five seconds of quiet."""
    RAN["quiet"] += 1


@app.task(name="packed", batch=(10, "5s"))
def packed(calls: list[Any]) -> int:
    """Many calls at once."""
    RAN["packed"] += 1
    return len(calls)


@app.task(name="guarded", circuit=Breaker(failures=100), retry=False)
def guarded(n: int = 0) -> None:
    """Behind a circuit."""
    RAN["guarded"] += 1
    if n < 0:
        raise ValueError("guarded")


@app.task(name="limited", time_limit=60, soft_time_limit=50, expires=3600, tenant="{who}")
def limited(who: str = "acme") -> None:
    """With limits and a tenant."""
    RAN["limited"] += 1


@app.task(name="serial", queue="orders.fifo", serial_key="{key}")
def serial(key: str = "k") -> None:
    """In order."""
    RAN["serial"] += 1


@app.election_topic("lead")
def lead(action: Any) -> Any:
    """What an election's winner does."""
    RAN["lead"] += 1
    return action


@app.event
class Sold(DomainEvent):
    """Something was sold."""

    item: str
    amount: int
    tags: list[str]


@Sold.subscribe
@app.task(name="on_sold")
def on_sold(item: str, amount: int, tags: list[str]) -> None:
    """Hear of it."""
    RAN["on_sold"] += 1


@Sold.subscribe
@app.task(name="on_sold.too", tenant="{item}")
def on_sold_too(item: str, **more: Any) -> None:
    """Hear of it too."""
    RAN["on_sold.too"] += 1


@app.stream("orders")
@app.stream("clicks")
@app.task(name="changed")
def changed(record: TableChange | StreamRecord | QueueMessage) -> None:
    """A record of a stream."""
    RAN["changed"] += 1


def read_sold(request: WebhookRequest) -> list[Any] | None:
    """What a request says was sold."""
    told = request.json()
    if request.header("x-kind") == "none":
        return None
    return [Sold(item=one["item"], amount=one["amount"], tags=one.get("tags", [])) for one in told["sold"]]


CHALLENGES = {"hmac": hub(), "base64": response_check(), "token": echo()}
for scheme, verify in {
    "hmac": hmac_sha256(header="X-Signature", prefix="sha256="), "base64": hmac_sha256(header="X-Signature", encoding="base64"),
    "token": secret_token(header="X-Token"), "stripe": stripe(), "slack": slack(), "standard": standard_webhooks(), "open": unsigned(),
}.items():  # fmt: skip
    app.webhook(scheme, verify=verify, challenge=CHALLENGES.get(scheme))(read_sold)


class Fulfil(Workflow, app=app, version="1"):
    """A workflow with a condition, calls side by side and a compensation."""

    amount = Input(int)
    priced = Step(add.s(amount, 1))
    listed = Step(anything.s(priced))
    paid = Step(add.s(priced, 2), compensate=add.s(own, 1), retry=1, after=listed)
    wrapped = Step(add.s(amount, 3), when=priced > 100)
    shipped = Step(anything.s(paid, gift=wrapped.or_none))
    spread = Step(add.s(each(listed), 1), when=priced > 1000)


def forms() -> Sequence[Any]:
    """Return one canvas of each form, to publish."""
    return [
        add.s(1, 2), chain(add.s(1, 2), add.s(3), add.s(4)), group([add.s(1, 1), add.s(2, 2)]),
        chord([add.s(1, 1), add.s(2, 2)], total.s()),
        chord([add.s(1, 1), boom.s()], total.s()), chord([add.s(1, 1), boom.s()], total.s(), on_failure="outcomes"),
        chord([chain(add.s(1, 1), add.s(2)), grows.s(2)], chain(total.s(), add.s(5))),
        chain(add.s(1, 1), group([add.s(2), add.s(3)]), total.s()),
        add.map([1, 2]), add.starmap([(1, 2), (3, 4)]), add.chunks([(1, 2), (3, 4), (5, 6)], 2),
        chain(add.s(1, 1), fork(add.s(2), anything.s()), add.s(3)),
        linked(add.s(1, 2)), erring(boom.s(1)), instead.s(1), spawns.s(2), chain(instead.s(2), add.s(1)),
        anything.s("a", [1], {"b": None}, key={"c": 0.5}),
        anything.s("x" * 40_000), *kinds(),
    ]  # fmt: skip


def kinds() -> Sequence[Any]:
    """Return a call of each kind of task and option."""
    return [
        waits.s(1), again.s(1), sections.s(), alone.s("a"), paced.s("a"), few.s(1), quiet.s("a"), packed.s(1, x=2), guarded.s(1),
        limited.s("acme"),
        add.s(1, 2).set(dedup_key="order-1"), add.s(1, 2).set(countdown=30), add.s(1, 2).set(countdown=5000), add.s(1, 2).set(expires=60),
        add.s(1, 2).set(tenant="acme", stamps={"team": "core"}, budget=50), add.s(1, 2).set(time_limit=9, soft_time_limit=8),
        add.s(1, 2).set(ignore_result=True),
        good_once.s("seed"), good_light.s("seed"),
    ]  # fmt: skip


def linked(sig: Any) -> Any:
    """Return *sig* with links."""
    sig.link(add.s(5))
    sig.link(chain(add.s(6), add.s(7)))
    return sig


def erring(sig: Any) -> Any:
    """Return *sig* with error callbacks."""
    sig.link_error(errback.s())
    return sig
