"""No message is readable on its way, handed out while it is still worked on, or lost when it cannot be handled."""

import json
import re
from typing import Any

import pytest

from sedano.model.retry import MAX_EXECUTIONS
from tests.infra.template import Properties, Templates, target


def _consumed(templates: Templates) -> dict[str, Properties]:
    queues = templates.of_type("SQS::Queue")
    return {queue: queues[queue] for queue, _ in templates.sources()}


def test_every_queue_is_encrypted_and_keeps_its_messages_for_fourteen_days(templates: Templates) -> None:
    for name, queue in templates.of_type("SQS::Queue").items():
        assert queue["SqsManagedSseEnabled"] is True, name
        assert queue["MessageRetentionPeriod"] == 14 * 24 * 3600, name


@pytest.mark.parametrize(
    ("kind", "policy", "holder"),
    [
        ("SQS::Queue", "SQS::QueuePolicy", "Queues"),
        ("S3::Bucket", "S3::BucketPolicy", "Bucket"),
    ],
)
def test_whatever_is_not_tls_is_denied(templates: Templates, kind: str, policy: str, holder: str) -> None:
    protected = set()
    for properties in templates.of_type(policy).values():
        held = properties[holder] if isinstance(properties[holder], list) else [properties[holder]]
        for statement in properties["PolicyDocument"]["Statement"]:
            if statement["Effect"] == "Deny" and statement["Condition"].get("Bool") == {"aws:SecureTransport": "false"}:
                protected.update(map(target, held))
    assert protected == set(templates.of_type(kind))


def test_every_queue_is_consumed_or_is_where_failed_messages_rest(templates: Templates) -> None:
    consumed = _consumed(templates)
    dead_letters = {target(queue["RedrivePolicy"]["deadLetterTargetArn"]) for queue in consumed.values()}
    parked = target(templates.outputs["SedanoParkedQueue"])
    assert len(dead_letters) == len(consumed)
    assert set(templates.of_type("SQS::Queue")) == set(consumed) | dead_letters | {parked}


def test_a_consumed_queue_hides_a_message_for_six_times_as_long_as_the_function_may_run(templates: Templates) -> None:
    queues = templates.of_type("SQS::Queue")
    for queue, function in templates.sources():
        timeout = templates.functions()[function]["Timeout"]
        assert queues[queue]["VisibilityTimeout"] >= 6 * timeout, queue


def test_a_message_is_handed_out_more_often_than_the_worker_begins_with_it(templates: Templates) -> None:
    for name, queue in _consumed(templates).items():
        assert queue["RedrivePolicy"]["maxReceiveCount"] > MAX_EXECUTIONS, f"{name}: the worker sets aside first, with its reason"


def test_every_mapping_says_its_batch_its_concurrency_and_that_one_message_may_fail_alone(templates: Templates) -> None:
    for name, mapping in templates.of_type("Lambda::EventSourceMapping").items():
        gathers = mapping.get("MaximumBatchingWindowInSeconds", 0) > 0  # Lambda takes more than ten at once only where they may wait
        assert mapping["BatchSize"] == (100 if gathers else 10), name
        assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"], name
        assert 2 <= mapping["ScalingConfig"]["MaximumConcurrency"] <= 1000, name
        assert "FilterCriteria" not in mapping, f"{name}: a filter deletes what it does not match"


def test_each_command_queue_has_its_name_in_the_outputs(templates: Templates) -> None:
    queues = templates.of_type("SQS::Queue")
    named = json.loads(_filled(templates.outputs["SedanoQueues"]))
    assert [set(names) for names in named.values()] == [{"default", "bulk", "orders.fifo"}]
    assert all(re.fullmatch("sedano-[a-z]+-1a2b3c4d-", begin) for begin in named)
    called = [_filled(queues[queue]["QueueName"]) for queue, function in templates.sources() if function == "worker"]
    assert sorted(called) == sorted(f"{begin}{name}" for begin, names in named.items() for name in names)
    assert all(len(name) <= 80 for name in called)


def _filled(value: Any) -> str:
    """A text of the template, with the first part of the stack's id in it as CloudFormation fills it in."""
    return "".join(part if isinstance(part, str) else "1a2b3c4d" for part in value["Fn::Join"][1])
