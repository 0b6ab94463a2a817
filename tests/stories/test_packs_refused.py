"""Stories of `pack=` where it cannot be honoured: it is refused when the group is published, and never dropped."""

from collections.abc import Callable
from typing import Any

import pytest

from sedano import chain, chord, group
from sedano.errors import OptionError, SedanoError
from sedano.model import packs
from sedano.ports import PARKED
from tests.stories.packed import Crate
from tests.stories.processes import COMMANDS

UNFIT: dict[str, Callable[[Crate], Any]] = {
    "chains": lambda crate: [chain(crate.square.s(n), crate.square.s()) for n in range(4)],
    "groups": lambda crate: [group(crate.square.s(n), crate.square.s(n)) for n in range(4)],
    "chunks": lambda crate: [crate.square.chunks([(n,) for n in range(8)], 2)],
}


@pytest.mark.parametrize("pack", [4, True])
@pytest.mark.parametrize("what", UNFIT)
def test_members_that_are_no_calls_are_refused(what: str, pack: Any) -> None:
    crate = Crate()
    for form in (group(UNFIT[what](crate), pack=pack), chord(UNFIT[what](crate), crate.total.s(), pack=pack)):
        with pytest.raises(SedanoError, match=r"pack: .*(a member is a chain or a group|inside another group)"):
            form.delay()
    assert crate.stage.peek(COMMANDS) == []


@pytest.mark.parametrize("pack", [4, True])
def test_an_empty_group_may_be_packed(pack: Any) -> None:
    crate = Crate()
    result: Any = group([], pack=pack).delay()
    crate.processes.drain()
    assert result.get(timeout=1) == []


@pytest.mark.parametrize("depth", range(52, 64))
@pytest.mark.parametrize("named", [False, True])
def test_arguments_that_are_too_deep_for_a_pack_are_refused_when_it_is_published(depth: int, named: bool) -> None:
    crate, value = Crate(), list[Any]()
    for _ in range(depth):
        value = [value]
    deep = crate.shop.task("deep", lambda value: 1)
    members = [deep.s(value=value) if named else deep.s(value) for _ in range(4)]
    try:
        group(members, pack=False).delay()
    except SedanoError:
        with pytest.raises(SedanoError):
            group(members, pack=4).delay()
        return
    if depth < 58:
        result = group(members, pack=4).delay()
        crate.processes.drain()
        assert result.get(timeout=1) == [1] * 4
    else:
        with pytest.raises(OptionError, match=r"pack: arguments.*leave out pack="):
            group(members, pack=4).delay()
    crate.processes.drain()
    assert crate.stage.peek(PARKED) == []


@pytest.mark.parametrize("pack", [4, True])
@pytest.mark.parametrize("how", ["replace", "add_to_chord"])
def test_a_running_task_publishes_packs_in_place_of_itself_or_beside_it(how: str, pack: Any) -> None:
    crate = Crate()

    def body() -> int:
        form = group([crate.square.si(n) for n in range(8)], pack=pack)
        if how == "replace":
            task.replace(form)
        task.add_to_chord(form)
        return 1

    task = crate.shop.task("publishing", body)
    result = chord([task.s()], crate.shop.task("listed", lambda found: found).s()).delay()
    crate.processes.drain()
    values = [n * n for n in range(8)]
    assert result.get(timeout=1) == ([values] if how == "replace" else [1, values])
    ids = {end.task_id for end in crate.stage.audit.ends}
    assert any(packs.is_reserved(one) and ".p" in one for one in ids)
    assert crate.stage.peek(PARKED) == []


@pytest.mark.parametrize("how", ["replace", "add_to_chord"])
def test_a_running_task_that_publishes_unfit_packs_fails(how: str) -> None:
    crate = Crate()

    def body() -> int:
        form = group([crate.square.si(1), crate.total.si([2])], pack=4)
        if how == "replace":
            task.replace(form)
        task.add_to_chord(form)
        return 1

    task = crate.shop.task("publishing", body, retry=False)
    result = chord([task.s()], crate.total.s()).delay()
    crate.processes.drain()
    with pytest.raises(SedanoError, match="differ in their task"):
        result.get(timeout=1)
    assert crate.stage.peek(PARKED) == []
