"""What is true of every process that serves a queue in place of Lambda: rules over one resource at a time (`tests/infra/invariants.py`)."""

import json
from collections.abc import Iterator
from typing import Any

from tests.infra.template import Properties, Templates, listed, target

BY_ALL = ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility", "sqs:GetQueueAttributes")


def _of(templates: Templates, name: str) -> Properties:
    properties: Properties = templates.resources[name].get("Properties", {})
    return properties


def _options(task: Properties) -> dict[str, str]:
    """The options of the one container's command."""
    (container,) = task["ContainerDefinitions"]
    return dict(word.removeprefix("--").split("=", 1) for word in container["Command"] if word.startswith("--"))


def _statements(templates: Templates, role: str) -> Iterator[dict[str, Any]]:
    for policy in templates.of_type("IAM::Policy").values():
        if role in map(templates.exported, policy["Roles"]):
            yield from policy["PolicyDocument"]["Statement"]


def _grants(statements: Iterator[dict[str, Any]]) -> set[tuple[str, str, str]]:
    """Single grants: an action on a resource under a condition."""
    return {
        (action, json.dumps(resource, sort_keys=True), json.dumps(one.get("Condition"), sort_keys=True))
        for one in statements
        for action in listed(one["Action"])
        for resource in listed(one["Resource"])
    }


def _of_the_worker(templates: Templates) -> set[tuple[str, str, str]]:
    """What the worker function may do, beside receiving messages and writing its log."""
    grants = _grants(_statements(templates, target(templates.functions()["worker"]["Role"])))
    return {grant for grant in grants if not grant[0].startswith("logs:") and grant[0] not in BY_ALL}


def _wrong_with(templates: Templates, grants: set[tuple[str, str, str]]) -> str | None:
    received = {resource for action, resource, _ in grants if action in BY_ALL}
    fed = [queue for queue, _ in templates.sources()]
    if len(received) != 1 or {action for action, _, _ in grants} < set(BY_ALL):
        return f"receives from {sorted(received)}"
    if target(json.loads(next(iter(received)))) in fed:
        return "receives from a queue that feeds a function"
    apart = {grant for grant in grants if grant[0] not in BY_ALL} ^ _of_the_worker(templates)
    return f"differs from the worker function by {sorted(grant[0] for grant in apart)}" if apart else None


def may_do_what_the_worker_may(templates: Templates, name: str) -> str | None:
    """A task receives from its one queue, which feeds no function, and may do what the worker function may, and nothing else."""
    role = target(_of(templates, name)["TaskRoleArn"])
    (trusted,) = _of(templates, role)["AssumeRolePolicyDocument"]["Statement"]
    if not trusted.get("Condition"):
        return f"has a role, {role}, that is taken on for any account"
    return _wrong_with(templates, _grants(_statements(templates, role)))


def is_attached_with_what_the_worker_may(templates: Templates, name: str) -> str | None:
    """A policy for hosts of the user's own has the same grants, with its further parts, and each fits IAM."""
    whole = _of(templates, name)["Description"].partition(", part ")[0]
    parts = [one for one in templates.of_type("IAM::ManagedPolicy").values() if one["Description"].partition(", part ")[0] == whole]
    return _wrong_with(templates, _grants(one for part in parts for one in part["PolicyDocument"]["Statement"]))


def starts_with_its_image_and_its_log_alone(templates: Templates, name: str) -> str | None:
    """What ECS itself may do for a task: fetch its image and write its log."""
    task = _of(templates, name)
    actions = {action for action, _, _ in _grants(_statements(templates, target(task["ExecutionRoleArn"])))}
    more = {one for one in actions if not one.startswith("ecr:") and one not in ("logs:CreateLogStream", "logs:PutLogEvents")}
    return f"starts with {sorted(more)}" if more or task["ExecutionRoleArn"] == task["TaskRoleArn"] else None


def ends_in_the_time_that_it_has(templates: Templates, name: str) -> str | None:
    """Fargate waits for the whole drain and some seconds more, and never longer than 120 s; the command is no shell's."""
    (container,) = _of(templates, name)["ContainerDefinitions"]
    drain, stop = int(_options(_of(templates, name))["drain"]), container.get("StopTimeout", 30)
    if not drain + 5 <= stop <= 120:
        return f"has {stop} s for a drain of {drain}"
    return None if container["Command"][:2] == ["sedano", "worker"] else "is started by another program, which may keep the signal"


