"""The census as an application: the measurement of each Python source, its subscribers, and the summary.

    chord([measure.s(path, text), …])(summarise.s())

`measure` reads one file and publishes `FileMeasured`; two tasks subscribe to it; `summarise` runs once, when every file is measured, and
its result is the census. A file that cannot be parsed is a finding like any other: no task raises because of its input.

In addition, `tick` is a periodic task, `look_up` calls an index that allows a number of calls a second, and `store` needs an archive that
fails at times. They have their own queues, so that they do not wait behind the files. Processes (`sedano worker`) serve the queue of
`flag_long_functions`, and Lambda serves all others.
"""

from __future__ import annotations

import ast
import http.client
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

from sedano import Breaker, DomainEvent, Sedano, every

FLAGS = "flags"
"""The queue that processes of `sedano worker` serve; Lambda serves the others."""

app = Sedano("census", queues=("default", "clock", "services", FLAGS))

LONG_FUNCTION = 60
"""The number of lines from which on a function is flagged."""
TICK = every(5)
CALLS_A_SECOND = 5
"""The calls a second that the index allows."""
BREAKER = Breaker(failures=3, open_for=8, shared=True, name="archive")
"""The circuit of the archive: it opens after three failures, for 8 s."""
PATIENCE_S = 10.0
TOP = 15
Measure = dict[str, Any]
Function = ast.FunctionDef | ast.AsyncFunctionDef


@app.event
class FileMeasured(DomainEvent):
    """A file was measured: its size, its imports, and its longest function."""

    path: str
    lines: int
    imports: list[str]
    longest_name: str
    longest_lines: int


@app.task
def measure(path: str, text: str, trouble: str = "") -> Measure:
    """Measure one file; *trouble*: the reason if it could not be read."""
    tree, error = parsed(text) if not trouble else (None, trouble)
    functions = sorted(functions_of(tree), key=lambda f: (-f["lines"], f["name"])) if tree else []
    imports = sorted(set(imports_of(tree))) if tree else []
    longest = functions[0] if functions else {"name": "", "lines": 0, "line": 0}
    lines = len(text.splitlines())
    FileMeasured.delay(path=path, lines=lines, imports=imports, longest_name=longest["name"], longest_lines=longest["lines"])
    return {
        "path": path, "characters": len(text), "lines": lines, "functions": len(functions), "imports": imports, "longest": longest,
        "error": error,
    }  # fmt: skip


@FileMeasured.subscribe
@app.task
def count_imports(path: str, lines: int, imports: list[str], longest_name: str, longest_lines: int) -> dict[str, Any]:
    """Return how many of a file's imports are part of Python, and how many must be installed."""
    ours = sum(name in sys.stdlib_module_names for name in imports)
    return {"path": path, "standard": ours, "installed": len(imports) - ours}


@FileMeasured.subscribe
@app.task(queue=FLAGS)
def flag_long_functions(path: str, lines: int, imports: list[str], longest_name: str, longest_lines: int) -> dict[str, Any]:
    """Return whether a file has a function that is too long to be read at a glance."""
    return {"path": path, "name": longest_name, "lines": longest_lines, "flagged": longest_lines >= LONG_FUNCTION}


@app.task
def summarise(results: list[Measure]) -> dict[str, Any]:
    """Return the census: sums, the largest files, the longest functions, the commonest imports, and the files that could not be parsed."""
    imports = Counter(name for result in results for name in result["imports"])
    longest = sorted(results, key=lambda r: (-r["longest"]["lines"], r["path"]))[:TOP]
    return {
        "files": len(results),
        **{key: sum(result[key] for result in results) for key in ("characters", "lines", "functions")},
        "largest": [{k: r[k] for k in ("path", "lines", "functions")} for r in sorted(results, key=_by_size)[:TOP]],
        "longest": [{"path": r["path"], **r["longest"]} for r in longest if r["longest"]["lines"]],
        "imports": [list(pair) for pair in sorted(imports.items(), key=lambda i: (-i[1], i[0]))[:TOP]],
        "errors": [{"path": r["path"], "error": r["error"]} for r in results if r["error"]],
    }


@app.periodic(TICK, moment="when", schedule="tick")
@app.task(queue="clock")
def tick(when: str) -> str:
    """Return its scheduled moment."""
    return when


@app.task(queue="services", rate=f"{CALLS_A_SECOND}/s")
def look_up(number: int, port: int) -> int:
    """Look up one item in the index on this machine."""
    asked(port, f"/index/{number}")
    return number


@app.task(queue="services", circuit=BREAKER)
def store(number: int, port: int) -> int:
    """Store one item in the archive on this machine."""
    asked(port, f"/archive/{number}")
    return number


def asked(port: int, path: str) -> None:
    """Call a service on this machine.

    Raises:
        ConnectionError: it does not answer, or answers that it is down.
    """
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    try:
        connection.request("GET", path)
        status = connection.getresponse().status
    finally:
        connection.close()
    if status != http.client.OK:
        raise ConnectionError(f"{path} answers {status}")


def parsed(text: str) -> tuple[ast.Module | None, str]:
    """Return the syntax tree of *text*, or None and the reason."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text), ""
    except SyntaxError as error:
        return None, f"line {error.lineno}: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        return None, f"{type(error).__name__}: {error}"


def functions_of(tree: ast.Module) -> Iterator[dict[str, Any]]:
    """Yield every function, including nested ones, with its lines."""
    for node in ast.walk(tree):
        if isinstance(node, Function):
            yield {"name": node.name, "lines": (node.end_lineno or node.lineno) - node.lineno + 1, "line": node.lineno}


def imports_of(tree: ast.Module) -> Iterator[str]:
    """Yield the first part of every absolute import."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def _by_size(result: Measure) -> tuple[int, str]:
    return -result["lines"], result["path"]
