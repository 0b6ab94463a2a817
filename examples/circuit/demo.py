"""`python -m examples.circuit.demo`: a carrier fails and recovers, on virtual time, in memory, with the real engine."""

import sys
from datetime import UTC, datetime

from examples.circuit.tasks import app, down, ship
from sedano import WorkerSettings, testing

ORDERS = 5
OUTAGE_S = 80.0


def main() -> int:
    """Print the course of five orders while the carrier is down for 80 s; return 0 if all of them were shipped."""
    with testing.world(app, settings=WorkerSettings(lanes=0, heartbeat=0.0)) as world:
        began, told = world.clock.now(), 0
        down["carrier"] = True
        results = [ship.delay(order) for order in range(ORDERS)]
        print(f"{ORDERS} orders are published; the carrier is down")
        while not all(result.ready() for result in results):
            if world.clock.now() - began >= OUTAGE_S and down["carrier"]:
                down["carrier"] = False
                print(f"{_at(world.clock.now() - began)}  the carrier has recovered")
            if not world.step():
                world.clock.advance(1)
            for line in world.telemetry.lines[told:]:
                if line.message == "circuit tripped":
                    cause, seconds = line.fields["cause"], line.fields["seconds"]
                    print(f"{_at(world.clock.now() - began)}  circuit tripped: {cause}; open for {seconds:.0f} s")
            told = len(world.telemetry.lines)
        print(f"{_at(world.clock.now() - began)}  " + ", ".join(str(result.get()) for result in results))
        return 0 if all(result.successful() for result in results) else 1


def _at(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%M:%S}"


if __name__ == "__main__":
    sys.exit(main())
