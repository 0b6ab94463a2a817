"""Error callbacks of tasks that never ran: which are called, and the words that they get."""

from typing import Any

import pytest

from sedano import Sedano, chain, chord, group
from sedano.model import states
from sedano.testing import World, world

Told = list[tuple[str, str, str]]


class Kitchen:
    """An app whose error callback notes the task, its id and the type of the error."""

    def __init__(self) -> None:
        self.app, self.told = Sedano("kitchen"), Told()

        @self.app.task(name="explain")
        def explain(request: dict[str, Any], exc: dict[str, str], traceback: str) -> None:
            self.told.append((request["task"], request["id"], exc["type"]))

        @self.app.task(name="cook")
        def cook(number: int) -> int:
            return number

        @self.app.task(name="burn", retry=False)
        def burn() -> int:
            raise ValueError("burnt")

        @self.app.task(name="serve")
        def serve(dishes: list[int]) -> int:
            return sum(dishes)

        @self.app.task(name="name")
        def name() -> str:
            return "tea"

        self.explain, self.cook, self.burn, self.serve, self.name = explain, cook, burn, serve, name


@pytest.fixture
def kitchen() -> Kitchen:
    return Kitchen()


def ended(one: World) -> None:
    """Let everything end."""
    one.elapse(60)


def test_a_task_that_expired_or_was_revoked_before_it_ran_calls_its_callback(kitchen: Kitchen) -> None:
    with world(kitchen.app) as one:
        late = kitchen.cook.s(1).on_error(kitchen.explain.s()).apply_async(countdown=10, expires=5)
        revoked = kitchen.cook.s(1).on_error(kitchen.explain.s()).apply_async(countdown=10)
        kitchen.app.control.revoke(revoked.id)
        ended(one)
        assert sorted(kitchen.told) == sorted([("cook", late.id, "TaskExpired"), ("cook", revoked.id, "TaskRevoked")])
        assert (late.state, revoked.state) == (states.EXPIRED, states.REVOKED)


def test_a_task_whose_message_is_refused_calls_its_callback(kitchen: Kitchen) -> None:
    with world(kitchen.app) as one:
        result = (kitchen.name.s() | kitchen.cook.s().on_error(kitchen.explain.s())).delay()
        ended(one)
        assert kitchen.told == [("cook", result.id, "ArgumentError")]
        assert [one.attributes["reason"] for one in one.parked()] == ["arguments"]


def test_the_body_of_a_chord_that_never_runs_calls_only_its_own_callbacks(kitchen: Kitchen) -> None:
    with world(kitchen.app) as one:
        body = kitchen.serve.s().on_error(kitchen.explain.s())
        result = chord([kitchen.cook.s(1), kitchen.burn.s()])(body)
        ended(one)
        assert kitchen.told == [("serve", result.id, "ValueError")]


def test_the_tasks_that_a_body_begins_with_call_their_callbacks_if_it_never_runs(kitchen: Kitchen) -> None:
    def watched() -> Any:
        return kitchen.serve.s().on_error(kitchen.explain.s())

    two = group(watched(), watched())
    with world(kitchen.app) as one:
        for body, tasks in ((two, 2), (chain(watched(), kitchen.cook.s()), 1), (chain(two, kitchen.serve.s()), 2)):
            kitchen.told.clear()
            chord([kitchen.cook.s(1), kitchen.burn.s()])(body)
            ended(one)
            begun = {task_id for task, task_id, kind in kitchen.told if (task, kind) == ("serve", "ValueError")}
            assert len(begun) == len(kitchen.told) == tasks


@pytest.mark.parametrize("is_piped", [False, True])
def test_a_callback_on_a_whole_body_is_not_called_if_the_body_never_runs(kitchen: Kitchen, is_piped: bool) -> None:
    with world(kitchen.app) as one:
        body, header = group(kitchen.serve.s(), kitchen.serve.s()).on_error(kitchen.explain.s()), [kitchen.cook.s(1), kitchen.burn.s()]
        if is_piped:
            (group(header) | body).delay()
        else:
            chord(header)(body)
        ended(one)
        assert kitchen.told == []


def test_a_callback_on_a_whole_chord_is_called_for_the_member_that_failed_and_not_again_for_the_body(kitchen: Kitchen) -> None:
    with world(kitchen.app) as one:
        whole = chord([kitchen.cook.s(1), kitchen.burn.s()], group(kitchen.serve.s(), kitchen.serve.s()))
        whole.link_error(kitchen.explain.s())
        whole.delay()
        ended(one)
        assert [(task, kind) for task, _, kind in kitchen.told] == [("burn", "ValueError")]
