"""Rules about size, names and words: a room is small, says what it is, and holds nothing unfinished."""

import ast
import re
from collections.abc import Sequence

from tests.house.tree import LIBRARY, Function, Source

FILE_LINES = 400
TABLES = {"layers/sedano/python/sedano/cli/verb_table.py": "seven lines for each verb, so that a line of help loads no command"}
"""Files that are one table, which grows with what it lists; with the reason for its form."""
FUNCTION_LINES = 30
PUBLIC_METHODS = 15
TOP_MODULES = 10
ENTRANCES = frozenset({"__init__.py", "__main__.py"})
README_LINES = 25
HANDLER_LINES = 25
VAGUE = frozenset({"util", "utils", "helper", "helpers", "common", "base", "core", "misc", "shared", "stuff", "lib"})
NAMED_ANYWAY = {"infra/stacks/core.py": "Core is the name of the deployed stack"}
LEDGERS = "the claims, ends, revocations, reads and joins of one table; each write is one conditional transition"
LIMITS = "the rates, permits, latest calls and baskets of one table; each write is one conditional transition"
CELERYS = "Celery's names and those beside them, one handle in the user's hand; what reads and waits stands in result/"
MANY_METHODS = {
    f"{LIBRARY}{path}": reason
    for path, reason in {
        "ports/__init__.py Ledger": LEDGERS,
        "aws/ledger.py DynamoLedger": LEDGERS,
        "sqlite/ledger.py SqliteLedger": LEDGERS,
        "memory/ledger.py MemoryLedger": "the eighteen of the port, two that elections in memory need of it, and the table's TTL",
        "ports/limits.py Limits": LIMITS,
        "aws/limits.py DynamoLimits": LIMITS,
        "sqlite/limits.py SqliteLimits": LIMITS,
        "memory/limits.py MemoryLimits": LIMITS,
        "engine/task_context.py TaskContext": "the running task as its body sees it: attributes that cost nothing until they are read",
        "result/async_result.py AsyncResult": CELERYS,
        "result/result_set.py ResultSet": CELERYS,
    }.items()
}
"""Which classes have more public methods than `PUBLIC_METHODS`, and why."""
DOUBLES = frozenset({"monkeypatch", "mocker"})

# Written in two halves, so that this file obeys its own rules.
UNFINISHED = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
MACHINE = re.compile(
    r"https?:/{2}[^ )\"']*(?:registry|packages?|simple|hosted|maven2?)[./]|-{2}(?:extra-)?index-url"
    r"|file:/{2}/|(?<![\w.])/(?:ro" + r"ot|wo" + r"rk|Us" + r"ers|ho" + r"me/\w+)\b"
)
SPEAKS_OF_ADDRESSES = frozenset({"Makefile"})  # it turns them off: --no-emit-index-url


def fits_on_a_few_screens(source: Source) -> list[str]:
    """A file has one subject and at most 400 lines; a table has as many as it lists."""
    lines = len(source.text.splitlines())
    return [f"{source.path}: {lines} lines; at most {FILE_LINES}"] if lines > FILE_LINES and source.path not in TABLES else []


def length(function: Function) -> int:
    """The lines of a function without its decorators and docstring."""
    whole = (function.end_lineno or function.lineno) - function.lineno + 1
    first = function.body[0]
    documented = ast.get_docstring(function, clean=False) is not None
    return whole - ((first.end_lineno or first.lineno) - first.lineno + 1 if documented else 0)


def functions_are_short(source: Source) -> list[str]:
    """A function has at most 30 lines."""
    return [
        f"{source.path}:{function.lineno}: {function.name} has {lines} lines; at most {FUNCTION_LINES}"
        for function in source.functions
        if (lines := length(function)) > FUNCTION_LINES
    ]


def public_methods(source: Source) -> dict[str, int]:
    """Return how many public names of methods and properties each class defines itself; what it inherits is counted where it stands."""
    classes = [node for node in source.nodes if isinstance(node, ast.ClassDef)]
    names = {node.name: {one.name for one in node.body if isinstance(one, Function)} for node in classes}
    return {name: sum(not one.startswith("_") for one in found) for name, found in names.items()}


def classes_are_small(source: Source) -> list[str]:
    """A class has at most 15 public methods, unless MANY_METHODS says why it has more."""
    return [
        f"{source.path}: {name} has {number} public methods; at most {PUBLIC_METHODS}, or name it in MANY_METHODS with the reason"
        for name, number in public_methods(source).items()
        if number > PUBLIC_METHODS and f"{source.path} {name}" not in MANY_METHODS
    ]


