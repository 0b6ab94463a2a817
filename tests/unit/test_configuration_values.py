"""The steps of a configuration, one at a time: the types of fields, casts, names in a layer, texts of errors, and values of the stage."""

import enum
import typing
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Any, Literal

import pytest

from sedano.errors import ConfigurationError, OptionError
from sedano.model.configuration.casts import Unexpected, cast, described, fits
from sedano.model.configuration.fields import fields_of
from sedano.model.configuration.layers import (
    APPCONFIG,
    ENV,
    MODULE,
    SSM,
    STAGE,
    TOML,
    Layer,
    LayerValue,
    layer,
    misspelling,
    named,
    written,
)
from sedano.model.configuration.snapshots import digest, merged
from sedano.model.configuration.stage_values import with_value

UserId = typing.NewType("UserId", str)


class Answer(enum.Enum):
    """Members whose values read like other values of Python."""

    NOTHING = "None"
    YES = "True"


@dataclass(frozen=True)
class Smtp:
    """A table of fields."""

    host: str = "localhost"


@dataclass(frozen=True)
class Shop:
    """Fields of which one is in a table, and one is a secret."""

    pool: int = 10
    smtp: Smtp = Smtp()
    password: str = field(default="", repr=False)


@dataclass(frozen=True)
class Endless:
    """A table in itself."""

    inner: "Endless"


FIELDS = fields_of(Shop)
PATHS = ("pool", "smtp.host", "password")
LAYERS = {
    MODULE: layer("module:shop.defaults"), TOML: layer("toml:shop.toml#tool"), ENV: layer("env:SHOP_"), SSM: layer("ssm:/shop/"),
    APPCONFIG: layer("appconfig:shop/prod/flags"), STAGE: layer("stage:"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "may_be"),
    [
        (int | None, True), (None | int, True), (tuple[int, ...] | None, True), (int | str | None, False), (int | str, False),
        (None | list[str], False), (Literal["a", "b"], True), (Literal["a", 1], False), (tuple[int, ...], True), (tuple[int], False),
        (tuple[int, str], False), (tuple[()], False), (tuple[list[str], ...], False), (frozenset[int], True), (frozenset[list[str]], False),
        (frozenset, False), (tuple, False), (Answer, True), (timedelta, True), (Callable[[], int], False), (UserId, False),
    ],
)  # fmt: skip
def test_a_field_may_have_these_types(kind: Any, may_be: bool) -> None:
    assert fits(kind) is may_be


SINGLE = "write str, bool, int, float, Decimal, timedelta, an Enum, a Literal of strings, tuple[…, ...], a frozen dataclass or … | None"


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (list, "list is mutable; write tuple[str, ...] or frozenset[str]"),
        (set, "set is mutable; write tuple[str, ...] or frozenset[str]"),
        (list[int], "list[int] is mutable; write tuple[str, ...] or frozenset[str]"),
        (typing.List[int], "List[int] is mutable; write tuple[str, ...] or frozenset[str]"),  # noqa: UP006
        (tuple, "tuple lacks the type of its values; write tuple[str, ...]"),
        (frozenset, "frozenset lacks the type of its values; write frozenset[str]"),
        (bytes, f"no layer can give a bytes; {SINGLE}"), (UserId, f"no layer can give a {__name__}.UserId; {SINGLE}"),
        (Literal[1], f"no layer can give a Literal[1]; {SINGLE}"),
    ],
)  # fmt: skip
def test_a_type_that_no_field_may_have_is_named_with_what_to_write(kind: Any, why: str) -> None:
    assert described(kind) == why


