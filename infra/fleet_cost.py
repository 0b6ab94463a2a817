"""The cost of the processes of a stage: what its services cost while nothing is published, and what one task costs by the hour.

A task is priced on demand: spare capacity costs less, by a price that changes.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .prices import LIST

HOURS = 30 * 24
#: Target tracking makes an alarm above its target and one below, each over the figures that the quotient is made of.
TRACKING_ALARMS, FIGURES = 2, 3
Resource = Mapping[str, Any]


def of_a_task(cpu: float, memory_gb: float, *, public: bool) -> float:
    """Return the dollars of an hour of one task, of so many virtual CPUs; *public*: it has an address of its own."""
    return cpu * LIST.fargate_cpu + memory_gb * LIST.fargate_gb + public * LIST.address


def month(resources: Sequence[Resource]) -> tuple[tuple[str, float, float], ...]:
    """Return the lines of an idle month: a name, an amount, and the dollars of one."""
    services = len(_of(resources, "ECS::Service"))
    return (
        ("tasks on Fargate that always run, on demand, hours", sum(least for least, _ in _least(resources)) * HOURS, _dearest(resources)),
        ("alarms of target tracking, by the metrics that they look at", services * TRACKING_ALARMS * FIGURES, LIST.alarm),
    )


def sentences(resources: Sequence[Resource]) -> Iterator[str]:
    """Yield sentences about the tasks that run while there is work, where the stage has a service."""
    if services := _of(resources, "ECS::Service"):
        yield f"Each hour of a task on Fargate adds {_dearest(resources):.4f} on demand, less on spare capacity, and each metric that"
        yield f"Container Insights emits of {len(services)} service(s) up to {LIST.metric:.2f} a month. No NAT gateway is made."


def _least(resources: Sequence[Resource]) -> Iterator[tuple[int, int]]:
    """Yield the fewest and the most tasks of each service."""
    for target in _of(resources, "ApplicationAutoScaling::ScalableTarget"):
        yield target["MinCapacity"], target["MaxCapacity"]


def _dearest(resources: Sequence[Resource]) -> float:
    """Return the dollars of an hour of a task: all services of a stage have tasks of one size."""
    public = any("ENABLED" in str(service["NetworkConfiguration"]) for service in _of(resources, "ECS::Service"))
    sizes = [(int(task["Cpu"]) / 1024, int(task["Memory"]) / 1024) for task in _of(resources, "ECS::TaskDefinition")]
    return max((of_a_task(cpu, memory, public=public) for cpu, memory in sizes), default=0.0)


def _of(resources: Sequence[Resource], kind: str) -> list[Mapping[str, Any]]:
    return [one.get("Properties", {}) for one in resources if one["Type"] == f"AWS::{kind}"]
