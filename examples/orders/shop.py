"""The shop: the orders that it makes up, and the signed requests with which it posts them, some of them twice."""

from __future__ import annotations

import base64
import json
import random
import ssl
import time
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from threading import Event
from typing import NamedTuple

from sedano.model.sources.signature_schemes import standard_signature

SKUS = tuple(f"sku-{number:02}" for number in range(12))
SECRET = f"whsec_{base64.b64encode(b'the shop signs its orders').decode()}"
AT_ONCE, PATIENCE_S, TRIES, PAUSE_S = 4, 30.0, 20, 0.5
TWICE_EVERY = 7
"""The shop posts every seventh order twice, as after an answer that was lost."""


class Order(NamedTuple):
    """One order."""

    order: str
    sku: str
    pieces: int
    cents: int


class ShopError(Exception):
    """The webhook did not accept an order."""


def orders(count: int, seed: int) -> list[Order]:
    """Return *count* orders, each of another id."""
    chance = random.Random(seed)
    return [Order(f"o-{number:05}", chance.choice(SKUS), chance.randint(1, 5), chance.randint(100, 9_999)) for number in range(count)]


def request_of(order: Order, now: float) -> tuple[bytes, dict[str, str]]:
    """Return the body and the headers with which the shop posts *order* at *now* (epoch s)."""
    body, at = json.dumps(order._asdict()).encode(), str(int(now))
    signature = standard_signature(order.order, at, body, SECRET).decode()
    headers = {
        "Content-Type": "application/json", "webhook-id": order.order, "webhook-timestamp": at, "webhook-signature": f"v1,{signature}",
    }  # fmt: skip
    return body, headers


@contextmanager
def posting(address: str, certificate: Path | None, some: Sequence[Order]) -> Iterator[Future[int]]:
    """Post *some* orders on a thread; its future is the number of requests. After the `with` statement no further order is posted."""
    ended = Event()
    with ThreadPoolExecutor(1, "shop") as thread:
        try:
            yield thread.submit(post_all, address, certificate, some, ended)
        finally:
            ended.set()


def post_all(address: str, certificate: Path | None, some: Sequence[Order], ended: Event) -> int:
    """Post *some* orders to the webhook at *address*, whose *certificate* is trusted; return the number of requests.

    Raises:
        ShopError: the webhook refused an order, or did not accept it after several tries, or *ended* was set.
    """
    trusted = ssl.create_default_context(cafile=certificate)
    twice = [order for number, order in enumerate(some) for _ in range(2 if number % TWICE_EVERY == 0 else 1)]
    with ThreadPoolExecutor(AT_ONCE, "orders") as threads:
        for posted in [threads.submit(_post, address, trusted, order, ended) for order in twice]:
            posted.result()
    return len(twice)


def _post(address: str, trusted: ssl.SSLContext, order: Order, ended: Event) -> None:
    """Post *order* until it is accepted, as a sender of webhooks does."""
    said = "the run has ended"
    for _ in range(TRIES):
        if ended.is_set():
            break
        body, headers = request_of(order, time.time())
        request = urllib.request.Request(address, body, headers)  # noqa: S310 - the stage on this machine
        try:
            with urllib.request.urlopen(request, context=trusted, timeout=PATIENCE_S) as answer:  # noqa: S310 - as above
                if answer.status == HTTPStatus.ACCEPTED:
                    return
                said = str(answer.status)
        except OSError as error:  # a refusal by its status, too
            said = str(error)
        ended.wait(PAUSE_S)
    raise ShopError(f"the webhook did not accept the order {order.order}: {said}")
