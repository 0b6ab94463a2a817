"""`@app.task(singleton=…)`: which runs of a task exclude each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from sedano.errors import OptionError
from sedano.model.messages import codec
from sedano.model.tasks.parameters import Parameters
from sedano.model.tasks.signature import Delivery
from sedano.model.tasks.task_spec import OnBusy, alone

Singleton = bool | str | Callable[..., Any]
Key = Callable[[Sequence[Any], Mapping[str, Any]], str]


def key_of(singleton: Singleton, on_busy: OnBusy, delivery: Delivery, parameters: Parameters) -> Key | None:
    """Return the function from arguments to the singleton's key (one run at a time for each key); None without `singleton=`.

    Raises:
        OptionError: an option has no meaning, or cannot be honoured.
    """
    if on_busy not in get_args(OnBusy):
        raise OptionError(f"on_busy: {on_busy!r} is not one of {', '.join(get_args(OnBusy))}")
    if singleton is False:
        return None
    if delivery != "claimed":
        raise OptionError(f"singleton: a task with delivery={delivery!r} may run twice at a time; only a claimed task can be a singleton")
    if singleton is True:
        return alone
    if not isinstance(singleton, str):
        return lambda args, kwargs: codec.encode_value(singleton(*args, **kwargs), "singleton")
    if singleton not in parameters.signature.parameters:
        raise OptionError(f"singleton: the task has no parameter {singleton!r}")
    return lambda args, kwargs: codec.encode_value(_value(parameters, singleton, args, kwargs), "singleton")


def _value(parameters: Parameters, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Return the argument that the parameter *name* gets, by default its default."""
    parameters.fit(args, kwargs)
    bound = parameters.signature.bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.arguments[name]
