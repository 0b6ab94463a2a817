"""Boxed tasks: the declaration of a box, and what a worker and its program exchange. Pure; `docs/boxes.md` is the protocol.

A request is one line of JSON. A reply is one line that begins with RS (0x1E), which JSON text cannot contain: whatever else a program or
one of its libraries prints is a log line, whether it ends with a newline or not. A reply names the request that it answers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from json import JSONDecodeError, JSONDecoder, JSONEncoder
from typing import Any, NamedTuple, Never

from sedano.errors import BoxReplyInvalid, OptionError

RS = b"\x1e"
"""The first byte of a reply: the record separator of RFC 7464."""
VERSION = 1
LONGEST_REPLY = 1_048_576
"""The most bytes of a reply, without its RS and its newline."""
MOST_PAYLOAD = 6_291_456
"""The most bytes of a call of a Lambda function."""
LONGEST_LOG_LINE = 4_096
"""The most bytes of a log line; a longer one is logged in pieces."""
LEAST_MEMORY, MOST_MEMORY = 16 << 20, 1 << 40
INHERITED = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "NODE_PATH", "PYTHONPATH", "SYSTEMROOT")
"""The variables of a worker that its programs see. None of them holds or leads to a credential; HOME does, and is absent."""
CREDENTIALS = (
    "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "HOME",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN",
)  # fmt: skip
"""The variables that a box with ``credentials=True`` sees besides."""
_CUT = re.compile(rb"\n|(?=\x1e)")
_SIZE = re.compile(r"([1-9][0-9]{0,6})([MG])")
_TIMED_OUT = re.compile(r"Task timed out after [0-9.]+ seconds")
_CRASHES = ("Runtime.ExitError", "Runtime.OutOfMemory", "Runtime.BadFunctionCode", "Extension.Crash")
"""The error types by which Lambda reports that the process of a function ended."""
_UNITS = {"M": 1 << 20, "G": 1 << 30}


class BoxPlan(NamedTuple):
    """One box: the task *name*, its program (*command*, or a Lambda *function* by the name that the deployment knows), and how it is run.

    With both, the command runs where the deployment calls no functions. *pool*: processes or calls at once in one worker. *memory*: bytes
    of data of each process. *timeout*: seconds for one call. *cwd*: the folder in which it begins. *env*: variables for it.
    *credentials*: whether it sees the worker's. *calls_per_child*: calls after which a process is replaced.
    """

    name: str
    command: tuple[str, ...]
    pool: int = 1
    memory: int | None = None
    timeout: float = 60.0
    cwd: str | None = None
    env: Mapping[str, str] = {}
    credentials: bool = False
    calls_per_child: int | None = None
    function: str | None = None


class BoxRequest(NamedTuple):
    """One call: a random *call_id*, which the reply repeats, and the running task as the program may know it."""

    call_id: str
    task: str
    task_id: str
    attempt: int
    fence: int
    deadline: float
    traceparent: str


class BoxError(NamedTuple):
    """The error with which a program answered, as data. *retry*: whether another attempt may help."""

    type_name: str
    message: str
    traceback: str = ""
    retry: bool = True


class BoxAnswer(NamedTuple):
    """The answer of a program: a *value*, or an *error*. *ending*: `timeout` or `crash`, where a function ended before it answered."""

    value: Any = None
    error: BoxError | None = None
    ending: str = ""


def memory_bytes(text: object) -> int:
    """Return the bytes of ``"512M"`` or ``"2G"``.

    Raises:
        OptionError: it is another text, or too little or too much.
    """
    found = _SIZE.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise OptionError(f"memory: {text!r} is not a size; write whole megabytes or gigabytes, such as '512M' or '2G'")
    size = int(found[1]) * _UNITS[found[2]]
    if not LEAST_MEMORY <= size <= MOST_MEMORY:
        raise OptionError(f"memory: {text!r} is not between '{LEAST_MEMORY >> 20}M' and '{MOST_MEMORY >> 30}G'")
    return size


def environment(plan: BoxPlan, of_worker: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a program of *plan*: a few of the worker's, its credentials only if the plan says so, and its own."""
    passed = (*INHERITED, *CREDENTIALS) if plan.credentials else INHERITED
    return {name: of_worker[name] for name in passed if name in of_worker} | dict(plan.env)


