"""Messages as text: CloudEvents 1.0 JSON, the open protocol for clients in any language (docs/protocol).

`encode` writes a message as compact ASCII JSON. `decode` reads one; it refuses every text that is not a valid message of the protocol, with
a code of the closed list and the field's name. Results and claim-checked data have their own pairs of functions. Promises:

- ``decode(encode(message)) == message`` for every message whose data is plain JSON and whose times are whole
  microseconds.
- `decode` accepts everything that `encode` writes, unless it is larger than `MAX_BYTES` (the publisher moves large data to the
  blob store first).
- `decode` raises `MessageRefused` and nothing else, for every input, and takes at most 120 ms of CPU for any input of 1 MiB.
- `encode` raises `Unserialisable` for data and `OptionError` for attributes, naming the part.

Attributes at their defaults are not written. A command may omit ``taskid`` (its `id` is then also the task's), ``clock`` (read as 0) and
``time`` (read as 0.0: unknown, the queue's time of sending counts), so that a message can be written by hand.
"""

from __future__ import annotations

from sedano.model.messages.attributes import MAX_DATA_BYTES, MAX_DATA_DEPTH, MAX_VALUE_DEPTH
from sedano.model.messages.decoder import decode, decode_data, decode_document_data, decode_event_data, decode_value
from sedano.model.messages.encoder import encode, encode_data, encode_document_data, encode_event_data, encode_value
from sedano.model.messages.strict_json import MAX_BYTES, MAX_DEPTH

__all__ = [
    "MAX_BYTES",
    "MAX_DATA_BYTES",
    "MAX_DATA_DEPTH",
    "MAX_DEPTH",
    "MAX_VALUE_DEPTH",
    "decode",
    "decode_data",
    "decode_document_data",
    "decode_event_data",
    "decode_value",
    "encode",
    "encode_data",
    "encode_document_data",
    "encode_event_data",
    "encode_value",
]
