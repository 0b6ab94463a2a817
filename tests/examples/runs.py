"""A census in memory, as the material that a run on a stage leaves behind: the real tasks and engine, nothing disturbed."""

import json
from functools import cache

import sedano.testing
from examples.census import tasks
from examples.census.checks import BY_PROCESSES, Evidence, Expected, Totals, expected_ids
from examples.census.facts import Material
from examples.census.flow_checks import HELD, TRIPPED, FlowEvidence
from examples.census.history import ends_told
from examples.census.run import counted
from examples.census.services import ARCHIVE, INDEX, Call
from examples.census.sources import SourceFile
from examples.local_run.changes import Change, Held
from examples.local_run.chaos import Done, Kill
from sedano import chord
from sedano.model import states
from sedano.model.messages.message import LAUNCH

SOUND = SourceFile("shop/sound.py", 61_000, "import os\nimport shop\n\n\ndef sell(item):\n    return item\n")
BROKEN = SourceFile("shop/<broken>.py", 10, "def sell(:\n")
UNREADABLE = SourceFile("shop/latin.py", 4, "", "is not UTF-8: byte 0xe9 at 3")
FILES = (SOUND, BROKEN, UNREADABLE)
QUEUE = "http://127.0.0.1/0/commands"
FUNCTION, PROCESS = "host.1.0123abcd", "host.77.01234567.3"
"""The names of a function, and of a lane of a process of `sedano worker`."""
LATENCIES = {f"{kind}_{figure}": 0.5 for kind in ("wait_seconds", "run_seconds") for figure in ("p50", "p90", "max")}


def end(task_id: str, name: str) -> list[Change]:
    """The two writes of a task that ends well: claim and record."""
    owner = PROCESS if name == BY_PROCESSES else FUNCTION
    held = Held(states.RUNNING, "nonce", 7_000, owner)
    return [Change(task_id, name, None, held), Change(task_id, name, held, Held(states.SUCCESS, "nonce", 7_000, owner))]


def flow_evidence(began: float = 1_800_000_000.0) -> FlowEvidence:
    """A good run: three ticks and one withdrawn, six calls at their rate, and an archive that is down for the first three of its calls."""
    index = [Call(began + n / 5, INDEX, str(n), True) for n in range(6)]
    archive = [
        *(Call(began + n / 100, ARCHIVE, str(n), False) for n in range(3)),
        *(Call(began + 9, ARCHIVE, str(n), True) for n in range(4)),
    ]
    slots = [{"type": HELD, "uuid": f"look_up-{n}", "reason": "rate limit: slot at 10:00", "until": began + n / 5} for n in range(1, 6)]
    waits = [{"type": HELD, "uuid": f"store-{n}", "reason": "circuit archive is open", "until": began + 8} for n in range(4)]
    trip = {"type": TRIPPED, "timestamp": began + 0.1, "until": began + 8.1, "cause": "3 × failure within 60 s"}
    told = {"type": "task-revoked", "uuid": "tick-3", "timestamp": began + 15}
    ticks = {f"tick-{n}": int(began) + 5 * n for n in range(3)}
    return FlowEvidence(ticks, {"tick-3": int(began) + 15}, [*index, *archive], [*slots, *waits, trip, told], 4)


@cache
def material() -> Material:
    """Run the census of `FILES` in memory and return what it left behind."""
    with sedano.testing.world(tasks.app) as world:
        header = [tasks.measure.s(file.path, file.text, file.trouble) for file in FILES]
        result = chord(header)(tasks.summarise.s())
        world.drain()
        census = result.get()
        lines = [json.loads(line) for stored in world.ports.events.read() for line in stored.splitlines()]
        launch = next(line["uuid"] for line in lines if line.get("name") == LAUNCH)
        expected = Expected(expected_ids([member.id for member in result.parent or ()], result.id), counted(FILES))
        found = world.ports.ledger.read([*expected.tasks, launch])
    ledger = {task: (record.name, record.state) for task, record in found.items()}
    changes = [change for task, (name, _) in ledger.items() for change in end(task, name)]
    totals = Totals(census["files"], census["lines"], census["characters"])
    evidence = Evidence(ledger, changes, ends_told(lines), {"commands": 0}, totals, len(ledger), 0, 2, 1, frozenset({77}))
    spark = {
        "tasks": len(ledger), "calls": {"dynamodb.UpdateItem": 20, "sqs.SendMessageBatch": 2}, "invocations": 4, "duration_ms": 900.0,
        "events": len(lines), "lines": len(lines), "cold": 1, "latency_by_task": [{"name": tasks.measure.name, "tasks": 3, **LATENCIES}],
    }  # fmt: skip
    began = min(line["timestamp"] for line in lines)
    done = Done({QUEUE: [began, began + 0.1]}, [Kill(began + 0.2, 1, True)], [Kill(began + 0.3, 77, True)])
    return Material(
        "shop", FILES, expected, evidence, flow_evidence(began), done, lines, spark, census, {QUEUE: "commands"}, began, began + 1
    )
