"""Streams as their author sees them: what a record is.

    from sedano.streams import StreamRecord, TableChange

`Sedano.stream` (`sedano.api.sources`) says how a task subscribes to a stream.
"""

from sedano.model.sources.streams import StreamRecord, TableChange, call_id

__all__ = ["StreamRecord", "TableChange", "call_id"]
