"""Reads the options of an entry script; Glue calls it with options of its own among them."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence

#: Glue passes it in every run, among other options of its own, which are not completely documented.
OF_GLUE = "--JOB_NAME"


def read(parser: ArgumentParser, given: Sequence[str]) -> Namespace:
    """Read *given*: on Glue, unknown options are ignored; elsewhere they end the script, because they are mistyped."""
    options, unknown = parser.parse_known_args(given)
    if unknown and not any(word.partition("=")[0] == OF_GLUE for word in given):
        parser.error(f"there is no {unknown[0]}; --help lists what there is")
    return options


def days(text: str) -> float:
    """Read a time in days, zero or more."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise ArgumentTypeError(f"{text!r} is not a number of days")
    return value


def how_many(text: str) -> int:
    """Read a whole number, one or more."""
    if not text.isdecimal() or not int(text):
        raise ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(text)
