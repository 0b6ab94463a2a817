"""`app.control.scale`: one budget of bodies at once for a queue, shared by the processes and the Lambda functions that serve it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from sedano.api.control_part import ControlPart
from sedano.errors import OptionError
from sedano.model.cluster.control_record import ControlRecord, with_wish
from sedano.model.cluster.scale import checked_number


class ScaleControl(ControlPart):
    """The part of `app.control` that scales queues."""

    def scale(self, queue: str, number: int | None) -> Mapping[str, int]:
        """Let *queue* have *number* bodies at once, all hosts together, until it is changed again, also across deployments.

        Processes of `sedano worker` divide it and take their shares within two seconds. Lambda has what they leave, at least 2, with the
        next round of the controller. How many processes there are stays as it is: Fargate scales its own tasks by the backlog.

        Args:
            queue: one of the app's command queues.
            number: from 1 to 10 000; None takes the wish back: processes run as many bodies as they were started with, and Lambda's limit
                follows its budget again, or stays as it is without one.

        Returns:
            all wishes now, by queue.

        Raises:
            OptionError: the app has no such queue, or the number is not valid.
            Unavailable: the store did not answer, or others changed it under each attempt; trying again is safe.
        """
        if queue not in self._queue_names:
            raise OptionError(f"queue: {queue!r} is none of this app's queues {tuple(self._queue_names)}")
        number = None if number is None else checked_number(number)
        return self._controlling.change(partial(_with_wish, queue, number)).wished


def _with_wish(queue: str, number: int | None, record: ControlRecord, clock: int, nonce: str) -> ControlRecord:
    return with_wish(record, queue, number, clock, nonce)
