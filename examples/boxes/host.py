"""A host of boxed tasks in Python, without sedano: it answers one request on each line, until its input ends (docs/boxes.md)."""

import json
import os
import sys
import traceback

replies = os.fdopen(os.dup(1), "w", encoding="ascii")
os.dup2(2, 1)  # the output of this program and its libraries goes to the log


def words(text: str) -> int:
    """Return how many words *text* has."""
    if not isinstance(text, str):
        raise TypeError("words takes a text")
    return len(text.split())


for line in sys.stdin:
    request = json.loads(line)
    try:
        answer: dict[str, object] = {"ok": words(*request["args"], **request["kwargs"])}
    except Exception as error:  # noqa: BLE001 - any error is an answer
        told = {"type": type(error).__name__, "message": str(error), "traceback": traceback.format_exc()}
        answer = {"error": {**told, "retry": not isinstance(error, TypeError)}}
    print("\x1e" + json.dumps({"id": request["id"], **answer}), file=replies, flush=True)
