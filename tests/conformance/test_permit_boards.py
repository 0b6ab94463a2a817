"""Permits of a limit above ten: boards of ten, and the line of messages that they share, the same in every world."""

from sedano.model.limits.concurrency import BOARD_SIZE, MOST_WAITING, Board, Permit, boards_of
from tests.conformance.worlds import World

MS = 1_800_000_000_000
NAME = "shop.send/é#1"


def permit(number: int, token: int = MS) -> Permit:
    """Return a permit that is held for half a minute."""
    return Permit(number, token, f"nonce-{number}-{token}", f"task {number}", MS + 30_000)


def test_a_write_answers_with_the_permits_of_its_board_and_boards_are_read_together(world: World) -> None:
    for number in (9, 0, 10, 19, 20):
        answer = world.limits.take(NAME, permit(number), "m", MS)
        assert answer.done
        assert {one // BOARD_SIZE for one in answer.board.permits} == {number // BOARD_SIZE}
    assert world.limits.board(NAME) == Board(NAME, {0: permit(0), 9: permit(9)})
    assert world.limits.boards(NAME, 0) == Board(NAME)
    assert world.limits.boards(NAME, 2) == Board(NAME, {number: permit(number) for number in (0, 9, 10, 19)})
    assert world.limits.boards(NAME, boards_of(1_000)).permits == {number: permit(number) for number in (0, 9, 10, 19, 20)}
    refused = world.limits.take(NAME, permit(19, MS + 1), "m", MS)
    assert (refused.done, refused.board.permits) == (False, {10: permit(10), 19: permit(19)})


def test_a_permit_of_a_later_board_is_given_back_and_kept_by_its_holder_alone(world: World) -> None:
    world.limits.take(NAME, held := permit(12), "m", MS)
    for other in (held._replace(nonce="x"), held._replace(token=1), held._replace(number=2)):
        assert not world.limits.give_back(NAME, other).done
        assert not world.limits.keep(NAME, other, "m-2", MS + 5_000)
    answer = world.limits.give_back(NAME, held)
    assert (answer.done, answer.board) == (True, Board(NAME, {12: held._replace(expires=0)}))
    assert world.limits.keep(NAME, held, "m-2", MS + 5_000)
    assert not world.limits.take(NAME, permit(12, MS + 1), "m-3", MS).done
    taken = world.limits.take(NAME, permit(12, MS + 1), "m-2", MS)
    assert (taken.done, taken.board.permits) == (True, {12: permit(12, MS + 1)})
    assert not world.limits.keep(NAME, held, "m-2", MS + 5_000)


def test_a_message_is_in_the_line_once_and_one_caller_takes_it_out(world: World) -> None:
    assert not world.limits.leave_line(NAME, "b")
    assert [world.limits.line_up(NAME, text, MS) for text in ("b", "a", "b")] == [True] * 3
    assert world.limits.boards(NAME, 0).waiting == ("a", "b")
    assert world.limits.boards(NAME, 1) == Board(NAME, {}, ("a", "b"))
    assert not world.limits.leave_line(NAME, "c")
    assert [world.limits.leave_line(NAME, "a"), world.limits.leave_line(NAME, "a")] == [True, False]
    assert world.limits.boards(NAME, 0).waiting == ("b",)
    assert world.limits.leave_line(NAME, "b")
    assert world.limits.boards(NAME, 0).waiting == ()
    assert world.limits.line_up(NAME, "d", MS)


def test_ten_messages_are_in_a_line(world: World) -> None:
    texts = [f"message {number}" for number in range(MOST_WAITING)]
    assert all(world.limits.line_up(NAME, text, MS) for text in texts)
    assert not world.limits.line_up(NAME, "one more", MS)
    assert world.limits.line_up(NAME, texts[0], MS), "it is there already"
    assert world.limits.boards(NAME, 0).waiting == tuple(texts)


def test_messages_at_a_later_board_are_called_by_its_permits_alone(world: World) -> None:
    first, later = permit(0), permit(25)
    for held, text in ((first, "first"), (later, "later")):
        assert world.limits.take(NAME, held, "m", MS).done
        assert world.limits.wait(NAME, held, text, MS).done
    assert not world.limits.call(NAME, later, "first", "m", MS + 5_000).done
    answer = world.limits.call(NAME, later, "later", "m", MS + 5_000)
    assert (answer.done, answer.board) == (True, Board(NAME, {25: later._replace(expires=MS + 5_000, kept="m")}))
    assert world.limits.board(NAME).waiting == ("first",)


def test_the_messages_of_the_first_board_are_not_those_of_the_line(world: World) -> None:
    world.limits.take(NAME, permit(0), "m", MS)
    assert world.limits.wait(NAME, permit(0), "waits at the board", MS).done
    assert world.limits.line_up(NAME, "waits in the line", MS)
    assert world.limits.board(NAME).waiting == ("waits at the board",)
    assert world.limits.boards(NAME, 1).waiting == ("waits in the line",)
    assert world.limits.take(NAME, permit(10), "m", MS).board.waiting == ()
    assert world.limits.leave_line(NAME, "waits in the line")
    assert world.limits.board(NAME).waiting == ("waits at the board",)
