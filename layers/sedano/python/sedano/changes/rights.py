"""The IAM actions that the credentials lack, found before a change is made, by writes whose condition cannot hold.

DynamoDB has no dry run of a write. It checks the credentials before the condition. So a compare-and-swap on a state that was never stored
fails its condition if the credentials have the right, and is denied if they do not. Neither writes anything; each costs one write unit.
Verbs that only send messages have no such write: a missing right is known after the first refusal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sedano.app import Sedano
from sedano.errors import NotAllowed, SedanoError
from sedano.model.cluster.control_record import ControlRecord
from sedano.model.leases import Term
from sedano.model.ledger.records import Extension
from sedano.model.store_clock import Moment
from sedano.ports import Ports
from sedano.ports.absent import has


def missing(app: Sedano) -> dict[str, str]:
    """Return the IAM actions that the credentials lack, by the verbs that need them; a store that does not answer is ignored."""
    ports, found = app.outlet.ports, dict[str, str]()
    for verbs, probe in PROBES.items():
        try:
            probe(ports)
        except NotAllowed as refused:
            found |= dict.fromkeys(verbs, refused.action)
        except SedanoError:
            continue  # the change itself will show whether the right is missing
    return found


def _control(ports: Ports) -> None:
    if has(ports.control):
        ports.control.change(ControlRecord(nonce=ports.entropy.nonce()), ControlRecord(nonce=ports.entropy.nonce()))


def _ledger(ports: Ports) -> None:
    nonce = ports.entropy.nonce()
    ports.ledger.extend([Extension(f"sedano-right-{nonce}", nonce, 1, 0.0)])


def _leases(ports: Ports) -> None:
    if has(ports.leases):
        nonce = ports.entropy.nonce()
        unheld = Term(name=f"sedano-right-{nonce}", token=1, nonce=nonce, owner="", duration=1, expires=0, since=Moment(0.0, 0.0))
        ports.leases.release(unheld, 0)


PROBES: Mapping[tuple[str, ...], Callable[[Ports], None]] = {
    ("pause", "resume", "limit"): _control, ("revoke",): _ledger, ("release",): _leases,
}  # fmt: skip
"""The writes that detect missing rights, with the verbs that need each right."""
