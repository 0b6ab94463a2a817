"""Workflows on the deployed worker, over DynamoDB, SQS and S3 on moto."""

from pathlib import Path

from sedano import Sedano
from sedano.workflow import load
from tests.functions.conftest import Functions
from tests.functions.corner import add, app
from tests.functions.test_handlers import queues

SUMS = """
workflow = "sums"

[inputs]
first = "int"

[[step]]
name = "sum"
task = "tests.functions.corner.add"
args = ["$first", 3]

[[step]]
name = "double"
task = "tests.functions.corner.add"
args = ["$sum", "$sum"]
when = "$sum > 4"
"""


def test_a_worker_whose_app_names_no_workflow_directs_the_one_of_a_clients_file(functions: Functions, tmp_path: Path) -> None:
    client = Sedano("client")
    client.task(name=add.name)(add.spec.function)
    client.attach(app.outlet.ports)
    (tmp_path / "sums.toml").write_text(SUMS)
    run = load(client, tmp_path / "sums.toml").delay(first=2)
    for _ in range(6):
        assert functions.run("worker", functions.event(queues(functions)["default"])) == []
    assert run.get(timeout=1) == {"double": 10}
    assert functions.count(queues(functions)["parked"]) == 0
