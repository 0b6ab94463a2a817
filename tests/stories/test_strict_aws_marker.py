"""The marker `strict_aws` in a project of a user: what AWS would refuse fails there, by the entry point of the wheel."""

import pytest

from tests.plugins.pytest_runs import Elsewhere

FILES = {
    "pytest.ini": "[pytest]\n",
    "shop.py": """
import boto3

OF_AWS = {"region_name": "eu-central-1", "aws_access_key_id": "k", "aws_secret_access_key": "s"}
early = boto3.client("sqs", **OF_AWS)

def ship(client, count, size=1):
    entries = [{"Id": str(n), "MessageBody": "x" * size} for n in range(count)]
    client.send_message_batch(QueueUrl="https://sqs.eu-central-1.amazonaws.com/111122223333/mail", Entries=entries)
""",
    "test_shop.py": """
from contextlib import contextmanager
import boto3
import pytest
import shop
from botocore.stub import ANY, Stubber

@contextmanager
def answered(client):
    with Stubber(client) as stub:
        stub.add_response("send_message_batch", {"Successful": [], "Failed": []}, {"QueueUrl": ANY, "Entries": ANY})
        yield client

class Made:
    def test_early(self):
        with answered(shop.early) as client:
            shop.ship(client, *self.batch)
    def test_late(self):
        with answered(boto3.client("sqs", **shop.OF_AWS)) as client:
            shop.ship(client, *self.batch)
    def test_own_session(self):
        with answered(boto3.session.Session(**shop.OF_AWS).client("sqs")) as client:
            shop.ship(client, *self.batch)
    def test_caught(self):
        with answered(shop.early) as client:
            try:
                shop.ship(client, *self.batch)
            except AssertionError:
                pass

class TestBeforeAnyMarker(Made):
    batch = (11,)

@pytest.mark.strict_aws
class TestTooMany(Made):
    batch = (11,)

@pytest.mark.strict_aws
class TestTooLong(Made):
    batch = (10, 150_000)

@pytest.mark.strict_aws
class TestAsManyAsAwsTakes(Made):
    batch = (10, 100_000)

@pytest.mark.strict_aws
class TestFixture:
    @pytest.fixture
    def filled(self):
        with answered(shop.early) as client:
            try:
                shop.ship(client, 11)
            except AssertionError:
                pass
        yield
    def test_it(self, filled):
        pass

class TestAfterMarkers(Made):
    batch = (11,)
""",
}  # fmt: skip
MAILS = """
from sedano import Sedano

app = Sedano("shop")

@app.task(retry=False)
def mail():
    ship(early, 11)
"""
MARKED_TWICE = """
import pytest
import shop

@pytest.mark.strict_aws
@pytest.mark.crash_points
def test_mail(sedano_world):
    shop.mail.delay()
    sedano_world.drain()
"""


def test_marked_tests_refuse_and_the_others_stay_as_they_are(elsewhere: Elsewhere) -> None:
    elsewhere.write(FILES)
    code, said = elsewhere.run("-rA", "-p", "no:randomly")
    names = {line.split("::", 1)[1].split(" ")[0] for line in said.splitlines() if line.startswith("FAILED")}
    made = ("test_early", "test_late", "test_own_session", "test_caught")
    assert names == {*(f"{kind}::{one}" for kind in ("TestTooMany", "TestTooLong") for one in made), "TestFixture::test_it"}, said
    assert (code, "9 failed, 12 passed" in said) == (1, True), said
    assert "sqs.entries: sqs SendMessageBatch: AWS.SimpleQueueService.TooManyEntriesInBatchRequest: " in said
    assert "sqs.total: sqs SendMessageBatch: AWS.SimpleQueueService.BatchRequestTooLong: " in said


TABLES = """
import boto3
import pytest
from boto3.dynamodb.conditions import Attr
from botocore.stub import Stubber

OF_AWS = {"region_name": "eu-central-1", "aws_access_key_id": "k", "aws_secret_access_key": "s"}
table = boto3.resource("dynamodb", **OF_AWS).Table("orders")

@pytest.mark.strict_aws
@pytest.mark.parametrize("size", [1, 400_000, 420_000])
def test_values_of_python(size):
    item = {"order": "a", "pk": True, "n": 3, "text": "x" * size}
    with Stubber(table.meta.client) as stub:
        for name in ("put_item", "get_item"):
            stub.add_response(name, {"Item": {"order": {"S": "a"}}} if name == "get_item" else {})
        stub.add_response("batch_write_item", {"UnprocessedItems": {}})
        table.put_item(Item=item, ConditionExpression=Attr("order").not_exists())
        assert table.get_item(Key={"order": "a"})["Item"] == {"order": "a"}
        with table.batch_writer() as batch:
            batch.put_item(Item={"order": "a"})
            batch.put_item(Item={"order": "b"})
"""


def test_a_table_with_values_of_python_and_names_of_its_own_is_measured(elsewhere: Elsewhere) -> None:
    elsewhere.write({"pytest.ini": "[pytest]\n", "test_tables.py": TABLES})
    code, said = elsewhere.run()
    assert (code, "1 failed, 2 passed" in said) == (1, True), said
    assert "dynamodb.item: dynamodb PutItem: ValidationException: Item size has exceeded the maximum allowed size" in said


def test_a_death_at_every_call_is_strict_as_well(elsewhere: Elsewhere) -> None:
    elsewhere.write({
        "pytest.ini": "[pytest]\nsedano_app = shop:app\npythonpath = .\n",
        "shop.py": f"{FILES['shop.py']}\n{MAILS}",
        "test_shop.py": MARKED_TWICE,
    })  # fmt: skip
    code, said = elsewhere.run()
    assert (code, "1 failed" in said, "sqs.entries: sqs SendMessageBatch" in said) == (1, True, True), said


@pytest.mark.parametrize("wrong", ["strict_aws(1)", "strict_aws(allow='x')"])
def test_arguments_of_the_marker_are_refused(elsewhere: Elsewhere, wrong: str) -> None:
    elsewhere.write({"pytest.ini": "[pytest]\n", "test_it.py": f"import pytest\n@pytest.mark.{wrong}\ndef test_it(): pass\n"})
    code, said = elsewhere.run()
    assert (code, "strict_aws takes no arguments: @pytest.mark.strict_aws" in said) == (4, True), said


def test_a_run_without_the_marker_loads_no_aws_client(elsewhere: Elsewhere) -> None:
    test = "import sys\ndef test_it(): assert not [one for one in sys.modules if one.startswith('botocore')]\n"
    elsewhere.write({"pytest.ini": "[pytest]\n", "test_it.py": test})
    code, said = elsewhere.run()
    assert code == 0, said
