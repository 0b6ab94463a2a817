"""The deployed application: the place of its modules, its pins, and its declarations. The declarations are found by importing it in a
separate process, with the versions that it pins, so the infrastructure follows the code. If a module cannot be imported, the synthesis ends
with the user's own traceback.
"""

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import assets, discovery, ignored, native
from .config import LONGEST_TIMEOUT, StageConfig, require
from .fleet import FARGATE, LONGEST_BODY
from .ignored import Ignored
from .packages import MODULES, here, is_compiled, library_packages, packages_for
from .pins import LAMBDA, Platform
from .places import library
from .stream_arns import SQS, is_placeholder, service_of

#: How many seconds an invocation needs besides the body of a task: to claim it, to record its outcome and to send its follow-ups.
TIME_TO_RECORD = 5
#: The kind of a layer that is one parameter.
PARAMETER = "parameter"
_APP = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
_QUEUE = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}(\.fifo)?")
_QUEUE_SAYS = "a letter, then letters, digits, - and _, at most 40 in all, followed by .fifo if it keeps order, in Sedano(queues=…)"


@dataclass(frozen=True, slots=True)
class Declared:
    """The declarations of an application: command queues, tasks by name, the subscribers of each event, the names of the schedules of
    periodic tasks.

    *webhooks*: by name, whether its sender signs. *streams*: by name, the tasks that read it, each with the operations of a table that it
    requests, an empty list for all. *formats*: by the name of a stream that is read from a queue, the format of its messages, where the
    declaration names one. *files*: the files of the code that were imported. *connect*: the function that makes its ports, if it
    is not the library's own. *worker*: the settings of its workers, if it has any. *layers*: the layers of its configuration.
    *budgets*: the queues whose invocations have a budget. *of_batches*: the declarations about the batch of an invocation, as in code.
    *sinks*: their names. *spending*: the tenants with a spending limit; an empty name is the whole app. *polls*: by name, the parameters
    that each reads.
    """

    queues: tuple[str, ...]
    tasks: Mapping[str, Mapping[str, Any]]
    subscriptions: Mapping[str, tuple[str, ...]]
    schedules: tuple[str, ...]
    tended: bool = False
    webhooks: Mapping[str, bool] = field(default_factory=dict)
    streams: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    formats: Mapping[str, str] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    connect: str = ""
    worker: Mapping[str, float] = field(default_factory=dict)
    layers: tuple[str, ...] = ()
    budgets: tuple[str, ...] = ()
    of_batches: tuple[str, ...] = ()
    sinks: tuple[str, ...] = ()
    spending: tuple[str, ...] = ()
    polls: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def longest(self, but: Collection[str] = ()) -> tuple[str, float]:
        """Return the task with the longest time limit, and that limit in seconds (0 if no task has one); tasks of the queues *but* are left
        out."""
        timed = {name: task for name, task in self.tasks.items() if task["queue"] not in but}
        limits = [(max(task.get("time_limit") or 0, task.get("soft_time_limit") or 0), name) for name, task in timed.items()]
        seconds, name = max(limits, default=(0, ""))
        return name, seconds

    def layers_and_parameters(self) -> tuple[str, ...]:
        """Return the layers of the configuration, and the parameters that polls read, each in the form of a layer."""
        return (*self.layers, *sorted({f"{PARAMETER}:{name}" for read in self.polls.values() for name in read}))

    def queues_of_streams(self) -> list[str]:
        """Return the names of the queues that get the records of streams, each once."""
        return sorted({self.tasks[task]["queue"] for tasks in self.streams.values() for task in tasks})

    def foreign_queues(self, arns: Mapping[str, str]) -> dict[str, str]:
        """Return those *arns*, by the names of their streams, that are queues and are known before the deployment."""
        known = {name: arn for name, arn in arns.items() if name in self.streams and not is_placeholder(arn)}
        return {name: arn for name, arn in known.items() if service_of(arn) == SQS}


@dataclass(frozen=True, slots=True)
class Application:
    """One application: its *reference* (`module:attribute`), the files of its *code*, its *packages*, and what it declares."""

    reference: str
    code: Path
    package: str | None
    packages: Path | None
    declared: Declared
    ignore: tuple[str, ...] = ()

    @property
    def content(self) -> str:
        """The hash of the code that is deployed."""
        return assets.digest(self.code, and_bytes=(self.package or "").encode(), ignored=ignored.of(self.code, self.ignore))

    def copy(self, target: Path) -> None:
        """Copy the code to *target*, as it is imported there."""
        assets.copy(self.code, target / self.package if self.package else target, ignored.of(self.code, self.ignore))


