"""Faults that are planted to see that the fuzzer finds them: a check left out, the last resort taken away, a reader that drops."""

from __future__ import annotations

from typing import NamedTuple


class Fault(NamedTuple):
    """In *module* stands *wrong* instead of *right*; fuzzing *target* must find it."""

    target: str
    module: str
    right: str
    wrong: str


FAULTS = {
    "a number beyond a double is read": Fault("json", "sedano.model.messages.strict_json", "    if number - number:\n", "    if False:\n"),
    "any depth is read": Fault(
        "value",
        "sedano.model.messages.strict_json",
        'if text.count("[") + text.count("{") > most_depth and _depth(text) > most_depth:',
        "if not text:",
    ),
    "arguments are not looked at": Fault("data", "sedano.model.messages.attributes", "    if type(args) is not list:\n", "    if False:\n"),
    "the moment of a record is not looked at": Fault("recorder", "sedano.model.history.run_rows", "if not all(0 <= event",
        "if False and not all(0 <= event"),
    "a code that is in no list": Fault("stream", "sedano.model.sources.streams", 'MessageRefused(refusals.STREAM, path, f"has the type',
        'MessageRefused("strange", path, f"has the type'),
    "the size of an object is not looked at": Fault("stream-s3", "sedano.model.sources.queue_messages",
        "(type(found) is not int or found < 0)", "found < 0"),
    "a binary attribute is not looked at": Fault("stream", "sedano.model.sources.streams",
        "except (binascii.Error, ValueError):", "except ZeroDivisionError:"),
    "a signature is not compared": Fault("signature", "sedano.model.sources.signature_schemes",
        "return None if any(equal) else WRONG", "return None"),
    "a metric bears what a message says": Fault(
        "worker", "sedano.engine.parked.parking",
        'count("MessagesParked", reason=parking.code)', 'count("MessagesParked", reason=parking.detail)'
    ),
    "what is refused is dropped": Fault("router", "sedano.engine.redelivery",
        "        batch.park(delivery, refused.code, refused.field, refused.detail)\n", "        pass\n"),
    "a cron's step may be nothing": Fault("cron", "sedano.model.schedules.cron", "if first > last or not width:", "if first > last:"),
}  # fmt: skip
