"""Writes the reports of workers for their hosts (`sedano.model.cluster.worker_report`): the kind of host, versions, hindrances."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from sedano import __version__
from sedano.app import Sedano
from sedano.engine.boot import Boot
from sedano.engine.worker.settings import WorkerSettings
from sedano.model.cluster.scale import Server
from sedano.model.cluster.worker_report import FARGATE, LAMBDA, PROCESS, UnstartedStep, WorkerReport, condition, text_of
from sedano.model.prefetch import AHEAD

CODE = "SEDANO_CODE_VERSION"
"""The variable with the version of the app's code, any text, such as a commit."""
_FUNCTION, _FUNCTION_VERSION, _UNPUBLISHED = "AWS_LAMBDA_FUNCTION_NAME", "AWS_LAMBDA_FUNCTION_VERSION", "$LATEST"
_CONTAINER = "ECS_CONTAINER_METADATA_URI_V4"


def host_kind(environment: Mapping[str, str]) -> str:
    """Return the kind of host that a process with this *environment* runs in."""
    return LAMBDA if _FUNCTION in environment else FARGATE if _CONTAINER in environment else PROCESS


def code_version(environment: Mapping[str, str]) -> str:
    """Return the version of the app's code: `SEDANO_CODE_VERSION`, else the published version of the function; "" if there is no
    version."""
    published = environment.get(_FUNCTION_VERSION, "")
    return environment.get(CODE, "") or ("" if published == _UNPUBLISHED else published)


class Hindrances(NamedTuple):
    """Why a process does not receive or run tasks as it should: it is *draining*, or *paused*, or these loops are *stuck*."""

    draining: bool = False
    paused: bool = False
    stuck: tuple[str, ...] = ()


class Reporter:
    """Writes the reports of the workers of one process of *app*, which is a host of this *kind*."""

    def __init__(self, app: Sedano, boot: Boot | None, kind: str, environment: Mapping[str, str]) -> None:
        """Report nothing yet; *boot*: its boot steps, if it has any."""
        self._app, self._boot, self._kind, self._code = app, boot, kind, code_version(environment)

    def of_function(self, queues: Collection[str]) -> str:
        """Return the report of a function that has received from *queues*; one body or more runs at once in each of its environments."""
        lanes = (self._app.worker or WorkerSettings()).concurrency
        return text_of(self._report(Hindrances())._replace(queues=tuple(sorted(queues)), lanes=lanes))

    def of_process(self, me: Server, lanes: int, hindrances: Hindrances) -> str:
        """Return the report of the process *me*, which has so many *lanes* now."""
        report = self._report(hindrances)
        return text_of(report._replace(queues=me.queues, lanes=lanes, prefetch=AHEAD, process=me.name, started=me.started))

    def _report(self, hindrances: Hindrances) -> WorkerReport:
        unstarted = self._boot.unstarted() if self._boot is not None else {}
        configuration, hindered = self._app.registry.configuration, bool(unstarted or hindrances.stuck)
        return WorkerReport(
            host=self._kind, condition=condition(draining=hindrances.draining, paused=hindrances.paused, hindered=hindered),
            code=self._code, library=__version__, config=configuration.version if configuration is not None else "",
            beat=(self._app.worker or WorkerSettings()).heartbeat,
            steps=tuple(UnstartedStep(name, *found) for name, found in unstarted.items()), stuck=hindrances.stuck,
        )  # fmt: skip
