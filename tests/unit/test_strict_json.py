"""Strict JSON at its limits: what is read, what is refused, and with which words."""

import gc
import sys
from collections.abc import Callable
from typing import Any

import pytest

from sedano.errors import MessageRefused
from sedano.model.messages.strict_json import MAX_BYTES, MAX_DEPTH, MAX_DIGITS, holds_long_digits, load, scan_rest, shown

LONG = "7" * 4_301


def refusal(body: str | bytes, most_bytes: int = 100, most_depth: int = 3) -> str:
    """Return the words with which *body* is refused."""
    with pytest.raises(MessageRefused) as caught:
        load(body, most_bytes, most_depth, "here")
    return str(caught.value)


def collections(work: Callable[[], object]) -> int:
    """Return how often garbage is collected while this *work* is done."""
    seen: list[str] = []

    def note(phase: str, info: dict[str, int]) -> None:
        seen.append(phase)

    before, was_on = gc.get_threshold(), gc.isenabled()
    gc.set_threshold(700, 10, 10)
    gc.enable()
    gc.callbacks.append(note)
    try:
        work()
    finally:
        gc.callbacks.remove(note)
        gc.set_threshold(*before)
        if not was_on:
            gc.disable()
    return seen.count("start")


def test_the_figures_of_a_message_are_those_that_are_described() -> None:
    assert (MAX_BYTES, MAX_DEPTH, MAX_DIGITS) == (1_048_576, 64, 4_300)


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("[1]", [1]),
        (b" \t\n\r[1] \t\n\r", [1]),
        ("7  ", 7),
        ("[[[]]]", [[[]]]),
        ('[{"a":[]},{},[[]]]', [{"a": []}, {}, [[]]]),
        (r'"[[[[\"[[[["', '[[[["[[[['),
        (r'["\\\\", "[[[["]', ["\\\\", "[[[["]),
        ('["é", "[[[["]', ["é", "[[[["]),
        (f'"{"x" * 98}"', "x" * 98),
        (f'"{"é" * 49}"', "é" * 49),
        (r'"\ud83d\ude00"', "\U0001f600"),
        (r'"\\ud83d"', "\\ud83d"),
        (r'"\uD7FF\ue000"', "\ud7ff\ue000"),
        ("1e308", 1e308),
        ("{}", {}),
    ],
)
def test_what_is_strict_is_read(body: str | bytes, value: object) -> None:
    assert load(body, 100, 3) == value


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (f'"{"x" * 99}"', "too-large: here: more than 100 bytes"),
        (f'"{"é" * 50}"', "too-large: here: more than 100 bytes"),
        (f'"{"é" * 50}"'.encode(), "too-large: here: more than 100 bytes"),
        ("[[[[]]]]", "too-deep: here: more than 3 containers inside one another"),
        ('[[{"a":[]}]]', "too-deep: here: more than 3 containers inside one another"),
        (r'["\\", [[[]]]]', "too-deep: here: more than 3 containers inside one another"),
        ("[[],[[],[[],[]]]]", "too-deep: here: more than 3 containers inside one another"),
        ("[1] 2", "malformed: here: more text after the value, at character 3"),
        ("[1]]", "malformed: here: more text after the value, at character 3"),
        (r'"\ud83d"', "malformed: here: half a surrogate pair"),
        (r'"\ud83d\\\ude00"', "malformed: here: half a surrogate pair"),
        (r'"\uDFFF"', "malformed: here: half a surrogate pair"),
        ("\ufeff1", "malformed: here: begins with a byte order mark"),
        ("[1 2]", "malformed: here: Expecting ',' delimiter at character 3"),
        ("", "malformed: here: not JSON at character 0"),
        ('{"b":1,"a":2,"a":3,"b":4}', "malformed: here: the key 'a' is given twice in one object"),
        ("1e400", "malformed: here: the number '1e400' does not fit in a double"),
        ("-1e400", "malformed: here: the number '-1e400' does not fit in a double"),
        ("NaN", "malformed: here: NaN is not JSON"),
        ("-Infinity", "malformed: here: -Infinity is not JSON"),
    ],
)
def test_what_is_not_strict_is_refused_with_its_words(body: str | bytes, words: str) -> None:
    assert refusal(body) == words


def test_a_body_that_is_too_large_is_not_looked_at() -> None:
    assert refusal(b"\xff" * 101) == "too-large: here: more than 100 bytes"


@pytest.mark.parametrize("body", [b"\xff", "\ud800"])
def test_what_is_no_utf_8_is_malformed(body: str | bytes) -> None:
    assert refusal(body).startswith("malformed: here: not UTF-8: ")


def test_an_integer_has_at_most_4300_digits_and_a_sign() -> None:
    for sign in ("", "-"):
        assert load(sign + LONG[1:], 5_000, 3) == int(sign + LONG[1:])
        assert load(f'["{LONG}",{sign}{LONG[1:]},{sign}1]', 9_000, 3) == [LONG, int(sign + LONG[1:]), int(sign + "1")]
        assert refusal(sign + LONG, 5_000) == "too-large: here: an integer has more than 4300 digits"


def test_a_lower_limit_of_the_interpreter_counts_too() -> None:
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        assert refusal("7" * 641, 1_000) == "too-large: here: an integer has too many digits"
    finally:
        sys.set_int_max_str_digits(before)


