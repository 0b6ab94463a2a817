"""The order in which a process of workers ends: what waits goes back first, what runs is recorded, then its lanes leave the cluster."""

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sedano import Retry, Sedano
from sedano.host import one_file
from sedano.ports import Ports, command_queue
from tests.stories.lanes_in_threads import SECONDS, VISIBILITY_S, Process
from tests.stories.mutants import Delegating
from tests.waiting import until

QUEUE = command_queue("default")


class Noted(Delegating):
    """A port whose calls are written down before they are made: *name* makes the entry of a call, or None."""

    def __init__(self, inner: Any, calls: dict[str, Any], lines: list[str]) -> None:
        super().__init__(inner)
        self.calls, self.lines = calls, lines

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.inner, name)
        if name not in self.calls:
            return found

        def call(*given: Any) -> Any:
            line = self.calls[name](*given)
            if line:
                self.lines.append(line)
            return found(*given)

        return call


def noted(ports: Ports, lines: list[str]) -> Ports:
    """Return *ports* whose calls of a drain are written into *lines*."""
    queues = {
        "receive": lambda queue, *_: "receive" if queue == QUEUE else None,
        "hold": lambda _, seconds: "give back" if seconds == 0 else None,
        "delete": lambda deliveries: "delete" if deliveries[0].queue == QUEUE else None,
    }
    ledger = {"record": lambda outcomes: f"record {outcomes[0].state}"}
    members = {"beat": lambda record: record.state if record.state == "LEFT" else None}
    return replace(
        ports, queues=Noted(ports.queues, queues, lines), ledger=Noted(ports.ledger, ledger, lines),
        members=Noted(ports.members, members, lines),
    )  # fmt: skip


@pytest.fixture
def ports(tmp_path: Path) -> Ports:
    return one_file.ports(tmp_path / "own" / "sedano.db", ("default",), VISIBILITY_S)


def drained(ports: Ports, drain: float, *, ends: bool) -> tuple[list[str], list[str]]:
    """Drain a process of two lanes whose body ends during the drain, or does not; return its calls, and what the members were before."""
    app, lines = Sedano("drained", retry=Retry(max_retries=0)), list[str]()
    began, go = threading.Event(), threading.Event()

    @app.task(name="works")
    def works() -> str:
        began.set()
        assert go.wait(SECONDS)
        return "done"

    one = Process(app, noted(ports, lines), concurrency=2, drain=drain)
    try:
        until(lambda: len(ports.members.read()) == 2)
        works.delay()
        assert began.wait(SECONDS)
        ended = threading.Thread(target=one.end)
        lines.clear()
        ended.start()
        if ends:
            until(lambda: one.process.is_stopping)
            states = [member.state for member in ports.members.read()]
            go.set()
        else:
            states = [member.state for member in ports.members.read()]
        ended.join(SECONDS)
        return lines, states
    finally:
        go.set()


def test_a_process_leaves_the_cluster_at_once_after_the_last_record_and_the_last_deletion(ports: Ports) -> None:
    lines, before = drained(ports, 20.0, ends=True)
    order = [line for line in lines if line != "receive"]
    assert before == ["ACTIVE"] * 2, "a member that still works has not left"
    assert order == ["record SUCCESS", "delete", "LEFT", "LEFT"]
    assert [member.state for member in ports.members.read()] == ["LEFT"] * 2
    assert "receive" not in lines[lines.index("record SUCCESS") :], "nothing is received any more"


def test_a_body_that_is_cut_is_released_and_given_back_before_its_process_leaves(ports: Ports) -> None:
    lines, _ = drained(ports, 0.0, ends=False)
    order = [line for line in lines if line != "receive"]
    assert [*dict.fromkeys(order)] == ["record RETRY", "give back", "LEFT"], "its own open request may receive it: that goes back too"
    assert order.count("LEFT") == 2
    assert [member.state for member in ports.members.read()] == ["LEFT"] * 2
