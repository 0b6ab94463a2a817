"""The pipeline's stack: one Spark job with spare capacity that may do what it does and nothing else, off until it is asked for."""

import json
from pathlib import Path

import pytest

from infra.config import ConfigError
from infra.context import from_context
from sedano.aws.client import keys
from sedano.engine.history.commits import LEASE
from sedano.local.stage import stage_context
from sedano.local.synthesis import synthesise
from tests.infra.invariants import broken
from tests.infra.template import Templates, read, shown, target
from tests.infra.test_invariants import EVERYWHERE, IN_PRODUCTION, JUDGED_ELSEWHERE
from tests.plugins.resources import APP, CODE


@pytest.fixture(scope="module")
def scheduled(tmp_path_factory: pytest.TempPathFactory) -> Templates:
    """Production with a schedule; `test_accepted` has cdk-nag judge it."""
    more = {"pipeline_schedule": "cron(15 * * * ? *)", "pipeline_lag": "3", "pipeline_by_task": "true"}
    return synthesised(tmp_path_factory.mktemp("scheduled"), judged=False, **more)


@pytest.fixture(scope="module")
def on_emr(tmp_path_factory: pytest.TempPathFactory) -> Templates:
    """Production with EMR Serverless; judged by cdk-nag."""
    return synthesised(tmp_path_factory.mktemp("emr"), pipeline="emr")


def synthesised(folder: Path, *, judged: bool = True, **more: str) -> Templates:
    context = {**stage_context(APP, CODE), "local": "false", "stage": "prod", **more}
    return read(synthesise(context, folder / "cdk.out", judged=judged))


def only(templates: Templates, kind: str):
    (found,) = templates.of_type(kind).values()
    return found


def test_every_rule_holds_for_a_stage_whose_job_runs_elsewhere(on_emr: Templates) -> None:
    rules = EVERYWHERE | IN_PRODUCTION
    assert [complaint for rule, kinds in rules.items() for complaint in broken(on_emr, rule, kinds)] == []
    judged = {*JUDGED_ELSEWHERE, *(kind for kinds in rules.values() for kind in kinds)}
    assert {one["Type"].removeprefix("AWS::") for one in on_emr.resources.values()} <= judged


def test_the_job_is_small_runs_alone_and_uses_spare_capacity(production: Templates) -> None:
    job = only(production, "Glue::Job")
    assert (job["GlueVersion"], job["WorkerType"], job["NumberOfWorkers"]) == ("6.0", "G.1X", 2)
    assert (job["ExecutionClass"], job["ExecutionProperty"], job["MaxRetries"]) == ("FLEX", {"MaxConcurrentRuns": 1}, 0)
    assert not job.get("JobRunQueuingEnabled", False), "Glue refuses a queue of runs for the flexible class"


def test_the_job_takes_in_what_the_recorder_wrote_and_its_lease_in_the_control_table(production: Templates) -> None:
    arguments = only(production, "Glue::Job")["DefaultArguments"]
    assert arguments["--verb"] == "update"
    assert (ending(arguments["--source"]), ending(arguments["--target"])) == ("/events/", "/history/")
    assert target(arguments["--control-table"]) == "SedanoControlTable"
    assert "--extra-py-files" in arguments


def ending(joined) -> str:
    return joined["Fn::Join"][1][-1]


def test_the_job_has_a_security_configuration(production: Templates) -> None:
    security = only(production, "Glue::SecurityConfiguration")["EncryptionConfiguration"]
    assert security["S3Encryptions"] == [{"S3EncryptionMode": "SSE-S3"}]
    assert "SecurityConfiguration" in only(production, "Glue::Job")


def may(templates: Templates) -> dict[str, set[str]]:
    """What the role of the job may do, by the resource; an object of the assets by how its name ends."""
    trusted = {name: role["AssumeRolePolicyDocument"]["Statement"][0] for name, role in templates.of_type("IAM::Role").items()}
    (role,) = (name for name, said in trusted.items() if said["Principal"]["Service"].startswith(("glue.", "emr-serverless.")))
    found: dict[str, set[str]] = {}
    for policy in templates.of_type("IAM::Policy").values():
        if role in map(target, policy["Roles"]):
            for statement in policy["PolicyDocument"]["Statement"]:
                for resource in listed(statement["Resource"]):
                    found.setdefault(name_of(resource), set()).update(listed(statement["Action"]))
    return found


