"""What cannot be deployed ends the real command with a sentence that says what to do, before anything is deployed."""

import hashlib
import os
import subprocess
import zipfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from sedano.deploy.account import Target, no_room
from sedano.deploy.assembly import BOOTSTRAPPED
from sedano.deploy.command_names import MAKE
from sedano.local import Endpoint
from sedano.local.stage import ENDPOINT_PYTHON
from sedano.local.synthesis import ROOT
from tests.infra.test_config import CLICKS
from tests.infra.test_native import elf

MORE = "\n@app.task\ndef add() -> None: ...\n\n@app.task(name='shop.add')\ndef more() -> None: ...\n"
VERSIONS = "from importlib.metadata import version\nassert all(map(version, ('boto3', 'urllib3', 'python-dateutil')))\n"
GOOD = "from sedano import Sedano\n\napp = Sedano('shop')\n"
FOLLOWS = f"{GOOD}\n@app.stream('orders')\n@app.task\ndef ordered(record: dict) -> None: ...\n"
NOBODY = {
    "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_REGION": "eu-central-1",
}  # fmt: skip


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """An account that was never prepared for the CDK."""
    with Endpoint(ENDPOINT_PYTHON, tmp_path_factory.mktemp("endpoint")) as running:
        running.wait_until_ready()
        yield running


