"""Stories of a stage that runs two commits at once, one of which does not know inline links."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from sedano.engine.worker.pipeline import WorkerSettings
from sedano.errors import SedanoError
from sedano.model import states
from sedano.model.ledger.records import Claim, ClaimAnswer
from tests.stories.chained import OFF, Line
from tests.stories.mutants import Delegating
from tests.stories.processes import COMMANDS
from tests.stories.taps import Crash

ON = WorkerSettings(lanes=0)


class WithoutInlineLinks(Delegating):
    """The ledger as the rule of an older commit reads it: a record that an inline link wrote belongs to another message."""

    def claim(self, claims: Sequence[Claim]) -> list[ClaimAnswer | SedanoError]:
        """Claim; hide that the record of a refused claim is of this link."""
        answers: Sequence[ClaimAnswer | SedanoError] = self.inner.claim(claims)
        return [_of_another(claim, answer) for claim, answer in zip(claims, answers, strict=True)]


def _of_another(claim: Claim, answer: ClaimAnswer | SedanoError) -> ClaimAnswer | SedanoError:
    if isinstance(answer, SedanoError) or answer.record is None or answer.record.message_id in ("", claim.message_id):
        return answer
    return answer._replace(record=answer.record._replace(message_id="a message that the older commit does not know"))


def upgraded(settings: WorkerSettings) -> tuple[Line, str]:
    """Return a chain whose worker, with *settings*, dies in its fourth link and is replaced by one of an older commit; and its state."""
    line = Line(5, settings)
    result = line.delay()

    def dies(number: int) -> None:
        if number == 3 and line.bodies[3] == 1:
            raise Crash

    line.during = dies
    with pytest.raises(Crash):
        line.processes.drain()
    line.processes.settings = OFF
    line.processes.restart(replace(line.stage.ports, ledger=WithoutInlineLinks(line.stage.ports.ledger)))
    line.processes.drain()
    return line, result.state


def test_a_worker_of_an_older_commit_loses_a_chain_that_went_on_inline() -> None:
    line, state = upgraded(ON)
    assert (state, line.bodies[4], line.stage.peek(COMMANDS)) == (states.PENDING, 0, []), "why the stage is upgraded in two steps"


def test_a_worker_that_sends_each_link_leaves_every_chain_to_an_older_commit() -> None:
    line, state = upgraded(OFF)
    assert (state, line.bodies[4]) == (states.SUCCESS, 1)