def records_name_their_fields(source: Source) -> list[str]:
    """What is made of more than five values is made by keyword, so that no reader counts commas and no new field shifts the others."""
    calls = [node for node in source.nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) > 5]
    made = [call for call in calls if ast.unparse(call.func)[:1].isupper()]
    return [f"{source.path}:{call.lineno}: {ast.unparse(call.func)} has {len(call.args)} values without names" for call in made]


def has_a_name_that_says_something(source: Source) -> list[str]:
    """No file and no folder is called after nothing in particular."""
    parts = [*source.path.split("/")[:-1], source.stem]
    vague = sorted(VAGUE & set(parts))
    return [f"{source.path}: {', '.join(vague)} says nothing"] if vague and source.path not in NAMED_ANYWAY else []


def says_what_it_is(source: Source) -> list[str]:
    """A module opens by saying what it is; an empty one may be silent outside the library."""
    silent = not source.text.strip() and not source.is_library
    return [] if silent or ast.get_docstring(source.tree) else [f"{source.path}: has no docstring"]


def public_things_are_documented(source: Source) -> list[str]:
    """Every public function and class of the library has a docstring."""
    named = [node for node in source.tree.body if isinstance(node, ast.ClassDef | Function)]
    silent = [node for node in named if not node.name.startswith("_") and not ast.get_docstring(node)]
    return [f"{source.path}:{node.lineno}: {node.name} has no docstring" for node in silent]


def nothing_unfinished(source: Source) -> list[str]:
    """No note that something is to be done later; prose may speak of such notes, not leave one."""
    prose = source.path.endswith(".md")
    notes = [found for found in UNFINISHED.finditer(source.text) if not prose or source.text[found.end() :][:1] in ":("]
    return [f"{source.path}: says {found.group()}" for found in notes]


def names_no_machine(source: Source) -> list[str]:
    """No package index and no path of somebody's machine."""
    if source.path in SPEAKS_OF_ADDRESSES:
        return []
    return [f"{source.path}: names {found.group()!r}" for found in MACHINE.finditer(source.text)]


def tests_replace_nothing(source: Source) -> list[str]:
    """Tests use the real component or a shipped one; nothing is patched."""
    complaints = [
        f"{source.path}:{function.lineno}: {function.name} patches; pass in what it needs"
        for function in source.functions
        if DOUBLES & {argument.arg for argument in function.args.args}
    ]
    mocked = any(
        (isinstance(node, ast.ImportFrom) and (node.module or "").startswith("unittest" + ".mock"))
        or (isinstance(node, ast.alias) and node.name in ("unittest" + ".mock", "mock"))
        for node in source.nodes
    )
    return complaints + ([f"{source.path}: mocks"] if mocked else [])


def readme_fits_a_glance(source: Source) -> list[str]:
    """A folder's README has at most 25 lines."""
    lines = len(source.text.splitlines())
    return [f"{source.path}: {lines} lines; at most {README_LINES}"] if lines > README_LINES else []


def every_folder_says_what_it_is(paths: list[str]) -> list[str]:
    """Each top folder has a README."""
    folders = {path.split("/")[0] for path in paths if "/" in path and not path.startswith(".")}
    return [f"{folder}/ has no README.md" for folder in sorted(folders) if f"{folder}/README.md" not in paths]


def top_level_is_small(paths: Sequence[str]) -> list[str]:
    """The library has at most ten modules at its top level, the names that users import; everything else is in a folder."""
    modules = [path.removeprefix(LIBRARY) for path in paths if path.startswith(LIBRARY) and path.endswith(".py")]
    top = sorted(name for name in modules if "/" not in name and name not in ENTRANCES)
    return [f"{LIBRARY}: {len(top)} modules, {', '.join(top)}; at most {TOP_MODULES}"] if len(top) > TOP_MODULES else []


def handler_decides_nothing(source: Source) -> list[str]:
    """The handler of a Lambda function is a few lines without a decision."""
    lines = len(source.text.splitlines())
    complaints = [f"{source.path}: {lines} lines; at most {HANDLER_LINES}"] if lines > HANDLER_LINES else []
    decides = any(isinstance(node, ast.If | ast.For | ast.While | ast.Try | ast.Match) for node in source.nodes)
    return complaints + ([f"{source.path}: decides something"] if decides else [])
