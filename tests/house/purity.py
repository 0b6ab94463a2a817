"""Rules about what a room may touch: the model nothing but values, Spark's jobs no frame but Spark's, expressions only in their own room.

The allow-list of the model is short on purpose. Time, ids and randomness come in as arguments; `uuid5` stays, because
it computes a name from a name.
"""

import ast
import re
import sys

from tests.house.imports import imported
from tests.house.tree import LIBRARY, Source

PURE = frozenset(
    {
        "__future__", "abc", "array", "base64", "binascii", "bisect", "collections", "collections.abc", "contextlib",
        "copy", "dataclasses", "datetime", "decimal", "enum", "fractions", "functools", "graphlib", "gzip", "hashlib",
        "heapq", "hmac", "inspect", "ipaddress", "itertools", "json", "json.decoder", "json.encoder", "json.scanner", "keyword",
        "math", "numbers", "operator", "re", "statistics", "string", "struct", "textwrap", "types", "typing",
        "unicodedata", "urllib.parse", "zlib", "zoneinfo",
    }
)
PURE_PARTS = {
    "gc": frozenset({"disable", "enable", "isenabled"}),  # it rests while a long message is read
    "threading": frozenset({"Lock", "RLock"}),  # a clock may be shared between threads
    "uuid": frozenset({"UUID", "uuid3", "uuid5", "NAMESPACE_DNS", "NAMESPACE_OID", "NAMESPACE_URL", "NAMESPACE_X500"}),
}
IMPURE_CALLS = frozenset({"open", "print", "input", "eval", "exec", "compile", "breakpoint"})
CLOCK_READERS = frozenset({"now", "utcnow", "today"})
CALENDARS = frozenset({"datetime", "date", "dt"})
SPARK = frozenset({"pyspark.sql", "pyspark.sql.functions", "pyspark.sql.types", "pyspark.errors", "py4j.protocol"})
ROW_BY_ROW = frozenset(
    {
        "udf", "pandas_udf", "arrow_udf", "udtf", "mapInPandas", "mapInArrow", "applyInPandas", "applyInArrow", "transformWithState",
        "toPandas", "toArrow", "pandas_api", "rdd", "foreach", "foreachPartition",
    }
)  # fmt: skip
EXPRESSION_ROOM = f"{LIBRARY}aws/expressions/"
EXPRESSION_READERS = f"{LIBRARY}testing/strict_aws/"
HTML_ROOM = f"{LIBRARY}web/markup.py"
DRAWS = {
    f"{LIBRARY}model/workflow/{file}": "draws a workflow without a page, and escapes every text"
    for file in ("svg.py", "mermaid.py")
} | {f"{LIBRARY}result/graph.py": "draws a canvas for Mermaid, and escapes every text"}
"""Files of the library beside the one of HTML that write markup, and why."""
TAG = re.compile(
    r"</[a-z][a-z0-9]*>|<!doctype"
    r"|(?<!\?P)<(?:a|b|br|body|code|div|form|h[1-6]|head|html|i|li|ol|p|pre|script|small|span|style|svg|table|td|tr|ul)[ />]"
)
"""An element of HTML; a named group of a pattern and AWS's XML are none."""
EXPRESSION_WORDS = ("ConditionExpression", "UpdateExpression", "attribute_not_exists", "attribute_exists")


def imports_only_pure(source: Source) -> list[str]:
    """The model imports the pure part of the standard library, errors, and itself."""
    complaints = []
    for module, names in imported(source):
        root = ".".join(module.split(".")[:2])
        own = root in ("sedano.model", "sedano.errors") or (module == "sedano" and {*names} <= {"model", "errors"})
        if not own and module not in PURE and module not in PURE_PARTS:
            complaints.append(f"{source.path}: the model may not import {module}")
        impure = set(names) - PURE_PARTS.get(module, set(names))
        complaints += [f"{source.path}: {module}.{name} is not pure" for name in sorted(impure)]
    return complaints


def calls_only_pure(source: Source) -> list[str]:
    """The model reads no clock, opens no file, prints nothing and draws no id."""
    complaints = []
    for node in source.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in IMPURE_CALLS:
            complaints.append(f"{source.path}:{node.lineno}: {node.func.id}() is not for the model")
        if isinstance(node, ast.Attribute) and isinstance(owner := node.value, ast.Name | ast.Attribute):
            name = owner.id if isinstance(owner, ast.Name) else owner.attr
            if name in CALENDARS and node.attr in CLOCK_READERS:
                complaints.append(f"{source.path}:{node.lineno}: {name}.{node.attr} reads a clock; take an argument")
            if node.attr not in PURE_PARTS.get(name, {node.attr}):
                complaints.append(f"{source.path}:{node.lineno}: {name}.{node.attr} is not pure; take an argument")
    return complaints


def docstrings(source: Source) -> set[int]:
    """The identities of the constants that are documentation."""
    owners = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    bodies = [node.body for node in source.nodes if isinstance(node, owners)]
    return {id(body[0].value) for body in bodies if body and isinstance(body[0], ast.Expr)}


def expressions_in_their_room(source: Source) -> list[str]:
    """What DynamoDB is told to check and change is written in aws/expressions and nowhere else; the strict AWS reads it."""
    if source.path.startswith((EXPRESSION_ROOM, EXPRESSION_READERS)):
        return []
    documentation = docstrings(source)
    complaints = []
    for node in source.nodes:
        text = node.arg if isinstance(node, ast.keyword) else None
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            text = node.value
        if text and any(word in text for word in EXPRESSION_WORDS):
            line = getattr(node, "lineno", 0)
            complaints.append(f"{source.path}:{line}: an expression stands outside aws/expressions")
    return complaints


def html_by_escaping(source: Source) -> list[str]:
    """HTML of the library is made by `sedano.web.markup`, which escapes every text; no other file writes a tag or a `Markup`."""
    if source.path == HTML_ROOM or source.path in DRAWS:
        return []
    documentation = docstrings(source)
    texts = [node for node in source.nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    tags = [node for node in texts if id(node) not in documentation and TAG.search(node.value)]
    made = [node for node in source.nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Markup"]
    return [f"{source.path}:{node.lineno}: a text with a tag; make HTML with sedano.web.markup.el" for node in tags] + [
        f"{source.path}:{node.lineno}: only sedano.web.markup says that a text is HTML; use el, esc or join" for node in made
    ]


def frames_are_sparks_own(source: Source) -> list[str]:
    """A Spark job needs nothing beside Spark and the library, and no row of it passes through Python."""
    free = sys.stdlib_module_names | {"sedano", "glue_jobs"}
    foreign = [module for module, _ in imported(source) if module.partition(".")[0] not in free and module not in SPARK]
    used = {node.attr for node in source.nodes if isinstance(node, ast.Attribute)} | {n for _, names in imported(source) for n in names}
    complaints = [f"{source.path}: a Spark job may not import {module}" for module in foreign]
    return complaints + [f"{source.path}: {name} takes rows to Python one by one; write a Column" for name in sorted(used & ROW_BY_ROW)]
