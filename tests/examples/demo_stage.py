"""Something for every change of the pages on a stage of the demo: `python -m tests.examples.demo_stage`, with the stage's environment.

Two tasks that fail, a message that is parked, a lock that is held, a keyed task, and more tasks for a later moment than a change may affect
without a typed word.
"""

import os

from examples.census.tasks import app, summarise, tick
from sedano.aws.client.session import Session
from sedano.aws.settings import command_addresses
from sedano.changes.plan import MOST_UNTYPED

EDITED, FAILED, LATER, KEY = "walk-edited", "walk-failed", "walk-waits", "walk-once"
LOCK = "walk-nightly"
MANY = MOST_UNTYPED + 2
"""One of them is revoked by itself; the others need a typed word."""
COUNTDOWN_S = 850


def prepare() -> None:
    """Leave it all on the stage, and return when it was sent."""
    for task_id in (EDITED, FAILED):
        summarise.apply_async(([{}],), task_id=task_id)
    tick.apply_async((KEY,), dedup_key=KEY)
    for number in range(MANY):
        tick.apply_async((str(number),), task_id=f"{LATER}-{number}", countdown=COUNTDOWN_S)
    app.lock(LOCK, duration=3_600, timeout=10).acquire()
    Session().client("sqs").send_message(QueueUrl=command_addresses(os.environ)["services"], MessageBody="{")
    app.close()


if __name__ == "__main__":
    prepare()
