"""Queues that processes serve: a service on Fargate, or a policy to attach; no function takes part, and each rule sees its violation."""

import copy
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra.config import ConfigError, StageConfig
from infra.context import from_context
from infra.fleet import Fleet
from sedano.host.health_server import HealthServer, address
from sedano.local.stage import stage_context
from sedano.local.synthesis import synthesise
from sedano.model.beats import ProbeAnswer
from tests.infra import process_rules as rules
from tests.infra.invariants import Rule, broken
from tests.infra.template import Templates, read, target
from tests.infra.test_config import GOOD
from tests.infra.test_invariants import EVERYWHERE, IN_PRODUCTION, JUDGED_ELSEWHERE, _change, _first
from tests.plugins.resources import APP, CODE

IMAGE = "123456789012.dkr.ecr.eu-central-1.amazonaws.com/team/shop:7"
SERVED = {"served_by": "bulk=fargate,orders.fifo=process", "fleet": f"image={IMAGE},drain=110,concurrency=4,processes=2"}
TASK, SERVICE, SCALED = ("ECS::TaskDefinition",), ("ECS::Service",), ("ApplicationAutoScaling::ScalableTarget",)
RULES: dict[Rule, tuple[str, ...]] = {
    rules.may_do_what_the_worker_may: TASK,
    rules.is_attached_with_what_the_worker_may: ("IAM::ManagedPolicy",),
    rules.starts_with_its_image_and_its_log_alone: TASK,
    rules.ends_in_the_time_that_it_has: TASK,
    rules.is_replaced_when_it_hangs: TASK,
    rules.keeps_its_log: TASK,
    rules.runs_on_spare_capacity_and_goes_back_when_it_fails: SERVICE,
    rules.leaves_the_number_of_tasks_alone: SERVICE,
    rules.follows_its_backlog: SCALED,
    rules.begins_from_none: SCALED,
    rules.lets_nothing_in: ("EC2::SecurityGroup",),
    rules.costs_nothing_by_the_hour: ("EC2::Route", "EC2::VPCEndpoint"),
    rules.is_counted: ("ECS::Cluster",),
}
#: Parts of the small VPC that hold nothing to judge, and the policies that `follows_its_backlog` looks through.
PARTS = {
    *(f"EC2::{one}" for one in ("VPC", "Subnet", "InternetGateway", "VPCGatewayAttachment", "RouteTable", "SubnetRouteTableAssociation")),
    "ApplicationAutoScaling::ScalingPolicy",
}  # fmt: skip


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Templates:
    """Production in which Fargate serves `bulk`, hosts of the user's serve `orders.fifo`, and Lambda serves `default`. Judged."""
    context = {**stage_context(APP, CODE), "local": "false", "stage": "prod", **SERVED}
    return read(synthesise(context, tmp_path_factory.mktemp("served") / "cdk.out", judged=True))


def test_lambda_receives_from_no_queue_that_processes_serve(served: Templates) -> None:
    fed = {queue.split("Queue")[0] for queue, function in served.sources() if function == "worker"}
    assert fed == {"Commandsdefault"}
    receives = {name.split("Queue")[0] for name in served.may("worker", "sqs:ReceiveMessage")}
    assert receives == {"Commandsdefault"}
    sends = {one.split("Queue")[0] for one in served.may("worker", "sqs:SendMessage")}
    assert sends >= {"Commandsbulk", "Commandsordersfifo"}, "its tasks publish to them"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_rule_of_processes_holds_for_every_resource(rule: Rule, served: Templates) -> None:
    assert not list(broken(served, rule, RULES[rule]))
    assert {f"AWS::{kind}" for kind in RULES[rule]} <= {one["Type"] for one in served.resources.values()}, "the rule looks at something"


def test_every_rule_that_holds_for_other_stages_holds_for_this_one(served: Templates) -> None:
    everywhere = EVERYWHERE | IN_PRODUCTION
    assert [complaint for rule, kinds in everywhere.items() for complaint in broken(served, rule, kinds)] == []


