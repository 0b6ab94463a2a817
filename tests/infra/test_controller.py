"""The controller's function: there only where an application needs it, by the minute, with exactly what its round calls."""

import json
from pathlib import Path

import pytest

from sedano.local.stage import stage_context
from sedano.local.synthesis import synthesise
from tests.infra.invariants import broken
from tests.infra.template import Templates, read
from tests.infra.test_invariants import EVERYWHERE, IN_PRODUCTION
from tests.infra.test_observability import missed

CODE = Path(__file__).parent / "tended"


@pytest.fixture(scope="module")
def tended(tmp_path_factory: pytest.TempPathFactory) -> Templates:
    """Production of an application with a budget and a shared check; `test_accepted` has cdk-nag judge the function that both bring."""
    context = {**stage_context("tended:app", CODE), "local": "false", "stage": "prod"}
    return read(synthesise(context, tmp_path_factory.mktemp("tended") / "cdk.out"))


def test_an_app_without_budgets_and_shared_checks_has_none_and_pays_for_none(templates: Templates) -> None:
    assert "controller" not in templates.functions()


def test_it_is_invoked_by_the_minute(tended: Templates) -> None:
    (schedule,) = tended.of_type("Scheduler::Schedule").values()
    assert schedule["ScheduleExpression"] == "rate(1 minute)"
    assert tended.function_named(schedule["Target"]["Arn"]) == "controller"


def test_a_round_of_it_that_does_not_come_is_missed(tended: Templates) -> None:
    assert list(missed(tended)) == []


def test_it_may_do_what_its_round_calls_and_nothing_else(tended: Templates) -> None:
    actions = {action for statement in tended.allowed("controller") for action in statement.actions if not action.startswith("logs:")}
    assert actions == {
        "sqs:GetQueueAttributes", "sqs:SendMessage", "sqs:SendMessageBatch", "dynamodb:GetItem", "dynamodb:BatchGetItem",
        "dynamodb:UpdateItem", "dynamodb:Query", "lambda:GetEventSourceMapping", "lambda:UpdateEventSourceMapping",
    } - ({"sqs:SendMessageBatch"} - tended_batches(tended))  # fmt: skip
    assert all("Ledger" not in name for name in tended.may("controller", "dynamodb:UpdateItem"))
    assert len(tended.may("controller", "dynamodb:Query")) == 2, "the indexes of members and, for spending limits, of roll-ups"
    assert {"Events" in name for name in tended.may("controller", "sqs:SendMessage")} == {True}


def tended_batches(tended: Templates) -> set[str]:
    """What the local endpoint calls a batch, where this stage is local."""
    return {"sqs:SendMessageBatch"} if tended.may("controller", "sqs:SendMessageBatch") else set()


def test_every_rule_that_holds_for_other_stages_holds_for_this_one(tended: Templates) -> None:
    rules = EVERYWHERE | IN_PRODUCTION
    assert [complaint for rule, kinds in rules.items() for complaint in broken(tended, rule, kinds)] == []


def test_it_knows_the_mapping_of_each_command_queue(tended: Templates) -> None:
    given = json.dumps(tended.functions()["controller"]["Environment"]["Variables"]["SEDANO_MAPPINGS"])
    assert "default" in given
    assert "bulk" in given
    assert given.count('"Ref"') == 2


def test_the_recorder_knows_the_tenants_with_a_spending_limit_and_only_such_a_stage_has_its_alarms(
    tended: Templates, templates: Templates
) -> None:  # fmt: skip
    def of(stage: Templates) -> tuple[str, set[str]]:
        found = stage.functions()["recorder"]["Environment"]["Variables"].get("SEDANO_SPENDING", "")
        said = json.dumps(list(stage.of_type("CloudWatch::Alarm").values()))
        return found, {name for name in ("SpendingNear", "SpendingReached") if name in said}

    assert of(tended) == ('["","acme"]', {"SpendingNear", "SpendingReached"})
    assert of(templates) == ("", set())