def _make(*words: str, environment: Mapping[str, str] = NOBODY) -> str:
    """Run `make` with these words, which must fail; return what it said, without make's own last line."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "MAKE"))}
    everything = {**inherited, **environment}
    done = subprocess.run(["make", "-s", *words], cwd=ROOT, env=everything, capture_output=True, text=True, check=False)
    assert done.returncode != 0, done.stdout
    assert "infra/" not in done.stderr.replace(str(ROOT), ""), "no line of ours is shown"
    return "\n".join(line for line in done.stderr.splitlines() if not line.startswith("make: "))


def _shop(directory: Path, source: str = GOOD) -> list[str]:
    (directory / "shop.py").write_text(source)
    return ["deploy", "APP=shop:app", f"CODE={directory}", "STAGE=dev"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["STAGE="], "sedano: stage: '' cannot be used; expected the stage's name, such as dev or prod"),
        (["STAGE=Prod"], "sedano: stage: 'Prod' cannot be used; expected a-z, then a-z, 0-9 and -, at most 16 in all"),
        (["APP=shop"], "sedano: app: 'shop' cannot be used; expected module:attribute, such as shop.tasks:app"),
        (["CODE=nowhere"], "cannot be used; expected the directory that holds the application's modules"),
        (["SET=stage=prod"], "sedano: stage: 'prod' cannot be used; expected one value: it is 'dev' already"),
        (["SET=memory=512 memory=1024"], "sedano: memory: '1024' cannot be used; expected one value: it is '512' already"),
        (["SET=memry=1024"], "sedano: memry: '1024' cannot be used; expected a setting that is known; did you mean memory?"),
        (["SET=streams=orders=orders"], "sedano: streams[orders]: 'orders' cannot be used; expected the ARN of a stream, arn:aws:"),
        ([f"SET=streams=orders={CLICKS}"], "sedano: streams: 'orders' cannot be used; expected no stream: shop"),
        (["SET=queue_concurrency=mail=2"], "queue_concurrency: 'mail' cannot be used; expected one of the queues of shop:app: default"),
    ],
)
def test_a_setting_that_cannot_be_used(tmp_path: Path, words: list[str], said: str) -> None:
    told = _make(*_shop(tmp_path), *words)
    assert said in told
    assert len(told.splitlines()) == 1


def test_nothing_is_deployed_that_nobody_named() -> None:
    assert _make("deploy").startswith("sedano: app: '' cannot be used; expected module:attribute")


def test_code_that_does_not_import_shows_its_own_traceback(tmp_path: Path) -> None:
    told = _make(*_shop(tmp_path, f"{GOOD}\nPRICES = {{}}\nCHEAPEST = min(PRICES)\n"))
    lines = told.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert f'"{tmp_path / "shop.py"}", line 6, in <module>' in lines[1]
    assert "CHEAPEST = min(PRICES)" in told
    assert told.count("  File ") == 1, "the user's frames alone"
    assert lines[-1].startswith("sedano: app: shop cannot be imported: ValueError: min() ")
    assert lines[-1].endswith("the traceback above shows where, correct it there")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import stripe\n", "shop needs the module stripe, which is neither in"),
        ("import sys\nsys.exit(1)\n", "importing shop ends the process; keep what runs a program below `if __name__"),
        ("import pytest\n", "shop needs the module pytest, which is neither in"),
        ("import os\nos._exit(3)\n", "importing shop:app ended the process (exit code 3) before all was declared; check what it runs"),
        ("import os\nos.abort()\n", "importing shop:app ended the process (signal 6) before all was declared; check what it runs"),
        ("app = (\n", "shop cannot be imported: SyntaxError"),
        (f"{GOOD}{MORE}", "task shop.add: declared twice; give one of them another name"),
        (f"{GOOD}from sedano import cron\n\nNEVER = cron('0 0 30 2 *')\n", "cron: '0 0 30 2 *' never occurs: no year has such a day"),
        (GOOD.replace("'shop'", "'shop', queues=('default', 'e mail')"), "has 'e mail', which is not a valid name; give the names of"),
        (GOOD.replace("'shop'", "'shop', queues=('default', 'e:mail')"), "queues: 'e:mail' cannot be used; expected a letter, then"),
        (GOOD.replace("'shop'", "'shop', queues=('default', 'Default')"), "expected names that differ by more than their case"),
        ("app = 7\n", "is a int, not a Sedano app"),
    ],
)
def test_an_application_that_cannot_be_deployed(tmp_path: Path, source: str, said: str) -> None:
    assert said in _make(*_shop(tmp_path, source)).splitlines()[-1]


def test_compiled_code_among_the_modules_for_another_processor(tmp_path: Path) -> None:
    (tmp_path / "fast.so").write_bytes(elf(0x3E))
    told = _make(*_shop(tmp_path))
    assert told.startswith("sedano: fast.so is compiled for x86_64, and the functions run on aarch64: leave it out of")


def test_a_requirement_that_has_compiled_code_for_another_processor_alone(tmp_path: Path) -> None:
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    wheel = wheels / "fastshop-1.0-cp313-cp313-manylinux2014_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("fastshop.so", elf(0x3E))
        archive.writestr("fastshop-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: fastshop\nVersion: 1.0\n")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    pins = f"--no-index\n--find-links {wheels}\nfastshop==1.0 --hash=sha256:{digest}\n"
    (tmp_path / "requirements.txt").write_text(pins)
    told = _make(*_shop(tmp_path))
    assert told.startswith("sedano: requirements.txt: fastshop==1.0 has no wheel for Python 3.13 on Linux aarch64, and nothing is compiled")
    assert "pin a version that has one, or a package without compiled code" in told


def test_an_index_that_does_not_answer_is_not_taken_for_one_that_has_nothing(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(f"fastshop==1.0 --hash=sha256:{'0' * 64}\n")
    nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "1", "PIP_CONFIG_FILE": os.devnull}
    told = _make(*_shop(tmp_path), environment={**NOBODY, **nowhere})
    assert told.startswith("sedano: requirements.txt: the index of packages cannot be reached: check the network, and")


def test_more_queues_than_one_template_takes(tmp_path: Path) -> None:
    source = GOOD.replace("'shop'", "'shop', queues=('default', *(f'q{n}' for n in range(100)))")
    (tmp_path / "shop.py").write_text(source)
    quick = {**NOBODY, "CDK_VALIDATION": "false"}
    told = _make("synth", "APP=shop:app", f"CODE={tmp_path}", "STAGE=prod", environment=quick)
    assert "resources, and CloudFormation allows 500 in a stack: declare fewer queues, or deploy two applications" in told
    assert "Traceback" not in told


def test_no_credentials(tmp_path: Path) -> None:
    lambdas = f"import boto3, botocore, dateutil, jmespath, s3transfer, six, urllib3\n{VERSIONS}{GOOD}"
    told = _make(*_shop(tmp_path, lambdas))
    assert told == "sedano: no AWS credentials are set: log in (`aws sso login`, `aws configure`), or name a profile in AWS_PROFILE"


def test_no_region(tmp_path: Path) -> None:
    told = _make(*_shop(tmp_path), environment={**NOBODY, "AWS_REGION": ""})
    assert told == 'sedano: no Region: set AWS_REGION, such as eu-central-1; or give the stage one by SET="region=… account=…"'


KEYS = {**NOBODY, "AWS_ACCESS_KEY_ID": "somebody", "AWS_SECRET_ACCESS_KEY": "s"}
NOBODY_THERE = {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_MAX_ATTEMPTS": "1"}


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"AWS_PROFILE": "shpo"}, "sedano: AWS_PROFILE: there is no profile 'shpo'; `aws configure list-profiles` lists the profiles"),
        ({**KEYS, "AWS_REGION": "eu central"}, "sedano: 'eu central' is not a Region: set AWS_REGION to one, such as eu-central-1"),
        ({**KEYS, **NOBODY_THERE}, "; check the network, and that eu-central-1 is a Region"),
    ],
)
def test_a_shell_that_leads_to_no_account(tmp_path: Path, environment: dict[str, str], said: str) -> None:
    told = _make(*_shop(tmp_path), environment={**NOBODY, **environment})
    assert told.endswith(said)
    assert len(told.splitlines()) == 1


def test_settings_of_the_aws_cli_that_cannot_be_read(tmp_path: Path) -> None:
    settings = tmp_path / "config"
    settings.write_text("[default\n")
    told = _make(*_shop(tmp_path), environment={**NOBODY, "AWS_CONFIG_FILE": str(settings)})
    assert told == f"sedano: the settings of the AWS CLI cannot be read: Unable to parse config file: {settings}; correct that file"


class _CutShort(BaseHTTPRequestHandler):
    """Says whose the credentials are, and then nothing more."""

    def do_POST(self) -> None:
        asked = self.rfile.read(int(self.headers["content-length"]))
        self.close_connection = True
        if b"GetCallerIdentity" in asked:
            account = "<Account>123456789012</Account>"
            self.send_response(200)
            self.end_headers()
            self.wfile.write(f"<R><GetCallerIdentityResult>{account}</GetCallerIdentityResult></R>".encode())

    def log_message(self, *_: object) -> None:
        """The test says what went wrong."""


@pytest.mark.parametrize("verb", ["deploy", "variables", "destroy"])
def test_a_network_that_fails_on_the_way(tmp_path: Path, verb: str) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _CutShort) as server, ThreadPoolExecutor() as pool:
        pool.submit(server.serve_forever)
        try:
            there = {**NOBODY_THERE, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}"}
            told = _make(verb, *_shop(tmp_path)[1:], environment={**KEYS, **there})
        finally:
            server.shutdown()
    assert told.splitlines()[-1].startswith("sedano: AWS refused a call or did not answer: Connection was closed before")
    assert told.endswith(f"; check the network and the rights of the credentials, then run `make {verb}` again")


@pytest.mark.ministack
def test_credentials_of_another_account(tmp_path: Path, endpoint: Endpoint) -> None:
    told = _make(*_shop(tmp_path), "SET=account=123456789012 region=us-east-1", environment={**NOBODY, **endpoint.environment})
    assert told.startswith("sedano: account: the stage dev belongs to 123456789012, and the credentials are those of 000000000000: name")


@pytest.mark.ministack
def test_an_account_that_was_never_prepared(tmp_path: Path, endpoint: Endpoint) -> None:
    told = _make(*_shop(tmp_path), environment={**NOBODY, **endpoint.environment})
    assert "is not prepared for the CDK: run `make bootstrap` once" in told.splitlines()[-1]


@pytest.fixture
def prepared(endpoint: Endpoint) -> Iterator[dict[str, str]]:
    """The same account as if it had been prepared, as a shell's variables."""
    ssm = endpoint.session().client("ssm", endpoint_url=endpoint.url)
    ssm.put_parameter(Name=BOOTSTRAPPED, Value="30", Type="String")
    yield {**NOBODY, **endpoint.environment}
    ssm.delete_parameter(Name=BOOTSTRAPPED)


