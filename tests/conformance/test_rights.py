"""A look at the rights of the credentials writes nothing in any world, and finds no right missing where all are there."""

from sedano import Sedano
from sedano.changes.rights import PROBES, missing
from tests.conformance.test_views import app

__all__ = ["app"]


def test_a_look_at_the_rights_finds_all_and_changes_nothing(app: Sedano) -> None:
    ports = app.outlet.ports
    before = (ports.control.read(), ports.ledger.read(["odd", "waits"]), ports.leases.read(["lock/nightly"]))
    assert missing(app) == {}
    assert (ports.control.read(), ports.ledger.read(["odd", "waits"]), ports.leases.read(["lock/nightly"])) == before
    assert {verb for verbs in PROBES for verb in verbs} == {"pause", "resume", "limit", "revoke", "release"}
