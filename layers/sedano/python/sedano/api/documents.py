"""Sinks, kinds of documents, and the options `sinks=` and `on=` of a task. Only an app that declares one loads this module.

    bi, dashboard = app.sink("bi"), app.sink("dashboard")
    price = app.document("price", sinks=[bi])

    @app.task(sinks=[bi, dashboard])
    def average(user: int) -> float: ...

    @app.task(on=[price, average])
    def look(document: dict[str, Any]) -> None: ...
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from sedano.api.declaration import Declaration, declared
from sedano.engine.declaration_origins import may_declare
from sedano.engine.publisher.drafting import inherited
from sedano.engine.publisher.publisher import Outlet
from sedano.engine.registry import Registry
from sedano.engine.sinks import delivering
from sedano.engine.task_context import CURRENT
from sedano.errors import ArgumentError, OptionError
from sedano.model.circuits import Breaker
from sedano.model.messages import codec
from sedano.model.messages.attributes import LONGEST_ID, is_id, is_name
from sedano.model.messages.message import Document
from sedano.model.queues import is_fifo
from sedano.model.retry import Retry
from sedano.model.sinks.content import content_of
from sedano.task import Task

RETRY = Retry(max_retries=19, interval_start=2.0, interval_max=1_800.0)
"""The retry policy of a sink: its pauses add up to two and a half hours on average."""
CIRCUIT = Breaker(failures=3, open_for=30.0, growth="exponential", open_most=600.0)
"""The circuit of a sink: while it is open, deliveries wait as messages and count as no attempt."""
EXAMPLE = content_of(Document("id", "id", "name"))
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
WITHOUT = ("name", "batch", "bind", "sinks", "on", "serial_key", "debounce", "delivery", "ignore_result")
"""The options of a task that a sink does not have."""


class DocumentApp(Protocol):
    """The part of an app that documents need."""

    @property
    def outlet(self) -> Outlet:
        """The publisher."""

    @property
    def registry(self) -> Registry:
        """The tasks, and the tasks that receive each document."""


class Sink(NamedTuple):
    """A declared sink: its name, and the task that delivers documents to it."""

    name: str
    task: str


class DocumentType:
    """A kind of documents of the user's domain. `publish` sends one to its sinks and to the tasks that are declared with `on=`."""

    def __init__(self, name: str, app: DocumentApp) -> None:
        """Name the kind."""
        self.name, self._app = name, app

    def publish(self, value: Any, *, id: str | None = None) -> str:  # noqa: A002 - the field's term, as in the document
        """Publish *value* as a document and return the document's id. Inside a task it is sent when the task's success is recorded.

        Args:
            value: a value that JSON can represent, as the result of a task.
            id: identifies the object, such as ``"sku-7@2026-11-27"``; the document's id is ``NAME/id``, and tables and buckets keep one
                document of an id. By default each publication has an id of its own.

        Raises:
            OptionError: *id* is not 1 to 256 visible ASCII characters, with the name.
            Unserialisable: *value* cannot be written as JSON.
            BacklogFull: the queue cannot be reached and the backlog is full.
        """
        codec.encode_value(value, "value")
        if id is not None and not is_id(f"{self.name}/{id}"):
            raise OptionError(f"id: {id!r:.80} cannot be the id of a document: give a text of visible ASCII, {LONGEST_ID} with its name")
        outlet, context = self._app.outlet, CURRENT.get()
        own = outlet.drafting.fresh_id() if id is None else f"{self.name}/{id}"
        outlet.post([Document(id=own, task_id=own if context is None else context.id, task=self.name, value=value, **inherited())])
        return own


