"""One of many processes that fight over one lease on a real endpoint: it tells on stdout what it held, believed and wrote.

Run as a program: table of leases, table and key of the prize, seconds, seed. The prize is written under the lease's token through a guard.
"""

import json
import random
import sys
import time
from dataclasses import replace

import botocore.session

from sedano import Sedano, guards, memory
from sedano.aws.host import SystemClock, SystemEntropy
from sedano.aws.leases import DynamoLeases
from sedano.errors import FencedOff, LeaseLost, LeaseTaken
from sedano.locks import Lease

DURATION_S = 2.0


def tell(**what: object) -> None:
    """Say one thing at once: whoever is killed has said what it did before."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def write(client: object, lease: Lease, table: str, key: str) -> None:
    """Add the token to the prize's history, through the guard."""
    call = {"UpdateExpression": "SET written = list_append(if_not_exists(written, :none), :token)", "TableName": table}
    values = {":none": {"L": []}, ":token": {"L": [{"N": str(lease.token)}]}}
    try:
        guards.update_item(client, lease, Key={"pk": {"S": key}}, ExpressionAttributeValues=values, **call)
        tell(kind="written", token=lease.token)
    except FencedOff:
        tell(kind="fenced off", token=lease.token)


def hold(client: object, lease: Lease, table: str, key: str, dice: random.Random) -> None:
    """Believe, renew, write, and sometimes outlive the lease."""
    begun, left = time.monotonic(), lease.remaining
    tell(kind="held", token=lease.token, begun=begun, until=begun + left)
    time.sleep(dice.uniform(0, 0.6))
    try:
        lease.renew()
        now = time.monotonic()
        tell(kind="held", token=lease.token, begun=begun, until=now + lease.remaining)
        time.sleep(dice.choice((0, 0, 0.2, 4.5)))
    except LeaseLost:
        tell(kind="lost", token=lease.token)
    write(client, lease, table, key)
    tell(kind="over", token=lease.token, at=time.monotonic())
    lease.release()


def main(leases: str, prizes: str, key: str, seconds: float, seed: str) -> None:
    """Fight for *seconds*."""
    client = botocore.session.get_session().create_client("dynamodb")
    app, dice = Sedano("fight"), random.Random(seed)
    clock = SystemClock()
    app.attach(replace(memory.ports(), leases=DynamoLeases(client, leases, clock), clock=clock, entropy=SystemEntropy()))
    end = time.monotonic() + seconds
    tell(kind="ready")
    while time.monotonic() < end:
        try:
            lease = app.lock(key, duration=DURATION_S, timeout=dice.uniform(0, 3), fair=dice.random() < 0.3).acquire()
        except LeaseTaken:
            continue
        hold(client, lease, prizes, key, dice)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4]), sys.argv[5])
