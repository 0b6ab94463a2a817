"""A deployment may leave out any optional port: what needs it is refused with words, everything else works."""

from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, replace
from pathlib import Path
from typing import Any

import pytest

from sedano import Breaker, Sedano, every, memory
from sedano.engine.history.recorder import Recorder
from sedano.engine.worker.pipeline import Worker, WorkerSettings
from sedano.errors import PortMissing
from sedano.model.history.run_rows import Host
from sedano.ports import Ports, command_queue
from sedano.ports.absent import REQUIRED_BY, absent, has
from sedano.sqlite.deployment import connect
from sedano.views.throughput import throughput

CORE = {"ledger", "queues", "blobs", "clock", "entropy", "telemetry"}
VALUES = {"most_budget", "store_time", "looks", "group_commit"}
"""The fields that are not ports."""
OPTIONAL = sorted(one.name for one in fields(Ports) if one.name not in CORE and one.name not in VALUES)
Call = Callable[[Sedano], Any]


@dataclass(frozen=True)
class Shop:
    """A configuration."""

    pool: int = 1


def shop() -> Sedano:
    """An app with one plain task."""
    app = Sedano("shop")

    @app.task(name="add")
    def add(a: int, b: int) -> int:
        return a + b

    return app


def without(*names: str) -> Ports:
    """A deployment in memory without these ports."""
    return replace(memory.ports(), **{name: absent(name) for name in names})


def work(app: Sedano, ports: Ports) -> None:
    """Work off what waits."""
    worker = Worker(app.registry, ports, Host("here", 1), WorkerSettings(lanes=0), app.run_loop())
    queue = command_queue("default")
    while deliveries := ports.queues.receive(queue):
        back = {one.message_id for one in worker.work(deliveries, ports.clock.now() + 900)}
        ports.queues.delete([one for one in deliveries if one.message_id not in back])
    worker.leave()


def task(**options: Any) -> Call:
    """Declare a task with *options*."""
    return lambda app: app.task(name="other", **options)(lambda a: a)


REFUSED: dict[str, dict[str, Call]] = {
    "events": {"recorder": lambda app: Recorder(app.outlet.ports, Host("here", 1))},
    "rollups": {"throughput": throughput},
    "members": {
        "members": lambda app: app.control.members(),
        "active": lambda app: app.control.inspect().active(),
        "stats": lambda app: app.control.inspect().stats(),
    },
    "direct_calls": {"call": lambda app: app.outlet.ports.direct_calls.call("{}", 1.0)},  # app.invoke goes through the queue then
    "functions": {"boxed": lambda app: app.boxed("other", function="resize")},
    "leases": {
        "singleton": task(singleton=True),
        "lock": lambda app: app.lock("one").acquire(),
        "try": lambda app: app.lock("one").try_acquire(),
        "leader": lambda app: app.leader("one").lead(),
        "partitions": lambda app: app.partitions("one", 3).balance(),
    },
    "control": {
        "pause": lambda app: app.control.pause_queue("default"),
        "resume": lambda app: app.control.resume_queue("default"),
        "revoke": lambda app: app.control.revoke_by_header("tenant", "acme"),
        "restore": lambda app: app.control.restore_by_header("tenant", "acme"),
        "hello": lambda app: app.control.hello(),
        "paused": lambda app: app.control.inspect().paused(),
        "time": lambda app: app.control.time_limit("add", 1.0),
    },
    "elections": {
        "topic": lambda app: app.election_topic("keys")(print),
        "hold": lambda app: app.control.election("e", "task", app.signature("add", (1, 2))),
        "fast": lambda app: app.control.election("e", "task", app.signature("add", (1, 2)), mode="fast"),
    },
    "flow_runs": {"command": lambda app: app.outlet.ports.flow_runs.list()},
    "memos": {
        "circuit": task(circuit=Breaker(shared=True)),
        "check": lambda app: app.health_check("web", shared=True),
        "budget": lambda app: app.budget("default"),
        "layer": lambda app: app.configure(Shop, layers=["stage:"]),
    },
    "limits": {
        "rate": task(rate="1/s"),
        "concurrency": task(concurrency=1),
        "debounce": task(debounce=1),
        "batch": task(batch=(10, 1)),
        "at run time": lambda app: app.control.rate_limit("add", "1/s"),
        "lifted": lambda app: app.control.concurrency("add", 2),
    },
    "consumers": {"budget": lambda app: app.budget("default"), "reserved": lambda app: app.control.inspect().reserved()},
    "timers": {
        "countdown": lambda app: app.signature("add", (1, 2)).apply_async(countdown=901),
        "list": lambda app: list(app.scheduled()),
        "cancel": lambda app: app.scheduled().cancel("a"),
        "inspect": lambda app: app.control.inspect().scheduled(),
    },
    "schedules": {
        "periodic": lambda app: app.periodic(every(60))(app.task(name="tick")(lambda: None)),
        "list": lambda app: app.schedules.list(),
        "add": lambda app: app.schedules.add("tick", every(60), app.signature("add", (1, 2))),
        "remove": lambda app: app.schedules.remove("tick"),
    },
    "parameters": {
        "ssm": lambda app: app.configure(Shop, layers=["ssm:/shop/"]),
        "appconfig": lambda app: app.configure(Shop, layers=["appconfig:shop/prod/settings"]),
    },
    "sinks": {"sink": lambda app: app.sink("bi")},
    "effects": {"table": lambda app: app.table("orders", key="id")},
    "seals": {"keys": lambda app: app.outlet.ports.seals.store.read()},
}
"""For each optional port the public calls that need it."""


