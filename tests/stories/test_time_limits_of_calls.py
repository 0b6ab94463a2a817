"""Time limits of single calls: those that a publication names, over those of its task; those of each call of a map."""

import re
import time
from typing import Any

import pytest

from sedano import chain
from sedano.engine.worker.pipeline import WorkerSettings
from sedano.errors import OptionError, RemoteError
from tests.stories.processes import Processes
from tests.stories.shop import Shop
from tests.stories.stage import in_memory
from tests.stories.test_time_limits import HARD, ONCE_MORE, SOFT, THREADS, spin, wait


@THREADS
def test_a_call_has_limits_of_its_own_over_those_of_its_task_and_its_retries_keep_them(shop: Shop, threads: int) -> None:
    shop.task("body", lambda *_: spin(), time_limit=20, retry=ONCE_MORE)
    processes = Processes(in_memory(), shop.app, WorkerSettings(concurrency=threads, lanes=0))
    soft = shop.app.send_task("body", soft_time_limit=SOFT)
    processes.drain()
    assert shop.ran["body"] == 2
    hard = chain(shop.add.si(1, 1), shop.app_sig("body").set(time_limit=SOFT), shop.add.s(1)).delay()
    processes.drain()
    for result, told in ((soft, "^SoftTimeLimitExceeded"), (hard, "^TimeLimitExceeded: .* its hard time limit of 0.05 s")):
        with pytest.raises(RemoteError, match=told):
            result.get()
    assert shop.ran["body"] == 3


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"time_limit": 0}, "time_limit: 0 is not a number of seconds above 0"),
        ({"soft_time_limit": "5"}, "soft_time_limit: expected a number of seconds"),
        ({"soft_time_limit": float("nan")}, "soft_time_limit: nan is not"),
        ({"soft_time_limit": 5, "time_limit": 5}, "soft_time_limit: 5 is not below time_limit: 5"),
        ({"soft_time_limit": 20}, "soft_time_limit: 20 is not below time_limit: 20"),
    ],
)
def test_limits_of_a_call_that_cannot_be_honoured_are_refused(shop: Shop, options: dict[str, Any], why: str) -> None:
    body = shop.task("body", spin, time_limit=20)
    Processes(in_memory(), shop.app)
    for publish in (lambda: body.apply_async(**options), lambda: chain(shop.add.s(1, 1), body.si().set(**options)).delay()):
        with pytest.raises(OptionError, match=re.escape(why)):
            publish()


@THREADS
def test_limits_of_a_mapped_task_hold_for_each_call(shop: Shop, threads: int) -> None:
    began = time.monotonic()

    def body(n: int) -> int:
        while n and time.monotonic() - began < n * HARD:
            pass
        return n

    mapped = shop.task("body", body, time_limit=4 * HARD, retry=False)
    processes = Processes(in_memory(), shop.app, WorkerSettings(concurrency=threads, lanes=0))
    result = mapped.map(range(7)).delay()
    processes.drain()
    assert result.get() == list(range(7)), "each call was short, all of them were longer than the limit"


@pytest.mark.parametrize(("limit", "runs"), [("soft_time_limit", 2 * 3), ("time_limit", 3)])
def test_a_mapped_call_over_its_limit_fails_the_map(shop: Shop, limit: str, runs: int) -> None:
    mapped = shop.task("body", lambda n: spin() if n == 2 else n, retry=ONCE_MORE, **{limit: SOFT})
    processes = Processes(in_memory(), shop.app)
    result = mapped.starmap([(n,) for n in range(5)]).delay()
    processes.drain()
    with pytest.raises(RemoteError, match="^SoftTimeLimitExceeded" if limit.startswith("soft") else "^TimeLimitExceeded"):
        result.get()
    assert shop.ran["body"] == runs


def test_an_async_task_with_limits_is_not_mapped_and_a_map_without_limits_does_not_run_a_limited_task(shop: Shop) -> None:
    waits = shop.task("waits", wait, soft_time_limit=SOFT)
    with pytest.raises(OptionError, match="waits is async and has time limits"):
        waits.map([1])
    shop.task("body", lambda n: n, time_limit=HARD, retry=False)
    processes = Processes(in_memory(), shop.app)
    result = shop.app.send_task("sedano.map", ("body", [1]))
    processes.drain()
    with pytest.raises(RemoteError, match="body has time limits, and its map names none"):
        result.get()
