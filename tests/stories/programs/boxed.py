"""A host of boxed tasks that does what its first argument says, also what no host should do."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

SLEEPS = [sys.executable, "-c", "import time; time.sleep(3600)"]


def written(data: bytes) -> None:
    """Write *data* to stdout, all of it."""
    while data:
        data = data[os.write(1, data) :]


def reply(call: str, **answer: Any) -> None:
    """Write one reply."""
    written(b"\x1e" + json.dumps({"id": call, **answer}).encode() + b"\n")


def noise(draw: random.Random) -> None:
    """Print what libraries print: parts of lines, other replies without RS, bytes that are no text."""
    for _ in range(draw.randrange(4)):
        written(draw.choice([b"progress 10%", b'{"id": "1", "ok": 99}\n', b'{"id": ', b"warning: x\n", b"\xff\xfe\0", b"\n\n", b"\r"]))


def hang() -> None:
    """Begin another process, and go on forever, whatever SIGTERM says."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen(SLEEPS)
    print(f"hangs {os.getpid()} {child.pid}", file=sys.stderr, flush=True)
    time.sleep(3600)


def end_silently() -> None:
    """Write half a reply, and end."""
    written(b'\x1e{"id":"')
    sys.exit(0)


def close_output() -> None:
    """Close standard output, and go on."""
    os.close(1)
    time.sleep(3600)


def logged(call: str, lines: list[str]) -> None:
    """Write *lines* to stderr before the reply."""
    print(*lines, sep="\n", file=sys.stderr, flush=True)
    reply(call, ok=None)


def about(request: dict[str, Any], calls: int) -> dict[str, Any]:
    """What this process knows of itself."""
    return {"pid": os.getpid(), "calls": calls, "environ": dict(os.environ), "request": request, "sid": os.getsid(0)}


def noisily(call: str, numbers: list[int]) -> None:
    """Reply with the sum between other output."""
    noise(DRAW)
    reply(call, ok=sum(numbers))
    noise(DRAW)


def flaky(call: str, attempt: int) -> None:
    """Die in the first attempt."""
    if attempt == 0:
        sys.exit(7)
    reply(call, ok=attempt)


def acts(asked: dict[str, Any], number: int) -> dict[str, Callable[[], object]]:
    """What the host does at the request *asked*, its *number*th, by the first argument."""
    args, name = asked["args"][1:], asked["id"]
    twice = b"\x1e" + json.dumps({"id": name, "ok": 1}).encode() + b"\n"
    return {
        "echo": lambda: reply(name, ok=[args, asked["kwargs"]]),
        "noisy": lambda: noisily(name, args),
        "about": lambda: reply(name, ok=about(asked, number)),
        "allocate": lambda: reply(name, ok=len(bytearray(args[0]))),
        "flaky": lambda: flaky(name, asked["attempt"]),
        "error": lambda: reply(name, error={"type": "Unfit", "message": "does not fit", "traceback": "at line 7", **args[0]}),
        "log": lambda: logged(name, args),
        "flood": lambda: logged(name, ["x"] * args[0]),
        "exit": lambda: sys.exit(3),
        "silence": lambda: sys.exit(0),
        "signal": lambda: os.kill(os.getpid(), signal.SIGSEGV),
        "half": end_silently,
        "hang": hang,
        "closed": close_output,
        "malformed": lambda: written(b"\x1enot JSON\n"),
        "other": lambda: reply("another", ok=1),
        "twice": lambda: written(twice + twice),
        "oversized": lambda: reply(name, ok="x" * 1_100_000),
        "members": lambda: reply(name, ok=1, error=None),
    }


DRAW = random.Random(1)
for place, line in enumerate(sys.stdin, 1):
    request = json.loads(line)
    acts(request, place)[request["args"][0]]()
