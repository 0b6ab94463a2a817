"""Brokers: the places that take an app's messages, in order of preference. Pure.

A broker here is SQS in one Region. The stage's own Region is *home*: its queues belong to the deployment, and its functions read them.
Another Region has a queue of the same name in the same account, so its address is the home address with the Region replaced.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlsplit, urlunsplit

from sedano.errors import ConfigurationError, OptionError
from sedano.model.queues import is_fifo

HOME = "home"
"""The name of the broker in the stage's own Region."""
SETTING = "SEDANO_BROKERS"
EXAMPLE = "home,eu-west-1"
"""The form of SETTING: the names of the brokers, in order of preference."""
_is_region = re.compile(r"[a-z]{2,4}(?:-[a-z]{2,12}){1,3}-[0-9]{1,2}").fullmatch


class SqsBroker(NamedTuple):
    """SQS in *region* (None: the stage's own Region) as a broker of these command *queues*; without names, of all of the app's."""

    queues: tuple[str, ...] = ()
    region: str | None = None

    @property
    def name(self) -> str:
        """The name of the broker in logs and in SEDANO_BROKERS."""
        return self.region or HOME


def sqs(*queues: str, region: str | None = None) -> SqsBroker:
    """Return SQS as a broker of the command *queues*, for ``Sedano(brokers=[…])``.

    Args:
        queues: the names of queues that it takes; none: all queues of the app.
        region: the Region of AWS; None: that of the stage. There, each queue has the name that it has in the stage's Region.

    Raises:
        OptionError: a name or the Region is not valid.
    """
    given: Sequence[object] = queues
    place: object = region
    wrong = [name for name in given if not isinstance(name, str) or not name]
    if wrong:
        raise OptionError(f"sqs: {wrong[0]!r} is not the name of a queue; write sqs('default', region='eu-west-1')")
    if place is not None and not (isinstance(place, str) and _is_region(place)):
        raise OptionError(f"region: {region!r} is not a Region of AWS; write one such as 'eu-west-1'")
    return SqsBroker(queues, region)


def checked(brokers: Sequence[object], queues: Sequence[str]) -> tuple[SqsBroker, ...]:
    """Return the *brokers* of an app with these *queues*.

    Raises:
        OptionError: one of them is not a broker, is given twice, names an unknown queue, or one that keeps order in another Region, or the
            stage's own Region is missing.
    """
    if isinstance(brokers, str) or not isinstance(brokers, Sequence):
        raise OptionError(f"brokers: {brokers!r} is not a list; write brokers=[sqs(), sqs(region='eu-west-1')]")
    found: list[SqsBroker] = []
    for one in brokers:
        if not isinstance(one, SqsBroker):
            raise OptionError(f"brokers: {one!r} is not a broker; write sqs(), or sqs(region='eu-west-1')")
        unknown = next((name for name in one.queues if name not in queues), None)
        if unknown is not None:
            raise OptionError(f"brokers: {unknown!r} is not one of this app's queues {tuple(queues)}; add it to Sedano(queues=…)")
        ordered = next((name for name in one.queues if is_fifo(name)), None)
        if ordered is not None and one.region is not None:
            raise OptionError(
                f"brokers: {ordered!r} keeps order, which exists only within one queue; take it out of sqs(…, region={one.region!r}): its "
                "messages go to the stage's own Region"
            )
        found.append(one)
    names = [one.name for one in found]
    if len({*names}) < len(names):
        raise OptionError(f"brokers: {', '.join(names)} has one twice; name all queues of a Region in one sqs(…)")
    if found and HOME not in names:
        raise OptionError("brokers: the stage's own Region is missing; add sqs() at its place in the order")
    return tuple(found)


def of_setting(text: str, known: Sequence[SqsBroker] = ()) -> tuple[SqsBroker, ...]:
    """Return the brokers that the *text* of SEDANO_BROKERS names, each with the queues that it has among the *known* ones of the app.

    Raises:
        ConfigurationError: the text does not have the form of `EXAMPLE`.
    """
    queues = {one.name: one.queues for one in known}
    try:
        found = [sqs(*queues.get(name, ()), region=None if name == HOME else name) for name in map(str.strip, text.split(","))]
        return checked(found, [name for one in found for name in one.queues])
    except OptionError as wrong:
        raise ConfigurationError(f"{SETTING}: {wrong}; the variable has the form {EXAMPLE}") from None


def unused_brokers(brokers: Sequence[SqsBroker], setting: str) -> str:
    """Return the names of those *brokers* that no function sends to, which are all but the home; empty if the *setting* of the environment
    decides."""
    return "" if setting else ", ".join(one.name for one in brokers if one.name != HOME)


def sibling(url: str, region: str) -> str:
    """Return the address of the queue of the same name in *region*; an address without a Region (a local endpoint) stays as it is."""
    parts = urlsplit(url)
    labels = [region if _is_region(label) else label for label in parts.netloc.split(".")]
    return urlunsplit(parts._replace(netloc=".".join(labels)))
