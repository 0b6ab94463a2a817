"""Stories of canvases in packs that their user gave an id: a second publication under it is refused, whatever its packs are.

A user who derives the ids of tasks from an id and a number never writes one of packs.
"""

import uuid
from itertools import product
from typing import Any

import pytest

from sedano import chord, group
from sedano.errors import DuplicateTask
from sedano.model import states
from sedano.model.packs import SIZES
from tests.stories.packed import Crate
from tests.stories.taps import Watch, away, tapped

OWN = "6f1f1f0e-54d3-4c9f-8a61-7f0e9d2c3b4a"
LAYOUTS = [(first, second) for first, second in product((False, 4, 8, True), repeat=2) if first or second]


def _group(crate: Crate, pack: Any) -> Any:
    return group([crate.square.s(n) for n in range(16)], pack=pack)


def _chord(crate: Crate, pack: Any) -> Any:
    return chord([crate.square.s(n) for n in range(16)], crate.total.s(), pack=pack)


@pytest.mark.parametrize("make", [_group, _chord])
@pytest.mark.parametrize(("first", "second"), [*LAYOUTS, *((size, False) for size in SIZES)])
@pytest.mark.parametrize("ends", [False, True])
def test_an_id_that_was_used_is_refused_in_any_layout(make: Any, first: Any, second: Any, ends: bool) -> None:
    crate = Crate()
    make(crate, first).apply_async(task_id=OWN)
    crate.processes.deliver()
    if ends:
        crate.processes.drain()
    crate.stage.pass_time(120.0)
    with pytest.raises(DuplicateTask):
        make(crate, second).apply_async(task_id=OWN)
    crate.processes.drain()
    assert sum(crate.bodies.values()) == 16


def test_a_chord_in_packs_may_have_an_id_that_is_no_uuid() -> None:
    crate = Crate()
    _chord(crate, 4).apply_async(task_id="mine")
    crate.processes.deliver()
    crate.stage.pass_time(120.0)
    with pytest.raises(DuplicateTask):
        _chord(crate, 8).apply_async(task_id="mine")


def test_an_id_whose_publisher_died_is_free_after_a_minute() -> None:
    crate, own = Crate(), str(uuid.UUID(int=7))
    now = crate.stage.clock.now()
    assert crate.stage.ports.ledger.reserve(own, "m", now, now + 60.0) is None
    crate.stage.pass_time(61.0)
    result = _group(crate, 4).apply_async(task_id=own)
    crate.processes.drain()
    crate.assert_whole(result, 16)


@pytest.mark.parametrize("make", [_group, _chord])
@pytest.mark.parametrize("second", [8, False])
def test_an_id_whose_launch_waits_for_long_stays_taken(make: Any, second: Any) -> None:
    crate = Crate()
    make(crate, 4).apply_async(task_id=OWN)
    crate.stage.pass_time(3_600.0)
    with pytest.raises(DuplicateTask):
        make(crate, second).apply_async(task_id=OWN)
    crate.processes.drain()
    assert sum(crate.bodies.values()) == 16


def test_a_canvas_whose_launch_cannot_be_noted_is_published() -> None:
    crate = Crate()
    watch = Watch(2, "before", error=away, ports=frozenset({"ledger"}))
    crate.shop.app.attach(tapped(crate.stage.ports, watch))
    result = _group(crate, 4).apply_async(task_id=OWN)
    assert watch.calls == ["ledger.read", "ledger.reserve", "ledger.reserve"]
    crate.processes.drain()
    crate.assert_whole(result, 16)


def test_ids_from_an_order_and_the_number_of_a_line_are_those_of_the_user() -> None:
    crate, lines = Crate(), range(1, 70)
    results = [crate.square.apply_async((line,), task_id=f"{OWN}.{line}") for line in lines]
    crate.processes.drain()
    assert [result.get(timeout=1) for result in results] == [line * line for line in lines]


@pytest.mark.parametrize("own", [f"{OWN}.2", f"{OWN}.8.3", f"{OWN}.64.p0"])
def test_a_task_with_numbers_after_the_dot_is_revoked_by_its_id(own: str) -> None:
    crate = Crate()
    result = crate.square.apply_async((3,), task_id=own)
    result.revoke()
    crate.processes.drain()
    assert (result.state, crate.bodies) == (states.REVOKED, {})
    assert list(crate.stage.ports.ledger.read([own])) == [own]
