"""The rule of a configuration: which layer wins, how a value is cast, what is refused, and what a new version changes."""

import enum
import json
import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Any, Literal

import hypothesis.strategies as st
import pytest
from hypothesis import given

from sedano import COLD
from sedano.errors import ConfigurationError, OptionError
from sedano.model.configuration.casts import Unexpected, cast, fits
from sedano.model.configuration.fields import REQUIRED, fields_of, value_of
from sedano.model.configuration.layers import APPCONFIG, ENV, MODULE, SSM, STAGE, TOML, Layer, layer
from sedano.model.configuration.snapshots import DEFAULT, HIDDEN, ConfigSnapshot, changed, merged, must_wait, rows


class Colour(enum.Enum):
    """A value with names."""

    RED = "red"
    BLUE = 2


@dataclass(frozen=True)
class Database:
    """A table of fields."""

    host: str = "localhost"
    pool: int = field(default=10, metadata=COLD)


@dataclass(frozen=True)
class Shop:
    """One field of each kind."""

    name: str = "shop"
    retries: int = 3
    rate: float = 2.5
    is_open: bool = True
    price: Decimal = Decimal("1.0")
    colour: Colour = Colour.RED
    wait: timedelta = timedelta(seconds=1)
    tags: tuple[str, ...] = ()
    sizes: frozenset[int] = frozenset()
    level: Literal["info", "debug"] = "info"
    note: str | None = None
    password: str = field(default="", repr=False)
    database: Database = Database()


FIELDS = fields_of(Shop)
TEXTS: Mapping[str, st.SearchStrategy[tuple[str, object]]] = {
    "name": st.text(max_size=5).map(lambda one: (one, one)),
    "retries": st.integers().map(lambda one: (str(one), one)),
    "rate": st.floats(allow_nan=False, allow_infinity=False).map(lambda one: (repr(one), one)),
    "is_open": st.sampled_from([("true", True), ("ON", True), ("1", True), ("False", False), ("no", False), ("0", False)]),
    "price": st.decimals(allow_nan=False, allow_infinity=False, places=2).map(lambda one: (str(one), one)),
    "colour": st.sampled_from([("red", Colour.RED), ("2", Colour.BLUE), ("BLUE", Colour.BLUE)]),
    "wait": st.integers(0, 10**6).map(lambda one: (f"{one}s", timedelta(seconds=one))),
    "tags": st.lists(st.text(max_size=3)).map(lambda one: (json.dumps(one), tuple(one))),
    "sizes": st.lists(st.integers(), min_size=1).map(lambda one: (",".join(map(str, one)), frozenset(one))),
    "level": st.sampled_from([("info", "info"), ("debug", "debug")]),
    "note": st.sampled_from([("", None), ("x", "x")]),
    "password": st.just(("hunter2", "hunter2")),
    "database.host": st.text(max_size=5).map(lambda one: (one, one)),
    "database.pool": st.integers(0, 99).map(lambda one: (str(one), one)),
}
LAYERS = [Layer(SSM, f"/shop/{number}") for number in range(4)]


def nested(flat: Mapping[str, object]) -> dict[str, object]:
    """Return *flat* as tables."""
    found: dict[str, Any] = {}
    for path, value in flat.items():
        table, _, name = path.rpartition(".")
        (found.setdefault(table, {}) if table else found)[name] = value
    return found


@st.composite
def layers(draw: st.DrawFn) -> list[dict[str, tuple[str, object]]]:
    """Draw what up to four layers give: for some fields a text, and what it means."""
    return [
        {path: draw(TEXTS[path]) for path in draw(st.lists(st.sampled_from([*TEXTS]), unique=True))}
        for _ in range(draw(st.integers(0, 4)))
    ]  # fmt: skip


@given(layers())
def test_the_last_layer_that_gives_a_field_wins_and_is_named_as_its_origin(given_layers: list[dict[str, tuple[str, object]]]) -> None:
    read = [
        (layer, {path.replace(".", "/"): text for path, (text, _) in given_one.items()})
        for layer, given_one in zip(LAYERS, given_layers, strict=False)
    ]  # fmt: skip
    found = merged(Shop, FIELDS, read)
    for path, one in FIELDS.items():
        giving = [(str(layer), given_one[path][1]) for layer, given_one in zip(LAYERS, given_layers, strict=False) if path in given_one]
        origin, value = giving[-1] if giving else (DEFAULT, one.default)
        assert (found.origins[path], value_of(found.value, path)) == (origin, value)


@given(layers())
def test_every_kind_of_layer_means_the_same_by_its_own_names(given_layers: list[dict[str, tuple[str, object]]]) -> None:
    flat = {path: text for one in given_layers for path, (text, _) in one.items()}
    forms: dict[Layer, Mapping[str, object]] = {
        Layer(SSM, "/shop/"): {path.replace(".", "/"): text for path, text in flat.items()},
        Layer(ENV, "SHOP_"): {path.upper().replace(".", "__"): text for path, text in flat.items()},
        Layer(STAGE, ""): flat,
        Layer(TOML, "shop.toml"): nested(flat),
        Layer(APPCONFIG, "shop/prod/settings"): nested(flat),
        Layer(MODULE, "shop.defaults"): {name.upper(): value for name, value in nested(flat).items()},
    }
    values = [merged(Shop, FIELDS, [(kind, found)]).value for kind, found in forms.items()]
    assert values == [values[0]] * len(forms)


