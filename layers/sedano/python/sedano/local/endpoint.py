"""An AWS endpoint on this machine: ministack in its own environment, on 127.0.0.1 and a free port.

It starts empty, keeps everything in memory and under one directory, and ends when the process that started it ends, for whatever reason.
Its log is a file, so the log is complete even if a test fails. It answers only requests that are signed with the credentials that were
drawn for this run (`sedano.emulator.request_filter`), and it does not share its directory with another endpoint (`stage_directories`).
"""

import http.client
import json
import os
import secrets
import shutil
import signal
import socket
import ssl
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import boto3
import botocore.session
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials

from sedano.local.failure import LocalStageError
from sedano.local.processes import FunctionProcess, function_processes
from sedano.local.stage_directories import claim

HOST = "127.0.0.1"
REGION = "us-east-1"
SECONDS_TO_START = 60.0
_ATTEMPTS = 3
_PACKAGE = Path(__file__).resolve().parents[1]
_SUPERVISOR = Path(__file__).with_name("supervisor.py")
_INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TZ")
_LINES_SHOWN = 15
_HEALTH = "/_ministack/health"
_KEY_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


class Endpoint:
    """A running endpoint; use it in a `with` statement, which waits until it answers and stops it at the end."""

    def __init__(self, python: Path, directory: Path, *, enforce_iam: bool = False) -> None:
        """Start it: `python` is the interpreter of ministack's environment, `directory` is for its log and files.

        `enforce_iam`: each function may do only what its own role allows, and all connections use TLS, with a certificate that `openssl`
        makes.
        """
        if not python.exists():
            raise LocalStageError(f"{python} is missing: `python requirements/install.py ministack` makes it in a clone")
        if enforce_iam and not shutil.which("openssl"):
            raise LocalStageError("enforcing IAM needs TLS, and its certificate needs `openssl`: install it")
        self._python = python
        self._token = secrets.token_hex(8)
        self._enforce_iam = enforce_iam
        self._credentials = Credentials(f"AKIA{''.join(secrets.choice(_KEY_LETTERS) for _ in range(16))}", secrets.token_urlsafe(30))
        self._slot = claim(directory)
        self.directory = self._slot.path
        self._scratch = self.directory / "tmp"
        self.log = self.directory / "endpoint.log"
        self._start()

    def _start(self) -> None:
        shutil.rmtree(self._scratch, ignore_errors=True)
        self._scratch.mkdir(mode=0o700, exist_ok=True)
        library = self._scratch / "library"
        library.mkdir()
        (library / _PACKAGE.name).symlink_to(_PACKAGE)  # its folder has other packages, which the endpoint must not find
        self.port = _free_port()
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [str(self._python), str(_SUPERVISOR), "sedano.emulator", str(library)],
                cwd=self.directory,
                env=self._settings(),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _settings(self) -> dict[str, str]:
        """Return an environment without this program's variables, so that functions get only the variables that Lambda would set."""
        inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        enforcing = {"AUTH": "true", "USE_SSL": "1"} if self._enforce_iam else {}
        return {
            **inherited,
            **enforcing,
            "AWS_ACCESS_KEY_ID": self._credentials.access_key,
            "AWS_SECRET_ACCESS_KEY": self._credentials.secret_key,
            "GATEWAY_PORT": str(self.port),
            "IOT_MTLS_ENABLED": "0",
            "MINISTACK_EDITION": self._token,
            "MINISTACK_HOST": HOST,
            "MINISTACK_REGION": REGION,
            "TMPDIR": str(self._scratch),
        }

    @property
    def url(self) -> str:
        """The address at which it listens."""
        return f"{'https' if self._enforce_iam else 'http'}://{HOST}:{self.port}"

    @property
    def certificate(self) -> Path | None:
        """The certificate that clients must trust, if it uses TLS."""
        return self._scratch / "ministack-tls" / "server.crt" if self._enforce_iam else None

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which every AWS client of a process uses this endpoint."""
        direct = [os.environ[name] for name in ("NO_PROXY", "no_proxy") if name in os.environ][:1]
        trust = {"AWS_CA_BUNDLE": str(self.certificate)} if self.certificate else {}
        return {
            **trust,
            "NO_PROXY": ",".join([*direct, HOST]),
            "AWS_ENDPOINT_URL": self.url,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ACCESS_KEY_ID": self._credentials.access_key,
            "AWS_SECRET_ACCESS_KEY": self._credentials.secret_key,
        }

    def session(self) -> boto3.Session:
        """A session for its AWS clients; each client needs `endpoint_url=endpoint.url`."""
        session = botocore.session.Session()
        session.set_default_client_config(Config(proxies={}))
        if self.certificate:
            session.set_config_variable("ca_bundle", str(self.certificate))
        return boto3.Session(
            botocore_session=session,
            aws_access_key_id=self._credentials.access_key,
            aws_secret_access_key=self._credentials.secret_key,
            region_name=REGION,
        )

    def wait_until_ready(self) -> None:
        """Wait until it answers; if another program has taken its port, start again on a new one."""
        for _ in range(_ATTEMPTS):
            if self._answers_before(time.monotonic() + SECONDS_TO_START):
                return
            self._end()
            self._start()
        self.stop()
        raise LocalStageError(f"the local endpoint does not start; the end of {self.log}:\n{self.last_lines()}")

    def _answers_before(self, deadline: float) -> bool:
        while self._process.poll() is None and time.monotonic() < deadline:
            if self._is_healthy():
                return True
            time.sleep(0.05)
        return False

    def _is_healthy(self) -> bool:
        """Return whether this endpoint answers, and not another program that took the port first."""
        try:
            connection, asked = self._connection(), AWSRequest("GET", f"{self.url}{_HEALTH}")
            SigV4Auth(self._credentials, "ministack", REGION).add_auth(asked)
            connection.request("GET", _HEALTH, headers=dict(asked.headers))
            answer = json.load(connection.getresponse())
        except (OSError, http.client.HTTPException, ValueError):
            return False
        return bool(answer.get("edition") == self._token)

    def _connection(self) -> http.client.HTTPConnection:
        if self.certificate is None:
            return http.client.HTTPConnection(HOST, self.port, timeout=2)
        context = ssl.create_default_context(cafile=self.certificate)
        return http.client.HTTPSConnection(HOST, self.port, timeout=2, context=context)

    def wait(self, seconds: float | None = None) -> int | None:
        """Return its exit status if it ends without being stopped; None if it still runs after *seconds*."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def functions(self) -> list[FunctionProcess]:
        """Return the processes in which functions run now; killing one simulates a crash of Lambda."""
        return function_processes(self._process.pid)

    def last_lines(self) -> str:
        """Return the end of its log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-_LINES_SHOWN:])

    def stop(self) -> None:
        """Stop it and all its functions, and remove its files except the log."""
        self._end()
        self._slot.release()

    def _end(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def __enter__(self) -> Self:
        try:
            self.wait_until_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])