def sink_declaration(name: object, options: Mapping[str, Any]) -> Declaration:
    """Return the declaration of the task of the sink *name*.

    Raises:
        OptionError: the name is not valid, or an option cannot be honoured.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise OptionError(f"sink: {name!r:.80} is not a name of letters, digits, - and _; the setting sinks= maps it to its place")
    for option in options:
        if option in WITHOUT:
            raise OptionError(f"{option}: a sink has no such option; it receives documents one by one")
    return declared({"retry": RETRY, "circuit": CIRCUIT, **options, "name": f"sink.{name}", "ignore_result": True})


def body_of(registry: Registry, name: str) -> Any:
    """Return the body of the task of the sink *name*."""
    registry.need("sinks", f"the sink {name}")
    registry.sinks.add(name)
    return delivering(registry, name)


def declare(app: DocumentApp, name: object, sinks: object) -> DocumentType:
    """Declare the kind *name* of documents; see `Documents.document`.

    Raises:
        OptionError: the name is not valid or taken, or a sink is not one of the app's.
    """
    registry = app.registry
    if not isinstance(name, str) or not is_name(name) or not is_id(name):
        raise OptionError(f"document: {name!r:.80} is not a name of visible ASCII characters without spaces, such as 'price'")
    if not may_declare(registry, f"document {name}", name, name in registry.kinds) or name in registry.tasks:
        raise OptionError(f"document {name}: declared twice; give one of them another name")
    registry.kinds.add(name)
    registry.documents[name] = _targets(registry, f"document {name}", sinks)
    return DocumentType(name, app)


def connect(registry: Registry, task: Task[Any, Any], declaration: Declaration) -> None:
    """Connect *task*, which is declared, to its sinks and to the documents that it receives.

    Raises:
        OptionError: a sink or a document is not one of the app's, or the task cannot have it.
    """
    name = task.name
    targets = _targets(registry, f"task {name}", declaration.sinks)
    if targets and declaration.batch is not None:
        raise OptionError(f"task {name}: sinks= with batch=: a run has many calls and one result; publish documents with app.document(…)")
    sources = list(_sources(registry, task, declaration.on))
    if sources:
        _check_receiver(task)
    for one in sources:
        _receive(registry, one.name, [name])
        _mark(registry, one)
    if targets:
        _receive(registry, name, targets)
    _mark(registry, task)


def _receive(registry: Registry, document: str, tasks: Iterable[str]) -> None:
    """Let *tasks* receive the documents of the name *document*."""
    known = registry.documents.setdefault(document, [])
    known += [task for task in tasks if task not in known]


def _mark(registry: Registry, source: DocumentType | Task[Any, Any]) -> None:
    """Note in the spec of a task with sinks or subscribers that its results are documents."""
    if isinstance(source, Task) and registry.documents.get(source.name):
        source.spec = registry.tasks[source.name] = registry.tasks[source.name]._replace(is_document=True)


def _targets(registry: Registry, who: str, sinks: object) -> list[str]:
    """Return the tasks of *sinks*: sinks of the app, their names, or tasks that receive documents."""
    found: list[str] = []
    for one in _listed(sinks):
        task = one.task if isinstance(one, Sink) else one.name if isinstance(one, Task) else f"sink.{one}"
        if task not in registry.tasks:
            what = f"{one!r:.80}" if isinstance(one, str) else getattr(one, "name", f"{one!r:.80}")
            raise OptionError(f"{who}: sinks: {what} is not a sink of this app; declare it first: bi = app.sink('bi')")
        if isinstance(one, Task):
            _check_receiver(one)
        found += [] if task in found else [task]
    return found


def _sources(registry: Registry, task: Task[Any, Any], given: object) -> Iterable[DocumentType | Task[Any, Any]]:
    """Yield the kinds of documents, and the tasks whose results are documents, in *given*."""
    for one in _listed(given):
        known = registry.kinds if isinstance(one, DocumentType) else registry.tasks if isinstance(one, Task) else ()
        if getattr(one, "name", None) not in known or one.name == task.name:
            what = getattr(one, "name", f"{one!r:.80}")
            raise OptionError(f"task {task.name}: on: {what} is neither a document (app.document) nor another task of this app")
        yield one


def _listed(given: object) -> list[Any]:
    if given is None:
        return []
    return list(given) if isinstance(given, list | tuple) and not isinstance(given, Sink) else [given]


def _check_receiver(task: Task[Any, Any]) -> None:
    """Refuse a *task* that cannot be called with a document."""
    if is_fifo(task.spec.queue):
        raise OptionError(f"task {task.name}: its queue {task.spec.queue!r} keeps order, but documents have none; use another queue")
    try:
        task.spec.parameters.fit([dict(EXAMPLE)], {})
    except ArgumentError as wrong:
        raise OptionError(f"task {task.name} is called with one argument, a document, which is a dict: {wrong.detail}") from None