@pytest.mark.parametrize(
    ("value", "kind", "meant"),
    [
        (True, bool, True), (False, bool, False), ("ON", bool, True), ("Yes", bool, True), ("no", bool, False), ("0", bool, False),
        ("b", Literal["a", "b"], "b"), ("NOTHING", Answer, Answer.NOTHING), ("None", Answer, Answer.NOTHING),
        ('["a", "b"]', tuple[str, ...], ("a", "b")), (" [1]", frozenset[int], frozenset({1})), ("1, 2", frozenset[int], frozenset({1, 2})),
        (Decimal("1.5"), Decimal, Decimal("1.5")), ("0.10", Decimal, Decimal("0.10")), (7, Decimal, Decimal(7)),
        (timedelta(hours=2), timedelta, timedelta(hours=2)), ("1.5s", timedelta, timedelta(seconds=1.5)),
        ("2m", timedelta, timedelta(minutes=2)), ("3h", timedelta, timedelta(hours=3)), ("4d", timedelta, timedelta(days=4)),
        ("7", None | int, 7), (None, None | int, None), ("", str | None, None), ("-3", int, -3), ("2.5", float, 2.5), (2.5, float, 2.5),
    ],
)  # fmt: skip
def test_a_value_of_a_layer_is_cast_to_the_type_of_its_field(value: object, kind: Any, meant: object) -> None:
    assert (found := cast(value, kind)) == meant
    assert type(found) is type(meant)


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (None, Answer, "one of NOTHING, YES"), (True, Answer, "one of NOTHING, YES"), ([], Literal["a", "b"], "one of a, b"),
        ({}, Answer, "one of NOTHING, YES"), ("maybe", bool, "true or false"), (None, bool, "true or false"),
        ("x", Decimal, 'a decimal number as a string, such as "0.10"'),
        ("Infinity", Decimal, 'a decimal number as a string, such as "0.10"'),
        (True, Decimal, 'a decimal number as a string, such as "0.10"'), ("[1", tuple[int, ...], 'a list, such as ["a", "b"] or a,b'),
        (1, tuple[int, ...], 'a list, such as ["a", "b"]'), ("1" * 101, int, "a whole number, such as 10"),
    ],
)  # fmt: skip
def test_a_value_that_its_type_does_not_have_is_refused_with_the_expected_form(value: object, kind: Any, expected: str) -> None:
    with pytest.raises(Unexpected) as refused:
        cast(value, kind)
    assert str(refused.value) == expected


@pytest.mark.parametrize(
    ("cls", "why"),
    [
        (int, "configuration: <class 'int'> is not a dataclass; write @dataclass(frozen=True) above a class with annotated fields"),
        (Smtp("x"), "configuration: Smtp(host='x') is not a dataclass; write @dataclass(frozen=True) above a class with annotated fields"),
        (Endless, "configuration field inner.inner: Endless contains itself"),
    ],
)  # fmt: skip
def test_another_class_is_refused_by_name(cls: Any, why: str) -> None:
    with pytest.raises(OptionError) as refused:
        fields_of(cls)
    assert str(refused.value) == why


EVERY = "write one of module:, toml:, env:, ssm:, appconfig:, stage:"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("stage", f"layer 'stage': {EVERY}; did you mean stage:?"), ("toml", f"layer 'toml': {EVERY}; did you mean toml:?"),
        ("tmol:a", f"layer 'tmol:a': {EVERY}; did you mean toml:?"), ("x:y", f"layer 'x:y': {EVERY}"), ("", f"layer '': {EVERY}"),
        ("env:A?", "layer 'env:A?': after env: write the prefix of its variables, such as env:SHOP_"),
    ],
)  # fmt: skip
def test_a_text_that_declares_no_layer_is_refused_with_what_to_write(text: str, why: str) -> None:
    with pytest.raises(OptionError) as refused:
        layer(text)
    assert str(refused.value) == why


def test_only_a_file_may_be_missing() -> None:
    assert [of.may_miss for of in LAYERS.values()] == [False] * 6
    assert layer("toml:a.toml?") == Layer(TOML, "a.toml", may_miss=True)


