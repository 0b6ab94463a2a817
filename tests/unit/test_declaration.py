"""What is declared wrongly is refused where it is written, with the option's name and what would work."""

import math
from datetime import UTC, datetime

import pytest

import sedano.testing
from sedano import Sedano, chord, group
from sedano.errors import ArgumentError, OptionError


def plain(n: int) -> int:
    """A function that can be a task."""
    return n


def declared(**options):
    """Declare a task with these options."""
    return Sedano("shop").task(**options)(plain)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"quue": "slow"}, "quue: not an option of a task; known are name, queue, "),
        ({"countdown": 3}, "countdown: not an option of a task"),
        ({"queue": "slow"}, r"queue: 'slow' is not one of this app's queues \('default',\); add it to Sedano\(queues=…\)"),
        ({"queue": 5}, "queue: 5 is not one of this app's queues"),
        ({"delivery": "twice"}, "delivery: 'twice' is not one of claimed, record_once, at_least_once"),
        ({"retry": 3}, r"retry: 3 is not a retry policy; give a sedano.Retry\(…\), or False for no retries"),
        ({"ignore_result": "no"}, "ignore_result: 'no' is neither True nor False"),
        ({"expires": "5"}, "expires: '5' is not a number of seconds above 0"),
        ({"expires": 0}, "expires: 0 is not"),
        ({"expires": True}, "expires: True is not"),
        ({"expires": math.nan}, "expires: nan is not"),
        ({"expires": datetime(2026, 1, 1, tzinfo=UTC)}, "expires: datetime.datetime"),
        ({"time_limit": 0}, "time_limit: 0 is not a number of seconds above 0"),
        ({"soft_time_limit": "5"}, "soft_time_limit: '5' is not a number of seconds above 0"),
        ({"soft_time_limit": math.inf}, "soft_time_limit: inf is not"),
        ({"soft_time_limit": 5, "time_limit": 5}, "soft_time_limit: 5 is not below time_limit: 5"),
        ({"name": ""}, "name: '' is not 1 to 256 characters"),
        ({"name": 5}, "name: 5 is not 1 to 256 characters"),
    ],
)
def test_an_option_that_cannot_be_honoured_is_refused_where_the_task_is_declared(options, words):
    with pytest.raises(OptionError, match=f"^{words}"):
        declared(**options)


def test_an_option_is_refused_before_the_function_is_there():
    with pytest.raises(OptionError, match=r"^quue: not an option"):
        Sedano("shop").task(quue="slow")


def yields():
    yield 1


async def yields_later():
    yield 1


@pytest.mark.parametrize("function", [yields, yields_later])
def test_a_generator_is_no_task(function):
    with pytest.raises(OptionError, match=f"^task .*{function.__name__}: a generator has no single result"):
        Sedano("shop").task(function)


@pytest.mark.parametrize("thing", ["slow", 5, object()])
def test_what_is_no_function_is_no_task(thing):
    with pytest.raises(OptionError, match=f"^a task is a function, not {type(thing).__name__}; options have names"):
        Sedano("shop").task(thing)


def test_one_text_is_not_taken_for_names_of_queues():
    with pytest.raises(OptionError, match=r"^queues: 'default' is one string"):
        Sedano("shop", queues="default")


@pytest.mark.parametrize(
    ("queues", "what"),
    [
        ((), "none"),
        (("default", None), "None, which is not a valid name"),
        (("default", 5), "5, which is not a valid name"),
        (("default", ""), "'', which is not a valid name"),
        (("default", "default"), "one twice"),
    ],
)
def test_what_is_no_name_of_a_queue_is_said(queues, what):
    with pytest.raises(OptionError) as refused:
        Sedano("shop", queues=queues)
    assert str(refused.value) == f"queues: {queues!r} has {what}; give the names of the queues, such as ('default', 'mail')"


def bought(app):
    """Declare the event `Bought`."""

    class Bought:
        n: int

    return app.event(Bought)


def test_only_a_task_of_the_events_own_app_subscribes():
    app, other = Sedano("shop"), Sedano("elsewhere")
    event = bought(app)
    with pytest.raises(OptionError, match=r"^plain cannot subscribe to .*Bought: it is not a task of the same app"):
        event.subscribe(plain)
    with pytest.raises(OptionError, match=r"plain cannot subscribe to .*Bought: it is not a task of the same app"):
        event.subscribe(other.task(plain))
    assert app.registry.subscriptions[event.name] == []
    event.subscribe(app.task(plain))


def test_an_event_is_a_class():
    with pytest.raises(OptionError, match=r"^an event is a class with annotated fields, not a function"):
        Sedano("shop").event(plain)


def test_arguments_passed_as_data_may_stand_in_a_list_as_with_celery():
    task = declared()
    assert task.s(2).clone([1]).spec.args == (1, 2)


@pytest.mark.parametrize(("given", "field"), [((5,), "args"), (("5",), "args"), (((), [1]), "kwargs")])
def test_arguments_passed_as_data_are_named_when_they_are_no_list(given, field):
    app = Sedano("shop")
    task = app.task(plain)
    with sedano.testing.world(app):
        for publish in (task.apply_async, task.s().apply_async):
            with pytest.raises(ArgumentError, match=f"^{field}: expected a "):
                publish(*given)


def test_the_body_of_a_chord_is_a_signature():
    task = declared()
    with pytest.raises(TypeError, match=r"^a chord's body is a signature"):
        chord(group(task.s(1)))(task)
