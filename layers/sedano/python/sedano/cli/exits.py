"""The exit codes of `sedano`: one closed list for all verbs, and the code of each error."""

from __future__ import annotations

from enum import IntEnum
from typing import Self

from sedano import errors


class Exit(IntEnum):
    """How a command ended. A shell reads the number; `meaning` is its description in the documentation."""

    meaning: str

    def __new__(cls, number: int, meaning: str) -> Self:
        """Return the code *number* with its *meaning*."""
        one = int.__new__(cls, number)
        one._value_ = number
        one.meaning = meaning
        return one

    DONE = 0, "The command succeeded."
    FAILED = 1, "The task or the command failed; the message says why."
    USAGE = 2, "The command line or a setting is wrong, or the command needs `--yes` because there is no terminal to ask on."
    NOT_FOUND = 3, "The task, run, queue, schedule, message or lock that you named does not exist."
    NOT_ALLOWED = 4, "The credentials lack a permission; the message names the IAM action."
    REFUSED = (
        5,
        ("The current state does not allow it: the task has ended, a lock is held, a run has another state, a folder exists, you said no."),
    )
    PROBLEMS = 6, "The command ran and found problems."
    UNREACHABLE = 69, "AWS did not answer; try again later."
    TIMEOUT = 124, "The task has not ended: `--timeout` passed, or `--wait` was not given."
    INTERRUPTED = 130, "You pressed Ctrl-C."
    PIPE = 141, "The reader of the output closed it, as in `sedano cluster | head`."


_OF_ERRORS: tuple[tuple[tuple[type[Exception], ...], Exit], ...] = (
    ((errors.NotAllowed,), Exit.NOT_ALLOWED),
    ((errors.UsageError,), Exit.USAGE),
    ((errors.UnknownTask, errors.UnknownSchedule, errors.UnknownQueue, errors.UnknownFlowRun), Exit.NOT_FOUND),
    ((errors.WrongFlowState, errors.RerunRefused, errors.FlowRunReused, errors.DuplicateTask, errors.SpendingExceeded), Exit.REFUSED),
    ((errors.LeaseTaken, errors.FencedOff), Exit.REFUSED),
    ((errors.FolderExists,), Exit.REFUSED),
    ((errors.WorkflowInvalid,), Exit.PROBLEMS),
    ((errors.ResultTimeout,), Exit.TIMEOUT),
    ((errors.Unavailable,), Exit.UNREACHABLE),
)


def exit_of(error: Exception) -> Exit:
    """Return the exit code for *error*; `FAILED` for every error without a code of its own."""
    return next((code for kinds, code in _OF_ERRORS if isinstance(error, kinds)), Exit.FAILED)
