"""The parts of a call of a box: its request, its turn among the others, its value, and how its process ended."""

import asyncio
import signal
from typing import Any

import pytest

from sedano.engine.boxes.calls import CallTurns, request_of, value_of
from sedano.engine.boxes.exchange import ending
from sedano.engine.task_context import TaskContext
from sedano.errors import BoxedError
from sedano.model.boxes import BoxAnswer, BoxError
from tests.unit.engine.following import command_of


def test_a_request_names_the_running_task_and_has_an_id_of_its_own() -> None:
    context = TaskContext(command_of("a")._replace(attempt=2), 7, 99.5, 1)
    first, second = request_of(context), request_of(context)
    assert first[1:] == ("only", "a", 2, 7, 99.5, context.traceparent)
    assert (len(first.call_id), first.call_id == second.call_id) == (16, False)


def test_the_value_of_an_answer_is_returned_and_its_error_is_raised_with_all_its_parts() -> None:
    assert value_of(BoxAnswer(7)) == 7
    with pytest.raises(BoxedError) as raised:
        value_of(BoxAnswer(error=BoxError("Unfit", "no", "trace", retry=False)))
    error = raised.value
    assert (error.type_name, error.traceback, error.retry) == ("Unfit", "trace", False)
    assert "no" in str(error)


async def waiting(turns: CallTurns, name: str, begun: list[str]) -> None:
    """Take a turn and note it."""
    await turns.take()
    begun.append(name)


async def pause() -> None:
    """Let everything run that can."""
    for _ in range(5):
        await asyncio.sleep(0)


def test_only_so_many_calls_run_and_the_others_begin_in_their_order() -> None:
    async def test() -> None:
        turns, begun = CallTurns(2), list[str]()
        calls = [asyncio.create_task(waiting(turns, name, begun)) for name in "abcd"]
        await pause()
        assert begun == ["a", "b"]
        turns.pass_on()
        await pause()
        assert begun == ["a", "b", "c"]
        turns.pass_on()
        turns.pass_on()
        turns.pass_on()
        await pause()
        assert (begun, turns._busy) == (["a", "b", "c", "d"], 0)
        await turns.take()
        assert turns._busy == 1
        await asyncio.gather(*calls)

    asyncio.run(test())


def test_a_call_that_was_cancelled_while_it_waited_leaves_its_turn_to_the_next_one() -> None:
    async def test() -> None:
        turns, begun = CallTurns(1), list[str]()
        await turns.take()
        first, second = (asyncio.create_task(waiting(turns, name, begun)) for name in "ab")
        await pause()
        first.cancel()
        await pause()
        turns.pass_on()
        await pause()
        assert (begun, first.cancelled(), second.done()) == (["b"], True, True)
        turns.pass_on()
        assert turns._busy == 0

    asyncio.run(test())


def test_a_turn_that_was_given_to_a_call_that_is_cancelled_at_that_moment_is_passed_on() -> None:
    async def test() -> None:
        turns, begun = CallTurns(1), list[str]()
        await turns.take()
        first, second = (asyncio.create_task(waiting(turns, name, begun)) for name in "ab")
        await pause()
        (_, asked), _ = turns._waiting
        turns.pass_on()
        await asyncio.sleep(0)
        assert (asked.done(), begun) == (True, []), "it has its turn and does not know it yet"
        first.cancel()
        await pause()
        assert (begun, first.cancelled(), second.done()) == (["b"], True, True)
        turns.pass_on()
        assert turns._busy == 0

    asyncio.run(test())


def test_a_call_whose_loop_has_ended_is_passed_over() -> None:
    turns, begun = CallTurns(1), list[str]()

    async def abandoned() -> None:
        await turns.take()
        asyncio.get_running_loop().create_task(waiting(turns, "gone", begun))
        await pause()

    gone = asyncio.new_event_loop()
    gone.run_until_complete(abandoned())
    gone.close()
    turns.pass_on()
    assert (begun, turns._busy) == ([], 0)


def test_a_call_that_is_dropped_after_the_end_of_its_loop_gives_back_no_turn() -> None:
    turns = CallTurns(1)

    async def abandoned() -> Any:
        await turns.take()
        waits = turns.take()
        waits.send(None)
        return waits

    asyncio.run(abandoned()).close()
    assert turns._busy == 1


def test_a_process_that_was_forked_has_no_calls_of_its_parent() -> None:
    async def test() -> None:
        turns, begun = CallTurns(1), list[str]()
        await turns.take()
        old = asyncio.create_task(waiting(turns, "parents", begun))
        await pause()
        turns._owner = -1
        await turns.take()
        assert (turns._busy, len(turns._waiting)) == (1, 0)
        later = asyncio.create_task(waiting(turns, "own", begun))
        await pause()
        assert begun == [], "its own calls count"
        turns.pass_on()
        await pause()
        assert begun == ["own"]
        old.cancel()
        await asyncio.gather(later)

    asyncio.run(test())


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (None, "closed its output"), (0, "exited with status 0"), (3, "exited with status 3"),
        (-signal.SIGHUP, "was ended by signal 1 (SIGHUP)"), (-signal.SIGKILL, "was ended by signal 9 (SIGKILL)"),
        (-200, "was ended by signal 200"),
    ],
)  # fmt: skip
def test_the_end_of_a_process_is_told_in_words(status: int | None, words: str) -> None:
    assert ending(status) == words
