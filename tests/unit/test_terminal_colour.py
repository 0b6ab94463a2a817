"""Whether lines have colours: the option decides, then the variables that other programs know, then the terminal."""

import pytest

from sedano.views.terminal_colour import painted, wants_colour


@pytest.mark.parametrize(
    ("environment", "on_terminal", "in_a_pipe"),
    [
        ({}, True, False), ({"NO_COLOR": "1"}, False, False), ({"NO_COLOR": ""}, True, False), ({"TERM": "dumb"}, False, False),
        ({"CLICOLOR_FORCE": "1"}, True, True), ({"CLICOLOR_FORCE": "0"}, True, False), ({"FORCE_COLOR": "1"}, True, True),
        ({"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, False, False), ({"CLICOLOR_FORCE": "1", "TERM": "dumb"}, True, True),
    ],
)  # fmt: skip
def test_colour_is_for_terminals_and_the_environment_decides(environment: dict[str, str], on_terminal: bool, in_a_pipe: bool) -> None:
    assert wants_colour(environment, is_terminal=True) is wants_colour(environment, is_terminal=True, asked="auto") is on_terminal
    assert wants_colour(environment, is_terminal=False) is in_a_pipe
    assert wants_colour(environment, is_terminal=False, asked="always")
    assert not wants_colour(environment, is_terminal=True, asked="never")


def test_a_text_without_a_style_or_without_colour_stays_as_it_is() -> None:
    assert painted("late", "bad") == "\x1b[31mlate\x1b[0m"
    assert painted("late", "") == painted("late", "bad", colour=False) == "late"
