"""Deployed functions use what the app declares: the ports that its `connect=` brings, and the settings of its workers."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from sedano import Sedano, WorkerSettings, testing
from sedano.aws.settings import command_addresses
from sedano.cli import main
from sedano.errors import ConfigurationError, OptionError
from sedano.model.messages import codec
from sedano.model.messages.message import Command
from tests.functions import afar, brought
from tests.functions.conftest import ROOT, Functions, environment, handler_of
from tests.plugins.resources import Resources

CONNECT = "tests.functions.brought:connect"
APP = {"SEDANO_APP": "tests.functions.brought:app", "SEDANO_CONNECT": CONNECT}


@pytest.fixture
def functions(resources: Resources, settings: Mapping[str, str]) -> Iterator[Functions]:
    """The functions of the app that declares, started cold."""
    brought.calls.clear()
    with environment({**settings, **APP}):
        yield Functions(resources)
    brought.app.attach(None)


def send(functions: Functions, url: str, number: int) -> None:
    """Send a command to the queue at *url*."""
    command = Command(f"m-{number}", f"t-{number}", "tests.functions.brought.add", "test", 0.0, 0, (number, 1))
    functions.sqs.send_message(QueueUrl=url, MessageBody=codec.encode(command))


def test_every_function_takes_its_own_ports_by_the_apps_connect(functions: Functions) -> None:
    assert brought.calls == ["PowertoolsTelemetry"] * 3  # a function's, where a program has another


def test_a_program_takes_its_ports_by_the_same_connect(settings: Mapping[str, str]) -> None:
    brought.calls.clear()
    with environment({**settings, **APP}):
        brought.app.outlet.ports.members.read()
    brought.app.attach(None)
    assert brought.calls == ["ProgramLog"]


def test_workers_and_the_recorder_use_the_ports_that_the_app_brings(functions: Functions, settings: Mapping[str, str]) -> None:
    url = command_addresses(settings)["default"]
    brought.calls.clear()
    for number in range(2):
        send(functions, url, number)
        assert functions.run("worker", functions.event(url)) == []
    assert brought.calls == ["beat", "beat"]  # and a worker whose heartbeat nobody set beats once a minute
    assert functions.run("recorder", functions.event(settings["SEDANO_RECORDS_QUEUE"])) == []
    assert brought.calls[2:] == ["append"]


NAMES_NO_PORTS = pytest.mark.parametrize(
    ("connect", "words"),
    [
        ("nowhere:connect", "connect 'nowhere:connect': No module named 'nowhere'; expected module:function that returns the ports"),
        ("tests.functions.brought:missing", "has no attribute 'missing'; expected module:function"),
        ("tests.functions.brought", "expected module:function"),
        ("tests.functions.brought:UNCALLED", "is a str; expected module:function"),
        ("tests.functions.brought:nothing", "returned NoneType; return sedano.ports.Ports, such as dataclasses.replace"),
    ],
)


@pytest.mark.parametrize("function", ["worker", "router", "scheduler", "controller", "stream"])
@NAMES_NO_PORTS
def test_a_function_whose_ports_nobody_brings_does_not_start(
    settings: Mapping[str, str], tmp_path: Path, function: str, connect: str, words: str
) -> None:
    app = brought.app
    before, app.connect = app.connect, connect
    try:
        with environment({**settings, **APP}), pytest.raises(ConfigurationError) as refused:
            handler_of(function)
    finally:
        app.connect = before
    assert words in str(refused.value)


@NAMES_NO_PORTS
def test_a_program_whose_ports_nobody_brings_says_the_same_words_at_its_first_use(connect: str, words: str) -> None:
    app = Sedano("astray", connect=connect)
    task = app.task(name="price")(len)
    for use in (lambda: app.outlet, lambda: task.delay("tea")):
        with pytest.raises(ConfigurationError) as refused:
            use()
        assert words in str(refused.value)


def test_the_recorder_does_not_start_without_them_either(settings: Mapping[str, str]) -> None:
    wrong = {**settings, "SEDANO_CONNECT": "nowhere:connect"}
    with environment(wrong), pytest.raises(ConfigurationError, match="connect 'nowhere:connect'"):
        handler_of("recorder")


def test_discover_names_what_the_app_brings_and_refuses_what_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["discover", "--app", "tests.functions.brought:app", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["connect"], found["worker"]["heartbeat"], found["worker"]["poison_after"]) == (CONNECT, 0.0, 2)
    assert main(["discover", "--app", "tests.functions.corner:app", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["connect"], found["worker"]) == ("", {})
    (tmp_path / "astray.py").write_text("from sedano import Sedano\n\napp = Sedano('astray', connect='ports:bring')\n")
    assert main(["discover", "--app", "astray:app", "--code", str(tmp_path)]) == 1
    assert capsys.readouterr().err == (
        "sedano discover: connect 'ports:bring': No module named 'ports'; expected module:function that returns the ports\n"
    )


def test_the_app_of_the_page_about_deploying_starts_with_its_own_port(settings: Mapping[str, str], tmp_path: Path) -> None:
    (block,) = re.findall(r"```python ports.py\n(.*?)```", (ROOT / "docs/deploy.md").read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "ports.py").write_text(block)
    program = (
        "import ports, sedano.host.functions as host; host.worker(); "
        "print(type(ports.app.outlet.ports.blobs).__name__, ports.app.worker.window)"
    )
    places = os.pathsep.join(map(str, (ROOT / "layers/sedano/python", tmp_path)))
    variables = {**os.environ, **settings, "SEDANO_APP": "ports:app", "PYTHONPATH": places}
    done = subprocess.run([sys.executable, "-c", program], env=variables, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "Watched 500\n"), done.stderr


def test_a_module_that_only_connects_is_among_the_files_that_are_deployed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "apart.py").write_text("from sedano import Sedano\n\napp = Sedano('apart', connect='ways:bring')\n")
    (tmp_path / "ways.py").write_text("def bring(): ...\n")
    assert main(["discover", "--app", "apart:app", "--code", str(tmp_path), "--json"]) == 0
    assert {Path(file).name for file in json.loads(capsys.readouterr().out)["files"]} == {"apart.py", "ways.py"}


def test_settings_of_workers_cost_a_program_no_engine() -> None:
    program = (
        "import sys; from sedano import Sedano, WorkerSettings; Sedano('a', worker=WorkerSettings()); "
        "print('sedano.engine.worker.pipeline' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], env=os.environ, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"concurrency": 0}, "worker.concurrency: 0 is not a whole number from 1 to 1000"),
        ({"concurrency": True}, "worker.concurrency: True is not a whole number"),
        ({"lanes": 17}, "worker.lanes: 17 is not a whole number from 0 to 16, as many as there are connections"),
        ({"window": -1}, "worker.window: -1 is not a whole number from 0 to 100000"),
        ({"poison_after": 0}, "worker.poison_after: 0 is not a whole number from 1 to 20"),
        ({"poison_after": 21}, "worker.poison_after: 21 is not a whole number from 1 to 20, after which every task ends"),
        ({"guard": -0.1}, "worker.guard: -0.1 is not a number of seconds from 0 to 890"),
        ({"guard": 891.0}, "worker.guard: 891.0 is not a number of seconds from 0 to 890"),
        ({"heartbeat": 121.0}, "worker.heartbeat: 121.0 is not a number of seconds from 0 to 120: a worker that was silent"),
        ({"heartbeat": float("nan")}, "worker.heartbeat: nan is not a number of seconds"),
        ({"heartbeat": "30"}, "worker.heartbeat: '30' is not a number of seconds"),
    ],
)
def test_settings_that_no_worker_can_honour_are_refused_where_they_are_declared(fields: dict[str, object], words: str) -> None:
    settings = WorkerSettings(**fields)  # type: ignore[arg-type] # wrong on purpose
    with pytest.raises(OptionError) as refused:
        Sedano("shop", worker=settings)
    assert words in str(refused.value)


def test_settings_of_another_type_are_refused() -> None:
    with pytest.raises(OptionError, match=r"^worker: expected sedano\.WorkerSettings\(…\), got dict"):
        Sedano("shop", worker={"heartbeat": 1.0})  # type: ignore[arg-type] # wrong on purpose


def test_a_world_in_memory_works_as_the_app_declares() -> None:
    app = Sedano("declared", worker=WorkerSettings(heartbeat=0.0, concurrency=4))
    with testing.world(app) as world:
        assert world.worker.settings == WorkerSettings(heartbeat=0.0, lanes=0)
    with testing.world(app, settings=WorkerSettings(window=3)) as world:
        assert world.worker.settings == WorkerSettings(window=3)


@pytest.mark.parametrize(("setting", "lines"), [({}, 1), ({"SEDANO_BROKERS": "home"}, 0)])
def test_a_function_says_once_that_it_does_not_use_the_other_brokers_of_its_app(
    settings: Mapping[str, str], caplog: pytest.LogCaptureFixture, setting: Mapping[str, str], lines: int
) -> None:
    with environment({**settings, "SEDANO_APP": "tests.functions.afar:app", **setting}):
        handler_of("router")
    afar.app.attach(None)
    found = [record for record in caplog.records if "own Region alone" in record.getMessage()]
    assert [(record.levelname, record.fields) for record in found] == [("INFO", {"unused": "eu-west-1"})] * lines  # type: ignore[attr-defined]
