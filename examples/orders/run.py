"""One run of orders on a local stage: the shop posts them, faults happen, and the evidence is collected from every place."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from examples.local_run.changes import ChangeLog, Holders, switch_on
from examples.local_run.chaos import Chaos, Done, Plan
from examples.local_run.clients import Clients
from examples.local_run.history import download
from examples.local_run.progress import Progress
from examples.local_run.watching import Look, depths, scan, settled, watch
from examples.orders.checks import Evidence, Expected, expected
from examples.orders.crm import Crm
from examples.orders.places import TABLES, documents, make, rows, writes
from examples.orders.shop import orders, posting
from examples.orders.tasks import DELIVERIES, app
from sedano.aws.settings import command_addresses
from sedano.local import LocalStage
from sedano.views.costs import CostsView, costs

SEED = 2026
ORDERS_A_KILL, MOST_KILLS = 30, 3
SHARE_TWICE = 0.15
REPAIRED_AT = 0.4
"""The share of the tasks after which the CRM is repaired."""
SECONDS_TO_END, SECONDS_TO_SETTLE = 150.0, 10.0


@dataclass(frozen=True, slots=True)
class Material:
    """What a run leaves: what it had to cause, the evidence, the faults, the requests of the shop, the CRM, and the costs."""

    expected: list[Expected]
    evidence: Evidence
    done: Done
    posted: int
    crm: Crm
    costs: CostsView


class OrdersRun:
    """One run, from the first order to the evidence."""

    def __init__(self, stage: LocalStage, crm: Crm, count: int, build: Path, progress: Progress) -> None:
        """Order *count* times on the *stage*; the history is downloaded below *build*."""
        self._stage, self._crm, self._build, self._progress = stage, crm, build, progress
        self._clients = Clients.of(stage)
        self._orders = orders(count, SEED)
        self._posted = 0

    def material(self) -> Material:
        """Make the whole run and return its evidence."""
        logs = make(self._clients)
        changes = switch_on(self._clients.dynamodb, self._stage.environment["SEDANO_LEDGER_TABLE"])
        log = ChangeLog(self._clients.streams, changes)
        wanted = [expected(order) for order in self._orders]
        self._progress.phase(f"the shop posts {len(wanted)} orders; messages are delivered twice, workers are killed, and the CRM is away")
        done = self._disturbed(wanted, log, changes)
        self._progress.phase("reading the tables, the bucket, the CRM and the history")
        return Material(wanted, self._evidence(logs), done, self._posted, self._crm, costs(app, 1))

    def _disturbed(self, wanted: list[Expected], log: ChangeLog, changes: str) -> Done:
        tasks = {task for one in wanted for task in one.tasks.values()}
        holders = Holders(ChangeLog(self._clients.streams, changes))
        address = f"{self._stage.environment['SEDANO_WEBHOOK_URL']}shop"
        chaos = Chaos(self._stage.endpoint, self._clients.sqs, holders, self._plan(), SEED)
        with chaos, posting(address, self._stage.endpoint.certificate, self._orders) as posted:

            def told(look: Look) -> None:
                chaos.begin()
                if look.ended >= REPAIRED_AT * look.wanted and self._crm.turned_away:
                    self._crm.repair()
                words = f"tasks · {chaos.done.injected} sent twice · {chaos.done.hits} workers killed at work"
                self._progress.bar(look.ended, look.wanted, f"{words} · the CRM turned {self._crm.turned_away} away")

            watch(log, tasks, self._waiting, told, SECONDS_TO_END)
            self._posted = posted.result()
            return chaos.done

    def _plan(self) -> Plan:
        queues, count = self._queues(), len(self._orders)
        kills = min(MOST_KILLS, count // ORDERS_A_KILL)
        return Plan({url: round(SHARE_TWICE * count) for url in queues}, kills + (kills > 0))

    def _queues(self) -> list[str]:
        """Return the URLs of the queues of orders, of events and documents, and of deliveries."""
        commands = command_addresses(self._stage.environment)
        return [commands["default"], self._stage.environment["SEDANO_EVENTS_QUEUE"], commands[DELIVERIES]]

    def _waiting(self) -> int:
        return sum(depths(self._clients.sqs).values())

    def _evidence(self, logs: dict[str, str]) -> Evidence:
        environment = self._stage.environment
        left = settled(lambda: depths(self._clients.sqs), SECONDS_TO_SETTLE)
        ledger = scan(self._clients.dynamodb, environment["SEDANO_LEDGER_TABLE"])
        return Evidence(
            states={task: state for task, (_, state) in ledger.items()},
            writes={table: writes(self._clients.streams, log, TABLES[table][1]) for table, log in logs.items()},
            rows=rows(self._clients.dynamodb),
            lake=documents(self._clients.s3),
            crm=[(one.key, str(one.document["value"]["order"])) for one in self._crm.received],
            left=left,
            lines=download(self._clients.s3, environment["SEDANO_HISTORY_BUCKET"], self._build / "history"),
        )
