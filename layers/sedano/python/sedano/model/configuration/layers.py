"""The layers of a configuration: where each reads, and which field each name of a layer means. Pure.

    module:shop.defaults             attributes of a Python module; case does not count
    toml:shop.toml#mail              a file, or a table of it; toml:local.toml? may be missing
    env:SHOP_                        variables that begin so: SHOP_POOL, SHOP_MAIL__SENDER
    ssm:/shop/                       parameters below a path: /shop/pool, /shop/mail/sender
    appconfig:shop/prod/settings     a profile of AppConfig that is a JSON object
    stage:                           values that are set in the stage itself: pool, mail.sender

A later layer wins, field by field. A module and an environment hold other names too: one that no field has is ignored there, unless it is
nearly the name of a field.
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
"""The kinds of layers that hold other names beside those of fields."""
_ALIKE = 0.8
"""From which similarity on a name of an open layer is a misspelling."""
_FORMS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType({
    MODULE: (r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", "a module, such as module:shop.defaults"),
    TOML: (r"[^#?]+(#[\w-]+(\.[\w-]+)*)?\??", "a file, such as toml:shop.toml or toml:pyproject.toml#tool.shop"),
    ENV: (r"[A-Za-z_]\w*", "what its variables begin with, such as env:SHOP_"),
    SSM: (r"(/[\w.-]+)+/?", "a path of parameters, such as ssm:/shop/"),
    APPCONFIG: (r"[\w. -]+/[\w. -]+/[\w. -]+", "application, environment and profile, such as appconfig:shop/prod/settings"),
    STAGE: ("", "nothing: stage:"),
})  # fmt: skip


class Layer(NamedTuple):
    """One layer: its *kind*, *where* it reads, and whether it *may_miss*. Its text is that of its declaration."""

    kind: str
    where: str
    may_miss: bool = False

    def __str__(self) -> str:
        """Return it as it was declared."""
        return f"{self.kind}:{self.where}{'?' if self.may_miss else ''}"


class LayerValue(NamedTuple):
    """A value that a layer gives: the *path* of the field that its name means, or what it would mean; whether it *is_known*."""

    path: str
    value: object
    is_known: bool


def layer(text: object) -> Layer:
    """Return the layer that *text* declares.

    Raises:
        OptionError: it declares none; the message says what to write.
    """
    kind, colon, where = text.partition(":") if isinstance(text, str) else ("", "", "")
    if not colon or kind not in _FORMS:
        near = nearest(kind, [*_FORMS])
        hint = f"; did you mean {near}:?" if near else ""
        raise OptionError(f"layer {text!r}: write one of {', '.join(f'{one}:' for one in _FORMS)}{hint}")
    form, instead = _FORMS[kind]
    if not re.fullmatch(form, where):
        raise OptionError(f"layer {text!r}: after {kind}: write {instead}")
    may_miss = kind == TOML and where.endswith("?")
    return Layer(kind, where[:-1] if may_miss else where, may_miss)


def named(of: Layer, found: Mapping[str, object], paths: Collection[str]) -> Iterator[LayerValue]:
    """Return the values that the layer *of* gives, each under the path of its field; a name of no field as it would be written."""
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
    """Return why the unknown name *one* is refused, with what to write instead; None: an open layer may hold it."""
    near = nearest(one.path, [*paths], _ALIKE if of.kind in OPEN else 0.6)
    if of.kind in OPEN and not near:
        return None
    return f"did you mean {near}? Write {written(of, near)}" if near else f"the fields are {', '.join(paths)}"


def written(of: Layer, path: str) -> str:
    """Return where a person writes the field *path* in the layer *of*."""
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
    """Return the values of a layer of tables; a table that is not one of fields is a value."""
    for name, value in found.items():
        path = f"{prefix}{name}"
        if isinstance(value, Mapping) and any(one.startswith(f"{path}.") for one in paths):
            yield from _nested(value, f"{path}.", paths)
        else:
            yield LayerValue(path, value, path in paths)
