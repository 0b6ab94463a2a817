"""The stage on this machine: all of it is created, it is this machine's alone, and it ends with the process that started it."""

import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from sedano.aws.settings import command_addresses
from sedano.deploy.assembly import archive
from sedano.local import Endpoint, LocalStage, LocalStageError
from sedano.local.deployment import deploy
from sedano.local.stage import ENDPOINT_PYTHON
from sedano.local.synthesis import ROOT
from sedano.local.time_limits import LogTail, notices
from tests.ctrl_c import HEARS_CTRL_C
from tests.plugins.resources import APP, CODE, QUEUES, Resources

LIBRARY = ROOT / "layers" / "sedano" / "python"
STARTER = """
import sys, time
from pathlib import Path
from sedano.local import Endpoint
with Endpoint(Path(sys.argv[1]), Path(sys.argv[2])) as endpoint:
    print(endpoint.port, flush=True)
    endpoint.wait()
"""


def test_every_resource_of_every_stack_is_created(ministack: LocalStage) -> None:
    cloudformation = ministack.endpoint.session().client("cloudformation", endpoint_url=ministack.endpoint.url)
    assert ministack.stacks == ("sedano-dev-state", "sedano-dev-core")
    for stack in ministack.stacks:
        assert cloudformation.describe_stacks(StackName=stack)["Stacks"][0]["StackStatus"] == "CREATE_COMPLETE"
        pages = cloudformation.get_paginator("list_stack_resources").paginate(StackName=stack)
        states = [resource["ResourceStatus"] for page in pages for resource in page["StackResourceSummaries"]]
        assert set(states) == {"CREATE_COMPLETE"}


def test_the_environment_names_the_endpoint_and_every_resource(ministack: LocalStage) -> None:
    assert ministack.environment["AWS_ENDPOINT_URL"].startswith("http://127.0.0.1:")
    assert ministack.environment["SEDANO_APP"] == APP
    sqs = ministack.endpoint.session().client("sqs", endpoint_url=ministack.endpoint.url)
    urls = [*command_addresses(ministack.environment).values(), ministack.environment["SEDANO_PARKED_QUEUE"]]
    for url in urls:
        assert sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]


def test_nobody_but_this_machine_reaches_the_endpoint(ministack: LocalStage) -> None:
    listening = Path("/proc/net/tcp")
    if not listening.exists():
        pytest.skip("this system does not list its sockets in /proc")
    port = f":{ministack.endpoint.port:04X}"
    rows = [line.split() for line in listening.read_text().splitlines()[1:]]
    addresses = {row[1].split(":")[0] for row in rows if row[1].endswith(port) and row[3] == "0A"}
    assert addresses == {"0100007F"}


LATE = """
import time
def handler(event, context):
    time.sleep(3)
"""


def test_the_log_of_the_endpoint_says_when_a_function_is_ended_at_its_time_limit(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "late.py").write_text(LATE)
    with Endpoint(ENDPOINT_PYTHON, tmp_path) as endpoint:
        tail = LogTail(endpoint.log)
        functions = endpoint.session().client("lambda", endpoint_url=endpoint.url)
        runtime = f"python{sys.version_info.major}.{sys.version_info.minor}"
        functions.create_function(
            FunctionName="late", Runtime=runtime, Handler="late.handler", Role="arn:aws:iam::000000000000:role/r",
            Code={"ZipFile": archive(tmp_path / "code")}, Timeout=1,
        )  # fmt: skip
        assert b"Task timed out" in functions.invoke(FunctionName="late")["Payload"].read()
        (notice,) = notices(tail.lines())
    assert notice.startswith("late was ended at its time limit of 1 s: its tasks run again within 6 s.")


def test_a_tests_own_resources_have_the_shape_of_the_stage_but_not_its_consumers(
    ministack: LocalStage, ministack_resources: Resources
) -> None:
    names = ministack_resources.settings.keys() - {"SEDANO_APP", "SEDANO_STAGE", "SEDANO_SCHEDULER"}
    assert all(ministack_resources.settings[name] != ministack.environment[name] for name in names)
    session, url = ministack_resources.session, ministack_resources.endpoint_url
    mappings = session.client("lambda", endpoint_url=url).list_event_source_mappings()["EventSourceMappings"]
    own = {address.split("/")[-1] for address in command_addresses(ministack_resources.settings).values()}
    assert own.isdisjoint(mapping["EventSourceArn"].split(":")[-1] for mapping in mappings)


