"""Rules about who may know whom: the floors of DESIGN §2, from the ground.

    errors < model (pure) < ports < telemetry outbound < memory, aws, sqlite, engine (these do not know one another) < result < canvas
    < task < event < api < app < workflow < streams webhooks polls checks guards spark django fastapi flask < host
    < views changes migration < testing history < pytest_plugin < web < deploy dev < local < cli < __main__

A module imports only floors below its own, and rooms of one floor do not know one another. glue_jobs may know the model and history,
functions the host alone, infra nothing of the library, except for the command of a clone. An import inside a function counts like any
other; LATE says who may have one.
"""

import ast
import graphlib
from collections.abc import Iterable, Sequence
from typing import TypeGuard

from tests.house.tree import LIBRARY, Source

FLOORS: tuple[frozenset[str], ...] = tuple(
    frozenset(rooms.split())
    for rooms in (
        "errors",
        "model",
        "ports",
        "telemetry outbound",
        "memory engine aws sqlite",
        "result",
        "canvas",
        "task",
        "event",
        "api",
        "app",
        "workflow",
        "streams webhooks polls checks guards spark django fastapi flask",
        "host",
        "views changes migration",
        "testing history",
        "pytest_plugin",
        "web",
        "deploy dev",
        "local",
        "cli emulator",
        "__main__ management",
    )
)
APART = {"sedano.django.management": "management"}
"""Folders that are rooms of their own: Django looks for commands below the app, and ours hands over to the command line."""
KNOW_BOTH = ("sedano.host",)
KNOW_SQS = ("sedano.aws", "sedano.memory", "sedano.sqlite")
FIGURES = {"SQS", "MAX_BYTES", "MAX_ENTRIES", "MAX_DELAY_S", "MAX_HOLD_S", "HOLD_MOST_S", "CLAIM_CHECK_BYTES"}
DOOR = "the package itself"  # sedano/__init__.py hands on names of every floor up to the app, and stands below whoever uses the package

