"""The resources of queues that processes serve: an ECS service for Fargate, a policy to attach for your own hosts."""

from collections.abc import Callable, Mapping

from aws_cdk import CfnOutput
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from ..config import StageConfig
from ..fleet import FARGATE, Fleet
from .fargate import Cluster, FargateWorker, Serving
from .grants import CONSUME, Grants
from .network import Network, SmallVpc
from .role import in_policies


class Processes(Construct):
    """The processes of a stage, by queue. *queues*, *app* and *variables*: see `Serving`.

    *grant* gives the permissions that running tasks needs: those of the worker function.
    """

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        config: StageConfig,
        queues: Mapping[str, sqs.IQueue],
        app: str,
        variables: Mapping[str, str],
        grant: Callable[[Grants], None],
    ) -> None:
        super().__init__(scope, name)
        serving = {name: Serving(queue, name, app, variables) for name, queue in queues.items()}
        self._config, self._grant = config, grant
        by_fargate = {queue: one for queue, one in serving.items() if config.server_of(queue) == FARGATE}
        if by_fargate and config.fleet is not None:
            self._add_services(by_fargate, config.fleet)
        for queue, one in serving.items():
            if queue not in by_fargate:
                self._add_policy(queue, one)

    def _add_services(self, serving: Mapping[str, Serving], fleet: Fleet) -> None:
        cluster = Cluster(self, "Cluster").name
        own = Network(fleet.subnets, fleet.security_groups, fleet.public_ip)
        made = None if fleet.subnets else SmallVpc(self, "Network")
        for queue, one in serving.items():
            network = made.network if made else own
            worker = FargateWorker(self, f"Serve-{queue}", config=self._config, fleet=fleet, serving=one, cluster=cluster, network=network)
            if made:
                worker.node.add_dependency(made)  # the network exists before the first task
            worker.grants.allow(CONSUME, one.queue.queue_arn)
            self._grant(worker.grants)

    def _add_policy(self, queue: str, one: Serving) -> None:
        """Add the policy for your own host: attach it to the role, or the user, of its `sedano worker`.

        An app with many queues needs more statements than one policy may hold: the rest are in further ones, each with its own output.
        """
        called = f"sedano worker on {queue} of the stage {self._config.stage}"
        first = iam.ManagedPolicy(self, f"Policy-{queue}", description=called)
        allowed: list[iam.PolicyStatement] = []
        grants = Grants(first, allowed.append, local=self._config.local)
        grants.allow(CONSUME, one.queue.queue_arn)
        self._grant(grants)
        word = "".join(part.title() for part in queue.replace(".", "-").replace("_", "-").split("-"))
        for number, statements in enumerate(in_policies(self, allowed), 1):
            part = "" if number == 1 else f"Part{number}"
            policy = iam.ManagedPolicy(first, part, description=f"{called}, part {number}") if part else first
            policy.add_statements(*statements)
            CfnOutput(self, f"Attach-{queue}{part}", key=f"WorkerPolicyArn{word}{part}", value=policy.managed_policy_arn)