def test_the_endpoint_ends_with_its_starter_even_when_that_is_killed(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STARTER, str(ENDPOINT_PYTHON), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(LIBRARY)},
        stdout=subprocess.PIPE,
        text=True,
    ) as starter:
        assert starter.stdout
        port = int(starter.stdout.readline())
        with socket.create_connection(("127.0.0.1", port)) as connection:
            starter.send_signal(signal.SIGKILL)
            connection.settimeout(30)
            with suppress(ConnectionResetError):
                assert connection.recv(1) == b"", "the endpoint closes the connection because it ends"


def test_an_endpoint_that_ends_takes_nothing_of_one_beside_it(tmp_path: Path) -> None:
    with Endpoint(ENDPOINT_PYTHON, tmp_path) as first:
        code = first.directory / "tmp" / "ministack-lambda-worker-x"
        code.mkdir()
        with Endpoint(ENDPOINT_PYTHON, tmp_path) as second:
            assert second.directory != first.directory
            assert second.environment["AWS_ACCESS_KEY_ID"] != first.environment["AWS_ACCESS_KEY_ID"]
            with pytest.raises(ClientError, match="the key is not one of this run"):
                first.session().client("sqs", endpoint_url=second.url).create_queue(QueueName="q")
        assert code.is_dir(), "a function of the first stage that starts now finds its code"
        assert first.session().client("sqs", endpoint_url=first.url).create_queue(QueueName="q")["QueueUrl"]


def test_an_endpoint_without_its_environment_says_how_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(LocalStageError, match=r"missing: `python requirements/install\.py ministack` makes it in a clone"):
        Endpoint(tmp_path / "no" / "python", tmp_path)


def test_an_endpoint_that_does_not_start_shows_the_end_of_its_log(tmp_path: Path) -> None:
    with pytest.raises(LocalStageError, match=r"does not start; the end of .*endpoint\.log:(.|\n)*No module named"):
        Endpoint(Path(sys.executable), tmp_path).wait_until_ready()


@pytest.mark.parametrize(
    ("resource", "complaint"),
    [
        ({"Type": "AWS::Odd::Thing"}, r"stack odd is refused: .*AWS::Odd::Thing"),
        (
            {"Type": "AWS::Lambda::Url", "Properties": {"TargetFunctionArn": "none-such", "AuthType": "NONE"}},
            r"stack odd is ROLLBACK_COMPLETE: Odd: .*none-such",
        ),
    ],
)
def test_a_stack_that_cannot_be_created_says_which_resource_and_why(
    ministack: LocalStage, tmp_path: Path, resource: dict[str, object], complaint: str
) -> None:
    (tmp_path / "odd.template.json").write_text(json.dumps({"Resources": {"Odd": resource}}))
    (tmp_path / "odd.assets.json").write_text(json.dumps({"files": {}}))
    artifact = {"type": "aws:cloudformation:stack", "properties": {"templateFile": "odd.template.json"}}
    (tmp_path / "manifest.json").write_text(json.dumps({"artifacts": {"odd": artifact}}))
    with pytest.raises(LocalStageError, match=complaint):
        deploy(ministack.endpoint.session(), ministack.endpoint.url, tmp_path)


def test_the_command_prints_exports_that_a_shell_understands_and_stops_on_ctrl_c(tmp_path: Path) -> None:
    local = [sys.executable, "-m", "sedano.local", "--app", APP, "--code", str(CODE), "--directory", str(tmp_path)]
    command = [*HEARS_CTRL_C, *local]
    environment = {**os.environ, "PYTHONPATH": str(LIBRARY)}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as running:
        assert running.stdout
        assert running.stderr
        said = ""
        while "Ctrl-C" not in said:
            line = running.stderr.readline()
            assert line, said
            said += line
        running.send_signal(signal.SIGINT)
        exports = running.stdout.read()
        assert running.wait() == 0
    script = f'{exports}\necho "$SEDANO_QUEUES"; echo "$SEDANO_LEDGER_TABLE"'
    queues, table = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout.splitlines()
    assert [set(names) for names in json.loads(queues).values()] == [set(QUEUES)]
    assert table.startswith("sedano-dev-state-Ledger")
