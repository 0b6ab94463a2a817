"""Sources of `@app.poll(…)`: pages of items from an HTTP address, or from a function of yours.

    from sedano.polls import Polled, http

    @app.poll("orders", every(300), http("https://api.example.com/orders?since={cursor}", items="orders", cursor="next"), identity="id")
    @app.task
    def ordered(order: dict[str, Any]) -> None: ...
"""

from __future__ import annotations

from collections.abc import Mapping

from sedano.errors import SourceBusy as SourceBusy
from sedano.model.sources.http_polls import NextCursor, plan_of
from sedano.model.sources.polls import Polled, call_id
from sedano.outbound.http_polls import HttpSource

__all__ = ["HttpSource", "Polled", "call_id", "http"]


def http(
    url: str, *, items: str = "", cursor: str | NextCursor | None = None, start: str = "", headers: Mapping[str, str] | None = None
) -> HttpSource:  # fmt: skip
    """Return a source of `@app.poll`: a GET request whose answer is JSON with a list of items.

    A request sends the `ETag` and `Last-Modified` of the last answer back, so an unchanged source answers 304, and nothing is published.
    429 and 503 with `Retry-After` put the poll off; any other failure fails the poll, which is tried again.

    Args:
        url: https://…, or http:// of this machine; ``{cursor}`` in it is replaced by the cursor.
        items: the path of the list in the answer, with dots between the keys (``data.orders``); by default the answer is the list.
        cursor: the path of the next cursor in the answer, or a function of the answer; without a next cursor (null) the same page is read
            again, and only its new items are published.
        start: the first cursor.
        headers: headers of the request; a value ``ssm:/shop/orders/authorization`` is the text of this parameter, which the worker reads.

    Raises:
        OptionError: an option cannot be honoured.
    """
    return HttpSource(plan_of(url, items, cursor, start, headers))