def test_the_optional_ports_are_those_with_a_default_and_each_has_words_and_calls() -> None:
    named = {one.name for one in fields(Ports) if one.default is not MISSING} - VALUES
    assert named == set(OPTIONAL) == set(REQUIRED_BY) == set(REFUSED)


def test_memory_has_every_port_and_one_file_all_that_need_no_aws(tmp_path: Path) -> None:
    given = memory.ports()
    on_file = connect(tmp_path / "sedano.db", ("default",), given.clock, given.entropy, given.telemetry)
    assert [name for name in OPTIONAL if not has(getattr(given, name))] == []
    assert [name for name in OPTIONAL if not has(getattr(on_file, name))] == ["direct_calls", "functions"]


@pytest.mark.parametrize(("port", "name"), [(port, name) for port, calls in REFUSED.items() for name in calls])
def test_what_needs_a_missing_port_is_refused_with_words(port: str, name: str) -> None:
    app = shop()
    app.attach(without(port))
    with pytest.raises(PortMissing, match=rf"this deployment has no {port}: required by .+; give Ports\({port}=…\) an adapter") as found:
        REFUSED[port][name](app)
    assert found.value.port == port
    assert "as sedano.aws, sedano.sqlite and sedano.memory do" in str(found.value)


@pytest.mark.parametrize("missing", [[port] for port in OPTIONAL] + [OPTIONAL], ids=lambda ports: ports[0] if len(ports) == 1 else "all")
def test_plain_tasks_run_without_optional_ports(missing: list[str]) -> None:
    app, ports = shop(), without(*missing)
    app.attach(ports)
    add = app.signature("add")
    one, later = add.clone((2, 3)).delay(), add.clone((1, 1)).apply_async(countdown=5)
    chained = (app.signature("add", (1, 2)) | app.signature("add", (4,))).delay()
    revoked = add.clone((9, 9)).delay()
    assert app.control.revoke(revoked.id) == ["REVOKED"]
    with app.batch():
        many = [add.clone((n, n)).delay() for n in range(12)]
    work(app, ports)
    ports.clock.sleep(6)
    work(app, ports)
    assert (one.get(), later.get(), chained.get(), [result.get() for result in many]) == (5, 2, 7, [2 * n for n in range(12)])
    assert app.control.explain(one.id).state == "SUCCESS"
    assert ("never published" if "consumers" in missing else "nothing here knows this id") in app.control.explain("nothing").sentence
    assert ports.telemetry.messages("warning") == ports.telemetry.messages("error") == []


@pytest.mark.parametrize("port", sorted({"leases", "memos", "limits", "consumers", "schedules", "elections"}))
def test_an_app_is_refused_when_it_is_connected_to_a_deployment_without_what_it_declares(port: str) -> None:
    declared = [name for name in ("singleton", "circuit", "rate", "budget", "periodic", "topic") if name in REFUSED[port]]
    app = shop()
    REFUSED[port][declared[0]](app)
    with pytest.raises(PortMissing, match=rf"this deployment has no {port}: required by the"):
        app.attach(without(port))
    with pytest.raises(PortMissing):
        Worker(app.registry, without(port), Host("here", 1), WorkerSettings(lanes=0), None)
    app.attach(memory.ports())