def test_no_kind_of_resource_of_a_process_is_without_a_rule(served: Templates) -> None:
    judged = {kind for table in (RULES, EVERYWHERE, IN_PRODUCTION) for some in table.values() for kind in some}
    elsewhere = {kind for kind, where in JUDGED_ELSEWHERE.items() if where != "test_processes.py"}
    assert {one["Type"].removeprefix("AWS::") for one in served.resources.values()} <= judged | PARTS | elsewhere


def test_where_processes_serve_every_queue_lambda_receives_no_command_and_each_queue_has_its_policy(tmp_path: Path) -> None:
    everywhere = ",".join(f"{queue}=process" for queue in ("default", "bulk", "orders.fifo"))
    context = {**stage_context(APP, CODE), "local": "false", "stage": "prod", "served_by": everywhere}
    made = read(synthesise(context, tmp_path / "cdk.out", judged=True))
    assert {function for _, function in made.sources()} == {"router", "recorder"}, "events and records stay with their functions"
    assert not made.may("worker", "sqs:ReceiveMessage")
    policies = {name for name in made.outputs if name.startswith("WorkerPolicyArn")}
    assert policies == {"WorkerPolicyArnDefault", "WorkerPolicyArnBulk", "WorkerPolicyArnOrdersFifo"}
    assert {target(made.outputs[name]) for name in policies} == set(made.of_type("IAM::ManagedPolicy"))
    assert not made.of_type("ECS::Service")
    everything = EVERYWHERE | IN_PRODUCTION | {rules.is_attached_with_what_the_worker_may: ("IAM::ManagedPolicy",)}
    (idle,) = [complaint for rule, kinds in everything.items() for complaint in broken(made, rule, kinds)]
    assert idle.startswith("WorkerFunction"), "it stays, so that Lambda can serve a queue again, and nothing invokes it"
    assert "is fed by no queue" in idle


def test_the_command_of_a_task_is_the_one_that_the_settings_ask_for(served: Templates) -> None:
    (task,) = served.of_type("ECS::TaskDefinition").values()
    (container,) = task["ContainerDefinitions"]
    assert container["Command"] == [
        "sedano", "worker", "tiny:app", "--queues=bulk", "--concurrency=4", "--processes=2", "--drain=110", "--timeout=3600",
        "--health=8080", "--log=json",
    ]  # fmt: skip
    assert (container["Image"], container["StopTimeout"], task["RuntimePlatform"]["CpuArchitecture"]) == (IMAGE, 120, "ARM64")
    given = {one["Name"]: one["Value"] for one in container["Environment"]}
    function = served.functions()["worker"]["Environment"]["Variables"]
    own = {name: value for name, value in given.items() if name.startswith("SEDANO_")}
    assert own == function | {"SEDANO_BROKERS": "home"}, "it finds the stage as the function does, and has no grants in another Region"


@pytest.mark.parametrize(("answer", "status"), [(ProbeAnswer(True, False, "starts"), 0), (ProbeAnswer(False, False, "stuck: lane 1"), 1)])
def test_the_health_check_of_a_task_fails_only_when_a_loop_is_stuck(answer: ProbeAnswer, status: int, served: Templates) -> None:
    (task,) = served.of_type("ECS::TaskDefinition").values()
    program, *words = task["ContainerDefinitions"][0]["HealthCheck"]["Command"]
    server = HealthServer(address("0"), lambda: answer)
    try:
        asked = [word.replace("8080", str(server.port)) for word in words]
        proxied = {**os.environ, "http_proxy": "http://127.0.0.1:9"}
        found = subprocess.run(asked, env=proxied, check=False, capture_output=True, timeout=60)
    finally:
        server.close()
    assert (program, found.returncode) == ("CMD", status)
    assert subprocess.run(asked, check=False, capture_output=True, timeout=60).returncode == 1, "a process that does not answer has hung"


def test_a_policy_to_attach_is_an_output_by_the_name_of_its_queue(served: Templates) -> None:
    (policy,) = served.of_type("IAM::ManagedPolicy")
    assert target(served.outputs["WorkerPolicyArnOrdersFifo"]) == policy


