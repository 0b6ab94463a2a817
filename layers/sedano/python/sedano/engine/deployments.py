"""Keeps and reads the moment of the last deployment: one memo of the stage."""

from __future__ import annotations

from sedano.errors import Unavailable
from sedano.model.deployments import LAST, DeploymentMark, deployment_of
from sedano.model.memos import Memo
from sedano.ports import Ports
from sedano.ports.absent import has

TRIES = 4
"""How often a deployment is written again because another write was first."""


def keep(ports: Ports, deployment: DeploymentMark) -> DeploymentMark:
    """Store *deployment* as the last one, unless a later one is stored; return the stored one.

    Raises:
        PortMissing: the stage keeps no memos.
        Unavailable: the store did not answer, or others changed it under each attempt; trying again is safe.
    """
    seen = ports.memos.read([LAST]).get(LAST, Memo(LAST))
    for _ in range(TRIES):
        known = deployment_of(seen.text)
        if known is not None and known.at >= deployment.at:
            return known
        answer = ports.memos.change(Memo(LAST, deployment.text, ports.entropy.nonce()), seen)
        if answer.done:
            return deployment
        seen = answer.memo
    raise Unavailable(f"the last deployment: others changed it under each of {TRIES} attempts")


def last(ports: Ports) -> DeploymentMark | None:
    """Return the last deployment, or None if the stage keeps none.

    Raises:
        Unavailable: the store did not answer.
    """
    found = ports.memos.read([LAST]).get(LAST) if has(ports.memos) else None
    return deployment_of(found.text) if found is not None else None
