"""The systemd units of the pages and of examples/ are right where no systemd is installed, too; `systemd-analyze` judges them elsewhere."""

import pytest

from tests.docs import systemd_units
from tests.docs.systemd_units import faults, kind, units

UNITS = units()
SERVICE = """[Unit]
Description=Publisher
Requires=shop.socket
After=network-online.target shop.socket
Wants=network-online.target

[Service]
Type=notify
WatchdogSec=30
ExecStart=/srv/shop/sedano publisher shop:app
Environment=A=1
Environment=B=2
"""
SOCKET = "[Socket]\nListenStream=/run/shop/publisher.sock\nSocketMode=0660\n"


def test_every_unit_of_the_pages_and_the_examples_is_found() -> None:
    assert sorted(UNITS) == ["docs/publisher.md 1", "docs/publisher.md 2", "docs/worker.md 1", "examples/hosting/shop-worker.service"]
    assert [kind(text) for _, text in sorted(UNITS.items())] == ["socket", "service", "service", "service"]
    lines = sum(text.count("```ini") for text in (page.read_text() for page in (systemd_units.ROOT / "docs").glob("*.md")))
    assert lines == 3, "each block of this language on a page is a unit"


@pytest.mark.parametrize("place", UNITS)
def test_a_unit_has_no_fault(place: str) -> None:
    assert list(faults(UNITS[place])) == []


@pytest.mark.parametrize(
    ("text", "before", "after", "words"),
    [
        (SERVICE, "WatchdogSec", "WatchDogSec", "[Service] WatchDogSec: unknown"),
        (SERVICE, "[Service]", "[Servise]", "[Servise] Type: unknown"),
        (SERVICE, "Type=notify", "Type=notifies", "[Service] Type=notifies: not "),
        (SERVICE, "Type=notify", "Type=simple", "write Type=notify"),
        (SERVICE, "ExecStart=/srv/shop/sedano", "ExecStart=sedano", "[Service] ExecStart=sedano publisher shop:app: not "),
        (SERVICE, "WatchdogSec=30", "WatchdogSec=30\nWatchdogSec=40", "[Service] WatchdogSec: given twice"),
        (SERVICE, "ExecStart=/srv/shop/sedano publisher shop:app\n", "", "[Service] ExecStart: missing"),
        (SERVICE, "network-online.target shop.socket", "network-online.target", "Requires=shop.socket: without After="),
        (SERVICE, "Wants=network-online.target\n", "", "without Wants=network-online.target"),
        (SERVICE, "Environment=B=2", "Environment B", "[Service] Environment B: unknown"),
        (SOCKET, "0660", "660", "[Socket] SocketMode=660: not "),
        (SOCKET, "ListenStream=/run", "ListenStream=run", "[Socket] ListenStream=run/shop/publisher.sock: not "),
    ],
)  # fmt: skip
def test_a_fault_is_named(text: str, before: str, after: str, words: str) -> None:
    assert list(faults(text)) == []
    assert before in text
    assert any(words in fault for fault in faults(text.replace(before, after))), words
