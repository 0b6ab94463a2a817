"""A service of ECS on Fargate that runs `sedano worker` for one queue, and follows its backlog.

The number of tasks follows the messages per task, waiting and in progress: the target is how many bodies one task runs at once. That is the
CEP's budget, which grows by the number of waiting tasks, with a cool-down after each change; its exponential growth and its growing
cool-down have no counterpart in Application Auto Scaling. Messages in progress count, so a task whose bodies run is not idle.

If no task runs, the quotient has no value and target tracking does nothing: an alarm starts the first task when a message waits.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from aws_cdk import Duration, RemovalPolicy, Stack
from aws_cdk import aws_applicationautoscaling as scaling
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from ..config import StageConfig
from ..fleet import Fleet
from ..nag import acknowledge
from .function import RETENTION
from .grants import Grants
from .metrics import of_queue
from .network import Network
from .role import role_for

TASKS = "ecs-tasks.amazonaws.com"
#: Seconds without a change after more tasks were started, and after fewer: the first and the longest cool-down of the budget.
COOLDOWN_OUT, COOLDOWN_IN = 60, 600
SPARE, ON_DEMAND = "FARGATE_SPOT", "FARGATE"
#: The port on which a worker answers probes inside its container, and how ECS asks: every so many seconds, with so many for the answer.
#: After so many failures in a row the task is replaced; in the first seconds, in which boot steps run, failures do not count.
HEALTH_PORT, PROBE_EVERY_S, PROBE_TIMEOUT_S, PROBE_RETRIES, PROBE_START_S = 8080, 30, 5, 3, 120
_MINUTE = Duration.minutes(1)
_VISIBLE, _HIDDEN = "ApproximateNumberOfMessagesVisible", "ApproximateNumberOfMessagesNotVisible"
_ECR = re.compile(r"(\d{12})\.dkr\.ecr\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?/([a-z0-9][a-z0-9._/-]*?)(?:[:@].+)?")
_NAMES = "They are the names of queues, tables and buckets, as the worker function has them: no secret is among them."
_WHOLE = "ecr:GetAuthorizationToken takes no resource (IAM, actions of Amazon ECR); the image's repository is named in the other statement."


class Serving(NamedTuple):
    """The work of a service: the *queue*, *called* so in the *app* (module:attribute), and the *variables* of the stage."""

    queue: sqs.IQueue
    called: str
    app: str
    variables: Mapping[str, str]


class Cluster(Construct):
    """The cluster of a stage's services. Container Insights counts the tasks that run, which the number of tasks follows."""

    def __init__(self, scope: Construct, name: str) -> None:
        super().__init__(scope, name)
        counted = ecs.CfnCluster.ClusterSettingsProperty(name="containerInsights", value="enabled")
        #: The name of the cluster.
        self.name = ecs.CfnCluster(self, "Cluster", cluster_settings=[counted], capacity_providers=[ON_DEMAND, SPARE]).ref


