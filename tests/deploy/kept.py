"""What a deployed stage keeps of a task, looked at until it is there: a function elsewhere writes it, which tells nobody."""

import time

from sedano.aws.ledger import DynamoLedger
from sedano.local import LocalStage

SECONDS = 90.0


def result(stage: LocalStage, task_id: str) -> str | None:
    """The result, as it is kept, of a task that succeeds within `SECONDS`."""
    dynamodb = stage.endpoint.session().client("dynamodb", endpoint_url=stage.endpoint.url)
    ledger = DynamoLedger(dynamodb, stage.environment["SEDANO_LEDGER_TABLE"])
    give_up = time.monotonic() + SECONDS
    while time.monotonic() < give_up:
        found = ledger.read([task_id]).get(task_id)
        if found is not None and found.state == "SUCCESS":
            return found.result
        time.sleep(0.2)
    raise AssertionError(stage.endpoint.last_lines())
