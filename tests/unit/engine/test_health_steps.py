"""The functions of a health check, and its shared state when others change it too."""

from dataclasses import replace
from typing import Any

import pytest

from sedano import memory
from sedano.engine.health import RegisteredCheck, known, look, share
from sedano.errors import SedanoError
from sedano.model import health
from sedano.model.health import Health, HealthCheck
from sedano.model.memos import HEALTH, memo_name
from tests.unit.engine.gated import asked, world
from tests.unit.engine.test_controlling import Overtaken


def seen(*answers: Any) -> tuple[tuple[str, str] | None, list[str]]:
    """What functions with these answers find together, and what is logged."""
    logged: list[str] = []

    def function(answer: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    check = RegisteredCheck(HealthCheck("mail"), [lambda answer=answer: function(answer) for answer in answers])
    return look(check, lambda level, message, **fields: logged.append(fields["error"])), logged


def test_the_worst_state_that_the_functions_find_counts_with_its_own_reason() -> None:
    assert seen(("healthy", "fine"), ("unhealthy", "no answer"), "healthy") == (("unhealthy", "no answer"), [])
    assert seen("healthy", "healthy") == (("healthy", ""), [])


def test_a_function_that_fails_or_returns_a_state_that_is_not_declared_is_ignored_and_logged() -> None:
    found, (first, second) = seen(ValueError("no"), "purple", ("healthy", "fine"))
    assert (found, first) == (("healthy", "fine"), "ValueError: no")
    assert "purple" in second
    assert seen("purple")[0] is None


def test_without_shared_checks_nothing_is_read_and_a_check_that_was_never_looked_at_is_known_by_its_name() -> None:
    ports = world(0.5, "memos")
    assert (known(ports, []), asked(ports.memos, "read")) == ({}, [])
    assert known(ports, [RegisteredCheck(HealthCheck("mail"))]) == {"mail": Health("mail")}


def test_a_shared_state_that_does_not_change_is_returned_and_not_written() -> None:
    ports = world(0.5, "memos")
    found = share(ports, lambda before: before._replace(asked=5.0), "mail")
    assert (found.asked, share(ports, lambda before: before, "mail")) == (5.0, found)
    assert len(asked(ports.memos, "change")) == 1


@pytest.mark.parametrize("times", [1, 3, 4])
def test_a_shared_state_that_others_change_is_changed_at_the_fourth_attempt_at_the_latest(times: int) -> None:
    theirs = Health("mail", state="healthy", at=3.0)
    memos = Overtaken(times, health.to_text(theirs))
    ports = replace(memory.ports(), memos=memos)
    if times == 4:
        with pytest.raises(SedanoError, match="health check mail: others changed it under each of 4 attempts"):
            share(ports, lambda before: before._replace(asked=5.0), "mail")
        return
    assert share(ports, lambda before: before._replace(asked=5.0), "mail") == theirs._replace(asked=5.0)
    name = memo_name(HEALTH, "mail")
    assert health.from_text(memos.read([name])[name].text).asked == 5.0