@given(layers(), st.sampled_from(["retries", "rate", "is_open", "colour", "wait", "database.pool"]), st.integers(0, 3))
def test_one_wrong_value_in_any_layer_refuses_the_whole(given_layers: list[dict[str, tuple[str, object]]], path: str, at: int) -> None:
    read: list[tuple[Layer, dict[str, object]]] = [(one, {}) for one in LAYERS]
    for (_, found), given_one in zip(read, given_layers, strict=False):
        found.update({name.replace(".", "/"): text for name, (text, _) in given_one.items()})
    read[at][1][path.replace(".", "/")] = "no such value"
    with pytest.raises(ConfigurationError) as refused:
        merged(Shop, FIELDS, read)
    (line,) = str(refused.value).splitlines()[1:]
    assert line.startswith(f"  {path} (ssm:/shop/{at}): 'no such value' is not valid; expected ")
    assert line.endswith(f"; correct the parameter /shop/{at}/{path.replace('.', '/')}")


def test_all_problems_are_listed_at_once_each_with_what_to_write() -> None:
    @dataclass(frozen=True)
    class Mail:
        sender: str
        pool: int = 1

    read: list[tuple[Layer, Mapping[str, object]]] = [
        (Layer(TOML, "shop.toml"), {"pol": 2, "pool": "many"}), (Layer(ENV, "SHOP_"), {"POOL": "2", "SENDR": "x", "HOME": "/"}),
    ]  # fmt: skip
    with pytest.raises(ConfigurationError) as refused:
        merged(Mail, fields_of(Mail), read)
    assert str(refused.value).splitlines() == [
        "configuration Mail is refused as a whole:",
        "  pol (toml:shop.toml): no field has this name; did you mean pool? Write pool in shop.toml",
        "  pool (toml:shop.toml): 'many' is not valid; expected a whole number, such as 10; correct pool in shop.toml",
        "  sendr (env:SHOP_): no field has this name; did you mean sender? Write the variable SHOP_SENDER",
        "  sender: no layer sets it, and it has no default; write the variable SHOP_SENDER, or give the field a default",
    ]


def test_the_check_of_the_dataclass_itself_refuses_too() -> None:
    @dataclass(frozen=True)
    class Range:
        low: int = 0
        high: int = 9

        def __post_init__(self) -> None:
            if self.low > self.high:
                raise ValueError("low is above high")

    with pytest.raises(ConfigurationError, match="its own check raised ValueError: low is above high"):
        merged(Range, fields_of(Range), [(Layer(STAGE, ""), {"low": "10"})])


@given(st.text(min_size=8, alphabet=string.ascii_letters))
def test_a_secret_is_in_no_error_and_no_view(secret: str) -> None:
    @dataclass(frozen=True)
    class Keys:
        pin: int = field(default=0, repr=False)
        word: str = field(default="", repr=False)

    fields = fields_of(Keys)
    with pytest.raises(ConfigurationError) as refused:
        merged(Keys, fields, [(LAYERS[0], {"pin": secret, "word": 7})])
    assert secret not in str(refused.value)
    found = merged(Keys, fields, [(LAYERS[0], {"word": secret})])
    assert secret not in repr(found.value)
    assert [row.value for row in rows(fields, found)] == [HIDDEN, HIDDEN]


def test_a_change_of_one_cold_field_waits_and_a_table_hands_its_mark_down() -> None:
    @dataclass(frozen=True)
    class Outer:
        hot: Database = Database()
        cold: Database = field(default=Database(), metadata=COLD)
        hidden: Database = field(default=Database(), repr=False)

    fields = fields_of(Outer)
    assert [path for path, one in fields.items() if one.cold] == ["hot.pool", "cold.host", "cold.pool", "hidden.pool"]
    assert [path for path, one in fields.items() if one.secret] == ["hidden.host", "hidden.pool"]
    new = Outer(hot=Database("db"), cold=Database("db"))
    assert changed(fields, Outer(), Outer()) == []
    assert changed(fields, Outer(), new) == ["hot.host", "cold.host"]
    assert must_wait(fields, ["hot.host", "cold.host"])
    assert not must_wait(fields, ["hot.host"])


