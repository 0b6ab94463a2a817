"""Occurrences of schedules with limited instances: at each moment a launch checks how many earlier ones still wait or run.

The launch is a separate, claimed task, and the occurrence is its follow-up, so it survives every crash that a task survives. A skipped
occurrence is revoked, so that its result shows the reason and no later copy of it runs. An earlier one without a record waits in its queue,
and counts.
"""

from __future__ import annotations

from collections.abc import Sequence

from sedano.engine.drafts import CommandDraft
from sedano.engine.registry import Registry
from sedano.engine.revocation.record import revoke
from sedano.engine.task_context import current
from sedano.model import states
from sedano.model.messages import codec
from sedano.model.messages.lamport import LamportClock
from sedano.model.messages.message import Command
from sedano.model.tasks.parameters import Parameters
from sedano.model.tasks.task_spec import TaskSpec
from sedano.ports import Ports

OCCURRENCE = "sedano.occurrence"
"""The built-in task that launches an occurrence."""


def limited(registry: Registry, ports: Ports, lamport: LamportClock, name: str) -> TaskSpec | None:
    """Return the built-in task *name*, declared in *registry* at the first request; None if it is not `OCCURRENCE`."""
    if name != OCCURRENCE:
        return None

    def launch(
        task_id: str, before: Sequence[str], most: int, task: str, queue: str, data: str, expires: float | None, ignore_result: bool
    ) -> None:
        context = current()
        if still(ports, before) >= most:
            revoke(ports, lamport, task_id, terminate=False)
            ports.telemetry.count("OccurrencesLeftOut", task=task if task in registry.tasks else OCCURRENCE)
            return
        args, kwargs = codec.decode_data(data.encode())
        tenant, stamps = context.command.tenant, context.command.stamps
        context.outbox += [
            CommandDraft(queue, Command(
                id="", task_id=task_id, task=task, args=args, kwargs=kwargs, expires=expires, tenant=tenant, ignore_result=ignore_result,
                stamps=stamps,
            ))
        ]

    registry.tasks[OCCURRENCE] = TaskSpec(OCCURRENCE, launch, Parameters(launch), ignore_result=True)
    return registry.tasks[OCCURRENCE]


def still(ports: Ports, task_ids: Sequence[str]) -> int:
    """Return how many of these tasks wait or run, which have no record of an end."""
    records = ports.ledger.read(task_ids) if task_ids else {}
    return sum(task_id not in records or records[task_id].state not in states.TERMINAL for task_id in task_ids)
