"""Each state of a stack lets a deployment go on, or is refused with the command that helps."""

import pytest

from sedano.deploy import states
from sedano.deploy.progress import StackProgress

#: The states that CloudFormation documents for a stack.
EVERY = tuple(
    f"{work}_{state}"
    for work, states_of_it in (
        ("CREATE", "IN_PROGRESS FAILED COMPLETE"),
        ("ROLLBACK", "IN_PROGRESS FAILED COMPLETE"),
        ("DELETE", "IN_PROGRESS FAILED COMPLETE"),
        ("UPDATE", "IN_PROGRESS COMPLETE_CLEANUP_IN_PROGRESS COMPLETE FAILED"),
        ("UPDATE_ROLLBACK", "IN_PROGRESS FAILED COMPLETE_CLEANUP_IN_PROGRESS COMPLETE"),
        ("REVIEW", "IN_PROGRESS"),
        ("IMPORT", "IN_PROGRESS COMPLETE"),
        ("IMPORT_ROLLBACK", "IN_PROGRESS FAILED COMPLETE"),
    )
    for state in states_of_it.split()
)
OPEN = ("CREATE_COMPLETE", "DELETE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE", "REVIEW_IN_PROGRESS", "IMPORT_COMPLETE")


def test_every_state_is_deployed_to_or_refused_by_name() -> None:
    for status in EVERY:
        refusal = states.refusal("sedano-dev-core", status)
        assert (refusal == "") == (status in OPEN), status
        assert refusal == "" or refusal.startswith(f"sedano-dev-core is {status}")
    assert states.refusal("sedano-dev-core", None) == ""


@pytest.mark.parametrize(
    ("status", "remedy"),
    [
        ("ROLLBACK_COMPLETE", "`aws cloudformation delete-stack --stack-name a`"),
        ("UPDATE_ROLLBACK_FAILED", "`aws cloudformation continue-update-rollback --stack-name a`"),
        ("UPDATE_IN_PROGRESS", "wait until it has ended"),
    ],
)
def test_a_refusal_names_the_remedy(status: str, remedy: str) -> None:
    assert remedy in states.refusal("a", status)


def test_a_deployment_ends_well_in_two_states_and_while_an_update_cleans_up() -> None:
    good = {"CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS"}
    assert {status for status in EVERY if states.is_good(status)} == good
    assert all(states.is_settled(status) for status in good)
    assert not any(states.is_settled(status) for status in EVERY if status.endswith("_IN_PROGRESS") and status not in good)


def _event(name: str, status: str, **more: str) -> dict[str, str]:
    return {"LogicalResourceId": name, "ResourceStatus": status, "ResourceType": "AWS::SQS::Queue", **more}


def test_progress_counts_each_resource_once_and_says_the_failure_that_began_it() -> None:
    progress = StackProgress("a", 3)
    said = progress.take([
        _event("a", "UPDATE_IN_PROGRESS"), _event("Mail", "CREATE_IN_PROGRESS"), _event("Mail", "CREATE_COMPLETE"),
        _event("Mail", "UPDATE_COMPLETE"), _event("Slow", "CREATE_FAILED", ResourceStatusReason="it exists already"),
        _event("Bulk", "CREATE_FAILED", ResourceStatusReason="Resource creation cancelled"),
    ])  # fmt: skip
    assert said == ["Slow (AWS::SQS::Queue): it exists already"]
    assert progress.take([_event("Slow", "DELETE_COMPLETE")]) == []
    assert progress.line() == "a  2 of 3 resources"
    assert progress.failures == said
