"""`sedano publisher` as real processes: programs publish by its socket, and nothing is lost when it ends, in whatever way."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from sedano.engine.drafts import Addressed
from sedano.engine.publisher.spool import Spool
from sedano.ports import Outgoing
from tests.stories.many_programs import SECONDS, ManyPrograms, many
from tests.waiting import until

__all__ = ["many"]
ROOT = Path(__file__).parents[2]

def talk(many: ManyPrograms, data: bytes) -> list[str]:
    """Write *data* to the publisher, and return its lines until it closes or is silent."""
    with socket.socket(socket.AF_UNIX) as channel:
        channel.settimeout(SECONDS)
        channel.connect(str(many.sock))
        channel.sendall(data)
        channel.shutdown(socket.SHUT_WR)
        with channel.makefile(encoding="utf-8") as lines:
            return list(lines)


@pytest.mark.parametrize("ack", ["sent", "stored"])
def test_programs_publish_by_the_publisher_and_load_no_client_of_aws(many: ManyPrograms, ack: str) -> None:
    many.publisher("--ack", ack)
    code = "import sys; from many_tasks import add; [add.delay(n) for n in range(12)]; print(any('botocore' in m for m in sys.modules))"
    assert many.program(code) == "False\n"
    until(lambda: many.waiting() == 12)
    assert oct(many.sock.stat().st_mode)[-3:] == "660"
    assert many.end() == 0
    assert not many.sock.exists()
    (stopped,) = many.said("the publisher has stopped")
    assert stopped["fields"] == {"sent": 12, "refused": 0, "stored": 0, "unsent": 0}


def test_a_program_over_aws_needs_no_variables_of_a_stage_and_no_client_of_aws(many: ManyPrograms) -> None:
    many.publisher()
    code = "import sys; from sedano import Sedano; Sedano('x').task(name='add')(lambda n: n).delay(1); print('botocore' in sys.modules)"
    assert many.program(code) == "False\n"
    assert many.waiting() == 1


def test_a_program_sends_itself_when_the_publisher_is_away_and_by_it_when_it_is_there(many: ManyPrograms) -> None:
    code = "from many_tasks import add; add.delay(1); from many_tasks import app; print(app.outlet.ports.queues._state.trips)"
    assert many.program(code) == "1\n"
    assert many.waiting() == 1
    many.publisher()
    assert many.program(code) == "0\n"
    assert many.waiting() == 2


def test_a_publisher_that_hangs_costs_a_program_half_of_its_time_and_no_message(many: ManyPrograms) -> None:
    process = many.publisher()
    process.send_signal(signal.SIGSTOP)
    code = "import time; from many_tasks import add; t = time.monotonic(); add.delay(1); add.delay(2); print(time.monotonic() - t < 5)"
    assert many.program(code, SEDANO_CALL_TIMEOUT="1") == "True\n"
    assert many.waiting() == 2
    process.send_signal(signal.SIGCONT)
    assert many.end() == 0


def test_messages_that_keep_order_are_sent_by_the_program(many: ManyPrograms) -> None:
    many.publisher()
    many.program("from many_tasks import ordered; [ordered.delay(n) for n in range(3)]")
    assert many.waiting("orders.fifo") == 3
    assert many.end() == 0
    assert many.said("the publisher has stopped")[0]["fields"]["sent"] == 0


def test_a_line_of_a_shell_publishes_and_bytes_that_cannot_be_read_end_their_connection_alone(many: ManyPrograms) -> None:
    many.publisher()
    assert talk(many, b"PUB 1 commands:default 0 - 2\nhiPUB 2 commands:default 5 acme 2\nhi")[1:] == ["+2\n"]
    info, queued, stat, error = talk(many, b"PUB 1 commands:default 0 - 2\nhiPUB 2 records 0 - 2\nhiSTAT\nPUB 7 commands:default 0 - 2\nhi")
    assert info.startswith('INFO {"ack":"sent","deployment":"')
    assert queued == "-2 queue 'records' is not a command queue or 'events', to which programs publish\n"
    assert json.loads(stat.removeprefix("STAT ")) == {"calls": 1, "programs": 1, "refused": 1, "sent": 2, "stored": 0, "waiting": 0}
    assert error == "ERR order publication 7 follows 2; number them 1, 2, 3, …\n"
    refused = {
        b"PUB 1 commands:none 0 - 2\nhi": "-1 queue queue: 'none' is not known to this deployment",
        b"PUB 1 commands:default 901 - 2\nhi": "-1 refused delay: 901 is not between 0 and 900 seconds",
        b"PUB 1 commands:orders.fifo 0 - 2\nhi": "-1 refused serial_key: commands:orders.fifo keeps order within a key",
        b"PUB 1 commands:default 0 - 0\n": "-1 refused malformed: body: is empty",
        b"PUB 1 commands:default 0 - 9999999\n": "ERR too_large 9999999 bytes; a message may have 1048576",
        b"\x00\xff" * 400: "ERR malformed a line has more than 512 bytes",
    }
    for data, line in refused.items():
        assert talk(many, data)[1].startswith(line), data
    many.program("from many_tasks import add; add.delay(1)")
    until(lambda: many.waiting() == 3)
    assert many.end() == 0


def test_systemd_passes_the_socket_and_hears_of_the_publisher(many: ManyPrograms) -> None:
    with socket.socket(socket.AF_UNIX) as listens, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        listens.bind(str(many.sock))
        listens.listen(8)
        manager.bind(str(many.folder / "notify"))
        manager.settimeout(SECONDS)
        code = (
            f"import os; os.dup2({listens.fileno()}, 3); os.set_inheritable(3, True)\n"
            "os.environ |= {'LISTEN_FDS': '1', 'LISTEN_PID': str(os.getpid())}\n"
            "import sys; os.execv(sys.executable, [sys.executable, '-m', 'sedano', 'publisher', 'many_tasks:app', '--json'])"
        )
        os.set_inheritable(listens.fileno(), True)
        words = (sys.executable, "-c", code)
        process = subprocess.Popen(
            words, cwd=many.folder, env={**many.environment, "NOTIFY_SOCKET": str(many.folder / "notify")}, close_fds=False,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            assert manager.recv(1024).decode().splitlines() == ["READY=1", "STATUS=ack=sent"]
            many.program("from many_tasks import add; add.delay(1)")
            process.send_signal(signal.SIGTERM)
            assert manager.recv(1024).decode().splitlines() == ["STOPPING=1", "EXTEND_TIMEOUT_USEC=15000000", "STATUS=draining"]
            assert process.wait(SECONDS) == 0
        finally:
            process.kill()
            process.wait()
        assert many.sock.exists(), "the socket is systemd's"
        assert many.waiting() == 1


def test_what_cannot_run_is_refused(many: ManyPrograms) -> None:
    (many.folder / "file").touch()
    cases = {
        ("--socket", ""): "--socket: name the socket, such as /run/shop/publisher.sock, or start the publisher by a systemd socket unit",
        ("--socket", str(many.folder / "file")): "is a file and not a socket; name another path, or delete it",
        ("--socket", "/nonexistent/p.sock"): "No such file or directory; name a path in a directory that this user may write to",
        ("--socket", "/" + "x" * 120): "has more than 107 bytes, which no socket may have",
        ("--allow", "no-such-user-here"): "this host has no user 'no-such-user-here'",
    }
    for options, error in cases.items():
        process = many.publisher(*options, ready=False)
        assert process.wait(SECONDS) == 2, options
        many._reader.join(SECONDS)
        assert error in "".join(line.get("other", "") for line in many.log), (options, many.log)
    process = many.publisher("--ack", "stored", ready=False, SEDANO_SPOOL="off")
    assert process.wait(SECONDS) == 2
    many._reader.join(SECONDS)
    assert "--ack stored: this host has no spool" in many.log[-1]["other"]


def test_a_second_publisher_is_refused_and_the_socket_of_a_killed_one_is_replaced(many: ManyPrograms) -> None:
    many.publisher()
    other = subprocess.run(
        [sys.executable, "-m", "sedano", "publisher", "many_tasks:app", "--socket", str(many.sock)], cwd=many.folder,
        env=many.environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert other.returncode == 2
    assert f"another process listens at {many.sock}; stop it, or name another path" in other.stderr
    assert many.end(signal.SIGKILL) == -signal.SIGKILL
    assert many.sock.exists()
    many.log.clear()
    many.publisher()
    assert many.end() == 0


def test_a_publisher_sends_what_another_program_of_the_app_has_stored(many: ManyPrograms) -> None:
    many.publisher("--ack", "stored")
    code = "from many_tasks import add, app; add.delay(1); print(app.outlet.ports.queues._state.trips)"
    assert many.program(code) == "0\n"
    (database,) = (many.folder / "spool").rglob("spool.db")
    until(lambda: many.waiting() == 1)
    with closing(Spool(database.parent)) as other:
        other.keep([Addressed("commands:default", Outgoing("{}")) for _ in range(2)], time.time())
        until(lambda: many.waiting() == 3)
        until(lambda: not other.waiting())
    assert many.end() == 0
    assert many.said("the publisher has stopped")[0]["fields"] == {"sent": 3, "refused": 0, "stored": 0, "unsent": 0}


KILLS = int(os.environ.get("SEDANO_KILLS", "14"))
"""How many publishers are ended while programs publish; a release is checked with 500."""


@pytest.mark.parametrize("ack", ["sent", "stored"])
def test_nothing_that_was_confirmed_is_lost_to_a_publisher_that_is_killed_anywhere(tmp_path: Path, ack: str) -> None:
    environment = {**os.environ, "SHELF": str(tmp_path), "SEDANO_SPOOL": str(tmp_path / "spool"), "PYTHONPATH": os.pathsep.join(sys.path)}
    rounds = max(1, KILLS // 2)
    command = [sys.executable, "-m", "tests.stories.programs.relay", str(tmp_path), str(rounds), os.environ.get("SEED", "1"), ack]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60 + 10 * rounds, check=False)
    assert (done.returncode, done.stdout) == (0, "0\n"), (done.stderr, (tmp_path / "log").read_text()[-2_000:])
    confirmed = (tmp_path / "confirmed").read_text().split()
    messages = [json.loads(line) for line in (tmp_path / "sent").read_text().splitlines()]
    assert len(confirmed) > 2 * rounds, "the programs come far enough"
    assert set(confirmed) - {message["data"]["args"][0] for message in messages} == set()
    assert sum(Spool(path.parent).waiting() for path in (tmp_path / "spool").rglob("spool.db")) == 0
    assert len(messages) - len({message["id"] for message in messages}) <= rounds * (2 * 10 + 3), "the batches of two lanes"
    ids: dict[str, set[tuple[str, str]]] = {}
    for message in messages:
        ids.setdefault(message["data"]["args"][0], set()).add((message["id"], message["subject"]))
    assert {name for name, found in ids.items() if len(found) != 1} == set(), "a copy bears the id by which its claim absorbs it"
