"""The key within which a queue keeps the order of a call: which calls have one, and what is refused with words."""

from typing import Any

import pytest

from sedano import memory
from sedano.engine.publisher.order_keys import key_for
from sedano.errors import ArgumentError, OptionError
from sedano.model.tasks.parameters import Parameters
from sedano.model.tasks.signature import Options, Signature
from sedano.model.tasks.task_spec import TaskSpec

FIFO = "mail.fifo"
PORTS = memory.ports(("default", FIFO))


def spec(key: Any = None) -> TaskSpec:
    """A task whose calls have the key that *key* says."""
    return TaskSpec("send", print, Parameters(lambda who: None), serial_key=key)


def first(args: Any, kwargs: Any) -> str:
    """The first argument."""
    return str(args[0])


def key(of: TaskSpec | None, queue: str = FIFO, delay: int = 0, args: Any = ("ana",), **options: Any) -> str:
    """The key of a call."""
    return key_for(PORTS, of, Signature("send", args, {}, Options(**options)), queue, delay)


def test_a_call_has_its_own_key_or_that_of_its_task() -> None:
    assert key(spec(first)) == "ana"
    assert key(spec(first), serial_key="bo") == "bo"
    assert key(None, serial_key="bo") == "bo", "a task that this app does not know"


@pytest.mark.parametrize(
    ("of", "asked", "error", "words"),
    [
        (spec(first), {"queue": "default"}, OptionError, "queue: send is declared with serial_key=, and 'default' keeps no order"),
        (spec(), {"queue": "default", "serial_key": "k"}, OptionError, "serial_key: the queue 'default' keeps no order"),
        (spec(), {}, OptionError, "send is declared without serial_key="),
        (spec(), {"serial_key": "k"}, OptionError, "send is declared without serial_key="),
        (spec(first), {"delay": 1}, OptionError, "countdown, eta: 'mail.fifo' keeps the order of publication"),
        (spec(first), {"tenant": "acme"}, OptionError, "tenant: "),
        (spec(first), {"args": ("",)}, ArgumentError, "serial_key: is empty; which calls must not pass one another?"),
        (spec(first), {"args": ()}, ArgumentError, "serial_key: IndexError"),
        (None, {}, OptionError, "this app does not know send; give serial_key="),
    ],
)
def test_what_can_keep_no_order_is_refused_with_what_to_write(of: Any, asked: dict[str, Any], error: Any, words: str) -> None:
    with pytest.raises(error) as found:
        key(of, **asked)
    assert words in str(found.value)
