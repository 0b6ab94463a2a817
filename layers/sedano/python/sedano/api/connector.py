"""The function named in `connect=`, which returns an app's ports in programs and in deployed functions."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from sedano.errors import ConfigurationError
from sedano.ports import Ports


def connector(reference: str) -> Callable[[], Any]:
    """Return the function that *reference* (``module:function``) names.

    Raises:
        ConfigurationError: the function is missing, or its module does not import.
    """
    module, _, name = reference.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as wrong:
        raise ConfigurationError(f"connect {reference!r}: {wrong}; expected module:function that returns the ports") from wrong
    if not callable(found):
        raise ConfigurationError(f"connect {reference!r} is a {type(found).__name__}; expected module:function that returns the ports")
    function: Callable[[], Any] = found
    return function


def brought(reference: str) -> Ports:
    """Return the ports that the function *reference* brings.

    Raises:
        ConfigurationError: there is no such function, or it returns something else.
    """
    ports = connector(reference)()
    if not isinstance(ports, Ports):
        raise ConfigurationError(
            f"connect {reference!r} returned {type(ports).__name__}; return sedano.ports.Ports, such as "
            "dataclasses.replace(sedano.aws.deployment.connect(), blobs=…)"
        )
    return ports
