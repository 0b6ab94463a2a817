"""Frames of a traceback that was kept as text: the application's own are known, and the innermost one says where an error comes from."""

import traceback

import pytest

from sedano.model.ledger.tracebacks import MOST_FRAMES, Frame, frames, origin

TEXT = """Traceback (most recent call last):
  File "/var/task/shop/first.py", line 3, in earlier
    raise KeyError(1)
KeyError: 1

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/opt/python/sedano/engine/worker/body.py", line 9, in run
    return function()
  File "/var/task/shop/tasks.py", line 14, in charge
    client.pay(order)
    ~~~~~~~~~~^^^^^^^
  File "/var/lang/lib/python3.11/site-packages/pay/client.py", line 80, in pay
    raise OSError("no")
  File "<frozen importlib._bootstrap>", line 1, in <lambda>
OSError: no
"""


def test_the_frames_are_those_of_the_last_traceback_in_its_order() -> None:
    found = frames(TEXT)
    assert [(frame.line, frame.function, frame.own) for frame in found] == [
        (9, "run", False), (14, "charge", True), (80, "pay", False), (1, "<lambda>", False),
    ]  # fmt: skip
    assert found[1] == Frame("/var/task/shop/tasks.py", 14, "charge", "client.pay(order)", True)
    assert found[3].code == ""


def test_an_error_comes_from_the_innermost_frame_of_the_application() -> None:
    assert origin(TEXT) == "tasks.py:14 in charge"


def test_an_error_without_an_own_frame_comes_from_its_innermost_frame() -> None:
    assert origin(TEXT.replace("/var/task/", "/opt/python/")) == "<frozen importlib._bootstrap>:1 in <lambda>"
    assert origin("") == origin("OSError: no") == ""


def test_a_real_traceback_is_read() -> None:
    try:
        int("x")
    except ValueError as error:
        text = "".join(traceback.format_exception(error))
    (found,) = frames(text)
    assert (found.function, found.code, found.own) == ("test_a_real_traceback_is_read", 'int("x")', True)


HOSTILE = {"open": '  File "' * 100_000, "many": '  File "a", line 1, in f\n    ' * 50_000, "lines": "\n" * 500_000}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_text_is_read_in_linear_time(text: str) -> None:
    assert len(frames(text)) <= MOST_FRAMES
