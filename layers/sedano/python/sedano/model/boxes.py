"""Boxed tasks: the declaration of a box, and the messages between a worker and its program. Pure; `docs/boxes.md` describes the protocol.

A request is one line of JSON. A reply is one line that begins with RS (0x1E), which JSON text cannot contain: all other output of a program
and its libraries is log lines, with or without a newline at the end. A reply contains the id of its request.
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
LONGEST_LOG_LINE = 4_096
"""The most bytes of a log line; a longer one is logged in pieces."""
LEAST_MEMORY, MOST_MEMORY = 16 << 20, 1 << 40
INHERITED = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "NODE_PATH", "PYTHONPATH", "SYSTEMROOT")
"""The variables of a worker that its programs receive. They do not contain credentials or paths to them; HOME is such a path and is not
included.
"""
CREDENTIALS = (
    "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "HOME",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN",
)  # fmt: skip
"""The additional variables of a box with ``credentials=True``."""
_BEGUN = b"\n" + RS
"""A reply that begins in the middle of a line ends that line."""
_SIZE = re.compile(r"([1-9][0-9]{0,6})([MG])")
_TIMED_OUT = re.compile(r"Task timed out after [0-9.]+ seconds")
_CRASHES = ("Runtime.ExitError", "Runtime.OutOfMemory", "Runtime.BadFunctionCode", "Extension.Crash")
"""The error types by which Lambda reports that the process of a function ended."""
_UNITS = {"M": 1 << 20, "G": 1 << 30}


class BoxPlan(NamedTuple):
    """One box: the task *name*, its program (a *command*, or a Lambda *function* by its name in the deployment), and the options of its
    processes.

    With both, the command runs in deployments that cannot call functions. *pool*: the most concurrent processes or calls of one worker.
    *memory*: the most bytes of data of each process. *timeout*: the seconds for one call. *cwd*: its working directory. *env*: additional
    variables. *credentials*: whether it receives the credentials of the worker. *calls_per_child*: the number of calls after which a
    process is replaced.
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
    """One call: a random *call_id*, which the reply repeats, and the properties of the running task for the program."""

    call_id: str
    task: str
    task_id: str
    attempt: int
    fence: int
    deadline: float
    traceparent: str


class BoxError(NamedTuple):
    """The error in a program's reply, as data. *retry*: whether a retry may help."""

    type_name: str
    message: str
    traceback: str = ""
    retry: bool = True


class BoxAnswer(NamedTuple):
    """The answer of a program: a *value*, or an *error*. *ending*: `timeout` or `crash`, if a function ended before it answered."""

    value: Any = None
    error: BoxError | None = None
    ending: str = ""


def memory_bytes(text: object) -> int:
    """Return the bytes of ``"512M"`` or ``"2G"``.

    Raises:
        OptionError: *text* is not a size, or is too small or too large.
    """
    found = _SIZE.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise OptionError(f"memory: {text!r} is not a size; write whole megabytes or gigabytes, such as '512M' or '2G'")
    size = int(found[1]) * _UNITS[found[2]]
    if not LEAST_MEMORY <= size <= MOST_MEMORY:
        raise OptionError(f"memory: {text!r} is not between '{LEAST_MEMORY >> 20}M' and '{MOST_MEMORY >> 30}G'")
    return size


def environment(plan: BoxPlan, of_worker: Mapping[str, str]) -> dict[str, str]:
    """Return the variables for a program of *plan*: a few variables of the worker, with its credentials only if the plan allows it, and
    those of the plan.
    """
    passed = (*INHERITED, *CREDENTIALS) if plan.credentials else INHERITED
    return {name: of_worker[name] for name in passed if name in of_worker} | dict(plan.env)