def request_line(request: BoxRequest, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bytes:
    """Return the line that asks a program for this call, in ASCII, with its newline."""
    return b"%b\n" % _encode(
        {
            "v": VERSION, "id": request.call_id, "task": request.task, "args": args, "kwargs": kwargs, "task_id": request.task_id,
            "attempt": request.attempt, "fence": request.fence, "deadline": request.deadline, "traceparent": request.traceparent,
        }
    ).encode("ascii")  # fmt: skip


class OutputLines:
    """Splits the output of a program into replies and log lines, however it arrives in pieces; keeps at most one of them.

    A reply begins with RS, also in the middle of a line, and ends with a newline. One that is too long arrives cut off, longer than
    `LONGEST_REPLY`; a log line that is too long arrives in pieces.
    """

    __slots__ = ("rest",)

    def __init__(self) -> None:
        """Begin with nothing."""
        self.rest = b""
        """The line that has not ended yet."""

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that end in *data*, without their newlines; empty ones are left out."""
        if not self.rest and data.find(b"\n") == len(data) - 1 and data.rfind(RS) < 1 < len(data) <= LONGEST_LOG_LINE:
            return [data[:-1]]  # as nearly every reply arrives
        found: list[bytes] = []
        *ended, self.rest = _CUT.split(self.rest + data) if b"\n" in data or RS in data else (self.rest + data,)
        for line in ended:
            found += _pieces(line)
        if len(self.rest) > _longest(self.rest):
            *pieces, self.rest = _pieces(self.rest)
            found += pieces
        return found


def _longest(line: bytes) -> int:
    return LONGEST_REPLY + 2 if line.startswith(RS) else LONGEST_LOG_LINE


def _pieces(line: bytes) -> list[bytes]:
    """Return *line* cut where it is too long."""
    found = []
    while len(line) > (longest := _longest(line)):
        found.append(line[:longest])
        line = line[longest:]
    return [*found, line] if line else found


def read_answer(line: bytes, call_id: str) -> BoxAnswer:
    """Return the answer in *line*, a reply with its RS, to the call *call_id*.

    Raises:
        BoxReplyInvalid: it is too long, malformed, or answers another call.
    """
    return _answer(_decoded(line[1:]), call_id)


def read_payload(payload: bytes, call_id: str, *, failed: bool) -> BoxAnswer:
    """Return the answer in the *payload* of a Lambda function: a reply without its RS; or the report of an error, where it *failed*.

    Raises:
        BoxReplyInvalid: it is too long, malformed, or answers another call.
    """
    found = _decoded(payload)
    return _report(found) if failed else _answer(found, call_id)


def _report(found: dict[str, Any]) -> BoxAnswer:
    """Return the error that Lambda reports for a function: one that it raised, or how it ended before it answered."""
    kind, message, trace = (found.get(name) for name in ("errorType", "errorMessage", "stackTrace"))
    kind, message = (kind if isinstance(kind, str) and kind else "Error"), (message if isinstance(message, str) else "")
    lines = [str(line) for line in trace] if isinstance(trace, list) else []
    late = kind == "Sandbox.Timedout" or _TIMED_OUT.search(message) is not None
    ending = "timeout" if late else "crash" if kind in _CRASHES else ""
    return BoxAnswer(error=BoxError(kind[:256], message, "\n".join(lines)), ending=ending)


def _answer(reply: dict[str, Any], call_id: str) -> BoxAnswer:
    if reply.get("id") != call_id:
        raise BoxReplyInvalid(f"answers the call {reply.get('id')!r:.40}; a reply repeats the id of its request, here {call_id!r}")
    if reply.keys() == {"id", "ok"}:
        return BoxAnswer(reply["ok"])
    if reply.keys() == {"id", "error"}:
        return BoxAnswer(error=_error(reply["error"]))
    raise BoxReplyInvalid(f"has the members {sorted(reply)}; write id, and either ok or error"[:400])


def _decoded(text: bytes) -> dict[str, Any]:
    if len(text) > LONGEST_REPLY:
        raise BoxReplyInvalid(f"is longer than {LONGEST_REPLY} bytes; store what is larger elsewhere and return its place")
    try:
        reply = _decode(text.decode("utf-8"))
    except (JSONDecodeError, ValueError, RecursionError) as wrong:
        raise BoxReplyInvalid(f"is not one line of JSON: {wrong}"[:400]) from None
    if not isinstance(reply, dict):
        raise BoxReplyInvalid(f"is a {type(reply).__name__}, not an object with id, and ok or error")
    return reply


def _error(given: object) -> BoxError:
    known = {"type": str, "message": str, "traceback": str, "retry": bool}
    if not isinstance(given, dict) or not {"type", "message"} <= given.keys() <= known.keys():
        raise BoxReplyInvalid("has an error that is not an object of type and message, and perhaps traceback and retry")
    wrong = [name for name, value in given.items() if not isinstance(value, known[name])]
    if wrong or not given["type"]:
        raise BoxReplyInvalid(f"has an error whose {(wrong or ['type'])[0]} is not valid; type, message and traceback are texts")
    return BoxError(given["type"][:256], given["message"], given.get("traceback", ""), given.get("retry", True))


def _refuse(constant: str) -> Never:
    raise ValueError(f"{constant} is not a JSON number")


_encode = JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_decode = JSONDecoder(parse_constant=_refuse).decode
