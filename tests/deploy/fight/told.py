"""Clients and leases that write into the journal what they are asked, before they ask it, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sedano.aws.expressions import Write
from sedano.model.leases import Leased, LeaseRecord, Term
from tests.deploy.fight.journal import Journal

WRITES = frozenset({"update_item", "put_item", "delete_item", "transact_write_items", "send_message", "send_message_batch"})
Rewrite = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def as_it_is(asked: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what is asked."""
    return asked


def anyway(write: Write) -> Rewrite:
    """Return what sends *write* so that it is carried out whatever its condition says. (A value that nothing uses would be refused.)"""

    def rewrite(asked: Mapping[str, Any]) -> Mapping[str, Any]:
        if asked.get("ConditionExpression") != write.condition:
            return asked
        return {**asked, "ConditionExpression": f"({write.condition}) OR attribute_exists(pk)"}

    return rewrite


class ToldClient:
    """A client of botocore. *rewrite* changes what is sent: a planted fault."""

    def __init__(self, inner: Any, journal: Journal, rewrite: Rewrite = as_it_is) -> None:
        """Write into *journal*."""
        self._inner, self._journal, self._rewrite = inner, journal, rewrite

    def __getattr__(self, name: str) -> Any:
        """Return an operation; only writes are written down."""
        operation = getattr(self._inner, name)
        if name not in WRITES:
            return operation

        def call(**given: Any) -> Any:
            asked = self._rewrite(given)
            number = self._journal.write("asks", operation=name, asked=asked)
            try:
                answer = operation(**asked)
            except Exception as refused:
                self._journal.write("refused", of=number, why=str(refused))
                raise
            self._journal.write("done", of=number)
            return answer

        return call


class ToldLeases:
    """Leases (`sedano.ports.Leases`): takes, renewals and releases, with their answers."""

    def __init__(self, inner: Any, journal: Journal) -> None:
        """Write into *journal*."""
        self._inner, self._journal = inner, journal

    def take(self, grant: LeaseRecord, seen: LeaseRecord | None) -> Leased:
        """Take."""
        saw, held = (seen.token, seen.held) if seen is not None else (0, False)
        asked = {"lease": grant.name, "nonce": grant.nonce, "token": grant.token, "saw": saw, "held": held}
        return self._told("take", asked, lambda: self._inner.take(grant, seen))

    def renew(self, term: Term, expires: int) -> Leased:
        """Renew."""
        return self._told("renew", _named(term), lambda: self._inner.renew(term, expires))

    def release(self, term: Term, reserved: int) -> Leased:
        """Release."""
        return self._told("release", _named(term), lambda: self._inner.release(term, reserved))

    def _told(self, what: str, asked: dict[str, Any], call: Callable[[], Leased]) -> Leased:
        number = self._journal.write("leases", what=what, **asked)
        answer = call()
        self._journal.write("leased", of=number, granted=answer.done)
        return answer

    def __getattr__(self, name: str) -> Any:
        """Return what changes no holder."""
        return getattr(self._inner, name)


def _named(term: Term) -> dict[str, Any]:
    return {"lease": term.name, "nonce": term.nonce, "token": term.token}
