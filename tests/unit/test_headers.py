"""Headers: what is written is read back, and what cannot travel is refused in words at the call."""

import doctest
from typing import Any

import pytest
from hypothesis import given

from sedano import Sedano, every
from sedano.errors import OptionError
from sedano.model.messages import headers
from sedano.model.messages.codec import decode, encode
from sedano.model.messages.headers import LONGEST, MAX_DEPTH, is_written, read, write
from sedano.model.messages.message import NOTHING
from sedano.model.tasks.signature import NO_OPTIONS, Options, changed
from tests.unit.generated import ADD, written_headers


def test_the_example_of_the_module_holds() -> None:
    assert doctest.testmod(headers).failed == 0
    assert (LONGEST, MAX_DEPTH) == (1_024, 8)


@given(written_headers)
def test_what_is_written_is_read_back_from_a_message(text: str) -> None:
    assert is_written(text)
    assert write(read(text)) == text
    assert decode(encode(ADD._replace(headers=text))) == ADD._replace(headers=text)


def test_no_headers_are_an_empty_mapping() -> None:
    assert read(None) is NOTHING
    assert read("") is NOTHING
    assert "headers" not in encode(ADD)


@pytest.mark.parametrize("length", [LONGEST, LONGEST + 1])
def test_headers_have_at_most_1024_bytes_in_written_form(length: int) -> None:
    given = {"a": "x" * (length - len('{"a":""}'))}
    if length == LONGEST:
        assert len(write(given)) == LONGEST
        assert is_written(write(given))
        return
    words = r"^headers: 1025 bytes in written form; the headers of a task may have 1024: pass long values as arguments$"
    with pytest.raises(OptionError, match=words):
        Options(headers=given)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"": 1}, "headers: '' is not a name; give a text that is not empty"),
        ({5: 1}, "headers: 5 is not a name; give a text that is not empty"),
        ({"a": float("nan")}, "headers.a"),
        ({"a": {"b": object()}}, "headers.a.b: "),
        ({"a": [[[[[[[[]]]]]]]]}, "headers.a"),
    ],
)
def test_headers_that_cannot_travel_are_refused_at_the_call(given: Any, words: str) -> None:
    with pytest.raises(OptionError) as caught:
        Options(headers=given)
    assert str(caught.value).startswith(words)


def test_set_replaces_headers_and_does_not_add_to_them() -> None:
    one = changed(NO_OPTIONS, {"headers": {"a": 1}})
    assert changed(one, {"headers": {"b": 2}}).headers == {"b": 2}
    assert changed(one, {"queue": "q"}).headers == {"a": 1}


def test_a_periodic_task_refuses_headers() -> None:
    app = Sedano("shop")

    @app.task(name="report")
    def report() -> None: ...

    with pytest.raises(OptionError, match="headers"):
        app.schedules.add("nightly", every(days=1), report.s().set(headers={"a": 1}))
