"""The app that stories of workflows are about: a shop that takes orders to customers, whose tasks note in which order they ended."""

import types
from typing import Any

from sedano import Retry, Sedano
from sedano.model.messages import codec
from sedano.model.messages.message import Command
from sedano.task import Task
from sedano.workflow import Flow, Input, Step, Workflow, each, own
from tests.stories.processes import COMMANDS
from tests.stories.stage import QUEUES, Stage


class Killed(BaseException):
    """The worker's process is gone."""


class Workshop:
    """One app and its workflow. *done*: the calls that ended well, in order; *broken*: calls that fail; *deadly*: those that kill."""

    def __init__(self) -> None:
        """Declare everything."""
        self.app = Sedano("workshop", queues=QUEUES, retry=Retry(max_retries=0))
        self.done: list[str] = []
        self.broken: set[str] = set()
        self.deadly: set[str] = set()
        self.lines = ["tea", "pot"]
        self.price = self.task("price", lambda order: {"total": 10 * len(self.lines), "lines": self.lines})
        self.reserve = self.task("reserve", lambda order: f"shelf {order}")
        self.release = self.task("release", lambda shelf: shelf)
        self.charge = self.task("charge", lambda total: f"paid {total}")
        self.refund = self.task("refund", lambda paid: paid)
        self.pack = self.task("pack", lambda line: line.upper())
        self.unpack = self.task("unpack", lambda parcel: parcel)
        self.ship = self.task("ship", lambda parcels, gift=None: [*parcels, gift])
        self.wrap = self.task("wrap", lambda total: "bow")
        self.fulfil = self.declared()

    def declared(self, version: str = "1") -> Flow:
        """Return the workflow."""

        class Fulfil(Workflow, app=self.app, version=version):
            order = Input(int)
            price = Step(self.price.s(order))
            reserve = Step(self.reserve.s(order), compensate=self.release.s(own))
            charge = Step(self.charge.s(price["total"]), after=reserve, compensate=self.refund.s(own))
            pack = Step(self.pack.s(each(price["lines"])), after=charge, compensate=self.unpack.s(own))
            wrap = Step(self.wrap.s(price["total"]), when=price["total"] > 100)
            ship = Step(self.ship.s(pack, gift=wrap.or_none))

        return Fulfil.flow

    def task(self, name: str, body: Any, **options: Any) -> Task[..., Any]:
        """Declare *body* as the task *name*; it notes that it ended, and fails while it is broken."""

        def noted(*args: Any, **kwargs: Any) -> Any:
            call = f"{name} {args[0]}" if args else name
            if {name, call} & self.deadly:
                raise Killed
            if {name, call} & self.broken:
                raise ValueError(f"{call} is broken")
            value = body(*args, **kwargs)
            self.done.append(call)
            return value

        self.app.task(name=name, **options)(noted)
        return Task(self.app.registry.tasks[name], self.app)


def line(workshop: Workshop, body: Any, **options: Any) -> Flow:
    """A workflow of two steps: *body* under *options*, which has a compensation, and one after it."""
    work = workshop.task("work", body)

    class Line(Workflow, app=workshop.app):
        first = Step(work.s(1), compensate=workshop.refund.s(own), **options)
        second = Step(workshop.wrap.s(first))

    return Line.flow


def declared(workshop: Workshop, name: str, body: dict[str, Any]) -> Flow:
    """A workflow whose body is made by a program."""
    made: Any = types.new_class(name, (Workflow,), {"app": workshop.app}, lambda names: names.update(body))
    flow: Flow = made.flow
    return flow


def states_of(result: Any) -> dict[str, str]:
    """The states of a run's steps."""
    return {step.name: step.state for step in result.show().steps}


def commands(stage: Stage) -> list[Command]:
    """The commands that lie in the queue."""
    return [c for c in (codec.decode(m.body) for m in stage.peek(COMMANDS)) if isinstance(c, Command)]
