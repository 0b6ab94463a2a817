"""Each role may do what its function does, and nothing else."""

from sedano.aws.client import keys
from sedano.aws.key_store import parameter
from tests.infra.template import Templates, shown, target

READ_AND_WRITE = {"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"}
TIMERS = {"SedanoTimersGroup/*", "schedule/default/*"}
"""The group's schedules; the endpoint on this machine authorises every schedule as one of the group `default`."""
CONSUME = {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility", "sqs:GetQueueAttributes"}


def _names(references: set[str], kind: str) -> set[str]:
    """`Commandsdefault`, `Events`, ...: logical ids without the part that the CDK appends."""
    return {reference.split(kind)[0] for reference in references}


def test_no_action_is_a_wildcard_and_only_objects_are_named_by_one(templates: Templates) -> None:
    for function in templates.functions():
        for statement in templates.allowed(function):
            assert not any("*" in action for action in statement.actions), (function, statement)
            wild = {resource for resource in statement.resources if "*" in resource}
            assert wild <= {"SedanoBlobsBucket/*", "SedanoHistoryBucket/events/*", *TIMERS}, (function, statement)


def test_every_service_that_a_function_may_call_is_named_here(templates: Templates) -> None:
    services = {
        function: {action.split(":")[0] for statement in templates.allowed(function) for action in statement.actions} - {"glue"}
        for function in templates.functions()
    }
    assert services == {
        "worker": {"logs", "sqs", "dynamodb", "s3", "scheduler", "iam", "ssm"},
        "router": {"logs", "sqs", "s3", "ssm"},
        "recorder": {"logs", "sqs", "dynamodb", "s3", "ssm"},
        "scheduler": {"logs", "sqs", "dynamodb", "scheduler", "iam"},
    }


def test_a_function_may_consume_the_queues_that_feed_it_and_no_other(templates: Templates) -> None:
    for function in templates.functions():
        fed_by = {queue for queue, name in templates.sources() if name == function}
        for action in CONSUME:
            assert templates.may(function, action) == fed_by, (function, action)


def test_messages_go_only_where_the_walk_of_a_message_leads(templates: Templates) -> None:
    sends = {name: _names(templates.may(name, "sqs:SendMessage"), "Queue") for name in templates.functions()}
    commands = {"Commandsdefault", "Commandsbulk"}
    assert sends == {
        "worker": commands | {"Commandsordersfifo", "Events", "Records", "Parked"},
        "router": commands | {"Records", "Parked"},
        "recorder": {"Parked"},
        "scheduler": commands,
    }


def test_nobody_can_delete_or_list_an_item_of_the_tables_and_the_scheduler_writes_agendas_alone(templates: Templates) -> None:
    calls = {function: _tables(templates, function) for function in templates.functions()}
    assert calls == {
        "worker": {
            "SedanoLedgerTable": READ_AND_WRITE | {"dynamodb:BatchGetItem", "dynamodb:ConditionCheckItem"},
            "SedanoControlTable": READ_AND_WRITE | {"dynamodb:BatchGetItem", "dynamodb:ConditionCheckItem"},
        },
        "router": {},
        "recorder": {"SedanoControlTable": {"dynamodb:PutItem"}},
        "scheduler": {
            "SedanoLedgerTable": {"dynamodb:GetItem", "dynamodb:BatchGetItem"},
            "SedanoControlTable": {"dynamodb:BatchGetItem", "dynamodb:UpdateItem"},
        },
    }


def test_the_recorder_writes_roll_ups_into_the_control_table_and_no_other_item(templates: Templates) -> None:
    policies = templates.of_type("IAM::Policy").values()
    said = [one for policy in policies for one in policy["PolicyDocument"]["Statement"]]
    (statement,) = [one for one in said if one["Action"] == "dynamodb:PutItem" and "Condition" in one]
    assert statement["Condition"] == {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": [f"{keys.ROLLUP}*"]}}


def _tables(templates: Templates, function: str) -> dict[str, set[str]]:
    """What a function may do to each of the tables."""
    calls: dict[str, set[str]] = {}
    for statement in templates.allowed(function):
        for table in {"SedanoLedgerTable", "SedanoControlTable"} & {name.split("/")[-1] for name in statement.resources}:
            calls.setdefault(table, set()).update(statement.actions)
    return calls


def test_the_scheduler_is_invoked_by_the_minute_and_only_where_tasks_come_round(templates: Templates) -> None:
    (schedule,) = templates.of_type("Scheduler::Schedule").values()
    assert schedule["ScheduleExpression"] == "rate(1 minute)"
    assert schedule["FlexibleTimeWindow"] == {"Mode": "OFF"}
    assert templates.function_named(schedule["Target"]["Arn"]) == "scheduler"


def test_the_worker_sets_timers_whose_role_sends_to_command_queues_and_the_parked_one_only(templates: Templates) -> None:
    (role,) = templates.may("worker", "iam:PassRole")
    assert templates.may("worker", "scheduler:CreateSchedule") < TIMERS
    (policy,) = (p for p in templates.of_type("IAM::Policy").values() if role in map(target, p["Roles"]))
    (statement,) = policy["PolicyDocument"]["Statement"]
    assert statement["Action"] == "sqs:SendMessage"
    assert _names({target(name) for name in statement["Resource"]}, "Queue") == {"Commandsdefault", "Commandsbulk", "Parked"}
    assert list(templates.of_type("Scheduler::ScheduleGroup")) == ["TimersGroup"]


def test_objects_are_written_and_read_but_never_deleted(templates: Templates) -> None:
    blobs, history = "SedanoBlobsBucket/*", "SedanoHistoryBucket/events/*"
    reading = {"s3:GetObject": {blobs}, "s3:PutObject": {blobs}, "s3:ListBucket": {"SedanoBlobsBucket"}}
    calls = {name: _calls(templates, name, "s3:") for name in templates.functions()}
    assert calls == {"worker": reading, "router": reading, "recorder": {"s3:PutObject": {blobs, history}}, "scheduler": {}}


def _calls(templates: Templates, function: str, service: str) -> dict[str, set[str]]:
    actions = {action for statement in templates.allowed(function) for action in statement.actions}
    return {action: templates.may(function, action) for action in actions if action.startswith(service)}


def test_whoever_parks_may_read_and_create_the_keys_of_its_stage_and_overwrite_none(templates: Templates) -> None:
    stage = templates.functions()["worker"]["Environment"]["Variables"]["SEDANO_STAGE"]
    own = {f"parameter{parameter(stage)}"}
    for function in templates.functions():
        calls = _calls(templates, function, "ssm:")
        parks = bool(_names(templates.may(function, "sqs:SendMessage"), "Queue") & {"Parked"})
        assert {action: {name.split(":")[-1] for name in names} for action, names in calls.items()} == (
            {"ssm:GetParameter": own, "ssm:PutParameter": own} if parks else {}
        ), function
    policies = templates.of_type("IAM::Policy").values()
    said = [one for policy in policies for one in policy["PolicyDocument"]["Statement"] if one["Action"] == "ssm:PutParameter"]
    assert len(said) == 3
    assert all(one["Condition"] == {"StringEqualsIfExists": {"ssm:Overwrite": "false"}} for one in said)


def test_codedeploy_may_move_the_alias_of_its_function_and_read_alarms(production: Templates) -> None:
    roles = {name.split("ReleaseRole")[0].lower(): name for name in production.of_type("IAM::Role") if "ReleaseRole" in name}
    assert set(roles) == set(production.functions())
    for function, role in roles.items():
        (policy,) = (p for p in production.of_type("IAM::Policy").values() if role in map(target, p["Roles"]))
        allowed = {shown(said["Resource"]): said["Action"] for said in policy["PolicyDocument"]["Statement"]}
        (arn,) = (name for name in production.of_type("Lambda::Function") if name.lower().startswith(f"{function}function"))
        assert allowed == {
            arn: ["lambda:GetAlias", "lambda:UpdateAlias"],
            f"{arn}:*": "lambda:GetProvisionedConcurrencyConfig",
            "alarm:*": "cloudwatch:DescribeAlarms",
        }