def test_the_image_of_another_registry_needs_no_grant_of_ecr(tmp_path: Path) -> None:
    own = f"image=ghcr.io/team/shop@sha256:{'0' * 64},subnets=subnet-0123abcd+subnet-4567abcd,least=1,on_demand=1"
    context = {**stage_context(APP, CODE), "local": "false", "stage": "prod", "served_by": "bulk=fargate", "fleet": own}
    made = read(synthesise(context, tmp_path / "cdk.out", judged=True))
    actions = {action for one in made.of_type("IAM::Policy").values() for said in one["PolicyDocument"]["Statement"]
               for action in [*said["Action"]] if action.startswith("ecr:")}  # fmt: skip
    assert not actions
    (service,) = made.of_type("ECS::Service").values()
    placed = service["NetworkConfiguration"]["AwsvpcConfiguration"]
    assert placed == {"AssignPublicIp": "DISABLED", "Subnets": ["subnet-0123abcd", "subnet-4567abcd"]}
    assert service["CapacityProviderStrategy"][0] == {"Base": 1, "CapacityProvider": "FARGATE", "Weight": 0}
    assert not any(one["Type"].startswith("AWS::EC2::") for one in made.resources.values()), "the user's VPC is not touched"
    assert [one for one in RULES if list(broken(made, one, RULES[one]))] == []


def test_a_topic_for_alarms_is_not_told_of_an_alarm_that_starts_a_task(tmp_path: Path) -> None:
    topic = "arn:aws:sns:eu-central-1:123456789012:on-call"
    place = {"account": "123456789012", "region": "eu-central-1", "alarm_topic": topic}
    context = {**stage_context(APP, CODE), "local": "false", "stage": "prod", **SERVED, **place}
    made = read(synthesise(context, tmp_path / "cdk.out"))
    alarms = made.of_type("CloudWatch::Alarm")
    told = {name for name, alarm in alarms.items() if alarm["AlarmActions"] == [topic]}
    assert len(alarms) - len(told) == 1
    assert [one for one in RULES if list(broken(made, one, RULES[one]))] == []


def test_on_this_machine_the_functions_serve_what_fargate_would(tmp_path: Path) -> None:
    made = read(synthesise({**stage_context(APP, CODE), **SERVED}, tmp_path / "cdk.out"))
    fed = {queue.split("Queue")[0] for queue, function in made.sources() if function == "worker"}
    assert fed == {"Commandsdefault", "Commandsbulk"}
    assert "AWS::ECS::Service" not in {one["Type"] for one in made.resources.values()}


def _container(**changes: Any) -> Callable[[dict[str, Any]], str]:
    def plant(resources: dict[str, Any]) -> str:
        name, task = _first(resources, "ECS::TaskDefinition")
        task["Properties"]["ContainerDefinitions"][0] |= changes
        return name

    return plant


def _probe(**changes: Any) -> Callable[[dict[str, Any]], str]:
    def plant(resources: dict[str, Any]) -> str:
        name, task = _first(resources, "ECS::TaskDefinition")
        task["Properties"]["ContainerDefinitions"][0]["HealthCheck"] |= changes
        return name

    return plant


def _grant(role: str, named: str, action: str) -> Callable[[dict[str, Any]], str]:
    def plant(resources: dict[str, Any]) -> str:
        _, policy = _first(resources, "IAM::Policy", role)
        resource = {"Ref": _first(resources, "SQS::Queue", "EventsQueue")[0]}
        policy["Properties"]["PolicyDocument"]["Statement"].append({"Effect": "Allow", "Action": action, "Resource": resource})
        return _first(resources, named)[0]

    return plant


def _taken(resources: dict[str, Any]) -> str:
    """The worker function receives from the queue of a process as well."""
    name, queue = _first(resources, "ECS::TaskDefinition")[0], _first(resources, "SQS::Queue", "CommandsbulkQueue")[0]
    mapping = _first(resources, "Lambda::EventSourceMapping", "Fromdefault")[1]
    mapping["Properties"]["EventSourceArn"] = {"Fn::GetAtt": [queue, "Arn"]}
    return name


def _less(resources: dict[str, Any]) -> str:
    name, policy = _first(resources, "IAM::ManagedPolicy")
    policy["Properties"]["PolicyDocument"]["Statement"].pop()
    return name


