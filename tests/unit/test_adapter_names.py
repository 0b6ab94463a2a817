"""The adapters of a process: by the names in its settings, and else by its runtime."""

import pytest

from sedano.errors import ConfigurationError
from sedano.model.telemetry import adapter_names
from sedano.model.telemetry.adapter_names import AdapterName, TelemetryNames, host_and_port, names_in, of_worker, parse, runtime

STREAM = (8, 4711)


@pytest.mark.parametrize(
    ("environment", "stream", "is_terminal", "found"),
    [
        ({"AWS_LAMBDA_FUNCTION_NAME": "f", "JOURNAL_STREAM": "8:4711"}, STREAM, True, "lambda"),
        ({"AWS_LAMBDA_FUNCTION_NAME": ""}, STREAM, False, "other"),
        ({"JOURNAL_STREAM": "8:4711"}, STREAM, False, "journal"),
        ({"JOURNAL_STREAM": "8:4711"}, (8, 4712), False, "other"),
        ({"JOURNAL_STREAM": "8:4711"}, (9, 4711), True, "terminal"),
        ({"JOURNAL_STREAM": "8:4711"}, None, False, "other"),
        ({"JOURNAL_STREAM": "4711"}, STREAM, False, "other"),
        ({"JOURNAL_STREAM": "8:4711:1"}, STREAM, False, "other"),
        ({"JOURNAL_STREAM": ""}, STREAM, True, "terminal"),
        ({}, STREAM, True, "terminal"),
        ({}, STREAM, False, "other"),
        ({}, None, False, "other"),
    ],
)
def test_the_runtime_is_that_of_standard_error_not_of_an_inherited_variable(
    environment: dict[str, str], stream: tuple[int, int] | None, is_terminal: bool, found: str
) -> None:
    assert runtime(environment, stream, is_terminal=is_terminal) == found


@pytest.mark.parametrize(
    ("given", "where", "found"),
    [
        ((), "journal", ("journald", "none", "none")),
        ((), "terminal", ("console", "none", "none")),
        ((), "other", ("json", "emf", "none")),
        ((), "lambda", ("json", "emf", "none")),
        (("console",), "other", ("console", "none", "none")),
        (("powertools",), "terminal", ("powertools", "emf", "none")),
        (("", "statsd://h:1"), "other", ("json", "statsd://h:1", "none")),
        (("", "", "json"), "terminal", ("console", "none", "json")),
    ],
)
def test_a_worker_has_the_adapters_that_suit_its_log(given: tuple[str, ...], where: str, found: tuple[str, ...]) -> None:
    assert of_worker(TelemetryNames(*given), where) == found


def test_names_are_read_from_the_environment() -> None:
    assert names_in({"SEDANO_LOGS": " json ", "SEDANO_TRACES": "otlp"}) == ("json", "", "otlp")
    assert names_in({"SEDANO_METRICS": "emf"}) == ("", "emf", "")
    assert (names_in({}).given, names_in({"SEDANO_TRACES": "json"}).given) == (False, True)
    assert (TelemetryNames("a").given, TelemetryNames("", "b").given) == (True, True)
    assert TelemetryNames("a", "").or_else(TelemetryNames("x", "y", "z")) == ("a", "y", "z")


def test_a_name_has_a_word_and_may_have_an_address() -> None:
    assert parse(" json ") == AdapterName("json", "")
    assert parse("statsd://10.0.0.1:8125") == AdapterName("statsd", "10.0.0.1:8125")


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("h:1", ("h", 1)), ("h", ("h", 8125)), ("h:65535", ("h", 65_535)), ("[::1]:9", ("::1", 9)), ("[::1]", ("::1", 8125)),
        ("h:1/", ("h", 1)), ("//h:2//", ("h", 2)), ("[::1]/", ("::1", 8125)), ("[::1]:9/", ("::1", 9)), ("h:000001", ("h", 1)),
        ("a.b.c:99", ("a.b.c", 99)),
    ],
)  # fmt: skip
def test_an_address_is_a_host_and_a_port(address: str, found: tuple[str, int]) -> None:
    assert host_and_port("SEDANO_METRICS", AdapterName("statsd", address), 8125) == found


@pytest.mark.parametrize("address", ["", ":1", "h:", "h:0", "h:65536", "h:-1", "h:x", "h:1x", "h:٣", "[]:1", "h:9999999", "h:0000001"])
def test_an_address_that_is_not_one_is_refused_with_an_example(address: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        host_and_port("SEDANO_METRICS", AdapterName("statsd", address), 8125)
    assert str(refused.value) == f"SEDANO_METRICS: {address!r} is not host:port; write statsd://127.0.0.1:8125"


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    long = adapter_names.unknown("V", AdapterName("n" * 41), {"b", "a"}, "g")
    assert str(long).startswith(f"V: {'n' * 40!r} is not a known adapter; write one of a, b, or")
    found = adapter_names.unknown("SEDANO_LOGS", AdapterName("jsno"), {"json", "console"}, "sedano.logs")
    assert str(found) == (
        "SEDANO_LOGS: 'jsno' is not a known adapter; write one of console, json, or install a package with an entry point of that name in "
        "the group sedano.logs"
    )
