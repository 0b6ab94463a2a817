"""Rules about who may know whom.

    functions → bootstrap → app task result testing … → engine | aws | memory → ports → model → errors
    views → the front door's floors; cli, emulator, local and web → views; glue_jobs → history, model; infra → nothing of the library

A module imports only floors below its own. Rooms of the front door may know one another; engine, aws and memory may
not; bootstrap alone knows both engine and aws. Nothing is imported late, but for the places named in LATE.
"""

import ast
import graphlib
from collections.abc import Iterable, Sequence
from typing import TypeGuard

from tests.house.tree import Source

FLOORS: tuple[frozenset[str], ...] = tuple(
    frozenset(rooms.split())
    for rooms in (
        "celery_names",
        "errors",
        "model",
        "machine deadlines limits consumers secret_texts",
        "seals",
        "ports",
        "memory engine aws",
        "app task event canvas result guards settings testing workflow",
        "bootstrap",
        "views",
        "cli emulator local web",
        "__main__",
    )
)
FRONT = next(floor for floor, rooms in enumerate(FLOORS) if "app" in rooms)  # and every file that is not named above
DOOR = "the package itself"  # sedano/__init__.py stands above the front rooms and below whatever uses the package

LATE = {
    "infra/__init__.py": "whoever counts the bytes of a layer starts no CDK",
    "layers/sedano/python/sedano/__init__.py": "`from sedano import Sedano` loads what an app needs and no more",
    "layers/sedano/python/sedano/app.py": "a program loads locks, partitions, the control panel and results when it uses them; "
    "a worker loads no more than it runs",
    "layers/sedano/python/sedano/aws_ports.py": "a port that few invocations use is loaded by the first",
    "layers/sedano/python/sedano/backlog.py": "a program whose messages all get through never loads a database",
    "layers/sedano/python/sedano/bootstrap.py": "a function loads what it runs",
    "layers/sedano/python/sedano/cli/__init__.py": "loads the one verb that was asked for",
    "layers/sedano/python/sedano/cli/history.py": "Spark is an extra, and the job stands beside the library",
    "layers/sedano/python/sedano/guarding.py": "whoever declares health checks and budgets loads what that takes",
    "layers/sedano/python/sedano/elections.py": "whoever holds an election loads what that takes",
    "layers/sedano/python/sedano/engine/admission.py": "an app without singletons and winners loads neither leases nor elections",
    "layers/sedano/python/sedano/engine/holding.py": "whoever meets a task that is not known loads what finds the name that was meant",
    "layers/sedano/python/sedano/engine/time_limits.py": "ctypes is for the threads of a worker that has more than one; others load none",
    "layers/sedano/python/sedano/engine/execution.py": "a worker whose tasks have no time limits loads nothing that keeps them",
    "layers/sedano/python/sedano/engine/deferrals.py": "whoever has no queue that keeps order loads nothing that knows of order",
    "layers/sedano/python/sedano/engine/membership.py": "whoever meets no pause loads nothing that knows of pauses",
    "layers/sedano/python/sedano/engine/telling.py": "whoever runs no calls together loads nothing that knows of baskets",
    "layers/sedano/python/sedano/engine/publisher.py": "whoever delays nothing by more than 900 s loads no timers",
    "layers/sedano/python/sedano/aws/host.py": "whoever waits on an event loop has one; whoever does not, pays for none",
    "layers/sedano/python/sedano/aws/noted.py": "a worker that gets no task with `expires` computes nothing about the store's clock",
    "layers/sedano/python/sedano/aws/queues.py": "whoever sends to no queue that keeps order loads nothing that knows of turns",
    "layers/sedano/python/sedano/limiting.py": "an app without a queue that keeps order loads nothing that declares order",
    "layers/sedano/python/sedano/local/__init__.py": "the command of the local stage hears Ctrl-C before it loads an AWS client",
    "layers/sedano/python/sedano/local/__main__.py": "the command hears Ctrl-C while it loads what it runs",
    "layers/sedano/python/sedano/locks.py": "whoever awaits a lock has an event loop; whoever does not, pays for none",
    "layers/sedano/python/sedano/outlet.py": "whoever publishes loads results, whoever takes a lease or makes a canvas what that takes",
    "layers/sedano/python/sedano/result/later.py": "whoever awaits a result has an event loop; whoever neither awaits, draws nor saves "
    "a result, nor asks for its messages, pays for none of it",
    "layers/sedano/python/sedano/periodic.py": "whoever declares or changes periodic tasks loads what that takes",
    "layers/sedano/python/sedano/sources.py": "whoever declares a webhook or stands on a stream loads what that takes",
    "layers/sedano/python/sedano/hinting.py": "whoever asks for an attribute that is not there loads the words for it",
    "layers/sedano/python/sedano/task.py": "whoever makes signatures loads the canvas",
    "layers/sedano/python/sedano/errors.py": "whoever gives an option that is not there loads the words that say what to write instead",
    "layers/sedano/python/sedano/workflow/__init__.py": "a worker whose workflows are classes loads no reader of files",
    "layers/sedano/python/sedano/workflow/drawing.py": "whoever draws loads what draws; no worker does",
    "layers/sedano/python/sedano/workflow/enlisting.py": "every worker can direct workflows; the first command loads what that takes",
    "layers/sedano/python/sedano/workflow/flow_result.py": "whoever waits for a run loads what waits; no worker does",
    "layers/sedano/python/sedano/workflow/files.py": "PyYAML is an extra: only whoever declares workflows in YAML needs it",
}
BY_NAME = {
    "layers/sedano/python/sedano/app.py": "the module of the app, and what brings its ports, are named in settings and in `connect=`",
    "layers/sedano/python/sedano/connector.py": "the function that brings an app's ports is named in `connect=`",
    "layers/sedano/python/sedano/cli/desk.py": "the app that it is about is named on the command line",
    "layers/sedano/python/sedano/cli/history.py": "looks whether the history job is installed before it says how to install it",
    "layers/sedano/python/sedano/cli/workflow.py": "the workflow that a command is about is named on the command line, as module:Class",
}
"""Which files load what users name. A module of ours is named by an import statement, everywhere (`ours_by_statement`)."""
TYPED = {
    "layers/sedano/python/sedano/aws/noted.py": "names in an annotation what is loaded when somebody asks for the time",
    "layers/sedano/python/sedano/consumers.py": "names in annotations what only those who look at queues have to load",
    "layers/sedano/python/sedano/limits.py": "names in annotations what only those who use limits have to load",
    "layers/sedano/python/sedano/engine/registry.py": "names circuits, health checks and limits in annotations",
    "layers/sedano/python/sedano/engine/batch.py": "names the lease of a singleton and permits in annotations",
    "layers/sedano/python/sedano/engine/loop.py": "names in an annotation what keeps a body within its time limits",
    "layers/sedano/python/sedano/ports.py": "names in annotations what only those who use a port have to load",
}
"""Beside the places in LATE: what only annotations name is imported for the type checker alone. For floors and circles it counts."""

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
    return {name if name.islower() else DOOR for name in names or ("",)}


