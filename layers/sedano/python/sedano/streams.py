"""Streams as their author sees them: what a record is.

    from sedano.streams import StreamRecord, TableChange

How a task comes to stand on a stream is said at `Sedano.stream` (`sedano.api.sources`).
"""

from sedano.model.sources.streams import StreamRecord, TableChange, call_id

__all__ = ["StreamRecord", "TableChange", "call_id"]