LATE = {
    f"{LIBRARY}{path}": reason
    for path, reason in {
        "__init__.py": "`from sedano import Sedano` loads what an app needs and no more",
        "api/backlog.py": "only a program that names another backlog than the disk loads it",
        "api/boot.py": "only an app that declares boot steps or services loads them",
        "api/boxes.py": "only a worker that runs a boxed task loads processes, or calls of functions",
        "api/configuration.py": "only an app with a configuration loads it",
        "api/connector.py": "a program loads brokers, a publisher, or `sedano dev`, only where it has them",
        "api/leases_and_partitions.py": "a program loads locks, leaderships and partitions when it uses them",
        "api/leases.py": "only a program that awaits a lock loads an event loop",
        "api/declaration.py": "only an app whose tasks name a loop loads loops",
        "api/loops.py": "only a worker that runs a body under trio loads trio",
        "api/limits.py": "only an app with a queue that keeps order loads the options of order",
        "api/task_declarer.py": "only an app whose tasks have circuits, limits, boxes or documents loads them",
        "api/periodic.py": "only an app with periodic tasks loads schedules",
        "api/checks_and_budgets.py": "only an app that declares health checks or budgets loads them",
        "api/sources.py": "only an app that declares a webhook or a stream loads them",
        "app.py": "a program loads the control panel, signatures and results when it uses them; a worker loads none of them",
        "aws/deployment.py": "a port that few invocations use is loaded at its first use",
        "aws/client/session.py": "only a process that chooses the slim client loads it",
        "aws/client/store_date.py": "a worker without tasks that expire loads nothing that computes the store's time",
        "aws/ledger.py": "only a worker whose task failed, or a program that lists failures, loads the index of failures",
        "aws/machine.py": "only a program that waits on an event loop loads asyncio",
        "aws/telemetry_choice.py": "only a process whose output CloudWatch reads loads Powertools",
        "aws/queues.py": "only a program that sends to a queue that keeps order loads the rules of order",
        "canvas/form.py": "only a program that estimates the cost of a canvas loads estimates",
        "canvas/election.py": "only a program that holds an election loads elections",
        "engine/worker/body_results.py": "only an app that names exceptions (`raises=`) loads how they are written",
        "cli/__init__.py": "click is an extra: without it the command says how to install it",
        "api/hooks.py": "only an app with middleware loads hooks",
        "api/sinks.py": "only an app with documents loads them",
        "cli/options.py": "help imports no app",
        "cli/verb_table.py": "only the verb that is asked for is loaded",
        "cli/history_job.py": "Spark is an extra, and the job stands beside the library",
        "dev/pages.py": "the pages of `sedano dev` are loaded at their first visit, so that they delay no worker",
        "django/interface.py": "Django 6 has the interface for tasks; before it a package has",
        "engine/registry.py": "only an app with routes loads them",
        "engine/boot.py": "only a process with services loads an event loop, only an app with hooks those",
        "engine/cluster/membership.py": "only a worker that finds a pause loads pauses; one that is asked something, the inbox",
        "engine/configuration_layers.py": "only a configuration with a TOML file loads its reader",
        "engine/task_context.py": "only a body with effects loads what collects them",
        "engine/deferrals.py": "only a worker of a queue that keeps order loads the rules of order",
        "engine/history/run_events.py": "only a worker that runs calls together loads baskets",
        "engine/redelivery.py": "only a worker that receives an unknown task loads the search for similar names",
        "engine/publisher/backlog.py": "a program whose messages all get through never loads a database",
        "engine/publisher/drafting.py": "canvases and order keys are loaded by the programs that use them",
        "engine/publisher/publisher.py": "leases and hooks are loaded by the programs that have them",
        "engine/publisher/sender.py": "only a program that delays a message for longer than its queue can loads timers",
        "engine/worker/body_concurrency.py": "only a worker whose app has budgets for its bodies loads them",
        "engine/worker/execution.py": "only a worker whose tasks have time limits or hooks, or that puts one off, loads what that takes",
        "engine/worker/gate_order.py": "a worker loads the gates that its app's tasks need",
        "engine/worker/pipeline.py": "only a worker that defers a message loads deferrals",
        "engine/worker/time_limits.py": "only a worker with several threads loads ctypes",
        "engine/worker/pack_follow_ups.py": "only a pack that ended without a run leaves the calls of its members behind",
        "engine/worker/verdicts.py": "only a task that ended without success leaves its call behind",
        "engine/boxes/child.py": "only Linux and macOS have the module of limits",
        "errors/__init__.py": "only an error about an unknown option loads the words that say what to write instead",
        "errors/hints.py": "only a missing attribute loads the words that say what to write instead",
        "host/worker_process.py": "only a worker whose tasks are async loads an event loop",
        "host/worker_command.py": "only a worker that answers probes loads a server",
        "host/functions.py": "a function loads the engine that it runs",
        "local/__init__.py": "the command of the local stage hears Ctrl-C before it loads an AWS client",
        "local/__main__.py": "the command hears Ctrl-C while it loads the rest",
        "pytest_plugin/__init__.py": "it is loaded in every run of pytest where sedano is installed; a test that wants a world loads one",
        "engine/worker/packs.py": "only a worker whose tasks were limited at run time loads limits",
        "result/late_imports.py": "only a program that awaits, draws or saves results, or asks for their messages, loads that",
        "telemetry/adapters.py": "only a process that names an adapter loads it, or looks for those of installed packages",
        "task.py": "only a program that makes signatures or publishes loads canvases and results",
        "workflow/__init__.py": "a worker whose workflows are classes loads no reader of files",
        "workflow/built_in_tasks.py": "every worker can direct workflows; the first command loads the engine of it",
        "workflow/files.py": "PyYAML is an extra: only workflows in YAML need it",
        "workflow/flow_handle.py": "only a program that waits for a run loads waiting; no worker does",
        "workflow/drawing.py": "only a program that draws loads the drawing; no worker does",
    }.items()
} | {
    "infra/__init__.py": "a program that only counts the bytes of a layer starts no CDK",
    "infra/stacks/core.py": "the CDK's ECS takes half a second to load; only a stage with queues that processes serve has a service",
    "requirements/build_hook.py": "the tree that is built is on the path of its build only when the hook puts it there",
}
"""Which files have imports inside functions, and why. They are statements: typed, and counted for floors and circles."""
LATE_ROOMS = {f"{LIBRARY}cli/verbs/": "the help of a verb loads click and the options; what the verb does is loaded when it runs"}
"""The folders in which every file may have imports inside functions."""
BY_NAME = {
    f"{LIBRARY}{path}": reason
    for path, reason in {
        "api/connector.py": "the function that brings an app's ports is named in `connect=`",
        "app.py": "the module of the app, and what brings its ports, are named in settings and in `connect=`",
        "cli/console.py": "the app is named on the command line",
        "cli/history_job.py": "looks whether the history job is installed before it says how to install it",
        "cli/workflow_runs.py": "the workflow is named on the command line, as module:Class",
        "deploy/cdk_environment.py": "looks whether the CDK is installed, without loading it",
        "engine/configuration_layers.py": "the module of a layer is named in app.configure",
        "api/loops.py": "looks whether trio is installed, without loading it",
        "dev/worker.py": "the app is named on the command line or in pyproject.toml",
    }.items()
}
"""Which files load what users name. A module of ours is named by an import statement, everywhere (`ours_by_statement`)."""
TYPED = {
    f"{LIBRARY}{path}": reason
    for path, reason in {
        "api/hooks.py": "names what hooks are called with in annotations",
        "api/sinks.py": "names sinks, documents and tasks in annotations",
        "api/task_decorators.py": "is itself for the type checker alone, and names the calls of a batch in annotations",
        "canvas/form.py": "names options in annotations, and gives a type variable a default, which Python 3.13 has first",
        "canvas/signature.py": "names the options of a publication in an annotation",
        "cli/verbs/worker.py": "names the options of a worker in an annotation; help of a verb alone loads click",
        "cli/verb_entries.py": "names click's command in an annotation; help of a verb alone loads click",
        "engine/batch.py": "names the lease of a singleton and permits in annotations",
        "engine/task_context.py": "names effects in annotations",
        "engine/registry.py": "names circuits, health checks and budgets in annotations",
        "model/tasks/task_spec.py": "names circuits and limits in annotations",
        "engine/worker/event_loop.py": "names time limits in an annotation",
        "result/async_result.py": "gives a type variable a default, which Python 3.13 has first",
        "django/__init__.py": "names options in annotations",
        "fastapi/__init__.py": "names options and results in annotations",
        "ports/__init__.py": "names in annotations the ports that only their users load",
        "ports/consumers.py": "names in annotations what only readers of queues load",
        "ports/limits.py": "names in annotations what only users of limits load",
    }.items()
}
"""Beside the files in LATE: what only annotations name is imported for the type checker alone. For floors and circles it counts."""

