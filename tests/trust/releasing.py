"""A release as CodeDeploy makes it, which the endpoint does not know: what stands in for it becomes its role and moves the alias."""

from typing import Any

from tests.trust.driven import Driven
from tests.trust.grants import Grant
from tests.trust.roads import Road, succeeds

ALIAS, CANARY = "live", 0.1
RELEASER = "workerrelease"
"""The role in whose name CodeDeploy releases the worker."""


def released(driven: Driven, walks: Any) -> None:
    """A tenth of the work goes to a new version, then all of it, and the function works on."""
    functions, worker = driven.client("lambda"), driven.functions["worker"]
    before, after = (functions.publish_version(FunctionName=worker, Description=one)["Version"] for one in ("before", "after"))
    _aliased(functions, worker, before)
    codedeploy = driven.become(RELEASER, "lambda")
    seen = codedeploy.get_alias(FunctionName=worker, Name=ALIAS)
    assert seen["FunctionVersion"] == before
    codedeploy.update_alias(FunctionName=worker, Name=ALIAS, RoutingConfig={"AdditionalVersionWeights": {after: CANARY}})
    assert functions.get_alias(FunctionName=worker, Name=ALIAS)["RoutingConfig"]["AdditionalVersionWeights"] == {after: CANARY}
    codedeploy.update_alias(FunctionName=worker, Name=ALIAS, FunctionVersion=after, RoutingConfig={"AdditionalVersionWeights": {}})
    assert functions.get_alias(FunctionName=worker, Name=ALIAS)["FunctionVersion"] == after
    succeeds(driven, walks.echo.delay("after a release"))


def _aliased(functions: Any, worker: str, version: str) -> None:
    """Have the alias, at this version."""
    known = [one["Name"] for one in functions.list_aliases(FunctionName=worker)["Aliases"]]
    change = functions.update_alias if ALIAS in known else functions.create_alias
    change(FunctionName=worker, Name=ALIAS, FunctionVersion=version)


ROADS: tuple[Road, ...] = (released,)
NEEDED: dict[Grant, Road] = {Grant(RELEASER, "lambda:UpdateAlias", "worker"): released}
