"""The census's tasks do their work in the real engine, whatever a file holds; hello says hello."""

import sedano.testing
from examples.census import tasks
from examples.census.services import INDEX, Services
from examples.hello.tasks import app as hello
from examples.hello.tasks import greet
from sedano import chord
from tests.examples.runs import BROKEN, SOUND, UNREADABLE

NESTED = "def outer():\n    def inner():\n        pass\n    return inner\n"


def measured(path: str, text: str, trouble: str = "") -> dict[str, object]:
    """What the task says of one file, by way of a message and the ledger."""
    with sedano.testing.world(tasks.app):
        return tasks.measure.delay(path, text, trouble).get()


def test_hello_says_hello() -> None:
    with sedano.testing.world(hello):
        assert greet.delay("you").get() == "Hello, you!"


def test_a_file_is_measured_with_its_nested_functions_and_top_packages() -> None:
    told = measured("a.py", f"import os.path\nfrom json import dumps\nfrom . import near\n{NESTED}")
    assert told["lines"] == 7
    assert told["functions"] == 2
    assert told["imports"] == ["json", "os"]
    assert told["longest"] == {"name": "outer", "lines": 4, "line": 4}
    assert told["error"] == ""


def test_a_syntax_error_is_a_result_that_names_the_line() -> None:
    assert str(measured("a.py", "x = 1\ndef f(:\n")["error"]).startswith("line 2: ")


def test_a_null_byte_and_a_nesting_beyond_the_parser_are_results_too() -> None:
    assert measured("a.py", "x = 1\0")["error"]
    assert measured("a.py", "-" * 100_000 + "1")["error"]


def test_what_could_not_be_read_is_a_result_with_its_trouble() -> None:
    assert measured(UNREADABLE.path, UNREADABLE.text, UNREADABLE.trouble)["error"] == UNREADABLE.trouble


def test_a_text_over_sixty_kilobytes_is_measured_like_any_other() -> None:
    assert measured("a.py", "x = 1\n" * 20_000)["lines"] == 20_000


def test_every_measured_file_is_announced_and_both_subscribers_hear_of_it() -> None:
    with sedano.testing.world(tasks.app) as world:
        tasks.measure.delay(SOUND.path, SOUND.text)
        world.drain()
        (announced,) = world.sent("examples.census.tasks.FileMeasured")
        assert announced["longest_name"] == "sell"
        for subscriber in (tasks.count_imports, tasks.flag_long_functions):
            assert world.sent(subscriber.name) == [{"args": [], "kwargs": announced}]


def test_imports_are_told_apart_by_where_they_come_from() -> None:
    with sedano.testing.world(tasks.app):
        told = tasks.count_imports.delay("a.py", 3, ["os", "json", "boto3"], "", 0).get()
    assert told == {"path": "a.py", "standard": 2, "installed": 1}


def test_a_function_is_flagged_from_its_limit_on() -> None:
    with sedano.testing.world(tasks.app):
        flags = [tasks.flag_long_functions.delay("a.py", 99, [], "f", tasks.LONG_FUNCTION + n).get()["flagged"] for n in (-1, 0)]
    assert flags == [False, True]


def test_the_census_sums_up_what_the_chord_measured() -> None:
    with sedano.testing.world(tasks.app):
        census = chord([tasks.measure.s(f.path, f.text, f.trouble) for f in (SOUND, BROKEN, UNREADABLE)])(tasks.summarise.s()).get()
    assert (census["files"], census["functions"]) == (3, 1)
    assert census["imports"] == [["os", 1], ["shop", 1]]
    assert census["longest"] == [{"path": SOUND.path, "name": "sell", "lines": 2, "line": 5}]
    assert [found["path"] for found in census["errors"]] == [BROKEN.path, UNREADABLE.path]


def test_what_is_limited_calls_the_index_and_what_is_guarded_waits_for_the_archive() -> None:
    with Services() as services, sedano.testing.world(tasks.app) as world:
        looked = [tasks.look_up.delay(n, services.port) for n in range(3)]
        stored = [tasks.store.delay(n, services.port) for n in range(3)]
        world.step()
        assert [result.state for result in stored] == ["RETRY"] * 3
        services.repair()
        world.drain()
        assert [result.get() for result in looked] == [0, 1, 2]
        assert [result.get() for result in stored] == [0, 1, 2]
        assert [call.number for call in services.calls if call.service == INDEX] == ["0", "1", "2"]


def test_the_clock_ticks_and_each_tick_knows_its_moment() -> None:
    with sedano.testing.world(tasks.app) as world:
        world.elapse(61)
        ticks = [sent["kwargs"]["when"] for sent in world.sent(tasks.tick.name)]
    assert len(ticks) == len(set(ticks)) >= 12
