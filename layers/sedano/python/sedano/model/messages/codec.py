"""Messages as text: CloudEvents 1.0 JSON, the open protocol that any language can speak (docs/protocol).

`encode` writes a message as compact ASCII JSON, `decode` reads one and refuses whatever is not exactly one of ours,
with a code of the closed list and the field's name. Results and claim-checked data have their own pairs. Promises:

- ``decode(encode(message)) == message`` for every message whose data is plain JSON and whose times are whole
  microseconds.
- `decode` accepts everything that `encode` writes, unless it is larger than `MAX_BYTES` (the publisher moves large data to the
  blob store first).
- `decode` raises `MessageRefused` and nothing else, for every input, and decides about any 1 MiB within 120 ms
  of CPU.
- `encode` raises `Unserialisable` for data and `OptionError` for attributes, naming the part.

Attributes at their defaults are not written. A command may lack ``taskid`` (then its `id` is the task's),
``clock`` (0) and ``time`` (0.0: not said, ask the queue when it was sent), so a message can be written by hand.
"""

from __future__ import annotations

from sedano.model.messages.attributes import MAX_DATA_BYTES, MAX_DATA_DEPTH, MAX_VALUE_DEPTH
from sedano.model.messages.decoder import decode, decode_data, decode_event_data, decode_value
from sedano.model.messages.encoder import encode, encode_data, encode_event_data, encode_value
from sedano.model.messages.strict_json import MAX_BYTES, MAX_DEPTH

__all__ = [
    "MAX_BYTES",
    "MAX_DATA_BYTES",
    "MAX_DATA_DEPTH",
    "MAX_DEPTH",
    "MAX_VALUE_DEPTH",
    "decode",
    "decode_data",
    "decode_event_data",
    "decode_value",
    "encode",
    "encode_data",
    "encode_event_data",
    "encode_value",
]
