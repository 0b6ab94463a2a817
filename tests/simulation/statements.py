"""The statements of PartiQL that the library sends, as the conditional writes that they are.

`INSERT INTO "table" VALUE {…}` is refused where there is an item, `UPDATE "table" SET … WHERE pk = ? AND …` where there is none or another
comparison fails. Whatever else a text says is refused, as DynamoDB refuses what it cannot read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from sedano.aws.expressions import Write
from tests.simulation.values import Invalid

_INSERT = re.compile(r'(INSERT|UPSERT) INTO "([^"]+)" VALUE \{(.*)\}')
_UPDATE = re.compile(r'UPDATE "([^"]+)" (SET .*) WHERE (.*)')
_PAIR = re.compile(r"'(\w+)': (:\w+)")
_SET = re.compile(r'SET "?(\w+)"? = (:\w+)')
_COMPARED = re.compile(r'"?(\w+)"? = (:\w+)')


class Meaning(NamedTuple):
    """The *write* of a statement, its *table*, the name of the value that is the *key*, and whether it *inserts*."""

    write: Write
    table: str
    key: str
    inserts: bool


@lru_cache(256)
def meaning(text: str, parameters: tuple[str, ...]) -> Meaning:
    """Return what the statement *text* means when its marks are the values of these names, in order."""
    marks = iter(parameters)
    named = re.sub(r"\?", lambda _: next(marks, "?"), text)
    if next(marks, None) is not None or "?" in named:
        raise Invalid(f"{len(parameters)} parameters are not those of {text}")
    if (found := _INSERT.fullmatch(named)) is not None:
        pairs = _PAIR.findall(found[3])
        condition = "attribute_not_exists(pk)" if found[1] == "INSERT" else ""  # UPSERT is a planted fault
        return Meaning(_write(condition, pairs), found[2], dict(pairs)["pk"], inserts=True)
    if (found := _UPDATE.fullmatch(named)) is None:
        raise Invalid(f"no statement: {text}")
    compared = [_COMPARED.fullmatch(part) for part in found[3].split(" AND ")]
    key = next((one[2] for one in compared if one is not None and one[1] == "pk"), None)
    if key is None or None in compared or " ".join(one[0] for one in _SET.finditer(found[2])) != found[2]:
        raise Invalid(f"no statement: {text}")
    rest = [one[0].replace('"', "") for one in compared if one is not None and one[1] != "pk"]
    return Meaning(_write(" AND ".join(["attribute_exists(pk)", *rest]), _SET.findall(found[2])), found[1], key, inserts=False)


def _write(condition: str, pairs: Sequence[tuple[str, str]]) -> Write:
    return Write(condition=condition, update="SET " + ", ".join(f"{name} = {value}" for name, value in pairs if name != "pk"))
