"""Marking a deployment: the moment after which a cause of failures that was not seen before counts as new."""

from __future__ import annotations

from functools import partial

from sedano.app import Sedano
from sedano.changes.plan import AppliedChange, ChangePlan, Effect, person
from sedano.engine.deployments import keep
from sedano.model.deployments import DeploymentMark
from sedano.model.messages.timestamps import shown


def deployed(app: Sedano, version: str = "") -> ChangePlan:
    """Return the plan to mark this moment as a deployment of new code, which may have a *version*."""
    named = f" of {version}" if version else ""
    line = f"mark 1 deployment{named} now; `sedano failures --new` lists the causes that were not seen before"
    what = f"version={version}" if version else "new code"
    return ChangePlan(verb="deployed", what=what, lines=(line,), number=1, word="1", make=partial(_kept, app, version))


def _kept(app: Sedano, version: str) -> AppliedChange:
    ports = app.outlet.ports
    kept = keep(ports, DeploymentMark(ports.clock.now(), person(), version))
    return AppliedChange((Effect(f"the last deployment was at {shown(kept.at)}", {"at": shown(kept.at), "version": kept.version}),))
