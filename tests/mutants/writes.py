"""Mutants of the conditional writes in `sedano.aws.expressions`.

Each comparison of a condition holds always, never, or is another one; each attribute that an update sets, adds to or removes is another
one; each sum is a difference; each number that never changes moves by one. A changed text stays one that DynamoDB accepts, with every
placeholder in it: a test that fails because of the text, not of what the text does, would prove nothing.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import fields, replace
from functools import partial

from sedano.aws import expressions
from sedano.aws.expressions import Write
from tests.mutants.mutant import Mutant, numbered
from tests.simulation.weaken import atoms

_OTHER = {" <= ": " < ", " < ": " <= ", " >= ": " > ", " > ": " >= ", " = ": " <> "}
_TARGET = re.compile(r"(?<![\w#:(])(#?[a-z]\w*) = ")
_ADDED = re.compile(r"(?:ADD |, )([a-z]\w*) :")
_SUM = re.compile(r" \+ (?=:)")


def writes(module: str) -> list[tuple[str, Write]]:
    """Return the writes of *module*, one of `sedano.aws.expressions`, by name."""
    return [(name, value) for name, value in vars(importlib.import_module(module)).items() if isinstance(value, Write)]


def of_writes(module: str) -> list[Mutant]:
    """Return every mutant of the writes of *module*."""
    found: list[Mutant] = []
    for name, write in writes(module):
        text, written = f"{write.condition} {write.update}".strip(), (write.condition, write.update)
        found += [Mutant(module, name, text, change, partial(_replace, write, new), written=written) for change, new in changes(write)]
    return list(numbered(found))


def modules() -> list[str]:
    """Return the names of all modules that hold writes."""
    return [f"{expressions.__name__}.{one.name}" for one in pkgutil.iter_modules(expressions.__path__) if one.name != "write"]


def changes(write: Write) -> Iterator[tuple[str, Write]]:
    """Yield each change of *write* with the changed one."""
    for change, text in conditions(write.condition):
        yield change, replace(write, condition=text)
    for change, text, names in updates(write):
        yield change, replace(write, update=text, names=names)
    for name, value in write.values.items():
        for step in (1, -1) if "N" in value else ():
            new = {"N": str(int(value["N"]) + step)}
            yield f"`{name}` is {new['N']}", replace(write, values={**write.values, name: new})


def conditions(text: str) -> Iterator[tuple[str, str]]:
    """Yield each change of a condition with the changed text."""
    for atom in atoms(text) if text else ():
        start = text.index(atom)
        for change, new in _of_atom(atom):
            yield change, f"{text[:start]}{new}{text[start + len(atom) :]}"


def _of_atom(atom: str) -> Iterator[tuple[str, str]]:
    yield f"`{atom}` always holds", f"(attribute_exists(pk) OR attribute_not_exists(pk) OR {atom})"
    yield f"`{atom}` never holds", f"(attribute_exists(pk) AND attribute_not_exists(pk) AND {atom})"
    for old, new in _OTHER.items():
        if old in atom:
            yield f"`{atom}` → `{atom.replace(old, new)}`", atom.replace(old, new)
    if " IN (" in atom:
        name, values = atom[:-1].split(" IN (")
        for value in values.split(", "):
            yield f"`{atom}` without `{value}`", f"({atom} AND {name} <> {value})"


def updates(write: Write) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield each change of an update with the changed text and names."""
    text, names = write.update, dict(write.names)
    for found in [*_TARGET.finditer(text), *_ADDED.finditer(text)]:
        name = found[1]
        if name.startswith("#"):
            yield f"`{names[name]}` is not set", *_elsewhere(write, name, found.start(1))
        else:
            yield f"`{name}` is not set", f"{text[: found.start(1)]}zz{text[found.start(1) :]}", names
    for found in _SUM.finditer(text):
        yield f"`{text[: found.end()][-12:]}` subtracts", f"{text[: found.start()]} - {text[found.end() :]}", names
    yield from _kept(write)


def _elsewhere(write: Write, name: str, at: int) -> tuple[str, dict[str, str]]:
    """Return the update that changes another attribute than that of the placeholder *name* at this place, and its names.

    Everywhere else, in the condition too, the placeholder stays what it is: an attribute with another name everywhere would do the same.
    """
    other = f"#zz{name[1:]}"
    update = f"{write.update[:at]}{other}{write.update[at + len(name) :]}"
    kept = {one: attribute for one, attribute in write.names.items() if re.search(rf"{one}\b", f"{write.condition} {update}")}
    return update, {**kept, other: f"zz{write.names[name]}"}


def _kept(write: Write) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield each attribute that is removed, not removed."""
    text, names = write.update, dict(write.names)
    head, found, tail = text.partition(" REMOVE ")
    for name in tail.split(", ") if found else ():
        if name.startswith("#"):
            yield f"`{names[name]}` is not removed", *_elsewhere(write, name, len(head) + len(found) + tail.index(name))
        elif "[" in name:
            yield f"`{name}` is not removed", head, names
        else:
            yield f"`{name}` is not removed", f"{head} REMOVE {tail.replace(name, f'zz{name}')}", names


def _replace(write: Write, new: Write) -> None:
    """Make *write* the *new* one, wherever it was imported."""
    for field in fields(Write):
        object.__setattr__(write, field.name, getattr(new, field.name))