FRAMEWORKS = {
    "asgiref": "sedano.django", "django": "sedano.django", "django_tasks": "sedano.django", "fastapi": "sedano.fastapi",
    "flask": "sedano.flask", "starlette": "sedano.fastapi",
}  # fmt: skip
"""Packages of web frameworks, each with the only module that may import it: no other program loads or needs them."""

FLAG = "TYPE" + "_CHECKING"
HARMLESS = ("importlib.metadata", "importlib.resources")  # they read what is installed and import nothing


def imported(source: Source) -> list[tuple[str, tuple[str, ...]]]:
    """Every import as (module, names), relative ones resolved."""
    package = source.module.split(".")
    found: list[tuple[str, tuple[str, ...]]] = []
    for node in source.nodes:
        if isinstance(node, ast.Import):
            found += [(alias.name, ()) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            up = node.level - (source.stem == "__init__" and node.level > 0)
            base = package[: len(package) - up] if node.level else []
            found.append((".".join([*base, *filter(None, [node.module])]), tuple(alias.name for alias in node.names)))
    return found


def rooms_of(module: str, names: Sequence[str]) -> set[str]:
    """The rooms of the library that one import enters."""
    parts = module.split(".")
    if parts[0] != "sedano":
        return set()
    if len(parts) > 1:
        return {parts[1]}
    return {name if name.islower() and not name.startswith("__") else DOOR for name in names or ("",)}


def entered(source: Source) -> set[str]:
    """All rooms of the library that a file imports."""
    return set().union(*(rooms_of(module, names) for module, names in imported(source)))


def floor_of(room: str) -> float | None:
    """The floor of a room; None: it stands on none. The package itself stands just above the app, whose names it hands on."""
    if room == DOOR:
        return next(floor for floor, rooms in enumerate(FLOORS) if "app" in rooms) + 0.5
    return next((floor for floor, rooms in enumerate(FLOORS) if room in rooms), None)


def only_floors_below(source: Source) -> list[str]:
    """A module of the library imports floors below its own."""
    parts = source.module.split(".")
    apart = (name for folder, name in APART.items() if f"{source.module}.".startswith(f"{folder}."))
    room = next(apart, parts[1] if len(parts) > 1 else DOOR)
    here = floor_of(room)
    if here is None:
        return [f"{source.path}: {room} stands on no floor; give it one in tests/house/imports.py"]
    reached = {other: floor_of(other) for other in entered(source) - {room}}
    return [
        f"{source.path}: {room} may not import {other}; only floors below its own"
        for other, there in sorted(reached.items())
        if there is None or there >= here
    ]


def one_room_knows_engine_and_aws(source: Source) -> list[str]:
    """Only the host, and the command line's tools above it, import both the engine and AWS."""
    both = {"engine", "aws"} <= entered(source) and not source.module.startswith(KNOW_BOTH)
    return [f"{source.path}: only sedano.host may know both engine and aws"] if both else []


def queues_say_their_bounds(source: Source) -> list[str]:
    """Only adapters know the figures of SQS; everything else asks `ports.queues.bounds`."""
    if source.module.startswith(KNOW_SQS):
        return []
    found = {name for module, names in imported(source) if module == "sedano.model.queues" for name in names}
    return [f"{source.path}: {name} is a figure of SQS; ask ports.queues.bounds" for name in sorted(found & FIGURES)]


def visitors_use_their_door(source: Source) -> list[str]:
    """Lambda functions enter by the host, Glue jobs by the model and by history; infrastructure by none but its command."""
    doors = {"functions": {"host"}, "glue_jobs": {"model", "errors", "history"}, "infra": set[str](), "infra/command.py": {"deploy"}}
    allowed = doors.get(source.path, doors.get(source.path.split("/")[0]))
    if allowed is None:
        return []
    return [f"{source.path}: may not import sedano.{room}" for room in sorted(entered(source) - allowed)]


def frameworks_in_their_rooms(source: Source) -> list[str]:
    """Only the module for a web framework imports its packages."""
    homes = {package: FRAMEWORKS[package] for module, _ in imported(source) if (package := module.split(".")[0]) in FRAMEWORKS}
    return [
        f"{source.path}: only {home} may import {package}"
        for package, home in homes.items()
        if not f"{source.module}.".startswith(f"{home}.")
    ]


def below_the_top(source: Source) -> list[int]:
    """The lines of imports that stand in functions, or behind a condition other than the type checker's."""
    top = {id(node) for node in source.tree.body}
    top |= {id(node) for block in source.tree.body if _typed_only(block) for node in block.body}
    return [node.lineno for node in source.nodes if isinstance(node, ast.Import | ast.ImportFrom) and id(node) not in top]


def _may_be_late(source: Source) -> bool:
    return source.path in LATE or source.path.startswith(tuple(LATE_ROOMS))


def at_the_top(source: Source) -> list[str]:
    """Imports stand at the top level of a module, except in the files that LATE lists.

    A late import that is a statement is typed, and it counts for floors and circles; one by text is neither typed nor counted.
    """
    if _may_be_late(source):
        return []
    return [f"{source.path}:{line}: an import hides below the top level" for line in below_the_top(source)]


def no_type_checking(source: Source) -> list[str]:
    """Imports for the type checker alone stand only beside late ones, and where TYPED says so."""
    if _may_be_late(source) or source.path in TYPED:
        return []
    named = any(
        (isinstance(node, ast.Name) and node.id == FLAG)
        or (isinstance(node, ast.Attribute) and node.attr == FLAG)
        or (isinstance(node, ast.alias) and node.name == FLAG)
        for node in source.nodes
    )
    return [f"{source.path}: {FLAG} hides a cycle; move what both need to a floor below"] if named else []


def _typed_only(node: ast.stmt) -> TypeGuard[ast.If]:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == FLAG


def by_name_only_where_allowed(source: Source) -> list[str]:
    """What users name is loaded only in the places named in BY_NAME."""
    if source.path in BY_NAME:
        return []
    modules = {f"{module}.{name}" for module, names in imported(source) for name in names or ("",)}
    late = any(module.startswith("importlib.") and not module.startswith(HARMLESS) for module in modules)
    late |= any(isinstance(node, ast.Name) and node.id == "__import__" for node in source.nodes)
    return [f"{source.path}: imports by text; write an import statement, or name the file with its reason in BY_NAME"] if late else []


def ours_by_statement(source: Source) -> list[str]:
    """A module of this tree is imported by a statement, never by a text: statements are typed, and counted for floors and circles."""
    if source.path.startswith("tests/"):
        return []
    calls = [node for node in source.nodes if isinstance(node, ast.Call) and node.args and _imports_by_text(node.func)]
    return [f"{source.path}:{call.lineno}: imports a module of ours by text" for call in calls if _begins(call.args[0]).startswith(_OURS)]


_OURS = ("sedano", "infra", "functions", "glue_jobs", "requirements", ".")


def _imports_by_text(function: ast.expr) -> bool:
    return (isinstance(function, ast.Attribute) and function.attr == "import_module") or (
        isinstance(function, ast.Name) and function.id in ("import_module", "__import__")
    )


def _begins(text: ast.expr) -> str:
    """Return what a text, or an f-string, begins with; nothing for what is computed."""
    first = text.values[0] if isinstance(text, ast.JoinedStr) and text.values else text
    return str(first.value) if isinstance(first, ast.Constant) else ""


def graph(sources: Iterable[Source]) -> dict[str, set[str]]:
    """Who imports whom, module by module."""
    everything = list(sources)
    names = {source.module for source in everything}
    edges: dict[str, set[str]] = {}
    for source in everything:
        targets: set[str] = set()
        for module, taken in imported(source):
            inner = {f"{module}.{name}" for name in taken} & names
            whole = {module} & names if len(inner) < len(taken) or not taken else set()
            targets |= inner | whole
        edges[source.module] = targets - {source.module}
    return edges


def no_cycles(sources: Iterable[Source]) -> list[str]:
    """No module imports itself through others."""
    try:
        graphlib.TopologicalSorter(graph(sources)).prepare()
    except graphlib.CycleError as error:
        return [f"modules import one another in a circle: {' → '.join(reversed(error.args[1]))}"]
    return []
