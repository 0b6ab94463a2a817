"""Something for every change of the pages on a stage of the demo: `python -m tests.examples.demo_stage`, with the stage's environment.

More tasks that fail than a change may affect without a typed word, two others that fail, a task for a later moment, a keyed task, a message
that is parked, and a lock that is held.
"""

import os

from examples.census.tasks import app, summarise, tick
from sedano.aws.client.session import Session
from sedano.aws.settings import command_addresses
from sedano.changes.plan import MOST_UNTYPED

EDITED, FAILED, MANY, LATER, KEY = "walk-edited", "walk-failed", "walk-many", "walk-waits", "walk-once"
LOCK = "walk-nightly"
NUMBER = MOST_UNTYPED + 1
COUNTDOWN_S = 850


def prepare() -> None:
    """Leave it all on the stage, and return when it was sent."""
    for task_id in (EDITED, FAILED, *(f"{MANY}-{number}" for number in range(NUMBER))):
        summarise.apply_async(([{}],), task_id=task_id)
    tick.apply_async((KEY,), dedup_key=KEY)
    tick.apply_async(("later",), task_id=LATER, countdown=COUNTDOWN_S)
    app.lock(LOCK, duration=3_600, timeout=10).acquire()
    Session().client("sqs").send_message(QueueUrl=command_addresses(os.environ)["services"], MessageBody="{")
    app.close()


if __name__ == "__main__":
    prepare()