class FargateWorker(Construct):
    """The service of one queue. Its composer grants the permissions of tasks with `grants`."""

    def __init__(
        self, scope: Construct, name: str, *, config: StageConfig, fleet: Fleet, serving: Serving, cluster: str, network: Network
    ) -> None:
        super().__init__(scope, name)
        self._fleet, self._serving, self._cluster = fleet, serving, cluster
        role = role_for(self, "Role", TASKS)
        #: The grants of the tasks.
        self.grants = Grants(role, role.add_to_policy, local=config.local)
        self.logs = logs.LogGroup(self, "Logs", retention=RETENTION[config.retention], removal_policy=RemovalPolicy.DESTROY)
        starting = self._starting()
        self._service = self._made(self._definition(role, starting), network)
        self._service.node.add_dependency(role, starting)  # a task that starts before its role has its policies fails
        self._follow()

    def _definition(self, role: iam.IRole, starting: iam.IRole) -> ecs.CfnTaskDefinition:
        fleet = self._fleet
        machine = "ARM64" if fleet.architecture == "arm64" else "X86_64"
        made = ecs.CfnTaskDefinition(
            self, "Task",
            requires_compatibilities=["FARGATE"], network_mode="awsvpc", cpu=str(fleet.cpu), memory=str(fleet.memory),
            runtime_platform=ecs.CfnTaskDefinition.RuntimePlatformProperty(cpu_architecture=machine, operating_system_family="LINUX"),
            task_role_arn=role.role_arn, execution_role_arn=starting.role_arn, container_definitions=[self._container()],
        )  # fmt: skip
        acknowledge(made, "AwsSolutions-ECS2", _NAMES)
        return made

    def _container(self) -> ecs.CfnTaskDefinition.ContainerDefinitionProperty:
        kind, region = ecs.CfnTaskDefinition, Stack.of(self).region
        written = {"awslogs-group": self.logs.log_group_name, "awslogs-region": region, "awslogs-stream-prefix": "worker"}
        # The role of the tasks has no grants in another Region, so they serve the home broker alone.
        given = {**self._serving.variables, "AWS_REGION": region, "AWS_DEFAULT_REGION": region, "SEDANO_BROKERS": "home"}
        return kind.ContainerDefinitionProperty(
            name="worker", image=self._fleet.image, essential=True, command=self.command(),
            environment=[kind.KeyValuePairProperty(name=name, value=value) for name, value in given.items()],
            # The init process reaps the processes that boxed tasks leave, and passes signals on.
            linux_parameters=kind.LinuxParametersProperty(init_process_enabled=True),
            log_configuration=kind.LogConfigurationProperty(log_driver="awslogs", options=written),
            stop_timeout=self._fleet.stop_timeout, health_check=self._health_check(),
        )  # fmt: skip

    def _health_check(self) -> ecs.CfnTaskDefinition.HealthCheckProperty:
        """Ask the worker whether its loops move. The image has Python but perhaps no curl, and http.client ignores proxies."""
        ask = (
            f"import http.client as h; c = h.HTTPConnection('127.0.0.1', {HEALTH_PORT}, timeout={PROBE_TIMEOUT_S - 1}); "
            "c.request('GET', '/live'); raise SystemExit(c.getresponse().status != 200)"
        )
        return ecs.CfnTaskDefinition.HealthCheckProperty(
            command=["CMD", "python3", "-I", "-S", "-c", ask], interval=PROBE_EVERY_S, timeout=PROBE_TIMEOUT_S, retries=PROBE_RETRIES,
            start_period=PROBE_START_S,
        )  # fmt: skip

    def command(self) -> list[str]:
        """Return the command of the container, as a list: a shell between would swallow the signal that ends it."""
        fleet = self._fleet
        numbers = {"concurrency": fleet.concurrency, "processes": fleet.processes, "drain": fleet.drain, "timeout": fleet.timeout}
        options = [f"--{name}={number}" for name, number in numbers.items()]
        options += [f"--health={HEALTH_PORT}", "--log=json"]
        return ["sedano", "worker", self._serving.app, f"--queues={self._serving.called}", *options]

    def _starting(self) -> iam.Role:
        """The role by which ECS itself fetches the image and writes the log."""
        role = iam.Role(self, "StartingRole", assumed_by=iam.ServicePrincipal(TASKS))
        grants = Grants(role, role.add_to_policy, local=False)
        grants.allow(["logs:CreateLogStream", "logs:PutLogEvents"], self.logs.log_group_arn)
        if found := _ECR.fullmatch(self._fleet.image):
            account, region, repository = found.groups()
            arn = f"arn:{Stack.of(self).partition}:ecr:{region}:{account}:repository/{repository}"
            grants.allow(["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"], arn)
            grants.allow(["ecr:GetAuthorizationToken"], "*")
            acknowledge(role, "AwsSolutions-IAM5[Resource::*]", _WHOLE)
        return role

    def _made(self, definition: ecs.CfnTaskDefinition, network: Network) -> ecs.CfnService:
        kind, fleet = ecs.CfnService, self._fleet
        providers = [kind.CapacityProviderStrategyItemProperty(capacity_provider=SPARE, weight=1)]
        if fleet.on_demand:
            base = kind.CapacityProviderStrategyItemProperty(capacity_provider=ON_DEMAND, base=fleet.on_demand, weight=0)
            providers = [base, *providers]
        placed = kind.AwsVpcConfigurationProperty(
            subnets=[*network.subnets], security_groups=[*network.groups] or None,
            assign_public_ip="ENABLED" if network.public else "DISABLED",
        )  # fmt: skip
        breaker = kind.DeploymentCircuitBreakerProperty(enable=True, rollback=True)
        return kind(
            self, "Service",
            cluster=self._cluster, task_definition=definition.ref, capacity_provider_strategy=providers,
            network_configuration=kind.NetworkConfigurationProperty(awsvpc_configuration=placed),
            deployment_configuration=kind.DeploymentConfigurationProperty(
                deployment_circuit_breaker=breaker, minimum_healthy_percent=100, maximum_percent=200
            ),
            enable_execute_command=False, enable_ecs_managed_tags=True, propagate_tags="SERVICE",
        )  # fmt: skip

    def _follow(self) -> None:
        """Let the number of tasks follow the backlog, and start from none."""
        fleet, service = self._fleet, self._service.attr_name
        target = scaling.CfnScalableTarget(
            self, "Tasks", service_namespace="ecs", scalable_dimension="ecs:service:DesiredCount",
            resource_id=f"service/{self._cluster}/{service}", min_capacity=fleet.least, max_capacity=fleet.most,
        )  # fmt: skip
        kind = scaling.CfnScalingPolicy
        measured = kind.CustomizedMetricSpecificationProperty(metrics=self._backlog())
        tracked = kind.TargetTrackingScalingPolicyConfigurationProperty(
            target_value=fleet.lanes, scale_out_cooldown=COOLDOWN_OUT, scale_in_cooldown=COOLDOWN_IN,
            customized_metric_specification=measured,
        )  # fmt: skip
        kind(
            self, "Tracking", policy_name="backlog", policy_type="TargetTrackingScaling", scaling_target_id=target.ref,
            target_tracking_scaling_policy_configuration=tracked,
        )  # fmt: skip
        if not fleet.least:
            self._start_from_none(target)

    def _backlog(self) -> Sequence[scaling.CfnScalingPolicy.TargetTrackingMetricDataQueryProperty]:
        """The messages of the queue for each task that runs."""
        kind = scaling.CfnScalingPolicy
        queue = {"QueueName": self._serving.queue.queue_name}
        named = {"ClusterName": self._cluster, "ServiceName": self._service.attr_name}
        looked = {
            "waiting": ("AWS/SQS", _VISIBLE, queue, "Maximum"), "inwork": ("AWS/SQS", _HIDDEN, queue, "Maximum"),
            "tasks": ("ECS/ContainerInsights", "RunningTaskCount", named, "Average"),
        }  # fmt: skip
        found = []
        for one, (space, metric, dimensions, statistic) in looked.items():
            where = [kind.TargetTrackingMetricDimensionProperty(name=name, value=value) for name, value in dimensions.items()]
            said = kind.TargetTrackingMetricProperty(namespace=space, metric_name=metric, dimensions=where)
            stat = kind.TargetTrackingMetricStatProperty(metric=said, stat=statistic)
            found.append(kind.TargetTrackingMetricDataQueryProperty(id=one, metric_stat=stat, return_data=False))
        ratio = kind.TargetTrackingMetricDataQueryProperty(id="each", expression="(waiting + inwork) / tasks", return_data=True)
        return [*found, ratio]

    def _start_from_none(self, target: scaling.CfnScalableTarget) -> None:
        kind = scaling.CfnScalingPolicy
        more = kind.StepAdjustmentProperty(metric_interval_lower_bound=0, scaling_adjustment=1)
        policy = kind(
            self, "First", policy_name="first", policy_type="StepScaling", scaling_target_id=target.ref,
            step_scaling_policy_configuration=kind.StepScalingPolicyConfigurationProperty(
                adjustment_type="ChangeInCapacity", cooldown=COOLDOWN_OUT, metric_aggregation_type="Maximum", step_adjustments=[more]
            ),
        )  # fmt: skip
        running = cloudwatch.Metric(
            namespace="ECS/ContainerInsights", metric_name="RunningTaskCount", statistic="Average", period=_MINUTE,
            dimensions_map={"ClusterName": self._cluster, "ServiceName": self._service.attr_name},
        )  # fmt: skip
        without = cloudwatch.MathExpression(
            expression="IF(FILL(tasks, 0) < 1, waiting, 0)", period=_MINUTE, label="messages without a task",
            using_metrics={"tasks": running, "waiting": of_queue(self._serving.queue, _VISIBLE, period=_MINUTE)},
        )  # fmt: skip
        compare, missing = cloudwatch.ComparisonOperator, cloudwatch.TreatMissingData
        alarm = cloudwatch.Alarm(
            self, "Waiting", metric=without, threshold=1, evaluation_periods=1, treat_missing_data=missing.NOT_BREACHING,
            comparison_operator=compare.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            alarm_description=f"Nothing is wrong: {self._serving.called} has messages and no task, and this alarm starts the first one.",
        )  # fmt: skip
        made = alarm.node.default_child
        if isinstance(made, cloudwatch.CfnAlarm):
            made.alarm_actions = [policy.ref]