def application(
    app: str, code: Path, config: StageConfig, requirements: Path | None = None, ignore: tuple[str, ...] = ()
) -> Application:
    """Return the application *app* (`module:attribute`) with its declarations.

    Args:
        app: names the application.
        code: the directory that holds its modules, or the package itself.
        config: the stage that it is for.
        requirements: the packages that it pins; by default `requirements.txt` in *code*, if there is one.
        ignore: lines as in `.sedanoignore`, whose rules take precedence.

    Raises:
        ConfigError: a path or a name cannot be used.
        AssetError: its packages or its compiled code do not run where it is deployed.
        DiscoveryError: it does not import.
    """
    require(_APP.fullmatch(app), "app", app, "module:attribute, such as shop.tasks:app")
    code = code.resolve()
    package = _package(code, app)
    on = here() if config.local else LAMBDA
    unwanted = ignored.of(code, ignore)
    _require_that_it_runs(code, on, unwanted)
    pinned = _pinned(code, requirements)
    packages = _packages(pinned, on)
    importable = packages
    if packages is not None and on.tags and is_compiled(packages):
        importable = _packages(pinned, here())
    declared = _discover(app, code.parent if package else code, importable)
    _require_deployed(code, declared, unwanted)
    _require_time(declared, config)
    _require_begun(declared, config)
    for name in declared.queues:
        require(_QUEUE.fullmatch(name), "queues", name, _QUEUE_SAYS)
    folded = {name.lower() for name in declared.queues}
    require(len(folded) == len(declared.queues), "queues", declared.queues, "names that differ by more than their case")
    for setting, given in {"queue_concurrency": config.queue_concurrency, "served_by": config.served_by}.items():
        for name in given:
            require(name in declared.queues, setting, name, f"one of the queues of {app}: {', '.join(declared.queues)}")
    _require_fleet_time(declared, config)
    _require_honoured(declared, config)
    _require_connected(app, declared, config)
    return Application(app, code, package, packages, declared, ignore)


def _require_deployed(code: Path, declared: Declared, unwanted: Ignored) -> None:
    """Refuse a module that the application imports and that is not deployed: each function would fail to start."""
    for file in declared.files:
        path = Path(file)
        line = unwanted.reason(path.relative_to(code).as_posix()) if path.is_relative_to(code) else None
        expected = f"a module that is deployed, because the application imports it: `!{line}` in {ignored.FILE} includes it"
        require(line is None, "code", file, expected)


def _require_time(declared: Declared, config: StageConfig) -> None:
    """Refuse a time limit that the functions cannot keep: Lambda would end the invocation before it, again and again."""
    name, longest = declared.longest(but=config.processes_serve)
    needed = math.ceil(longest + TIME_TO_RECORD)
    wanted = f"a shorter time_limit= of {name}, {longest:g}" if needed > LONGEST_TIMEOUT else f"at least {needed}, as the task {name} has "
    wanted += f": Lambda ends an invocation after {LONGEST_TIMEOUT} s" if needed > LONGEST_TIMEOUT else f"a time limit of {longest:g} s"
    within = needed <= (LONGEST_TIMEOUT if config.local else config.timeout)
    require(not longest or within, "timeout", config.timeout, wanted)


def _require_fleet_time(declared: Declared, config: StageConfig) -> None:
    """Refuse a time limit that processes would not keep."""
    by_lambda = [queue for queue in declared.queues if queue not in config.processes_serve]
    name, longest = declared.longest(but=by_lambda)
    expected = f"at most {LONGEST_BODY - TIME_TO_RECORD}, because `sedano worker` takes --timeout={LONGEST_BODY} at most"
    require(math.ceil(longest + TIME_TO_RECORD) <= LONGEST_BODY, f"time_limit of {name}", longest, expected)
    others = [queue for queue in declared.queues if config.server_of(queue) != FARGATE]
    name, longest = declared.longest(but=others)
    allowed = config.fleet.timeout if config.fleet else 0
    needed = math.ceil(longest + TIME_TO_RECORD)
    require(not longest or needed <= allowed, "fleet.timeout", allowed, f"at least {needed}, as {name} has a time limit of {longest:g} s")


def _require_honoured(declared: Declared, config: StageConfig) -> None:
    """Refuse what Lambda alone honours where processes serve: a budget of invocations, a worker's own rate, the batch of an invocation."""
    for queue in declared.budgets:
        server, instead = config.server_of(queue), f"`sedano scale {queue} N` bounds its bodies on all hosts"
        more = "fleet has least= and most= tasks" if server == FARGATE else "--concurrency bounds those of a process"
        expected = f"lambda, or no app.budget({queue!r}, …), which changes Lambda's concurrency alone: {more}, and {instead}"
        require(queue not in config.processes_serve, f"served_by[{queue}]", server, expected)
    for name, task in declared.tasks.items():
        queue = task["queue"]
        expected = f"lambda, or no per='worker' of {name}: each lane of a process would count alone; a rate without per= is for all workers"
        kept = queue not in config.processes_serve or not task.get("rate_per_worker")
        require(kept, f"served_by[{queue}]", config.server_of(queue), expected)
    by_lambda = any(task["queue"] not in config.processes_serve for task in declared.tasks.values())
    expected = f"a queue with tasks for Lambda, or no {' and no '.join(declared.of_batches)}: a process takes messages one by one, and "
    expected += "concurrency= of fleet, or --concurrency of your hosts, says how many bodies it runs at once"
    require(by_lambda or not declared.of_batches or not declared.tasks, "served_by", dict(config.served_by), expected)