@pytest.mark.parametrize(
    ("kind", "found", "values"),
    [
        (ENV, {"POOL": "1", "SMTP__HOST": "h", "HOME": "/"}, [("pool", "1", True), ("smtp.host", "h", True), ("home", "/", False)]),
        (SSM, {"pool": "1", "smtp/host": "h", "smtp": "x"}, [("pool", "1", True), ("smtp.host", "h", True), ("smtp", "x", False)]),
        (STAGE, {"pool": "1", "smtp.host": "h", "POOL": "2"}, [("pool", "1", True), ("smtp.host", "h", True), ("POOL", "2", False)]),
        (MODULE, {"POOL": 1, "Smtp": {"host": "h"}, "OTHER": 3}, [("pool", 1, True), ("smtp.host", "h", True), ("other", 3, False)]),
        (TOML, {"pool": {"a": 1}, "smtp": {"host": {}, "b": 2}}, [("pool", {"a": 1}, True), ("smtp.host", {}, True), ("smtp.b", 2, False)]),
        (APPCONFIG, {"smtp": "text", "pool": 1, "POOL": 2}, [("smtp", "text", False), ("pool", 1, True), ("POOL", 2, False)]),
    ],
)  # fmt: skip
def test_each_kind_of_layer_names_a_field_in_its_own_way(
    kind: str, found: dict[str, object], values: list[tuple[str, object, bool]]
) -> None:
    assert [*named(LAYERS[kind], found, PATHS)] == [LayerValue(*one) for one in values]


@pytest.mark.parametrize(
    ("kind", "where"),
    [
        (MODULE, "smtp.host in the module shop.defaults"), (TOML, "smtp.host in shop.toml#tool"), (ENV, "the variable SHOP_SMTP__HOST"),
        (SSM, "the parameter /shop/smtp/host"), (APPCONFIG, "smtp.host in shop/prod/flags"), (STAGE, "`sedano config set smtp.host VALUE`"),
    ],
)  # fmt: skip
def test_an_error_says_where_a_field_is_written_in_each_kind_of_layer(kind: str, where: str) -> None:
    assert written(LAYERS[kind], "smtp.host") == where


ALL_FIELDS = "the fields are pool, smtp.host, password"


@pytest.mark.parametrize(
    ("kind", "path", "why"),
    [
        (TOML, "pol", "did you mean pool? Write pool in shop.toml#tool"), (ENV, "pol", "did you mean pool? Write the variable SHOP_POOL"),
        (TOML, "passed", "did you mean password? Write password in shop.toml#tool"), (ENV, "passed", None), (MODULE, "passed", None),
        (STAGE, "colour", ALL_FIELDS), (SSM, "colour", ALL_FIELDS), (ENV, "colour", None), (MODULE, "colour", None),
    ],
)  # fmt: skip
def test_a_name_without_a_field_is_an_error_except_where_other_names_belong(kind: str, path: str, why: str | None) -> None:
    assert misspelling(LAYERS[kind], LayerValue(path, 1, is_known=False), PATHS) == why


@pytest.mark.parametrize(("letters", "shown"), [(58, f"'{'a' * 58}'"), (59, f"'{'a' * 59}…")])
def test_a_wrong_value_is_shown_up_to_sixty_characters(letters: int, shown: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        merged(Shop, FIELDS, [(LAYERS[STAGE], {"pool": "a" * letters})])
    expected = "expected a whole number, such as 10; correct `sedano config set pool VALUE`"
    assert str(refused.value).splitlines()[1:] == [f"  pool (stage:): {shown} is not valid; {expected}"]


def test_a_required_field_whose_value_is_wrong_is_named_once() -> None:
    @dataclass(frozen=True)
    class Needs:
        pool: int
        size: int

    with pytest.raises(ConfigurationError) as refused:
        merged(Needs, fields_of(Needs), [(LAYERS[STAGE], {"pool": "many"})])
    assert [line.split(" is ")[0] for line in str(refused.value).splitlines()[1:]] == [
        "  pool (stage:): 'many'",
        "  size: no layer sets it, and it has no default; write `sedano config set size VALUE`, or give the field a default",
    ]


def test_a_digest_is_eight_digits_of_the_values_that_are_no_secrets() -> None:
    digests = [digest(FIELDS, merged(Shop, FIELDS, [(LAYERS[STAGE], given)])) for given in ({}, {"password": "hunter2"}, {"pool": "11"})]
    assert digests == ["ebf74b99", "ebf74b99", "2904163d"]


def test_the_values_of_the_stage_are_kept_in_the_order_of_their_names() -> None:
    text = with_value(with_value("", FIELDS, "smtp.host", "mail"), FIELDS, "pool", "2")
    assert text == '{"pool":"2","smtp.host":"mail"}'
    assert with_value(text, FIELDS, "smtp.host", None) == '{"pool":"2"}'
    assert with_value(text, FIELDS, "password", None) == text
