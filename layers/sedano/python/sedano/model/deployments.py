"""The last deployment of an app's code, as a memo of the stage, and the rule by which a cause of failures is new since then. Pure."""

from __future__ import annotations

import json
from typing import NamedTuple

from sedano.model.memos import DEPLOYMENT, memo_name, moment, parts

LAST = memo_name(DEPLOYMENT, "last")
"""The name of the memo."""
MOST_TEXT = 200
"""The most characters of a version and of a person that the memo keeps."""


class DeploymentMark(NamedTuple):
    """New code of the app was deployed *at* a moment (epoch s), by a person, as a *version* (empty: it has no name)."""

    at: float
    by: str = ""
    version: str = ""

    @property
    def text(self) -> str:
        """This deployment as its memo holds it."""
        return json.dumps([self.at, *(one[:MOST_TEXT].encode("utf-8", "replace").decode() for one in (self.by, self.version))])


def deployment_of(text: str) -> DeploymentMark | None:
    """Return the deployment that the *text* of a memo holds; None where the text is none, such as another version's."""
    try:
        found = parts(text)
        at, by, version = found
        known = DeploymentMark(moment(at), by, version)
    except (ValueError, TypeError, OverflowError):
        return None
    return known if isinstance(found, list) and isinstance(by, str) and isinstance(version, str) else None


def is_new(first: float, deployed: DeploymentMark, horizon: float) -> bool:
    """Return whether a cause that was seen at *first* for the first time is new since the deployment.

    *horizon*: the moment since when all failures are known (epoch s). Where the deployment was before it, a cause may have been there
    before, so none counts as new.
    """
    return horizon < deployed.at <= first