def request_line(request: BoxRequest, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bytes:
    """Return the request line for this call, in ASCII, with its newline."""
    return b"%b\n" % _encode(
        {
            "v": VERSION, "id": request.call_id, "task": request.task, "args": args, "kwargs": kwargs, "task_id": request.task_id,
            "attempt": request.attempt, "fence": request.fence, "deadline": request.deadline, "traceparent": request.traceparent,
        }
    ).encode("ascii")  # fmt: skip


class OutputLines:
    """Splits the output of a program, which arrives in pieces of any size, into replies and log lines; buffers at most one line.

    A reply begins with RS, even in the middle of a line, and ends with a newline. A reply that is too long is returned truncated, but
    longer than `LONGEST_REPLY`; a log line that is too long is returned in pieces.
    """

    __slots__ = ("rest",)

    def __init__(self) -> None:
        """Start with an empty buffer."""
        self.rest = b""
        """The line that has not ended yet."""

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that end in *data*, without their newlines and without empty lines."""
        first, *later = data.replace(RS, _BEGUN).split(b"\n")
        *ended, self.rest = (piece for line in (self.rest + first, *later) for piece in _pieces(line))
        return [line for line in ended if line]


def _longest(line: bytes) -> int:
    return LONGEST_REPLY + 2 if line.startswith(RS) else LONGEST_LOG_LINE


def _pieces(line: bytes) -> list[bytes]:
    """Return *line* in pieces of the allowed length, an empty one as one piece."""
    found = []
    while len(line) > (longest := _longest(line)):
        found.append(line[:longest])
        line = line[longest:]
    return [*found, line]


def read_answer(line: bytes, call_id: str) -> BoxAnswer:
    """Return the answer in *line*, a reply with its RS, to the call *call_id*.

    Raises:
        BoxReplyInvalid: the reply is too long, malformed, or has the id of another call.
    """
    return _answer(_decoded(line[1:]), call_id)


def read_payload(payload: bytes, call_id: str, *, failed: bool) -> BoxAnswer:
    """Return the answer in the *payload* of a Lambda function: a reply without its RS, or the error report of an invocation that *failed*.

    Raises:
        BoxReplyInvalid: the reply is too long, malformed, or has the id of another call.
    """
    found = _decoded(payload)
    return _report(found) if failed else _answer(found, call_id)


def _report(found: dict[str, Any]) -> BoxAnswer:
    """Return the error that Lambda reports for a function: an exception that it raised, or the reason of its end before it answered."""
    kind, message, trace = (found.get(name) for name in ("errorType", "errorMessage", "stackTrace"))
    kind, message = (kind if isinstance(kind, str) and kind else "Error"), (message if isinstance(message, str) else "")
    lines = [str(line) for line in trace] if isinstance(trace, list) else []
    late = kind == "Sandbox.Timedout" or _TIMED_OUT.search(message) is not None
    ending = "timeout" if late else "crash" if kind in _CRASHES else ""
    return BoxAnswer(error=BoxError(kind[:256], message, "\n".join(lines)), ending=ending)


def _answer(reply: dict[str, Any], call_id: str) -> BoxAnswer:
    if reply.get("id") != call_id:
        raise BoxReplyInvalid(f"has the id {reply.get('id')!r:.40}; a reply must repeat the id of its request, {call_id!r}")
    if reply.keys() == {"id", "ok"}:
        return BoxAnswer(reply["ok"])
    if reply.keys() == {"id", "error"}:
        return BoxAnswer(error=_error(reply["error"]))
    raise BoxReplyInvalid(f"has the members {sorted(reply)}; write id, and either ok or error"[:400])


def _decoded(text: bytes) -> dict[str, Any]:
    if len(text) > LONGEST_REPLY:
        raise BoxReplyInvalid(f"is longer than {LONGEST_REPLY} bytes; store larger data elsewhere and return its location")
    try:
        reply = _decode(text.decode("utf-8"))
    except (JSONDecodeError, ValueError, RecursionError) as wrong:
        raise BoxReplyInvalid(f"is not one line of JSON: {wrong}") from None
    if not isinstance(reply, dict):
        raise BoxReplyInvalid(f"is a {type(reply).__name__}, not an object with id, and ok or error")
    return reply


def _error(given: object) -> BoxError:
    known = {"type": str, "message": str, "traceback": str, "retry": bool}
    if not isinstance(given, dict) or not {"type", "message"} <= given.keys() <= known.keys():
        raise BoxReplyInvalid("has an error that is not an object with type and message, and optionally traceback and retry")
    wrong = [name for name, value in given.items() if not isinstance(value, known[name])]
    if wrong or not given["type"]:
        raise BoxReplyInvalid(f"has an error whose {(wrong or ['type'])[0]} is not valid; type, message and traceback must be strings")
    return BoxError(given["type"][:256], given["message"], given.get("traceback", ""), given.get("retry", True))


def _refuse(constant: str) -> Never:
    raise ValueError(f"{constant} is not a JSON number")


_encode = JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_decode = JSONDecoder(parse_constant=_refuse).decode