def is_replaced_when_it_hangs(templates: Templates, name: str) -> str | None:
    """The health check of ECS requests /live at the worker's own port, without a shell, in time, and after the boot steps had time."""
    (container,) = _of(templates, name)["ContainerDefinitions"]
    said, port = container.get("HealthCheck") or {}, _options(_of(templates, name)).get("health", "")
    program, *words = said.get("Command", ["none"])
    if program != "CMD" or "/live" not in words[-1] or not port or f"'127.0.0.1', {port}," not in words[-1]:
        return f"has no health check that requests /live at the worker's own port: {program}, port {port or 'none'}"
    in_time = said.get("Timeout", 5) < said.get("Interval", 30) <= 60 and said.get("Retries", 3) <= 3 and said.get("StartPeriod", 0) >= 60
    return None if in_time else "is replaced too late when it hangs, or before it could start"


def keeps_its_log(templates: Templates, name: str) -> str | None:
    """A task writes to a log group of its own in the stage's Region."""
    (container,) = _of(templates, name)["ContainerDefinitions"]
    said = container.get("LogConfiguration", {})
    return None if said.get("LogDriver") == "awslogs" and "Ref" in said["Options"]["awslogs-group"] else "writes no log"


def runs_on_spare_capacity_and_goes_back_when_it_fails(templates: Templates, name: str) -> str | None:
    """A service takes spare capacity beyond its base, and a version whose tasks do not start is rolled back."""
    service = _of(templates, name)
    weights = {one["CapacityProvider"]: one.get("Weight", 0) for one in service.get("CapacityProviderStrategy", [])}
    if weights.get("FARGATE_SPOT", 0) < 1 or weights.get("FARGATE", 0):
        return f"runs on {weights}"
    breaker = service.get("DeploymentConfiguration", {}).get("DeploymentCircuitBreaker", {})
    return None if breaker.get("Enable") and breaker.get("Rollback") else "waits for hours for tasks that do not start"


def leaves_the_number_of_tasks_alone(templates: Templates, name: str) -> str | None:
    """A deployment sets no number of tasks: it would undo what the backlog asked for."""
    return "sets the number of tasks anew with each deployment" if "DesiredCount" in _of(templates, name) else None


def _policies(templates: Templates, scaled: str) -> dict[str, Properties]:
    policies = templates.of_type("ApplicationAutoScaling::ScalingPolicy").items()
    return {policy: said for policy, said in policies if target(said["ScalingTargetId"]) == scaled}


def follows_its_backlog(templates: Templates, name: str) -> str | None:
    """The number of tasks follows the messages for each, to as many as one task has lanes for, with a cool-down both ways."""
    for said in _policies(templates, name).values():
        tracked = said.get("TargetTrackingScalingPolicyConfiguration")
        if tracked is None:
            continue
        metrics = tracked["CustomizedMetricSpecification"]["Metrics"]
        named = {one["MetricStat"]["Metric"]["MetricName"] for one in metrics if "MetricStat" in one}
        options = map(_options, templates.of_type("ECS::TaskDefinition").values())
        lanes = {int(one["concurrency"]) * int(one["processes"]) for one in options}
        complete = named == {"ApproximateNumberOfMessagesVisible", "ApproximateNumberOfMessagesNotVisible", "RunningTaskCount"}
        if not complete or tracked["TargetValue"] not in lanes:
            return f"follows {sorted(named)} to {tracked['TargetValue']}"
        rests = 0 < tracked.get("ScaleOutCooldown", 0) <= tracked.get("ScaleInCooldown", 0)
        return None if rests else "has no cool-down"
    return "follows nothing"


def begins_from_none(templates: Templates, name: str) -> str | None:
    """A service that may have no task has an alarm that starts the first one; target tracking has no figure then."""
    if _of(templates, name)["MinCapacity"]:
        return None
    steps = {policy for policy, said in _policies(templates, name).items() if said["PolicyType"] == "StepScaling"}
    alarms = templates.of_type("CloudWatch::Alarm").values()
    started = [one for one in alarms if steps & {target(action) for action in one.get("AlarmActions", []) if isinstance(action, dict)}]
    return None if started and started[0]["Threshold"] == 1 else "is never started again"


def lets_nothing_in(templates: Templates, name: str) -> str | None:
    """No address reaches a task."""
    return "lets something in" if _of(templates, name).get("SecurityGroupIngress") else None


def costs_nothing_by_the_hour(templates: Templates, name: str) -> str | None:
    """The way of a table's route is the internet gateway, and endpoints are those of tables and buckets, which are free."""
    said = _of(templates, name)
    if templates.resources[name]["Type"] == "AWS::EC2::Route":
        return None if "GatewayId" in said and "NatGatewayId" not in said else "goes through a NAT gateway"
    is_free = said.get("VpcEndpointType", "Gateway") == "Gateway" and "RouteTableIds" in said
    return None if is_free else "is an endpoint that is paid by the hour"


def is_counted(templates: Templates, name: str) -> str | None:
    """A cluster counts its tasks: without that their number cannot follow the backlog."""
    found = {one["Name"]: one["Value"] for one in _of(templates, name).get("ClusterSettings", [])}
    return None if found.get("containerInsights") == "enabled" else "does not count its tasks"