ALLOWED = {
    "code.py": {"s3:GetObject"},
    "code.zip": {"s3:GetObject"},
    "SedanoHistoryBucket": {"s3:ListBucket"},
    "SedanoHistoryBucket/events/*": {"s3:GetObject"},
    "SedanoHistoryBucket/history/*": {"s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"},
    "SedanoControlTable": {"dynamodb:GetItem", "dynamodb:UpdateItem"},
}


def test_the_job_may_read_its_code_and_events_write_tables_and_take_its_lease(production: Templates, on_emr: Templates) -> None:
    logs = {"log-group:/sedano/prod/history/*": {"logs:CreateLogStream", "logs:PutLogEvents"}}
    assert may(production) == ALLOWED | logs
    assert may(on_emr) == ALLOWED, "EMR Serverless keeps logs by itself"


def test_of_the_control_table_the_job_may_touch_its_lease_alone(production: Templates) -> None:
    statements = [said for policy in production.of_type("IAM::Policy").values() for said in policy["PolicyDocument"]["Statement"]]
    keyed = [said for said in statements if "dynamodb:LeadingKeys" in json.dumps(said.get("Condition", {}))]
    (conditioned,) = (said for said in keyed if "ForAllValues:StringEquals" in said["Condition"])
    assert conditioned["Condition"] == {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": [keys.lease(LEASE)]}}
    assert set(conditioned["Action"]) == ALLOWED["SedanoControlTable"]


def test_the_job_tells_no_metrics_which_its_role_could_not_write(production: Templates) -> None:
    assert not [name for name in only(production, "Glue::Job")["DefaultArguments"] if "metrics" in name]


STARTS = ("glue:StartJobRun", "glue:GetJobRuns", "glue:BatchStopJobRun")


def test_no_task_may_start_the_job_whose_arguments_can_name_code(production: Templates, on_emr: Templates) -> None:
    for templates in (production, on_emr):
        assert not [name for name in templates.functions() for action in STARTS if templates.may(name, action)]


def test_where_it_is_asked_for_a_task_may_start_the_job_wait_for_it_and_stop_it(scheduled: Templates) -> None:
    (job,) = scheduled.of_type("Glue::Job")
    for action in STARTS:
        assert scheduled.may("worker", action) == {job}
        assert not any(scheduled.may(other, action) for other in scheduled.functions() if other != "worker")


def test_the_jobs_logs_are_kept_in_groups_of_the_stage_that_expire(production: Templates) -> None:
    prefix = only(production, "Glue::Job")["DefaultArguments"]["--custom-logGroup-prefix"]
    named = [group for group in production.of_type("Logs::LogGroup").values() if "LogGroupName" in group]
    assert {group["LogGroupName"]: group["RetentionInDays"] for group in named} == {f"{prefix}/error": 30, f"{prefix}/output": 30}


RELEASES = {"emr-spark-8.0.0", "emr-spark-8.0-preview", *(f"emr-7.{minor}.0" for minor in range(14))}
"""The labels of EMR Serverless that the job's Spark can run on: EMR Serverless, "Release versions" (November 2026)."""


def test_emr_serverless_has_the_release_that_is_asked_for(on_emr: Templates) -> None:
    assert only(on_emr, "EMRServerless::Application")["ReleaseLabel"] in RELEASES


def test_a_run_on_emr_serverless_alarms_when_it_fails(on_emr: Templates) -> None:
    rules = {name: rule["EventPattern"] for name, rule in on_emr.of_type("Events::Rule").items()}
    (application,) = on_emr.of_type("EMRServerless::Application")
    assert {target(one["detail"]["applicationId"][0]) for one in rules.values()} == {application}
    (failed,) = [name for name, one in rules.items() if one["detail"]["state"] == ["FAILED"]]
    alarms = [one for one in on_emr.of_type("CloudWatch::Alarm").values() if "history job failed" in one["AlarmDescription"]]
    assert [target(alarm["Dimensions"][0]["Value"]) for alarm in alarms] == [failed]


def test_emr_serverless_runs_by_schedule(tmp_path: Path) -> None:
    on_emr = synthesised(tmp_path, pipeline="emr", pipeline_schedule="cron(15 * * * ? *)")
    assert set(on_emr.of_type("IAM::Role")) > {name for name in on_emr.of_type("IAM::Role") if name.startswith("Starter")} != set()
    (name,) = [name for name, one in on_emr.of_type("Scheduler::Schedule").items() if "startJobRun" in json.dumps(one)]
    schedule = on_emr.of_type("Scheduler::Schedule")[name]
    assert schedule["ScheduleExpression"] == "cron(15 * * * ? *)"
    run = "".join(part if isinstance(part, str) else "X" for part in schedule["Target"]["Input"]["Fn::Join"][1])
    asked = json.loads(run)
    assert asked["JobDriver"]["SparkSubmit"]["EntryPointArguments"][0] == "update"
    assert {"ApplicationId", "ClientToken", "ExecutionRoleArn"} < set(asked)
    behind = [one for one in on_emr.of_type("CloudWatch::Alarm").values() if "tables are behind" in one["AlarmDescription"]]
    assert len(behind) == 1


def listed(value) -> list:
    return value if isinstance(value, list) else [value]


def name_of(resource) -> str:
    match resource:
        case {"Fn::Join": ["", [*_, str(key)]]} if "-assets-" in json.dumps(resource):
            return f"code{Path(key).suffix}"
    return shown(resource)


def test_nothing_runs_by_itself_until_a_schedule_is_given(production: Templates, scheduled: Templates) -> None:
    assert production.of_type("Glue::Trigger") == {}
    assert only(scheduled, "Glue::Trigger")["Schedule"] == "cron(15 * * * ? *)"
    assert only(scheduled, "Glue::Trigger")["StartOnCreation"] is True


def test_a_failed_run_alarms_and_so_does_a_history_that_falls_behind(production: Templates, scheduled: Templates) -> None:
    def alarms(templates: Templates) -> dict[str, dict]:
        every = templates.of_type("CloudWatch::Alarm").values()
        return {alarm["AlarmDescription"]: alarm for alarm in every if "history job" in alarm["AlarmDescription"]}

    (failed,) = alarms(production).values()
    assert (failed["Threshold"], failed["TreatMissingData"]) == (1, "notBreaching")
    (behind,) = [alarm for words, alarm in alarms(scheduled).items() if "behind" in words]
    assert (behind["EvaluationPeriods"], behind["Period"], behind["TreatMissingData"]) == (3, 3600, "breaching")


def test_records_become_few_objects_on_aws_and_are_told_at_once_on_this_machine(production: Templates, assembly: Path) -> None:
    def feeding(templates: Templates) -> tuple[int, int]:
        mappings = templates.of_type("Lambda::EventSourceMapping").values()
        (one,) = [mapping for mapping in mappings if templates.function_named(mapping["FunctionName"]) == "recorder"]
        return one["BatchSize"], one.get("MaximumBatchingWindowInSeconds", 0)

    assert (feeding(production), feeding(read(assembly))) == ((100, 60), (10, 0))


def test_emr_serverless_costs_nothing_while_no_job_runs(on_emr: Templates) -> None:
    application = only(on_emr, "EMRServerless::Application")
    assert application["AutoStopConfiguration"] == {"Enabled": True, "IdleTimeoutMinutes": 5}
    assert "InitialCapacity" not in application
    assert on_emr.of_type("Glue::Job") == {}
    assert {"SedanoHistoryApplication", "SedanoHistoryRole", "SedanoHistoryLibrary", "SedanoHistoryScript"} <= set(on_emr.outputs)


def test_the_local_endpoint_gets_none_of_it(assembly: Path) -> None:
    kinds = {resource["Type"].split("::")[1] for resource in read(assembly).resources.values()}
    assert not kinds & {"Glue", "EMRServerless"}


@pytest.mark.parametrize(("context", "said"), [
    ({"pipeline": "flink"}, "pipeline: 'flink'"),
    ({"pipeline_schedule": "hourly"}, "pipeline_schedule: 'hourly' cannot be used; expected six fields"),
    ({"pipeline_schedule": "cron(0 0 30 2 ? *)"}, "pipeline_schedule: .* expected a day that exists; from 20.. on no such day does"),
    ({"pipeline": "none", "pipeline_schedule": "cron(15 * * * ? *)"}, "pipeline_schedule: .*pipeline=glue or pipeline=emr as well"),
    ({"pipeline": "emr", "pipeline_by_task": "true"}, "pipeline_by_task: .*pipeline=glue as well, which tasks can start"),
    ({"pipeline_lag": "0"}, "pipeline_lag: 0"),
    ({"pipeline_lag": "soon"}, "pipeline_lag: 'soon'"),
])  # fmt: skip
def test_a_setting_that_cannot_be_used_is_refused_by_name(context: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        from_context({"app": APP, "code": str(CODE), **context})
