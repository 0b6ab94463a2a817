"""The layers of a configuration: the source of each, and the field for each name in a layer. Pure.

    module:shop.defaults             attributes of a Python module; names are not case-sensitive
    toml:shop.toml#mail              a file, or a table of it; toml:local.toml? may be missing
    env:SHOP_                        variables with this prefix: SHOP_POOL, SHOP_MAIL__SENDER
    ssm:/shop/                       parameters below a path: /shop/pool, /shop/mail/sender
    appconfig:shop/prod/settings     a profile of AppConfig that is a JSON object
    stage:                           values that are set in the stage: pool, mail.sender

A later layer wins, field by field. A module and an environment also contain other names; a name without a field is ignored there, unless it
is similar to the name of a field.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from sedano.errors import OptionError
from sedano.errors.celery_names import nearest

MODULE, TOML, ENV, SSM, APPCONFIG, STAGE = "module", "toml", "env", "ssm", "appconfig", "stage"
OPEN: Final = (MODULE, ENV)
"""The kinds of layers that also contain names that are not fields."""
_ALIKE = 0.8
"""The similarity to a field from which a name in an open layer counts as a misspelling."""
_FORMS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType({
    MODULE: (r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", "a module, such as module:shop.defaults"),
    TOML: (r"[^#?]+(#[\w-]+(\.[\w-]+)*)?\??", "a file, such as toml:shop.toml or toml:pyproject.toml#tool.shop"),
    ENV: (r"[A-Za-z_]\w*", "the prefix of its variables, such as env:SHOP_"),
    SSM: (r"(/[\w.-]+)+/?", "a path of parameters, such as ssm:/shop/"),
    APPCONFIG: (r"[\w. -]+/[\w. -]+/[\w. -]+", "application, environment and profile, such as appconfig:shop/prod/settings"),
    STAGE: ("", "nothing: stage:"),
})  # fmt: skip


class Layer(NamedTuple):
    """One layer: its *kind*, *where* it reads, and whether it *may_miss*. `str` returns its declaration."""

    kind: str
    where: str
    may_miss: bool = False

    def __str__(self) -> str:
        """Return the declaration of the layer."""
        return f"{self.kind}:{self.where}{'?' if self.may_miss else ''}"


class LayerValue(NamedTuple):
    """A value from a layer, with the *path* of its field; if no field has that path, *is_known* is false."""

    path: str
    value: object
    is_known: bool


def layer(text: object) -> Layer:
    """Return the layer that *text* declares.

    Raises:
        OptionError: *text* is not a valid layer; the message says what to write.
    """
    kind, colon, where = text.partition(":") if isinstance(text, str) else ("", "", "")
    if not colon or kind not in _FORMS:
        near = nearest(kind, [*_FORMS])
        hint = f"; did you mean {near}:?" if near else ""
        raise OptionError(f"layer {text!r}: write one of {', '.join(f'{one}:' for one in _FORMS)}{hint}")
    form, instead = _FORMS[kind]
    if not re.fullmatch(form, where):
        raise OptionError(f"layer {text!r}: after {kind}: write {instead}")
    may_miss = where.endswith("?")
    return Layer(kind, where[:-1] if may_miss else where, may_miss)


def named(of: Layer, found: Mapping[str, object], paths: Collection[str]) -> Iterator[LayerValue]:
    """Return the values in the layer *of*, each with the path of its field; for a name without a field, with the path that it would have.
    """
    match of.kind:
        case "env":
            flat = {name.lower().replace("__", "."): value for name, value in found.items()}
        case "ssm":
            flat = {name.replace("/", "."): value for name, value in found.items()}
        case "stage":
            flat = {**found}
        case "module":
            yield from _nested({name.lower(): value for name, value in found.items()}, "", paths)
            return
        case _:
            yield from _nested(found, "", paths)
            return
    yield from (LayerValue(path, value, path in paths) for path, value in flat.items())


def misspelling(of: Layer, one: LayerValue, paths: Collection[str]) -> str | None:
    """Return the error for the unknown name *one*, with what to write instead; None if it is ignored in an open layer."""
    near = nearest(one.path, [*paths], _ALIKE if of.kind in OPEN else 0.6)
    if of.kind in OPEN and not near:
        return None
    return f"did you mean {near}? Write {written(of, near)}" if near else f"the fields are {', '.join(paths)}"


def written(of: Layer, path: str) -> str:
    """Return where to write the field *path* in the layer *of*, for an error message."""
    match of.kind:
        case "env":
            return f"the variable {of.where}{path.upper().replace('.', '__')}"
        case "ssm":
            return f"the parameter {of.where.rstrip('/')}/{path.replace('.', '/')}"
        case "stage":
            return f"`sedano config set {path} VALUE`"
        case "module":
            return f"{path} in the module {of.where}"
        case _:
            return f"{path} in {of.where}"


def _nested(found: Mapping[str, object], prefix: str, paths: Collection[str]) -> Iterator[LayerValue]:
    """Return the values of a layer with tables; a table that does not correspond to a nested dataclass is a value."""
    for name, value in found.items():
        path = f"{prefix}{name}"
        if isinstance(value, Mapping) and any(one.startswith(f"{path}.") for one in paths):
            yield from _nested(value, f"{path}.", paths)
        else:
            yield LayerValue(path, value, path in paths)
