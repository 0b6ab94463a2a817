"""The lower bound: read a JSON message, look up the function, call it, write its result; and `json` alone on sedano's messages."""

from __future__ import annotations

import json

from benchmarks.contenders.serving import Contender, Run, serve
from benchmarks.sizes import message

FUNCTIONS = {"add": lambda a, b: a + b}


def calling() -> Contender:
    """Return the lower bound."""

    def contender(tasks: int) -> Run:
        bodies = [json.dumps({"task": "add", "id": f"{number:032x}", "args": [1, 2], "kwargs": {}}) for number in range(tasks)]
        return lambda: [_call(body) for body in bodies]

    return contender


def _call(body: str) -> str:
    message = json.loads(body)
    return json.dumps(FUNCTIONS[message["task"]](*message["args"], **message["kwargs"]))


def loading() -> Contender:
    """Return `json.loads` of sedano's messages."""
    body = message()
    return lambda tasks: lambda: [json.loads(body) for _ in range(tasks)]


def dumping() -> Contender:
    """Return `json.dumps` of sedano's messages."""
    envelope = json.loads(message())
    return lambda tasks: lambda: [json.dumps(envelope) for _ in range(tasks)]


if __name__ == "__main__":
    serve({"call": calling, "loads": loading, "dumps": dumping})
