"""Every rule holds for every resource of every stack, no kind of resource is without a rule, and every rule sees what breaks it."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.infra import invariants as rules
from tests.infra.invariants import Rule, broken
from tests.infra.template import Templates

FUNCTION, MAPPING, QUEUE, TABLE = ("Lambda::Function",), ("Lambda::EventSourceMapping",), ("SQS::Queue",), ("DynamoDB::Table",)
BUCKET, KEPT = ("S3::Bucket",), ("DynamoDB::Table", "S3::Bucket")
EVERYWHERE: dict[Rule, tuple[str, ...]] = {
    rules.has_a_role_of_its_own: FUNCTION,
    rules.logs_json_to_a_group_of_its_own: FUNCTION,
    rules.states_its_limits: FUNCTION,
    rules.loops_only_where_its_messages_come_back: FUNCTION,
    rules.loses_no_failure: FUNCTION,
    rules.gives_up_before_the_next_round: ("Scheduler::Schedule",),
    rules.feeds_with_a_limit: MAPPING,
    rules.gives_no_record_up: MAPPING,
    rules.hides_for_six_timeouts: MAPPING,
    rules.has_dead_letters_or_is_where_they_rest: QUEUE,
    rules.keeps_order_to_its_end: QUEUE,
    rules.waits_for_nothing_in_order: MAPPING,
    rules.is_encrypted_at_rest: (*QUEUE, *BUCKET),
    rules.refuses_what_is_not_tls: (*QUEUE, *BUCKET),
    rules.is_paid_by_the_request_up_to_a_ceiling: TABLE,
    rules.can_be_restored_and_forgets: TABLE,
    rules.is_private: BUCKET,
    rules.keeps_versions_for_a_while: BUCKET,
    rules.ages_event_lines_alone: BUCKET,
    rules.forgets_in_time: ("Logs::LogGroup",),
    rules.names_what_it_allows: ("IAM::Policy", "IAM::ManagedPolicy"),
    rules.trusts_one_service: ("IAM::Role",),
    rules.passes_roles_to_one_service: ("IAM::Policy", "IAM::ManagedPolicy"),
    rules.says_what_to_do: ("CloudWatch::Alarm",),
}
IN_PRODUCTION: dict[Rule, tuple[str, ...]] = {
    rules.is_let_in_step_by_step: FUNCTION,
    rules.is_aimed_at_what_is_released: (*MAPPING, "Scheduler::Schedule"),
    rules.tells_when_something_rests: QUEUE,
    rules.tells_when_nobody_reads: MAPPING,
    rules.outlives_its_stack: KEPT,
    rules.trusts_this_account_alone: ("IAM::Role",),
}
#: Kinds that other rules look through, or that hold nothing of their own, and where they are looked at.
JUDGED_ELSEWHERE = {
    "SQS::QueuePolicy": "refuses_what_is_not_tls",
    "S3::BucketPolicy": "refuses_what_is_not_tls",
    "Lambda::Alias": "is_let_in_step_by_step",
    "Lambda::Version": "is_let_in_step_by_step",
    "CodeDeploy::Application": "is_let_in_step_by_step",
    "CodeDeploy::DeploymentGroup": "is_let_in_step_by_step",
    "Lambda::LayerVersion": "test_layers.py",
    "Lambda::EventInvokeConfig": "loses_no_failure",
    "Scheduler::ScheduleGroup": "test_permissions.py",
    "CloudWatch::Dashboard": "test_observability.py",
    "Glue::Job": "test_pipeline.py",
    "Glue::SecurityConfiguration": "test_pipeline.py",
    "Glue::Trigger": "test_pipeline.py",
    "EMRServerless::Application": "test_pipeline.py",
    "Budgets::Budget": "test_sedano_stacks.py",
    "Events::Rule": "test_pipeline.py",
    "Lambda::Url": "test_webhook.py",
    "Lambda::Permission": "test_webhook.py",
    "KMS::Key": "test_own_key.py",
    **dict.fromkeys(
        [f"EC2::{one}" for one in ("VPC", "Subnet", "InternetGateway", "VPCGatewayAttachment", "RouteTable", "Route",
                                   "SubnetRouteTableAssociation", "VPCEndpoint", "SecurityGroup")]
        + [f"ECS::{one}" for one in ("Cluster", "Service", "TaskDefinition")]
        + [f"ApplicationAutoScaling::{one}" for one in ("ScalableTarget", "ScalingPolicy")], "test_processes.py",
    ),
}  # fmt: skip


@pytest.mark.parametrize("rule", EVERYWHERE, ids=lambda rule: rule.__name__)
def test_a_rule_holds_for_every_resource(rule: Rule, templates: Templates) -> None:
    assert not list(broken(templates, rule, EVERYWHERE[rule]))


@pytest.mark.parametrize("rule", IN_PRODUCTION, ids=lambda rule: rule.__name__)
def test_a_rule_holds_for_every_resource_of_production(rule: Rule, production: Templates) -> None:
    assert not list(broken(production, rule, IN_PRODUCTION[rule]))


def test_no_kind_of_resource_is_without_a_rule(templates: Templates) -> None:
    kinds = {resource["Type"].removeprefix("AWS::") for resource in templates.resources.values()}
    judged = {kind for table in (EVERYWHERE, IN_PRODUCTION) for some in table.values() for kind in some}
    assert kinds <= judged | set(JUDGED_ELSEWHERE), "a new kind of resource: say in a rule what must hold for it"


def _first(resources: dict[str, Any], kind: str, word: str = "") -> tuple[str, dict[str, Any]]:
    return next((name, one) for name, one in resources.items() if one["Type"] == f"AWS::{kind}" and word in name)


def _change(kind: str, word: str = "", **properties: Any) -> Callable[[dict[str, Any]], str]:
    """Plants `properties` (None: takes away) in the first resource of `kind` whose name has `word`, and says which it was."""

    def plant(resources: dict[str, Any]) -> str:
        name, resource = _first(resources, kind, word)
        for key, value in properties.items():
            if value is None:
                del resource["Properties"][key]
            else:
                resource["Properties"][key] = value
        return name

    return plant


def _share_a_role(resources: dict[str, Any]) -> str:
    return _change("Lambda::Function", "Router", Role=_first(resources, "Lambda::Function", "Worker")[1]["Properties"]["Role"])(resources)


def _share_logs(resources: dict[str, Any]) -> str:
    logs = _first(resources, "Lambda::Function", "Worker")[1]["Properties"]["LoggingConfig"]
    return _change("Lambda::Function", "Router", LoggingConfig=logs)(resources)


def _aim_at_the_newest(resources: dict[str, Any]) -> str:
    name, _ = _first(resources, "Lambda::Function", "Router")
    return _change("Lambda::EventSourceMapping", "Router", FunctionName={"Ref": name})(resources)


def _come_round_at_once(resources: dict[str, Any]) -> str:
    name, schedule = _first(resources, "Scheduler::Schedule")
    function, _ = _first(resources, "Lambda::Function", "Scheduler")
    schedule["Properties"]["Target"]["Arn"] = {"Fn::GetAtt": [function, "Arn"]}
    return name


def _feed_without_a_net(resources: dict[str, Any]) -> str:
    _change("SQS::Queue", "EventsQueue", RedrivePolicy=None)(resources)
    return _first(resources, "Lambda::Function", "Router")[0]


def _stop_the_rounds(resources: dict[str, Any]) -> str:
    del resources[_first(resources, "Scheduler::Schedule")[0]]
    return _first(resources, "Lambda::Function", "Scheduler")[0]


def _insist(resources: dict[str, Any]) -> str:
    name, schedule = _first(resources, "Scheduler::Schedule")
    del schedule["Properties"]["Target"]["RetryPolicy"]
    return name


def _release_at_once(resources: dict[str, Any]) -> str:
    _change("CodeDeploy::DeploymentGroup", "Router", DeploymentConfigName="CodeDeployDefault.LambdaAllAtOnce")(resources)
    return _first(resources, "Lambda::Function", "Router")[0]


def _allow(action: str, resource: Any) -> Callable[[dict[str, Any]], str]:
    def plant(resources: dict[str, Any]) -> str:
        name, policy = _first(resources, "IAM::Policy", "Router")
        policy["Properties"]["PolicyDocument"]["Statement"].append({"Effect": "Allow", "Action": action, "Resource": resource})
        return name

    return plant


def _without_alarm(resources: dict[str, Any]) -> str:
    del resources[_first(resources, "CloudWatch::Alarm", "DeadEvents")[0]]
    return _first(resources, "SQS::Queue", "EventsDead")[0]


def _without_tls_policy(resources: dict[str, Any]) -> str:
    del resources[_first(resources, "SQS::QueuePolicy", "EventsQueue")[0]]
    return _first(resources, "SQS::Queue", "EventsQueue")[0]


def _replaceable(resources: dict[str, Any]) -> str:
    name, table = _first(resources, "DynamoDB::Table", "Ledger")
    table["UpdateReplacePolicy"] = "Delete"
    return name


def _gives_up_early(resources: dict[str, Any]) -> str:
    name, queue = _first(resources, "SQS::Queue", "ordersfifoQueue")
    queue["Properties"]["RedrivePolicy"]["maxReceiveCount"] = 25
    return name


def _rests_without_order(resources: dict[str, Any]) -> str:
    del _first(resources, "SQS::Queue", "ordersfifoDead")[1]["Properties"]["FifoQueue"]
    return _first(resources, "SQS::Queue", "ordersfifoQueue")[0]


def _trust_for_anybody(resources: dict[str, Any]) -> str:
    name, role = _first(resources, "IAM::Role", "TimersRole")
    del role["Properties"]["AssumeRolePolicyDocument"]["Statement"][0]["Condition"]
    return name


def _pass_to_anybody(resources: dict[str, Any]) -> str:
    name, policy = _first(resources, "IAM::Policy", "WorkerRole")
    for statement in policy["Properties"]["PolicyDocument"]["Statement"]:
        statement.pop("Condition", None)
    return name


def _aged(**rule: object) -> dict[str, list[dict[str, object]]]:
    return {"Rules": [{"Status": "Enabled", **rule}]}


PLANTED: list[tuple[Rule, Callable[[dict[str, Any]], str]]] = [
    (rules.has_a_role_of_its_own, _share_a_role),
    (rules.logs_json_to_a_group_of_its_own, _share_logs),
    (rules.logs_json_to_a_group_of_its_own, _change("Lambda::Function", "Router", LoggingConfig={"LogFormat": "JSON"})),
    (rules.states_its_limits, _change("Lambda::Function", "Router", MemorySize=None)),
    (rules.states_its_limits, _change("Lambda::Function", "Router", Architectures=["x86_64"])),
    (rules.loops_only_where_its_messages_come_back, _change("Lambda::Function", "Worker", RecursiveLoop="Terminate")),
    (rules.loops_only_where_its_messages_come_back, _change("Lambda::Function", "Recorder", RecursiveLoop="Allow")),
    (rules.loses_no_failure, _feed_without_a_net),
    (rules.loses_no_failure, _stop_the_rounds),
    (rules.gives_up_before_the_next_round, _insist),
    (rules.feeds_with_a_limit, _change("Lambda::EventSourceMapping", "Router", ScalingConfig=None)),
    (rules.feeds_with_a_limit, _change("Lambda::EventSourceMapping", "Router", FunctionResponseTypes=[])),
    (rules.feeds_with_a_limit, _change("Lambda::EventSourceMapping", "Router", FilterCriteria={"Filters": []})),
    (rules.gives_no_record_up, _change("Lambda::EventSourceMapping", "Router", StartingPosition="LATEST")),
    (rules.gives_no_record_up, _change("Lambda::EventSourceMapping", "Router", StartingPosition="TRIM_HORIZON")),
    (rules.hides_for_six_timeouts, _change("Lambda::EventSourceMapping", "Router", MaximumBatchingWindowInSeconds=1)),
    (rules.has_dead_letters_or_is_where_they_rest, _change("SQS::Queue", "EventsQueue", RedrivePolicy=None)),
    (rules.has_dead_letters_or_is_where_they_rest, _change("SQS::Queue", "EventsDead", MessageRetentionPeriod=3600)),
    (rules.keeps_order_to_its_end, _change("SQS::Queue", "ordersfifoQueue", ContentBasedDeduplication=None)),
    (rules.keeps_order_to_its_end, _change("SQS::Queue", "ordersfifoQueue", FifoThroughputLimit="perQueue")),
    (rules.keeps_order_to_its_end, _gives_up_early),
    (rules.keeps_order_to_its_end, _rests_without_order),
    (rules.waits_for_nothing_in_order, _change("Lambda::EventSourceMapping", "Fromordersfifo", BatchSize=100)),
    (rules.waits_for_nothing_in_order, _change("Lambda::EventSourceMapping", "Fromordersfifo", MaximumBatchingWindowInSeconds=5)),
    (rules.is_encrypted_at_rest, _change("SQS::Queue", SqsManagedSseEnabled=False)),
    (rules.is_encrypted_at_rest, _change("S3::Bucket", BucketEncryption=None)),
    (rules.refuses_what_is_not_tls, _without_tls_policy),
    (rules.is_paid_by_the_request_up_to_a_ceiling, _change("DynamoDB::Table", OnDemandThroughput=None)),
    (rules.is_paid_by_the_request_up_to_a_ceiling, _change("DynamoDB::Table", BillingMode="PROVISIONED")),
    (rules.can_be_restored_and_forgets, _change("DynamoDB::Table", PointInTimeRecoverySpecification=None)),
    (rules.can_be_restored_and_forgets, _change("DynamoDB::Table", TimeToLiveSpecification={"Enabled": False})),
    (rules.is_private, _change("S3::Bucket", PublicAccessBlockConfiguration={"BlockPublicAcls": True})),
    (rules.keeps_versions_for_a_while, _change("S3::Bucket", VersioningConfiguration=None)),
    (rules.keeps_versions_for_a_while, _change("S3::Bucket", LifecycleConfiguration={"Rules": [{"ExpirationInDays": 1}]})),
    (rules.ages_event_lines_alone, _change("S3::Bucket", "History", LifecycleConfiguration=_aged(ExpirationInDays=400))),
    (rules.ages_event_lines_alone, _change("S3::Bucket", "History", LifecycleConfiguration=_aged(Prefix="history/", ExpirationInDays=400))),
    (rules.ages_event_lines_alone, _change("S3::Bucket", "History", LifecycleConfiguration=_aged(Prefix="events/", ExpirationInDays=29))),
    (rules.forgets_in_time, _change("Logs::LogGroup", RetentionInDays=None)),
    (rules.names_what_it_allows, _allow("sqs:*", {"Ref": "x"})),
    (rules.names_what_it_allows, _allow("sqs:SendMessage", "*")),
    (rules.trusts_one_service, _change("IAM::Role", "WorkerRole", ManagedPolicyArns=["arn:aws:iam::aws:policy/AdministratorAccess"])),
    (rules.trusts_one_service, _change("IAM::Role", "ReleaseRole", ManagedPolicyArns=["arn:aws:iam::aws:policy/PowerUserAccess"])),
    (rules.trusts_one_service, _change("IAM::Role", "WorkerRole", AssumeRolePolicyDocument={"Statement": [{"Principal": {"AWS": "*"}}]})),
    (rules.trusts_this_account_alone, _trust_for_anybody),
    (rules.passes_roles_to_one_service, _pass_to_anybody),
    (rules.says_what_to_do, _change("CloudWatch::Alarm", AlarmDescription="Dead letters")),
    (rules.says_what_to_do, _change("CloudWatch::Alarm", TreatMissingData="ignore")),
    (rules.is_let_in_step_by_step, _release_at_once),
    (rules.is_aimed_at_what_is_released, _aim_at_the_newest),
    (rules.is_aimed_at_what_is_released, _come_round_at_once),
    (rules.tells_when_something_rests, _without_alarm),
    (rules.tells_when_nobody_reads, _change("Lambda::EventSourceMapping", "Router", StartingPosition="TRIM_HORIZON")),
    (rules.outlives_its_stack, _change("DynamoDB::Table", DeletionProtectionEnabled=False)),
    (rules.outlives_its_stack, _replaceable),
]


@pytest.mark.parametrize(("rule", "plant"), PLANTED, ids=[f"{number}-{rule.__name__}" for number, (rule, _) in enumerate(PLANTED)])
def test_a_rule_names_the_resource_that_breaks_it(rule: Rule, plant: Callable[[dict[str, Any]], str], production: Templates) -> None:
    resources = copy.deepcopy(dict(production.resources))
    name = plant(resources)
    kinds = {**EVERYWHERE, **IN_PRODUCTION}[rule]
    found = list(broken(Templates(production.directory, resources, production.outputs), rule, kinds))
    assert name in {complaint.split()[0] for complaint in found}, f"{rule.__name__} does not see what was planted in {name}"
    assert len(found) <= 2, json.dumps(found)


def test_every_rule_is_shown_a_violation() -> None:
    assert {rule for rule, _ in PLANTED} == {*EVERYWHERE, *IN_PRODUCTION}
