"""`sedano dev` as a user meets it: real processes on a project of three files. Tests of one file share one `sedano dev`, to save time."""

import hashlib
import hmac
import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from sedano.api import dev_server
from sedano.errors import RemoteError
from tests.stories.dev_project import CODE, SECONDS, DevProject
from tests.waiting import until

SECRET = b"open sesame"


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevProject]:
    """A project on which `sedano dev` runs."""
    project = DevProject(tmp_path_factory.mktemp("shop"))
    try:
        report = project.start()
        assert report["tasks"] == 7
        assert report["database"] == str(project.folder / ".sedano" / "dev.db")
        yield project
        assert project.end() == 0
        assert not (project.folder / ".sedano" / "dev.json").exists()
    finally:
        project.close()


def post(project: DevProject, number: str, secret: bytes = SECRET, **headers: str) -> int:
    """Post to the webhook as its sender does; return the status of the answer."""
    url = urlsplit(dev_server.read(project.folder / ".sedano").webhooks)
    assert url.hostname == "127.0.0.1"
    body = json.dumps({"number": number}).encode()
    signature = hmac.new(secret, body, hashlib.sha256).hexdigest()
    connection = http.client.HTTPConnection(url.hostname, url.port or 0, timeout=SECONDS)
    connection.request("POST", "/till", body, {"X-Signature": f"sha256={signature}", **headers})
    status = connection.getresponse().status
    connection.close()
    return status


def asked(project: DevProject, method: str, query: str = "") -> tuple[int, str]:
    """Ask for the webhook's address as a sender that checks it does; return the status and the text of the answer."""
    url = urlsplit(dev_server.read(project.folder / ".sedano").webhooks)
    connection = http.client.HTTPConnection(str(url.hostname), url.port or 0, timeout=SECONDS)
    connection.request(method, f"/till{query}")
    answer = connection.getresponse()
    found = answer.status, answer.read().decode()
    connection.close()
    return found


def test_a_program_beside_it_finds_it_without_any_settings(dev: DevProject) -> None:
    program = "from shop_tasks import noisy; print(noisy.delay('tea \\x1b[2J').get(timeout=100))"
    folder = dev.folder / "deep" / "below"
    folder.mkdir(parents=True)
    environment = {**dev.environment, "PYTHONPATH": f"{dev.folder}{os.pathsep}{dev.environment['PYTHONPATH']}"}
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, env=environment, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, "tea \x1b[2J\n"), done.stderr
    assert dev.said(r"noisy\[\w{6}\] printed tea \\x1b\[2J$")
    assert dev.said(r"noisy\[\w{6}\] info shop: logged tea \\x1b\[2J$")
    assert dev.said(r"noisy\[\w{6}\] SUCCESS in \d+ ms: \"tea")


DIRECT = """
from sedano.errors import RemoteError
from shop_tasks import app, fails, noisy, version

print(app.invoke(noisy, "leaf"), app.invoke(version.s().set(task_id="called-7"), timeout=100), app.result("called-7").state)
try:
    app.invoke(fails)
except RemoteError as error:
    print(error)
"""


def test_a_direct_call_of_a_program_runs_in_its_worker(dev: DevProject) -> None:
    done = subprocess.run([sys.executable, "-c", DIRECT], cwd=dev.folder, env=dev.environment, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, "leaf 1 SUCCESS\nValueError: out of tea\n"), done.stderr
    assert dev.said(r"noisy\[\w{6}\] printed leaf$")


def test_a_failure_shows_its_traceback_and_a_retry_one_line(dev: DevProject) -> None:
    app = dev.beside()
    with pytest.raises(RemoteError, match="out of tea"):
        app.send_task("fails").get(timeout=SECONDS)
    assert dev.said(r"fails\[\w{6}\] FAILURE after .*: ValueError: out of tea$")
    assert dev.said(r'^ +File ".*shop_tasks.py", line \d+, in fails$')
    assert not [row for row in dev.lines if "sedano/engine" in row]
    with pytest.raises(RemoteError):
        app.send_task("tried").get(timeout=SECONDS)
    assert dev.said(r"tried\[\w{6}\] RETRY in \d+ ms: KeyError: 'once more' \(.*shop_tasks.py:\d+ in tried\)$")
    assert dev.said(r"tried\[\w{6}\] FAILURE")


def test_a_message_that_is_parked_is_shown_with_its_reason(dev: DevProject) -> None:
    dev.beside().send_task("noisy", kwargs={"wrong": 1})
    assert dev.said(r"PARKED \(arguments\) .*wrong")


