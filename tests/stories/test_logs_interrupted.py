"""Ctrl-C ends `sedano logs --follow` as it ends every verb: in a process of its own, against an AWS on this machine."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from sedano.cli.exits import Exit
from tests.ctrl_c import HEARS_CTRL_C

GROUP = "/of/worker"
_XML = {
    "GetCallerIdentity": "<Arn>arn:aws:iam::123456789012:user/me</Arn><UserId>me</UserId><Account>123456789012</Account>",
    "AssumeRole": (
        "<Credentials><AccessKeyId>a</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>"
        "<Expiration>2099-01-01T00:00:00Z</Expiration></Credentials>"
    ),
    "DescribeStacks": (
        "<Stacks><member><StackName>sedano-dev-core</StackName><CreationTime>2026-01-01T00:00:00Z</CreationTime>"
        "<StackStatus>CREATE_COMPLETE</StackStatus></member></Stacks>"
    ),
    "ListStackResources": (
        "<StackResourceSummaries><member><LogicalResourceId>WorkerLogs1A2B3C4D</LogicalResourceId>"
        f"<PhysicalResourceId>{GROUP}</PhysicalResourceId><ResourceType>AWS::Logs::LogGroup</ResourceType>"
        "<LastUpdatedTimestamp>2026-01-01T00:00:00Z</LastUpdatedTimestamp><ResourceStatus>CREATE_COMPLETE</ResourceStatus>"
        "</member></StackResourceSummaries>"
    ),
}
_LINE = b'{"events": [{"eventId": "1", "logStreamName": "one", "timestamp": 1795478400000, "message": "baked\\n"}]}'


class OneStage(BaseHTTPRequestHandler):
    """STS, CloudFormation and CloudWatch Logs of one stage with one line."""

    def do_POST(self) -> None:
        """Answer a call."""
        asked = self.rfile.read(int(self.headers["Content-Length"])).decode()
        name = next((one for one in _XML if f"Action={one}&" in asked), "")
        body = f"<{name}Response><{name}Result>{_XML[name]}</{name}Result></{name}Response>".encode() if name else _LINE
        self.send_response(200)
        self.send_header("Content-Type", "text/xml" if name else "application/x-amz-json-1.1")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *_: Any) -> None:  # noqa: A002 - the name of the base
        """Log nothing."""


@contextmanager
def served() -> Iterator[str]:
    """The address of the stage's services."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), OneStage)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_who_interrupts_the_following_of_logs_meets_no_traceback(tmp_path: Path, options: list[str]) -> None:
    with served() as address:
        variables = {
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PATH": os.environ["PATH"], "HOME": str(tmp_path),
            "AWS_ENDPOINT_URL": address, "AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "s",
        }  # fmt: skip
        command = [*HEARS_CTRL_C, sys.executable, "-m", "sedano", "logs", "--follow", "--stage", "dev", *options]
        told = subprocess.Popen(command, env=variables, cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert told.stdout is not None
        line = told.stdout.readline()
        told.send_signal(signal.SIGINT)
        out, err = told.communicate()
    assert "baked" in line, err
    assert (out, told.returncode) == ("", Exit.INTERRUPTED)
    assert err.splitlines() == ["account 123456789012, eu-central-1, stage dev", "sedano logs: interrupted"]
