"""How a program finds `sedano dev`: which file counts, which is stale, and which environment decides instead."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sedano import Sedano
from sedano.api import dev_server
from sedano.api.connector import DEPLOYMENT
from sedano.api.dev_server import DevServer
from sedano.dev.folder import DevFolder
from sedano.errors import ConfigurationError, UsageError
from sedano.host import one_file

HOLDS = "import sys; from pathlib import Path; from sedano.dev.folder import DevFolder\n"
HOLDS += "DevFolder(Path(sys.argv[1])).acquire(); print('held', flush=True); sys.stdin.read()"
STRANGE = ["", "[]", "{}", '{"version": 2}', '{"version": 1, "pid": "x"}', "[" * 100_000, "\x00"]


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Path]:
    """A project whose lock another process holds, with the file of a server."""
    holder = subprocess.Popen([sys.executable, "-c", HOLDS, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    DevFolder(tmp_path).announce(DevServer(holder.pid, "shop:app", str(tmp_path / ".sedano" / "dev.db"), ("default", "bulk")))
    yield tmp_path
    holder.communicate(timeout=60)


def test_a_program_below_the_folder_is_connected_to_its_database(held: Path) -> None:
    below = held / "a" / "b"
    below.mkdir(parents=True)
    ports = dev_server.ports_beside({}, below)
    assert ports is not None
    assert ports.queues.send("commands:bulk", []) == []
    assert (held / ".sedano" / "dev.db").exists() is False, "nothing is made before the first use"
    assert dev_server.ports_beside({"SEDANO_DEV": "off"}, below) is None


def test_the_file_holds_what_was_announced_and_only_its_owner_can_read_it(held: Path) -> None:
    server = dev_server.read(held / ".sedano")
    assert (server.app, server.queues, server.webhooks) == ("shop:app", ("default", "bulk"), "")
    assert (held / ".sedano" / "dev.json").stat().st_mode & 0o777 == 0o600
    assert (held / ".sedano").stat().st_mode & 0o777 == 0o700


def test_a_second_holder_is_refused_with_the_name_of_the_first(held: Path) -> None:
    server = dev_server.read(held / ".sedano")
    with pytest.raises(UsageError, match=rf"already runs in {held}: process {server.pid}, app shop:app; use that one, or stop it"):
        DevFolder(held).acquire()
    (held / ".sedano" / "dev.json").unlink()
    with pytest.raises(UsageError, match=f"another `sedano dev` starts or runs in {held}"):
        DevFolder(held).acquire()


def test_a_file_that_a_killed_one_left_is_stale(tmp_path: Path) -> None:
    folder = DevFolder(tmp_path)
    folder.acquire()
    folder.announce(DevServer(1, "shop:app", "x", ("default",)))
    os.close(folder._lock or 0)
    with pytest.raises(ConfigurationError, match=r"dev.json is stale: the `sedano dev` of process 1 has ended; start"):
        dev_server.ports_beside({}, tmp_path)


@pytest.mark.parametrize("text", STRANGE, ids=range(len(STRANGE)))
def test_a_file_that_cannot_be_read_is_an_error_that_says_what_to_do(tmp_path: Path, text: str) -> None:
    (tmp_path / ".sedano").mkdir(mode=0o700)
    (tmp_path / ".sedano" / "dev.json").write_text(text)
    with pytest.raises(ConfigurationError, match=r"cannot be read .*; delete it, and start `sedano dev` in"):
        dev_server.ports_beside({}, tmp_path)


@pytest.mark.parametrize("mode", [0o666, 0o620])
def test_a_file_that_others_can_write_is_ignored(tmp_path: Path, mode: int) -> None:
    folder = DevFolder(tmp_path)
    folder.acquire()
    folder.announce(DevServer(1, "shop:app", "x", ("default",)))
    file = tmp_path / ".sedano" / "dev.json"
    assert dev_server.found(tmp_path) is not None
    file.chmod(mode)
    assert dev_server.found(tmp_path) is None
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    assert dev_server.found(tmp_path) is None
    folder.release()


ASKS = """
import os
from sedano import Sedano
from sedano.api.connector import DEPLOYMENT
for name in ("", *DEPLOYMENT):
    os.environ |= {**dict.fromkeys(DEPLOYMENT, ""), **({name: "x"} if name else {})}
    try:
        Sedano("shop").outlet
    except Exception as error:
        print(name, type(error).__name__, str(error))
    else:
        print(name, "connected")
"""


def asked(folder: Path) -> list[str]:
    """How an app is connected in *folder*: without a deployment, and with each variable that names one."""
    done = subprocess.run([sys.executable, "-c", ASKS], cwd=folder, env={**os.environ}, text=True, capture_output=True, check=True)
    return done.stdout.splitlines()


def test_an_environment_that_names_a_deployment_decides(held: Path) -> None:
    alone, *named = asked(held)
    assert alone == " connected"
    assert [row.split()[:2] for row in named] == [[name, "ConfigurationError"] for name in DEPLOYMENT]


def test_without_either_the_error_names_both_ways(tmp_path: Path) -> None:
    assert "without AWS, start `sedano dev` in the project's folder" in asked(tmp_path)[0]


def test_state_that_is_set_aside_is_numbered_and_keeps_its_rows(tmp_path: Path) -> None:
    folder = DevFolder(tmp_path)
    folder.acquire()
    assert folder.set_aside() is None

    for number in (1, 2):
        app = Sedano("shop")
        app.attach(one_file.ports(folder.database))
        result = app.send_task(f"task{number}")
        assert folder.set_aside() == folder.path / f"dev.db.{number}"
        assert not folder.database.exists()
        app.attach(one_file.ports(folder.path / f"dev.db.{number}"))
        (kept,) = app.outlet.ports.queues.receive("commands:default")
        assert result.id in kept.body
    folder.release()
