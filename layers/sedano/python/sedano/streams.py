"""The records of streams, for the tasks that read them.

    from sedano.streams import StreamRecord, TableChange

`Sedano.stream` (`sedano.api.sources`) describes how a task subscribes to a stream.
"""

from sedano.model.sources.streams import StreamRecord, TableChange, call_id

__all__ = ["StreamRecord", "TableChange", "call_id"]