@pytest.mark.ministack
def test_a_ceiling_for_webhooks_that_the_account_cannot_give(tmp_path: Path, prepared: dict[str, str]) -> None:
    webhook = "from sedano.webhooks import unsigned\n\napp.webhook('till', verify=unsigned())(lambda request: None)\n"
    told = _make(*_shop(tmp_path, f"{GOOD}{webhook}"), "SET=webhook_concurrency=1000", environment=prepared)
    said = told.splitlines()[-1]
    assert said.startswith("sedano: webhook_concurrency: 1000 executions at once cannot be reserved for the webhook: account 000000000000 ")
    assert "Lambda keeps 100 of them for all other functions; deploy with SET=" in said


@pytest.mark.ministack
def test_a_stage_of_which_nothing_is_there_is_not_said_to_be_gone(tmp_path: Path, prepared: dict[str, str]) -> None:
    told = _make("destroy", *_shop(tmp_path)[1:], "CDK=--force", environment=prepared).splitlines()[-1]
    assert told.startswith("sedano: the stage dev is not deployed in account 000000000000 in us-east-1: give STAGE= the name of")


@pytest.mark.parametrize(
    ("most", "room"), [(10, '0", which reserves none,'), (50, '0"'), (100, '0"'), (101, '1"'), (109, '9"'), (110, ""), (1000, "")]
)
def test_what_an_account_has_room_for(most: int, room: str) -> None:
    said = no_room(Target("000000000000", "eu-central-1"), most, 10, MAKE)
    assert (f'SET="webhook_concurrency={room}' in said) if room else said == ""


@pytest.mark.ministack
@pytest.mark.parametrize("source", [GOOD, "a slip\n", FOLLOWS])
def test_the_variables_of_a_stage_that_is_not_deployed_for_which_the_code_need_not_import(
    tmp_path: Path, endpoint: Endpoint, source: str
) -> None:
    words = ["variables", *_shop(tmp_path, source)[1:]]
    told = _make(*words, environment={**NOBODY, **endpoint.environment})
    said = "sedano: the stage dev is not deployed in account 000000000000 in us-east-1: run `make deploy` first, or give STAGE="
    assert told.splitlines()[-1].startswith(said)


@pytest.mark.ministack
def test_a_stream_of_another_region_than_the_credentials_lead_to(tmp_path: Path, endpoint: Endpoint) -> None:
    arn = "arn:aws:dynamodb:eu-central-1:000000000000:table/orders/stream/2026-11-22T10:00:00.000"
    told = _make(*_shop(tmp_path, FOLLOWS), f"SET=streams=orders={arn}", environment={**NOBODY, **endpoint.environment})
    assert told.startswith(f"sedano: streams[orders]: '{arn}' cannot be used; expected a stream in us-east-1, where the stage is")
