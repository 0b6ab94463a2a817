"""The port of sinks: the stores and services outside of a deployment that receive its documents (`sedano.model.sinks`)."""

from __future__ import annotations

from typing import Protocol

from sedano.model.sinks.content import Content


class Sinks(Protocol):
    """The sinks that a deployment knows, by the name that the app declares."""

    def write(self, sink: str, content: Content) -> bool:
        """Write *content*, a document, to *sink* once; return False where the sink reports that it has a document of its `id`.

        One call makes one attempt, which may have succeeded when it raises. An error that is final (`SedanoError.is_final`) is about this
        document: the sink will not accept it later either.

        Raises:
            ConfigurationError: the deployment knows no such sink, it does not exist, or the worker has no right to write to it.
            NotAccepted, TooLarge: the sink refuses this document.
            Unavailable: the sink did not answer, or is busy.
        """