def test_the_default_of_a_table_gives_the_defaults_of_its_fields() -> None:
    @dataclass(frozen=True)
    class Outer:
        bare: Database
        given: Database = Database("db")
        made: Database = field(default_factory=lambda: Database("made"))

    found = merged(Outer, fields_of(Outer), [])
    assert found == ConfigSnapshot(Outer(Database(), Database("db"), Database("made")), dict.fromkeys(fields_of(Outer), DEFAULT))


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (3, str, "a string"), (True, int, "a whole number"), (1.0, int, "a whole number"), ("1_0", int, "a whole number"),
        ("nan", float, "a number"), ("inf", float, "a number"), (True, float, "a number"), (1, bool, "true or false"),
        (0.1, Decimal, "a decimal number"), ("NaN", Decimal, "a decimal number"), ("2 days", timedelta, "a duration"),
        ("1e999", timedelta, "a duration"), (3, tuple[str, ...], "a list"), ("[1", tuple[int, ...], "a list"),
        ([1], tuple[str, ...], "a string"), ("green", Colour, "one of RED, BLUE"), (None, Colour, "one of"), (None, str, "a string"),
        ("warn", Literal["info", "debug"], "one of info, debug"), ({"a": 1}, str, "a string"), (None, timedelta, "a duration"),
    ],
)  # fmt: skip
def test_a_value_of_another_type_is_refused_with_what_is_expected(value: object, kind: Any, expected: str) -> None:
    assert fits(kind)
    with pytest.raises(Unexpected, match=expected):
        cast(value, kind)


@pytest.mark.parametrize(
    ("value", "kind", "meant"),
    [
        (90, timedelta, timedelta(seconds=90)), ("1h30m", timedelta, timedelta(minutes=90)), ("250ms", timedelta, timedelta(seconds=0.25)),
        ("1d 2h", timedelta, timedelta(hours=26)), ("0.5", timedelta, timedelta(seconds=0.5)), (2, float, 2.0), (2, Colour, Colour.BLUE),
        ("a, b,,c", tuple[str, ...], ("a", "b", "c")), (["1", 2], tuple[int, ...], (1, 2)), ("", tuple[str, ...], ()),
        (None, int | None, None), ("", int | None, None), ("7", int | None, 7), (" 7 ", int, 7), (Colour.RED, Colour, Colour.RED),
    ],
)  # fmt: skip
def test_a_value_is_read_as_its_type_says(value: object, kind: Any, meant: object) -> None:
    assert cast(value, kind) == meant


@dataclass
class Thawed:
    """A dataclass that can change."""

    name: str = ""


@dataclass(frozen=True)
class Itself:
    """A table in itself."""

    inner: "Itself | None" = None


def declaration(kind: Any) -> Any:
    """Return a frozen dataclass with one field, `x`, of *kind*."""
    return dataclass(frozen=True)(type("Made", (), {"__annotations__": {"x": kind}}))


@pytest.mark.parametrize(
    ("cls", "instead"),
    [
        (int, "write @dataclass"), (Thawed, r"Thawed is mutable; write @dataclass\(frozen=True\)"),
        (declaration(Thawed), "configuration field x: Thawed is mutable"), (declaration(list[str]), r"write tuple\[str, \.\.\.\]"),
        (declaration(tuple), r"write tuple\[str, \.\.\.\]"), (declaration(dict[str, int]), "no layer can give a dict"),
        (declaration(int | str), "no layer can give"), (declaration(object), "no layer can give a object"),
        (Itself, "configuration field inner: no layer can give"), (declaration("Missing"), "its annotations must be names of its module"),
        (declaration(Literal[1, 2]), "no layer can give"), (declaration(tuple[int, str]), "no layer can give"),
    ],
)  # fmt: skip
def test_a_declaration_that_no_layer_can_fill_is_refused_with_what_to_write(cls: Any, instead: str) -> None:
    with pytest.raises(OptionError, match=instead):
        fields_of(cls)


def test_a_field_that_is_not_set_by_the_constructor_is_refused() -> None:
    @dataclass(frozen=True)
    class Derived:
        x: int = field(default=0, init=False)

    with pytest.raises(OptionError, match="remove init=False"):
        fields_of(Derived)


def test_a_field_without_a_default_is_required() -> None:
    @dataclass(frozen=True)
    class Needs:
        x: int

    assert fields_of(Needs)["x"].default is REQUIRED
    with pytest.raises(ConfigurationError, match="x: no layer sets it, and it has no default; give the field a default"):
        merged(Needs, fields_of(Needs), [])


@pytest.mark.parametrize(
    "text", ["module:shop.defaults", "toml:shop.toml", "toml:etc/shop.toml#tool.shop", "toml:local.toml?", "env:SHOP_", "ssm:/shop/",
             "appconfig:shop/prod/settings", "stage:"],
)  # fmt: skip
def test_a_layer_reads_back_as_it_was_written(text: str) -> None:
    assert str(layer(text)) == text
    assert layer(text).may_miss == text.endswith("?")


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("shop.toml", "write one of module:, toml:, env:, ssm:, appconfig:, stage:"), ("tml:shop.toml", r"did you mean toml:\?"),
        ("env:", "after env: write the prefix of its variables"), ("ssm:shop", "after ssm: write a path"), ("ssm:/", "after ssm: write"),
        ("appconfig:shop/prod", "application, environment and profile"), ("stage:x", "nothing: stage:"), (7, "write one of"),
        ("module:shop defaults", "a module, such as"), ("toml:", "a file, such as"),
    ],
)  # fmt: skip
def test_another_text_is_refused_with_what_to_write(text: object, instead: str) -> None:
    with pytest.raises(OptionError, match=instead):
        layer(text)
