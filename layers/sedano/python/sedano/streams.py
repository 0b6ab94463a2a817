"""The records of streams, for the tasks that read them.

    from sedano.streams import BusEvent, ObjectChange, QueueMessage, StreamRecord, TableChange, TopicMessage

`Sedano.stream` (`sedano.api.sources`) describes how a task subscribes to a stream.
"""

from sedano.model.sources.queue_messages import BusEvent, ObjectChange, QueueMessage, TopicMessage
from sedano.model.sources.streams import StreamRecord, TableChange, call_id

__all__ = ["BusEvent", "ObjectChange", "QueueMessage", "StreamRecord", "TableChange", "TopicMessage", "call_id"]
