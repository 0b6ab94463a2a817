"""The declaration of sinks and of kinds of documents, a mixin of the app."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

from sedano.api.task_declarer import AppTasks

if TYPE_CHECKING:
    from sedano.api.documents import DocumentType, Sink
    from sedano.api.task_options import TaskOptions
    from sedano.task import Task


class Documents(AppTasks):
    """The documents of an app, and the sinks that receive them."""

    def sink(self, name: str, /, **options: Unpack[TaskOptions]) -> Sink:
        """Declare a sink: a table, bucket, delivery stream, event bus, queue, topic or webhook that receives documents (docs/sinks.md).

        *name* is only a key: the deployment maps it to the place (SEDANO_SINKS; the setting ``sinks`` of the stack, which also grants it to
        the worker). The deliveries of a sink are the calls of a task of its own, ``sink.NAME``, with its own queue, retries and circuit.

        Args:
            name: letters, digits, ``-`` and ``_``.
            options: options of `task`, such as ``queue=``, ``retry=``, ``circuit=``, ``rate=``. By default a delivery is tried 20 times in
                two and a half hours, and three failures within a minute pause the sink for half a minute, then longer.

        Raises:
            OptionError: the name or an option cannot be honoured, or another sink has the name.
            PortMissing: the app is connected to a deployment without sinks.
        """
        from sedano.api import documents

        declaration = documents.sink_declaration(name, options)
        self.permits(declaration)
        task = self.declared(documents.body_of(self.registry, name), declaration)
        return documents.Sink(name, task.name)

    def document(self, name: str, /, *, sinks: Sink | Task[Any, Any] | str | Sequence[Sink | Task[Any, Any] | str] = ()) -> DocumentType:
        """Declare a kind of documents of your domain: ``price = app.document("price", sinks=[bi])``, then ``price.publish({…})``.

        Args:
            name: the name that each document of the kind has.
            sinks: sinks, their names, or tasks that are called with each document.

        Raises:
            OptionError: the name is not valid or taken, or a sink is not one of this app's.
        """
        from sedano.api import documents

        return documents.declare(self, name, sinks)
