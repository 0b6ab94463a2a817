"""Nobody makes a worker work: any body of 1 MiB is read or refused within 120 ms of CPU, and nothing is quadratic."""

import contextlib
import gc
import json
import time

import pytest

from sedano.errors import MessageRefused
from sedano.model.messages.codec import MAX_BYTES, decode, decode_value
from sedano.model.messages.strict_json import MAX_DIGITS

HEAD = '{"specversion":"1.0","id":"1","source":"me","type":"sedano.command.v1","subject":"shop.add","data":{"args":['
TAIL = "]}}"
AS_ENCODED = (
    '{"specversion":"1.0","type":"sedano.command.v1","source":"me","subject":"shop.add","id":"1"'
    ',"time":"2026-11-20T11:00:00.123456Z","clock":"1","data":{"args":['
)
CPU_SECONDS = 0.120
FILL = MAX_BYTES - len(HEAD + TAIL)


def filled(part, last="0"):
    """Return a message of nearly 1 MiB whose arguments are *part* again and again."""
    return HEAD + part * ((FILL - len(last)) // len(part)) + last + TAIL


NASTY = {
    "empty objects": filled("{},"),
    "empty arrays": filled("[],"),
    "objects of one": filled('{"":0},'),
    "integers": filled("1,"),
    "integers, counted": filled("1," + "12345," * 7),
    "floats": filled(".5e1,".replace(".", "0.")),
    "short floats": filled("1.5,"),
    "exponents": filled("1e9,"),
    "floats and a surrogate pair": filled("1.5,", r'"\ud83d\ude00"'),
    "long floats": filled("1." + "3" * 997 + ","),
    "one long float": HEAD + "1." + "3" * (FILL - 2) + TAIL,
    "one long exponent": HEAD + "1e" + "3" * (FILL - 2) + TAIL,
    "one long integer": HEAD + "7" * FILL + TAIL,
    "integers as long as can be": filled("7" * MAX_DIGITS + ","),
    "deep but allowed": filled("[" * 61 + "]" * 61 + ","),
    "too deep": HEAD + "[" * (FILL // 2) + "]" * (FILL // 2) + TAIL,
    "only opened": "[" * MAX_BYTES,
    "only closed": "]" * MAX_BYTES,
    "brackets in a string": HEAD + '"' + "[{" * ((FILL - 2) // 2) + '"' + TAIL,
    "many strings of brackets": filled('"[",'),
    "empty strings": filled('"",'),
    "quotes": HEAD + '"' + r"\"" * ((FILL - 2) // 2) + '"' + TAIL,
    "backslashes": HEAD + '"' + "\\\\" * ((FILL - 2) // 2) + '"' + TAIL,
    "escapes": HEAD + '"' + r"\u00e9" * ((FILL - 2) // 6) + '"' + TAIL,
    "surrogate pairs": HEAD + '"' + r"\ud83d\ude00" * ((FILL - 2) // 12) + '"' + TAIL,
    "strings of surrogate pairs": filled(r'"\ud83d\ude00",'),
    "half pairs": HEAD + '"' + r"\ud83d" * ((FILL - 2) // 6) + '"' + TAIL,
    "many keys": HEAD + "{" + ",".join(f'"{n:x}":0' for n in range(FILL // 10)) + "}" + TAIL,
    "one key again and again": HEAD + "{" + '"":0,' * (FILL // 5 - 2) + '"":0}' + TAIL,
    "the last key again": HEAD + "{" + ",".join(f'"{n:x}":0' for n in range(FILL // 10)) + ',"1":0}' + TAIL,
    "many attributes": "{" + ",".join(f'"a{n:x}":0' for n in range(FILL // 11)) + ',"type":"sedano.command.v1"}',
    "one long attribute": HEAD[:-17] + '"' + "a" * (FILL - 10) + '":1,' + HEAD[-16:] + TAIL,
    "a long id": HEAD.replace('"id":"1"', f'"id":"{"1" * FILL}"') + TAIL,
    "white space": HEAD + " " * FILL + TAIL,
    "white space in front": " " * FILL + HEAD + TAIL,
    "white space behind": HEAD + TAIL + " " * FILL,
    "unclosed string": HEAD + '"' + "a" * (FILL - 1),
    "two byte letters": HEAD + '"' + "é" * ((FILL - 2) // 2) + '"' + TAIL,
    "not UTF-8 at the end": (HEAD + '"' + "a" * (FILL - 8)).encode() + b"\xff",
    "booleans": filled("true,"),
    "as encoded, with long data": AS_ENCODED + "1," * ((MAX_BYTES - len(AS_ENCODED + TAIL)) // 2 - 1) + "1" + TAIL,
    "as encoded, with a long id": AS_ENCODED.replace('"id":"1"', f'"id":"{"1" * (FILL - 99)}"') + TAIL,
}


PAIRS = "[" + ",".join(f'{{"k{n:x}":{n}}}' for n in range(30_000)) + "]"
QUIET_PAIRS = 0.009
"""CPU seconds of `json.loads` for `PAIRS` where the limit of 120 ms was set, when nothing else runs there."""
QUIET_LISTS = 0.090
"""The same for half a million lists and one pass of the garbage collector over them, which depends on the memory more than on the core."""
TRIES = 15


def cpu_of(read, body):
    """Return the CPU seconds that this thread takes to read or refuse *body* once; threads of other tests may live on in the process."""
    begun = time.thread_time()
    with contextlib.suppress(MessageRefused):
        read(body)
    return time.thread_time() - begun


def parsed_and_collected(body):
    """Return what the parser of CPython alone makes of *body*, after one pass over the new containers."""
    gc.disable()
    try:
        value = json.loads(body)
        gc.collect(0)
    finally:
        gc.enable()
    return value


def limit_now():
    """Return the limit on this machine as it is at the moment: neighbours, slower cores and slower memory make CPU seconds longer."""
    pairs = cpu_of(json.loads, PAIRS) / QUIET_PAIRS
    lists = cpu_of(parsed_and_collected, NASTY["deep but allowed"]) / QUIET_LISTS
    return CPU_SECONDS * max(1.0, pairs, lists)


@pytest.mark.parametrize("name", NASTY)
def test_any_mebibyte_is_decided_within_120_ms_of_cpu(name):
    assert len(NASTY[name]) <= MAX_BYTES
    assert any(cpu_of(decode, NASTY[name]) <= limit_now() for _ in range(TRIES))


def test_reading_costs_in_proportion_to_the_size():
    """Claim-checked data may be 64 times larger than a message."""
    small, large = (json.dumps([{"k": "[\\ud83d", "n": [n / 7]} for n in range(size)]) for size in (10_000, 80_000))
    assert any(cpu_of(decode_value, large) <= 8 * 2 * cpu_of(decode_value, small) for _ in range(TRIES))
