"""A canvas is published whole or not at all: its publisher is killed at each of its calls, and its launches at each of theirs."""

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import count
from typing import NamedTuple

import pytest

from sedano import chain, chord, fork, group
from sedano.canvas import Form
from sedano.model import states
from sedano.model.canvas.page_reader import PAGE_MEMBERS
from sedano.model.ledger.records import RESERVATION_S
from sedano.model.messages.message import COLLECT, MAP
from tests.stories.conftest import Stages
from tests.stories.kept import Effects, assert_kept, succeeded
from tests.stories.processes import Processes
from tests.stories.shop import Shop
from tests.stories.stage import Stage, in_memory
from tests.stories.taps import OUTSIDE, SIDES, Crash, Side, Watch, tapped

LARGE = PAGE_MEMBERS + 100
LONG = 600
KNOWN = "9d7a9c4e-6a0b-4c6e-9a55-0d1d3b8c1f10"


class Canvas(NamedTuple):
    """A canvas: how it is made, what it comes to, and the least number of calls that its publication takes."""

    make: Callable[[Shop], Form]
    effects: Effects
    calls: int = 1


def _mixed(shop: Shop) -> Form:
    members = (shop.add.s(n) | shop.add.s(1) for n in range(12))
    return chain(shop.add.s(1, 1), group(members), fork(shop.pack.s() | shop.mail.s()), shop.label.s())


MIXED = succeeded(launch=1, add=1 + 24, pack=1, mail=1, label=1) + Counter({(COLLECT, states.SUCCESS): 1})
CANVASES: Mapping[str, Canvas] = {
    "a small group": Canvas(lambda s: group(s.add.s(n, 1) for n in range(3)), succeeded(launch=1, add=3)),
    "a group of more than a call of SQS takes": Canvas(lambda s: group(s.add.s(n, 1) for n in range(25)), succeeded(launch=1, add=25)),
    "a group over several queues": Canvas(lambda s: group(s.pack.s("a"), s.count.s("b")), succeeded(launch=1, pack=1, count=1)),
    "a group on several pages": Canvas(lambda s: group(s.add.s(n, 1) for n in range(LARGE)), succeeded(launch=3, add=LARGE), 3),
    "chunks": Canvas(lambda s: s.add.chunks(((n, 1) for n in range(20)), 2), Counter({(MAP, states.SUCCESS): 10}) + succeeded(launch=1)),
    "a chord": Canvas(lambda s: chord((s.add.s(n, 1) for n in range(75)), s.total.s()), succeeded(launch=1, add=75, total=1), 2),
    "a group of chains, with a fork": Canvas(_mixed, MIXED),
    "a chain": Canvas(lambda s: chain(s.add.s(1, 1), *(s.add.s(1) for _ in range(LONG - 1))), succeeded(add=LONG), 2),
}


def killed(canvas: Canvas, stage: Stage, at: int = -1, side: Side = "before", shop: Shop | None = None) -> tuple[Watch, Processes]:
    """Publish *canvas* in a process that dies at one of its calls (-1: at none); return what it called, and the workers.

    With a *shop* that is known before, the canvas has the id `KNOWN`.
    """
    known, shop = (KNOWN, shop) if shop is not None else (None, Shop())
    watch = Watch(at, side, ports=OUTSIDE)
    processes = Processes(stage, shop.app)
    form = canvas.make(shop)
    shop.app.attach(tapped(stage.ports, watch))
    if at < 0:
        form.apply_async(task_id=known)
    else:
        with pytest.raises(Crash):
            form.apply_async(task_id=known)
    shop.app.attach(stage.ports)
    return watch, processes


def assert_whole(canvas: Canvas, stage: Stage, at: int, side: Side, calls: list[str]) -> None:
    """Assert that a publisher that dies there has published the whole of *canvas* when it died after its last call, else nothing of it."""
    _, processes = killed(canvas, stage, at, side)
    processes.drain()
    published = at == len(calls) - 1 and side == "after"
    assert_kept(stage, canvas.effects if published else {})


@pytest.mark.parametrize("name", CANVASES)
def test_a_canvas_is_published_whole_or_not_at_all_wherever_its_publisher_dies(name: str) -> None:
    canvas = CANVASES[name]
    stage = in_memory()
    watch, processes = killed(canvas, stage)
    processes.drain()
    assert_kept(stage, canvas.effects)
    assert len(watch.calls) >= canvas.calls
    assert watch.calls.count("queues.send") == 1
    assert watch.calls[-1] == "queues.send"
    for at in range(len(watch.calls)):
        for side in SIDES:
            assert_whole(canvas, in_memory(), at, side, watch.calls)


@pytest.mark.parametrize("name", ["a small group", "a chord"])
def test_a_publisher_that_died_publishes_again_under_the_same_id_and_nothing_runs_twice(name: str) -> None:
    canvas = CANVASES[name]
    watch, _ = killed(canvas, in_memory(), shop=Shop())
    assert watch.calls[-2:] == ["ledger.reserve", "queues.send"]
    for at in range(len(watch.calls)):
        for side in SIDES:
            stage, shop = in_memory(), Shop()
            _, processes = killed(canvas, stage, at, side, shop)
            stage.pass_time(RESERVATION_S + 1)
            canvas.make(shop).apply_async(task_id=KNOWN)
            processes.drain()
            assert_kept(stage, canvas.effects)


@pytest.mark.parametrize("name", ["a group of more than a call of SQS takes", "a chord"])
def test_on_aws_a_canvas_is_published_whole_or_not_at_all_wherever_its_publisher_dies(name: str, moto_stages: Stages) -> None:
    canvas = CANVASES[name]
    with moto_stages() as stage:
        calls = killed(canvas, stage)[0].calls
    for at in range(len(calls)):
        for side in SIDES:
            with moto_stages() as stage:
                assert_whole(canvas, stage, at, side, calls)


def test_a_group_on_several_pages_goes_on_wherever_a_worker_that_launches_it_dies() -> None:
    canvas = CANVASES["a group on several pages"]
    for at in count():
        stage = in_memory()
        _, processes = killed(canvas, stage)
        processes.restart(tapped(stage.ports, Watch(at, "after", ports=frozenset({"ledger", "queues"}))))
        with pytest.raises(Crash):
            processes.drain()
        begun = stage.audit.effects()["add", states.SUCCESS]
        processes.recover()
        assert_kept(stage, canvas.effects)
        if begun:
            break
    assert at > 10