def _require_begun(declared: Declared, config: StageConfig) -> None:
    """Refuse a guard that leaves a worker no time: it would begin no task, and return each message until it is a dead letter."""
    guard = declared.worker.get("guard", 0.0)
    needed = math.floor(guard) + 1
    expected = f"at least {needed}, or a shorter guard than {guard:g} s in Sedano(worker=WorkerSettings(guard=…)): a worker begins no task "
    require(not guard or needed <= config.timeout, "timeout", config.timeout, f"{expected}in the last {guard:g} s of an invocation")


def _require_connected(app: str, declared: Declared, config: StageConfig) -> None:
    """Refuse a stream or a sink that has a name but no address, or the reverse; on this machine a table of the stage replaces a stream."""
    known = f"one of the streams of {app}: {', '.join(declared.streams)}" if declared.streams else f"no stream: {app} declares none"
    for name in config.streams:
        require(name in declared.streams, "streams", name, known)
    for name, tasks in declared.streams.items():
        expected = f"{name}= and the ARN of the stream beside it, for {' and '.join(tasks)} of {app}"
        require(config.local or name in config.streams, "streams", ",".join(config.streams), expected)
    known = f"one of the sinks of {app}: {', '.join(declared.sinks)}" if declared.sinks else f"no sink: {app} declares none"
    for name in config.sinks:
        require(name in declared.sinks, "sinks", name, known)
    for name in declared.sinks:
        expected = f"{name}= and its place beside it, because {app} declares app.sink({name!r})"
        require(config.local or name in config.sinks, "sinks", ",".join(config.sinks), expected)


def _package(code: Path, app: str) -> str | None:
    """Return the name under which *code* is deployed when it is the package itself; None when it holds the modules."""
    require(code.is_dir(), "code", str(code), "the directory that holds the application's modules")
    package = re.split("[.:]", app, maxsplit=1)[0]
    if (code / package).is_dir() or (code / f"{package}.py").is_file():
        return None
    itself = code.name == package and (code / "__init__.py").is_file()
    require(itself, "code", str(code), f"a directory with {package}.py or {package}/, which app={app} names")
    return package


def _require_that_it_runs(code: Path, on: Platform, unwanted: Ignored) -> None:
    """Refuse compiled code among the modules that does not run where they are deployed, and code that is larger than Lambda allows."""
    assets.require_that_it_fits(code, unwanted)
    if on.tags:
        remedy = f"leave it out of {code} and pin the package that it belongs to in requirements.txt"
        native.require_that_it_runs(assets.sources(code, unwanted), architecture=on.machine, python=on.python, remedy=remedy)


def _pinned(code: Path, requirements: Path | None) -> Path | None:
    if requirements is None:
        return next((path for path in (code / "requirements.txt",) if path.is_file()), None)
    require(requirements.is_file(), "requirements", str(requirements), "a file of packages pinned with == and their hashes")
    return requirements.resolve()


def _packages(pinned: Path | None, on: Platform) -> Path | None:
    if pinned is None:
        return None
    found = packages_for(pinned, on)
    if found is not None:
        assets.require_that_it_fits(found)
    return found


def _discover(app: str, code: Path, packages: Path | None) -> Declared:
    """Import *app* as the functions will, and return what it declares."""
    found = discovery.discovered(app, code, [library(), *([packages / MODULES] if packages else []), library_packages()])
    heard = {event: tuple(tasks) for event, tasks in found["subscriptions"].items()}
    streams = {name: {task: tuple(some) for task, some in tasks.items()} for name, tasks in found.get("streams", {}).items()}
    return Declared(
        queues=tuple(found["queues"]), tasks=found["tasks"], subscriptions=heard, schedules=tuple(found["schedules"]),
        tended=found.get("tended", False), webhooks=found.get("webhooks", {}), streams=streams, files=tuple(found.get("files", ())),
        connect=found.get("connect", ""), worker=found.get("worker", {}), layers=tuple(found.get("layers", ())),
        formats=found.get("formats", {}), budgets=tuple(found.get("budgets", ())), of_batches=tuple(found.get("of_batches", ())),
        sinks=tuple(found.get("sinks", ())), spending=tuple(found.get("spending", ())),
        polls={name: tuple(read) for name, read in found.get("polls", {}).items()},
    )  # fmt: skip
