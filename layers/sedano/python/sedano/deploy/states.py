"""The states of a stack: which ones can be deployed to, and the remedy for those that cannot."""

from __future__ import annotations

#: CloudFormation has noted the stack's name and made nothing.
REVIEWED = "REVIEW_IN_PROGRESS"
#: The states after a deployment that succeeded.
GOOD = ("CREATE_COMPLETE", "UPDATE_COMPLETE")
#: The stack was deleted.
GONE = "DELETE_COMPLETE"


def is_new(status: str | None) -> bool:
    """Return whether a stack in this state has no resources yet; None: the stack does not exist."""
    return status in (None, REVIEWED, GONE)


def is_busy(status: str) -> bool:
    """Return whether CloudFormation is at work on a stack in this state."""
    return status.endswith("_IN_PROGRESS") and status != REVIEWED


def is_settled(status: str) -> bool:
    """Return whether the work on a stack ended in this state; the clean-up after an update may go on."""
    return status != REVIEWED and (not is_busy(status) or status == "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS")


def is_good(status: str) -> bool:
    """Return whether a deployment that ended in this state succeeded."""
    return status.removesuffix("_CLEANUP_IN_PROGRESS") in GOOD


def refusal(name: str, status: str | None) -> str:
    """Return why a stack in this state cannot be deployed to, with the remedy; empty when it can."""
    if status is None or is_new(status) or status in ("CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE", "IMPORT_COMPLETE"):
        return ""
    if is_busy(status):
        return f"{name} is {status}: another deployment works on it; wait until it has ended, then deploy again"
    if status == "UPDATE_ROLLBACK_FAILED":
        remedy = f"`aws cloudformation continue-update-rollback --stack-name {name}`"
        return f"{name} is {status}: CloudFormation could not undo the last update; correct what its events name, then {remedy}"
    if status in ("ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "CREATE_FAILED", "DELETE_FAILED"):
        remedy = f"`aws cloudformation delete-stack --stack-name {name}`"
        return f"{name} is {status}: it never worked and cannot be updated; delete it with {remedy}, then deploy again"
    return f"{name} is {status}, a state in which it cannot be updated; see its events in the CloudFormation console"


def protected(name: str) -> str:
    """Return why a stack that is protected cannot be deleted, with the remedy."""
    remedy = f"`aws cloudformation update-termination-protection --no-enable-termination-protection --stack-name {name}`"
    return f"{name} is protected from deletion; to delete it with all its data, turn the protection off with {remedy}"
