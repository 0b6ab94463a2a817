"""The last deployment of an app's code, as a memo of the stage, and the rule whether a cause of failures is new since then. Pure."""

from __future__ import annotations

import json
from typing import NamedTuple

from sedano.model.memos import DEPLOYMENT, memo_name, moment, parts

LAST = memo_name(DEPLOYMENT, "last")
"""The name of the memo."""
MOST_TEXT = 200
"""The most characters of a version and of a person in the memo."""


class DeploymentMark(NamedTuple):
    """A deployment of the app's code: its time (*at*, epoch s), its person (*by*), and its *version* (empty: it has no name)."""

    at: float
    by: str = ""
    version: str = ""

    @property
    def text(self) -> str:
        """This deployment as the text of its memo."""
        return json.dumps([self.at, *(one[:MOST_TEXT].encode("utf-8", "replace").decode() for one in (self.by, self.version))])


def deployment_of(text: str) -> DeploymentMark | None:
    """Return the deployment in the *text* of a memo; None if it is not valid, for example because another version wrote it."""
    try:
        found = parts(text)
        at, by, version = found
        known = DeploymentMark(moment(at), by, version)
    except (ValueError, TypeError, OverflowError):
        return None
    return known if isinstance(found, list) and isinstance(by, str) and isinstance(version, str) else None


def is_new(first: float, deployed: DeploymentMark, horizon: float) -> bool:
    """Return whether a cause that first occurred at *first* is new since the deployment.

    *horizon*: the time since when all failures are known (epoch s). If the deployment was earlier, a cause may have occurred before it, so
    no cause counts as new.
    """
    return horizon < deployed.at <= first
