"""Health checks of a worker: their functions run when the known state has expired, and the results are stored for one worker or for all.

A function that fails unexpectedly is ignored and logged as an error (CEP). Of several functions of one check the worst state counts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sedano.errors import SedanoError
from sedano.model import health
from sedano.model.health import Health, HealthCheck
from sedano.model.memos import HEALTH, Memo, memo_name
from sedano.ports import Ports

TRIES = 4
"""How often a report is written again because another write was first."""
Report = Callable[..., None]
"""Reports a state and a short reason: `report("unhealthy", "no answer")`."""
Look = Callable[[], str | tuple[str, str]]
"""A check function: it returns the state, or the state and a short reason."""


@dataclass(slots=True)
class RegisteredCheck:
    """One check of an app: its declaration, its check functions, its watchers, and the reports since the last look."""

    spec: HealthCheck
    functions: list[Look] = field(default_factory=list)
    watchers: list[Callable[[Report], None]] = field(default_factory=list)
    inbox: deque[tuple[str, str]] = field(default_factory=lambda: deque(maxlen=1_000))

    @property
    def name(self) -> str:
        """Its name."""
        return self.spec.name


def look(check: RegisteredCheck, log: Callable[..., None]) -> tuple[str, str] | None:
    """Return the state that the functions of *check* find, and the reason; None if all of them failed, which is logged by *log*."""
    found: list[tuple[str, str]] = []
    for function in check.functions:
        try:
            answer = function()
            state, why = answer if isinstance(answer, tuple) else (answer, "")
            health.reported(check.spec, Health(check.name), state, 0.0)
            found.append((state, str(why)))
        except Exception as error:  # noqa: BLE001 - a check may fail in any way; that says nothing about what it looks at
            log("error", "health check failed; it is ignored", check=check.name, error=f"{type(error).__name__}: {error}")
    if not found:
        return None
    state = health.worst(check.spec, [one for one, _ in found])
    return state, next(why for one, why in found if one == state)


def known(ports: Ports, checks: Sequence[RegisteredCheck]) -> dict[str, Health]:
    """Return the stored states of these shared *checks*, by name."""
    names = {memo_name(HEALTH, check.name): check.name for check in checks}
    found = ports.memos.read([*names]) if names else {}
    return {name: health.from_text(found[memo].text) if memo in found else Health(name) for memo, name in names.items()}


def share(ports: Ports, change: Callable[[Health], Health], name: str) -> Health:
    """Change the stored state of the shared check *name* and return it.

    Raises:
        SedanoError: the store did not answer, or others changed it under each attempt.
    """
    memo = memo_name(HEALTH, name)
    seen = ports.memos.read([memo]).get(memo, Memo(memo))
    for _ in range(TRIES):
        before = health.from_text(seen.text) if seen.text else Health(name)
        after = change(before)
        if after == before:
            return before
        answer = ports.memos.change(Memo(memo, health.to_text(after), ports.entropy.nonce()), seen)
        if answer.done:
            return after
        seen = answer.memo
    raise SedanoError(f"health check {name}: others changed it under each of {TRIES} attempts")
