"""Every function states its limits, writes to its own log, and knows every setting of the library."""

import json
import re
from pathlib import Path

from tests.infra.template import Templates, target

SETTINGS = {
    "SEDANO_APP",
    "SEDANO_STAGE",
    "SEDANO_QUEUES",
    "SEDANO_EVENTS_QUEUE",
    "SEDANO_RECORDS_QUEUE",
    "SEDANO_PARKED_QUEUE",
    "SEDANO_TIMERS_GROUP",
    "SEDANO_TIMERS_ROLE",
    "SEDANO_SCHEDULER",
    "SEDANO_LEDGER_TABLE",
    "SEDANO_CONTROL_TABLE",
    "SEDANO_BLOBS_BUCKET",
    "SEDANO_HISTORY_BUCKET",
}


def test_every_directory_of_functions_is_deployed_and_nothing_else_is(templates: Templates) -> None:
    root = Path(__file__).resolve().parents[2] / "functions"
    every = {handler.parent.name for handler in root.glob("*/handler.py")}
    only_where_declared = {"controller", "webhook", "stream"}  # test_controller.py, test_webhook.py, test_stream.py
    assert set(templates.functions()) == every - only_where_declared
    assert len(templates.of_type("Lambda::Function")) == len(templates.functions())


def test_every_function_has_a_page_and_a_row_in_the_table() -> None:
    root = Path(__file__).resolve().parents[2] / "functions"
    every = {handler.parent.name for handler in root.glob("*/handler.py")}
    rows = re.findall(r"^\| `(\w+)` \|", (root / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert (sorted(rows), {page.parent.name for page in root.glob("*/README.md")}) == (sorted(every), every)


def test_every_function_states_memory_time_and_architecture(templates: Templates) -> None:
    for name, function in templates.functions().items():
        assert function["MemorySize"] >= 128, name
        assert 1 <= function["Timeout"] <= 900, name
        assert function["Architectures"] == ["arm64"], name
        assert function["Handler"] == "handler.handler", name


def test_production_runs_the_python_of_lambda(production: Templates) -> None:
    assert {function["Runtime"] for function in production.functions().values()} == {"python3.13"}


def test_every_function_has_a_role_of_its_own(templates: Templates) -> None:
    roles = [target(function["Role"]) for function in templates.functions().values()]
    assert len(set(roles)) == len(roles)
    assumed = {name: json.dumps(role["AssumeRolePolicyDocument"]) for name, role in templates.of_type("IAM::Role").items()}
    assert sorted(roles) == sorted(name for name, policy in assumed.items() if "lambda.amazonaws.com" in policy)
    for name in roles:
        assert "ManagedPolicyArns" not in templates.of_type("IAM::Role")[name], name


def test_every_function_logs_json_to_a_group_of_its_own_that_forgets(templates: Templates) -> None:
    every = templates.of_type("Logs::LogGroup")
    groups = {name: group for name, group in every.items() if "LogGroupName" not in group}  # those with a name are the Glue job's
    used = []
    for name, function in templates.functions().items():
        logging = function["LoggingConfig"]
        used.append(target(logging["LogGroup"]))
        assert logging["LogFormat"] == "JSON", name
        assert logging["SystemLogLevel"] == "WARN", name
    assert sorted(used) == sorted(groups)
    assert all(group["RetentionInDays"] > 0 for group in every.values())


def test_a_function_whose_messages_can_come_back_to_it_is_allowed_to_loop_and_no_other_is(templates: Templates) -> None:
    feeds = dict(templates.sources())
    reaches = {name: {feeds[queue] for queue in templates.may(name, "sqs:SendMessage") if queue in feeds} for name in templates.functions()}
    for _ in reaches:
        reaches = {name: seen.union(*(reaches[other] for other in seen)) for name, seen in reaches.items()}
    looping = {name for name, seen in reaches.items() if name in seen}
    allowed = {name for name, function in templates.functions().items() if function["RecursiveLoop"] == "Allow"}
    assert allowed == looping == {"worker", "router"}


def test_every_function_is_given_every_setting_of_the_library(templates: Templates) -> None:
    for name, function in templates.functions().items():
        assert set(function["Environment"]["Variables"]) >= SETTINGS, name


def test_the_outputs_give_a_client_every_setting_of_the_library(templates: Templates) -> None:
    for_people = {"SedanoHistoryJob", "SedanoWorkerLogs"}
    for_clients = [name for name in templates.outputs if name.startswith("Sedano") and name not in for_people]
    named = {name.upper() for name in for_clients}
    of_programs = {"SEDANO_WORKER"}
    assert {setting.replace("_", "") for setting in SETTINGS | of_programs} == named
