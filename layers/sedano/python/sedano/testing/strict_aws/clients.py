"""Finds the clients and sessions of a process, so that existing ones are checked too."""

from __future__ import annotations

import gc

from botocore.client import BaseClient
from botocore.session import Session

from sedano.testing.strict_aws.hook import StrictAws


def installed() -> StrictAws:
    """Return a hook below every client of this process: those that exist, and those that are made from now on."""
    hook = StrictAws()
    hook.install()
    for one in gc.get_objects():
        kind = type(one)  # isinstance would wake a lazy object of another library
        if issubclass(kind, BaseClient):
            hook.stand_under(one.meta.events)
        elif issubclass(kind, Session):
            hook.stand_under(one.get_component("event_emitter"))
    return hook