def _for_anybody(resources: dict[str, Any]) -> str:
    del _first(resources, "IAM::Role", "ServebulkRole")[1]["Properties"]["AssumeRolePolicyDocument"]["Statement"][0]["Condition"]
    return _first(resources, "ECS::TaskDefinition")[0]


def _tracked(**changes: Any) -> Callable[[dict[str, Any]], str]:
    def plant(resources: dict[str, Any]) -> str:
        said = _first(resources, "ApplicationAutoScaling::ScalingPolicy", "Tracking")[1]["Properties"]
        said["TargetTrackingScalingPolicyConfiguration"] |= changes
        return _first(resources, "ApplicationAutoScaling::ScalableTarget")[0]

    return plant


def _half_the_backlog(resources: dict[str, Any]) -> str:
    said = _first(resources, "ApplicationAutoScaling::ScalingPolicy", "Tracking")[1]["Properties"]
    del said["TargetTrackingScalingPolicyConfiguration"]["CustomizedMetricSpecification"]["Metrics"][1]
    return _first(resources, "ApplicationAutoScaling::ScalableTarget")[0]


def _asleep(resources: dict[str, Any]) -> str:
    _change("CloudWatch::Alarm", "Waiting", AlarmActions=["arn:aws:sns:eu-central-1:123456789012:on-call"])(resources)
    return _first(resources, "ApplicationAutoScaling::ScalableTarget")[0]


PLANTED: list[tuple[Rule, Callable[[dict[str, Any]], str]]] = [
    (rules.may_do_what_the_worker_may, _grant("ServebulkRole", "ECS::TaskDefinition", "sqs:ReceiveMessage")),
    (rules.may_do_what_the_worker_may, _grant("ServebulkRole", "ECS::TaskDefinition", "sqs:PurgeQueue")),
    (rules.may_do_what_the_worker_may, _taken),
    (rules.may_do_what_the_worker_may, _for_anybody),
    (rules.is_attached_with_what_the_worker_may, _less),
    (rules.starts_with_its_image_and_its_log_alone, _grant("StartingRole", "ECS::TaskDefinition", "sqs:SendMessage")),
    (rules.ends_in_the_time_that_it_has, _container(StopTimeout=60)),
    (rules.ends_in_the_time_that_it_has, _container(StopTimeout=121)),
    (rules.ends_in_the_time_that_it_has, _container(Command=["sh", "-c", "sedano worker", "--drain=5"])),
    (rules.is_replaced_when_it_hangs, _container(HealthCheck=None)),
    (rules.is_replaced_when_it_hangs, _probe(Command=["CMD-SHELL", "curl -f http://127.0.0.1:8080/live"])),
    (rules.is_replaced_when_it_hangs, _probe(Command=["CMD", "python3", "-c", "h.HTTPConnection('127.0.0.1', 8080, timeout=4) # /ready"])),
    (rules.is_replaced_when_it_hangs, _probe(Command=["CMD", "python3", "-c", "h.HTTPConnection('127.0.0.1', 80, timeout=4) # /live"])),
    (rules.is_replaced_when_it_hangs, _probe(Interval=300)),
    (rules.is_replaced_when_it_hangs, _probe(StartPeriod=0)),
    (rules.keeps_its_log, _container(LogConfiguration={})),
    (rules.runs_on_spare_capacity_and_goes_back_when_it_fails, _change("ECS::Service", CapacityProviderStrategy=None)),
    (rules.runs_on_spare_capacity_and_goes_back_when_it_fails, _change("ECS::Service", DeploymentConfiguration={})),
    (rules.leaves_the_number_of_tasks_alone, _change("ECS::Service", DesiredCount=1)),
    (rules.follows_its_backlog, _tracked(TargetValue=1)),
    (rules.follows_its_backlog, _tracked(ScaleInCooldown=0)),
    (rules.follows_its_backlog, _half_the_backlog),
    (rules.begins_from_none, _asleep),
    (rules.lets_nothing_in, _change("EC2::SecurityGroup", SecurityGroupIngress=[{"CidrIp": "0.0.0.0/0", "IpProtocol": "tcp"}])),
    (rules.costs_nothing_by_the_hour, _change("EC2::Route", GatewayId=None, NatGatewayId="nat-0123")),
    (rules.costs_nothing_by_the_hour, _change("EC2::VPCEndpoint", VpcEndpointType="Interface")),
    (rules.is_counted, _change("ECS::Cluster", ClusterSettings=None)),
]


