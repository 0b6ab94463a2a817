"""The strict AWS reaches the programs that a test starts."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.strict_aws.child import Strict, strict

ROOT = Path(__file__).resolve().parents[2]
AWS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "eu-central-1"}
SENDS = """
import sys
from botocore.exceptions import EndpointConnectionError
from sedano.aws.client.session import Session
sqs = Session(endpoint_url="http://127.0.0.1:9", retries={"total_max_attempts": 1}).client("sqs")
try:
    sqs.send_message(QueueUrl="http://127.0.0.1:9/123456789012/q", MessageBody="x" * int(sys.argv[1]))
except EndpointConnectionError:
    print("left")
"""
SWALLOWS = """
import os, subprocess, sys

def test_swallows(strict_child):
    environment = strict_child({**os.environ, **%r})
    assert subprocess.run([sys.executable, "-c", %r, "1048577"], env=environment).returncode == 1
"""
MOST = 1_048_576


def sent(size: int, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """What a program says that sends a message of so many bytes."""
    command = [sys.executable, "-c", SENDS, str(size)]
    return subprocess.run(command, env={**os.environ, **AWS, **environment}, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("path", [{}, {"PYTHONPATH": str(ROOT / "layers" / "sedano" / "python")}])
def test_a_request_of_a_child_program_that_aws_would_refuse_never_leaves(tmp_path: Path, path: Mapping[str, str]) -> None:
    notes = tmp_path / "refused"
    environment = strict({**os.environ, **path}, notes)
    done = sent(MOST + 1, environment)
    assert (done.returncode, done.stdout) == (1, "")
    refused = done.stderr.splitlines()[-1]
    assert refused.startswith("sedano.testing.strict_aws.hook.TrippedError: ")
    assert "sqs.total: sqs SendMessage: " in refused
    assert notes.read_text() == refused.partition("TrippedError: ")[2] + "\n"


def test_a_request_that_aws_takes_leaves(strict_child: Strict) -> None:
    done = sent(MOST, strict_child(os.environ))
    assert (done.returncode, done.stdout) == (0, "left\n"), done.stderr


def test_a_program_without_aws_imports_nothing_of_it(strict_child: Strict) -> None:
    program = "import sys; print([name for name in sys.modules if name.partition('.')[0] in ('botocore', 'tests')])"
    done = subprocess.run([sys.executable, "-c", program], env=strict_child(os.environ), capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_test_fails_whose_child_program_swallowed_what_aws_refuses(tmp_path: Path) -> None:
    (tmp_path / "test_swallows.py").write_text(SWALLOWS % (AWS, SENDS))
    options = ["-q", "-p", "tests.plugins.strict_aws", "-c", os.devnull, "--rootdir", str(tmp_path), str(tmp_path)]
    done = subprocess.run([sys.executable, "-m", "pytest", *options], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "1 passed, 1 error" in done.stdout, done.stdout
    assert "sqs.total: sqs SendMessage" in done.stdout