def entered(source: Source) -> set[str]:
    """All rooms of the library that a file imports."""
    return set().union(*(rooms_of(module, names) for module, names in imported(source)))


def floor_of(room: str) -> int:
    """The floor of a room; a file without a floor of its own is a room of the front door."""
    if room == DOOR:
        return FRONT + 1
    return next((floor for floor, rooms in enumerate(FLOORS) if room in rooms), FRONT)


def only_floors_below(source: Source) -> list[str]:
    """A module of the library imports floors below its own; front rooms also one another."""
    parts = source.module.split(".")
    room = parts[1] if len(parts) > 1 else DOOR
    if len(parts) > 2 and not any(room in rooms for rooms in FLOORS):
        return [f"{source.path}: the folder {room} stands on no floor; give it one in tests/house/imports.py"]
    here = floor_of(room)
    reached = {other: floor_of(other) for other in entered(source) - {room}}
    return [
        f"{source.path}: {room} may not import {other}; only floors below its own"
        for other, there in sorted(reached.items())
        if there > here or (there == here != FRONT)
    ]


def one_room_knows_engine_and_aws(source: Source) -> list[str]:
    """Only bootstrap imports both the engine and AWS."""
    both = {"engine", "aws"} <= entered(source) and source.module != "sedano.bootstrap"
    return [f"{source.path}: only bootstrap may know both engine and aws"] if both else []


def visitors_use_their_door(source: Source) -> list[str]:
    """Lambda functions enter by bootstrap, Glue jobs by the model and by history, infrastructure not at all."""
    doors = {"functions": {"bootstrap"}, "glue_jobs": {"model", "errors", "history"}, "infra": set[str]()}
    allowed = doors.get(source.path.split("/")[0])
    if allowed is None:
        return []
    return [f"{source.path}: may not import sedano.{room}" for room in sorted(entered(source) - allowed)]


def below_the_top(source: Source) -> list[int]:
    """The lines of imports that stand in functions, or behind a condition other than the type checker's."""
    top = {id(node) for node in source.tree.body}
    top |= {id(node) for block in source.tree.body if _typed_only(block) for node in block.body}
    return [node.lineno for node in source.nodes if isinstance(node, ast.Import | ast.ImportFrom) and id(node) not in top]


def at_the_top(source: Source) -> list[str]:
    """Imports stand at the top level of a module, except in the files that LATE lists.

    A late import that is a statement is typed, and it counts for floors and circles; one by text is neither typed nor counted.
    """
    if source.path in LATE:
        return []
    return [f"{source.path}:{line}: an import hides below the top level" for line in below_the_top(source)]


def no_type_checking(source: Source) -> list[str]:
    """Imports for the type checker alone stand only beside late ones, and where TYPED says so."""
    if source.path in LATE or source.path in TYPED:
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