@pytest.mark.parametrize(("rule", "plant"), PLANTED, ids=[f"{number}-{rule.__name__}" for number, (rule, _) in enumerate(PLANTED)])
def test_a_rule_of_processes_names_the_resource_that_breaks_it(
    rule: Rule, plant: Callable[[dict[str, Any]], str], served: Templates
) -> None:
    resources = copy.deepcopy(dict(served.resources))
    name = plant(resources)
    found = list(broken(Templates(served.directory, resources, served.outputs), rule, RULES[rule]))
    assert [complaint.split()[0] for complaint in found] == [name], json.dumps(found)


def test_every_rule_of_processes_is_shown_a_violation() -> None:
    assert {rule for rule, _ in PLANTED} == RULES.keys()


@pytest.mark.parametrize(
    ("served_by", "fleet", "said"),
    [
        ("mail=ecs", "", "served_by[mail]: 'ecs' cannot be used; expected one of lambda, fargate, process"),
        ("mail=fargate", "", "fleet: None cannot be used; expected Fleet(image=…) with the image of your code, because Fargate serves"),
        ("mail=process", f"image={IMAGE}", "expected a queue in served_by with the server fargate as well"),
        ("mail=fargate", "drain=60", "fleet.image: '' cannot be used"),
        ("mail=fargate", "image=My Shop", "fleet.image: 'My Shop' cannot be used"),
        ("mail=fargate", f"image={IMAGE},drian=60", "fleet.drian: '60' cannot be used; expected drain, if that was meant"),
        ("mail=fargate", f"image={IMAGE},drain=111", "fleet.drain: 111 cannot be used; expected 0 to 110 seconds: Fargate kills"),
        ("mail=fargate", f"image={IMAGE},cpu=256", "fleet.cpu: 256 cannot be used; expected one of 512, 1024, 2048, 4096, 8192, 16384"),
        ("mail=fargate", f"image={IMAGE},memory=9000", "fleet.memory: 9000 cannot be used; expected a multiple of 1024 from 1024 to 4096"),
        ("mail=fargate", f"image={IMAGE},most=2,least=3", "fleet.least: 3 cannot be used; expected a whole number from 0 to 2"),
        ("mail=fargate", f"image={IMAGE},on_demand=11", "fleet.on_demand: 11 cannot be used; expected a whole number from 0 to 10"),
        ("mail=fargate", f"image={IMAGE},subnets=private", "fleet.subnets: ('private',) cannot be used; expected ids such as subnet-"),
        ("mail=fargate", f"image={IMAGE},public_ip=true", "fleet.public_ip: True cannot be used; expected subnets= as well"),
        ("mail=fargate", f"image={IMAGE},architecture=riscv", "fleet.architecture: 'riscv' cannot be used; expected one of arm64, x86_64"),
    ],
)
def test_what_cannot_be_deployed_is_refused_before_anything_is_made(served_by: str, fleet: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        from_context({**GOOD, "served_by": served_by, **({"fleet": fleet} if fleet else {})})
    assert said in str(refused.value)


def test_a_queue_has_the_concurrency_of_one_server() -> None:
    with pytest.raises(ConfigError, match=r"^queue_concurrency\[mail\]: 5 .*expected a queue of Lambda's: process serves mail"):
        StageConfig(served_by={"mail": "process"}, queue_concurrency={"mail": 5})
    assert StageConfig(served_by={"mail": "lambda"}, queue_concurrency={"mail": 5}).processes_serve == frozenset()


def test_settings_of_a_cdk_app_and_of_a_text_are_one() -> None:
    text = f"image={IMAGE},drain=30,subnets=subnet-0123abcd+subnet-4567abcd,public_ip=true"
    given = from_context({**GOOD, "served_by": "mail=fargate", "fleet": text}).config.fleet
    assert given == Fleet(image=IMAGE, drain=30, subnets=("subnet-0123abcd", "subnet-4567abcd"), public_ip=True)
    assert (given.stop_timeout, given.lanes) == (40, 10)