def test_a_reload_loses_nothing_and_the_running_task_ends_on_its_own_code(dev: DevProject) -> None:
    app, go, before = dev.beside(), dev.folder / "go", len(dev.lines)
    running = app.send_task("slow", (str(go),))
    dev.said("slow begins", before)
    waiting = [app.send_task("version") for _ in range(20)]
    dev.save(2)
    dev.said("shop_tasks.py changed: reloading", before)
    assert post(dev, "during") == 202
    assert {result.get(timeout=SECONDS) for result in waiting} <= {1, 2}
    assert app.send_task("version").get(timeout=SECONDS) == 2
    assert post(dev, "after") == 202
    dev.said("^asked version 2$", before)
    assert not running.ready(), "the old worker runs its task while the new one answers webhooks"
    go.touch()
    assert running.get(timeout=SECONDS) == 1
    for number in ("during", "after"):
        dev.said(f"receipt {number}", before)


def test_code_that_does_not_load_shows_the_users_frames_and_messages_wait(dev: DevProject) -> None:
    app, before = dev.beside(), len(dev.lines)
    dev.save(3, CODE + "\n\ndef broken():\n    return 1 / 0\n\n\nbroken()\n")
    dev.said("shop_tasks:app does not load; messages wait until it does: ZeroDivisionError", before)
    dev.said(r'^ +File ".*shop_tasks.py", line \d+, in broken$', before)
    result = app.send_task("version")
    dev.save(3, CODE + "\n\nbroken(\n")
    dev.said("SyntaxError: '.' was never closed", before)
    dev.said("1 message waits for code that loads", before)
    assert not [row for row in dev.lines[before:] if "importlib" in row or "sedano/" in row]
    dev.save(4)
    assert result.get(timeout=SECONDS) == 4


def test_a_killed_worker_is_replaced_and_its_task_runs_again(dev: DevProject) -> None:
    app, go, before = dev.beside(), dev.folder / "go on", len(dev.lines)
    running = app.send_task("slow", (str(go),))
    pid = int(dev.said("slow begins", before).rpartition(" ")[2])
    assert b"sesame" not in Path(f"/proc/{pid}/cmdline").read_bytes(), "other users can read a command line"
    os.kill(pid, signal.SIGKILL)
    dev.said("the worker ended: signal 9; a new one starts", before)
    go.touch()
    assert running.get(timeout=SECONDS) == 4


def test_processes_that_a_task_has_started_end_with_a_worker_that_dies(dev: DevProject) -> None:
    note, before = dev.folder / "note", len(dev.lines)
    result = dev.beside().send_task("parent", (str(note),))
    dev.said("the worker ended: exit status 9; a new one starts", before)
    started = int(note.read_text())
    until(lambda: not Path(f"/proc/{started}").exists() or Path(f"/proc/{started}/stat").read_text().split()[2] == "Z")
    result.revoke()


def test_webhooks_need_the_secret_and_refuse_web_pages(dev: DevProject) -> None:
    assert post(dev, "signed") == 202
    assert dev.said("receipt signed")
    assert post(dev, "forged", b"guess") == 401
    assert post(dev, "page", Origin="http://evil.example") == 403


def test_webhooks_answer_senders_that_check_the_address(dev: DevProject) -> None:
    assert asked(dev, "GET", "?challenge=abc-1") == (200, "abc-1")
    assert asked(dev, "HEAD") == (200, "")
    assert asked(dev, "GET") == (405, "a webhook takes POST")


def test_a_second_one_in_the_folder_is_refused_and_says_who_has_it(dev: DevProject) -> None:
    second = dev.command()
    out, err = second.communicate(timeout=SECONDS)
    assert second.returncode == 2
    assert out == ""
    assert dev.process is not None
    holder = f"process {dev.process.pid}, app shop_tasks:app with webhooks at http://127.0.0.1:"
    assert f"`sedano dev` already runs in {dev.folder}: {holder}" in err
    assert (dev.folder / ".sedano" / "dev.json").exists()
    assert Path(dev.folder / ".sedano" / ".gitignore").read_text() == "*\n"


def test_a_mandatory_boot_step_that_fails_lets_messages_wait_for_code_that_boots(dev: DevProject) -> None:
    app, before = dev.beside(), len(dev.lines)
    dev.save(3, CODE + "\n\n@app.boot\ndef database():\n    raise OSError('away')\n")
    dev.said("shop_tasks:app does not load; messages wait until it does: BootFailed: boot step database: OSError: away", before)
    result = app.send_task("version")
    dev.said("1 message waits for code that loads", before)
    dev.save(4, CODE + "\n\n@app.boot\ndef database():\n    print('booted')\n")
    dev.said("booted", before)
    assert result.get(timeout=SECONDS) == 4