def test_what_nests_too_deep_for_the_interpreter_is_refused_too() -> None:
    body = "[" * 100_000 + "]" * 100_000
    assert refusal(body, 200_000, 100_000) == "too-deep: here: too many containers inside one another"


IN_C = pytest.mark.skipif(sys.version_info >= (3, 12), reason="since Python 3.12 no garbage is collected within a call of C code")


@pytest.mark.parametrize(("size", "collected"), [pytest.param(65_535, True, marks=IN_C), (65_536, False)])
def test_while_a_long_text_is_read_no_garbage_is_collected(size: int, collected: bool) -> None:
    body = f"[{'[],' * 20_000}[]]".ljust(size)
    assert (collections(lambda: load(body, size, 3)) > 5) == collected


@pytest.mark.parametrize("is_on", [True, False])
def test_whether_garbage_is_collected_is_the_same_after_a_long_text(is_on: bool) -> None:
    was_on = gc.isenabled()
    try:
        (gc.enable if is_on else gc.disable)()
        load("1".ljust(70_000), 70_000, 3)
        assert gc.isenabled() == is_on
    finally:
        (gc.enable if was_on else gc.disable)()


HEAD = '{"a":'
BRACKETS = '{"' + "[" * 65 + '":'


@pytest.mark.parametrize(
    ("head", "rest", "value"),
    [
        (HEAD, "1}", 1),
        (HEAD, '{"b":1}}', {"b": 1}),
        (HEAD, '{"b":1,"c":1}}', {"b": 1, "c": 1}),
        (HEAD, f'"{"x" * 100}"}}', "x" * 100),
        (HEAD, f'"{"x" * (4_300 - 8)}"}}', "x" * (4_300 - 8)),
        (HEAD, f"{'[' * 62}1{']' * 62}}}", load("[" * 62 + "1" + "]" * 62, 1_000, 99)),
        (HEAD, f'"{"[" * 63}"}}', "[" * 63),
        (BRACKETS, "1}", 1),
        (BRACKETS, f'"{"x" * 61}"}}', "x" * 61),
        (BRACKETS, f'"{"x" * 62}"}}', "x" * 62),
    ],
)
def test_the_rest_of_an_object_is_read_up_to_its_brace(head: str, rest: str, value: object) -> None:
    assert scan_rest(head + rest, len(head)) == value


@pytest.mark.parametrize(
    ("head", "rest"),
    [
        (HEAD, f'"{"x" * (4_301 - 8)}"}}'), (HEAD, '"é"}'), (HEAD, r'"\n"}'), (HEAD, "1]"), (HEAD, "1"), (HEAD, "1}}"), (HEAD, "1 }"),
        (HEAD, f'"{"[" * 64}"}}'), (HEAD, f'"{"{" * 64}"}}'), (HEAD, '{"b":1,"b":1}}'),
        (HEAD, "NaN}"), (HEAD, "1e400}"),
    ],
)  # fmt: skip
def test_a_rest_that_is_not_plain_is_left_to_the_full_check(head: str, rest: str) -> None:
    with pytest.raises(ValueError, match=r"^not plain$|^not the end$|given twice in one object$|is not JSON$|does not fit in a double$"):
        scan_rest(head + rest, len(head))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (999, "999"),
        (-99, "-99"),
        (1_000, "an integer of more than 3 digits"),
        (-1_000, "an integer of more than 3 digits"),
        ("a", "'a'"),
        ("é", "'\\x..."),
        ("aaaa'", "'aa..."),
        ("a'", "\"a'..."),
        (1.5, "1.5"),
        (0.25, "0.2..."),
        ([1], "[1]"),
    ],
)
def test_a_value_is_shown_in_ascii_and_shortened(value: object, text: str) -> None:
    assert shown(value, 3) == text


def test_sixty_characters_are_shown() -> None:
    assert shown(1.0 / 3) == "0.3333333333333333"
    assert (shown("x" * 58), shown("x" * 59)) == (f"'{'x' * 58}'", f"'{'x' * 59}...")


@pytest.mark.parametrize("before", [0, 1, 4_299, 4_300, 4_301, 8_600, 8_601])
def test_more_than_4300_digits_in_a_row_are_found_wherever_they_are(before: int) -> None:
    assert holds_long_digits("x" * before + LONG)
    assert holds_long_digits("x" * before + LONG + "x" * 9_000)
    assert not holds_long_digits("x" * before + LONG[1:] + "x" * 9_000)
    assert not holds_long_digits("x" * before + LONG[1:] + "x" + LONG[1:])


def _nested(text: str, depth: int) -> Any:
    return load(text, 10_000, depth)


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        ("[" * 9 + "]" * 9, 9),
        ("[[],[],[[],[]],[]]", 3),
        ("[" + ("[" * 20 + "]" * 20 + ",") * 3 + "[]]", 21),
        ("[" + "[" * 20 + "]" * 20 + "," + "[" * 30 + "]" * 30 + "]", 31),
        ('["",["[",[""]],"]"]', 3),
        (r'["\"[",["\\",[""]],"\\\"]"]', 3),
        (f"{'[' * 6}{']' * 5},{'[' * 10}{']' * 4},{'[' * 30}{']' * 37}", 37),
        ('["[[["]', 1),
    ],
)
def test_the_depth_of_a_text_is_that_of_its_deepest_container(text: str, depth: int) -> None:
    assert _nested(text, depth) == _nested(text, 999)
    with pytest.raises(MessageRefused, match=f"more than {depth - 1} containers"):
        _nested(text, depth - 1)
