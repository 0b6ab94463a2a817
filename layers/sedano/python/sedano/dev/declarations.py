"""The declarations of an app as JSON, and an app that declares the same without its code.

The supervisor of `sedano dev` imports nothing of the project, so code that does not load, or never returns, does not stop the supervisor or
its pages. The worker reports the declarations of its app; the pages read the stage through an app that is made from the last report. It has
no timetables: the worker's scheduler writes them to the database.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sedano.app import Sedano
from sedano.host import one_file
from sedano.model.circuits import Breaker
from sedano.model.limits.task_limits import Range, TaskLimits
from sedano.model.tasks.parameters import Parameters
from sedano.model.tasks.task_spec import TaskSpec, alone


def written(app: Sedano) -> dict[str, Any]:
    """Return the declarations of *app* that the pages show, without the library's own tasks."""
    own = [spec for name, spec in app.registry.tasks.items() if not name.startswith("sedano.")]
    return {"name": app.name, "queues": list(app.queues), "tasks": {spec.name: _task(spec) for spec in own}}


def stand_in(report: Mapping[str, Any], database: Path) -> Sedano:
    """Return an app with the declarations of *report* over *database*. Its tasks can be named, paused and revoked, but not run."""
    app = Sedano(report["name"], queues=tuple(report["queues"]))
    app.attach(one_file.ports(database, app.queues))
    for name, fields in report["tasks"].items():
        app.registry.tasks[name] = _spec(name, fields)
    return app


def _task(spec: TaskSpec) -> dict[str, Any]:
    limits, circuit = spec.limits, spec.circuit
    most = limits.concurrency if limits is not None else None
    return {
        "queue": spec.queue, "alone": spec.singleton is alone, "circuit": [circuit.name, circuit.shared] if circuit is not None else None,
        "most": most.high if isinstance(most, Range) else most, "keyed": limits is not None and limits.concurrency_key is not None,
    }  # fmt: skip


def _spec(name: str, fields: Mapping[str, Any]) -> TaskSpec:
    circuit, most = fields["circuit"], fields["most"]
    limits = TaskLimits(concurrency=most, concurrency_key=alone if fields["keyed"] else None)
    return TaskSpec(
        name, _elsewhere, Parameters(_elsewhere), queue=fields["queue"], singleton=alone if fields["alone"] else None,
        circuit=Breaker(name=circuit[0], shared=circuit[1]) if circuit is not None else None, limits=limits if most is not None else None,
    )  # fmt: skip


def _elsewhere(*_: Any, **__: Any) -> None:
    """Do nothing: the worker's process has the body, and this function is never called."""
