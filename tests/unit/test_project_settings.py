"""Which source of a setting wins, for every combination of sources; and no table of a pyproject.toml is taken that has a fault."""

from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.config import StageConfig
from sedano.errors import UsageError
from sedano.model import settings
from sedano.model.settings import DEFAULT, DEFAULTS, DEPLOYMENT, VARIABLES, Project, Value, project, resolved

VALUES = {"app": "shop:app", "code": "src", "stage": "prod", "region": "eu-west-1", "profile": "work"}
FILE = "pyproject.toml"
PLACES = ("option", "variable", "stage table", "table")
KEYS = st.sampled_from([*VALUES, "dev", "stage", "port", "memory"])
TOML = st.recursive(
    st.text(max_size=8) | st.integers() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS | st.text(), inner),
)


def at(place: str, name: str) -> str:
    """A value of *name* that only *place* has."""
    return {"app": f"{place[0]}x:app"}.get(name, f"{place[0]}-{name[0]}")


@given(st.sampled_from([name for name in VARIABLES if name != "stage"]), st.sets(st.sampled_from(PLACES)), st.data())
def test_the_first_source_that_has_a_setting_wins(name: str, places: set[str], data: st.DataObject) -> None:
    variable = data.draw(st.sampled_from(VARIABLES[name]))
    found = Project(
        plain={"stage": "beta"} | ({name: at("table", name)} if "table" in places else {}),
        stages={"beta": {name: at("stage table", name)} if "stage table" in places else {}, "other": {name: "never"}},
    )
    options = {name: at("option", name) if "option" in places else None}
    value = resolved(options, {variable: at("variable", name)} if "variable" in places else {}, found, FILE)[name]
    first = next((place for place in PLACES if place in places), None)
    assert value.value == (at(first, name) if first else DEFAULTS.get(name))
    told = {
        "option": f"option --{name}", "variable": f"variable {variable}", "stage table": "[tool.sedano.stage.beta] in pyproject.toml",
        "table": "[tool.sedano] in pyproject.toml", None: DEFAULT,
    }  # fmt: skip
    assert value.source == told[first]


@given(st.sampled_from([None, "one"]), st.sampled_from([None, "two"]), st.sampled_from([None, "three"]))
def test_the_stage_chooses_its_table(option: str | None, variable: str | None, table: str | None) -> None:
    stages = {one: {"region": f"r-{one}", "memory": 1} for one in ("one", "two", "three", "dev")}
    found = Project({"stage": table} if table else {}, {}, stages)
    values = resolved({"stage": option}, {"SEDANO_STAGE": variable} if variable else {}, found, FILE)
    assert values["stage"].value == (option or variable or table or "dev")
    assert values["region"].value == f"r-{values['stage'].value}"
    assert values["memory"] == Value(1, f"[tool.sedano.stage.{values['stage'].value}] in pyproject.toml")


def test_an_empty_option_or_variable_is_not_given() -> None:
    assert resolved({"app": ""}, {"SEDANO_APP": "", "SEDANO_STAGE": ""}, Project({"app": "a:b"}), FILE)["app"].value == "a:b"


@given(st.dictionaries(st.sampled_from([*VARIABLES, "queues", "ignore", "dev", "stage"]) | st.text(max_size=6), TOML, max_size=4))
def test_a_table_is_taken_whole_or_refused_with_the_file_named(table: dict[str, Any]) -> None:
    found, said = None, ""
    try:
        found = project(table, FILE)
    except UsageError as refused:
        said = str(refused)
    if found is None:
        assert said.startswith("pyproject.toml: [tool.sedano")
        return
    assert {*found.plain} == {name for name in table if name not in ("dev", "stage") or isinstance(table[name], str)}
    for value in resolved({}, {}, found, FILE).values():
        assert value.source == DEFAULT or value.source.startswith("[tool.sedano")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"ap": "x:y"}, "[tool.sedano] has the unknown setting 'ap'; did you mean app?"),
        ({"zzz": 1}, "[tool.sedano] has the unknown setting 'zzz'; the settings are app, code, dev, ignore, profile, queues, region, re"),
        ({"stage": {"prod": {"memry": 1}}}, "[tool.sedano.stage.prod] has the unknown setting 'memry'; did you mean memory?"),
        ({"dev": {"prot": 1}}, "[tool.sedano.dev] has the unknown setting 'prot'; did you mean port?"),
        ({"dev": {"timeout": 1}}, "[tool.sedano.dev] timeout: 1 is not valid; expected whole seconds from 2 to 900"),
        ({"dev": {"secrets": 1}}, "[tool.sedano.dev.secrets]: 1 is not valid; expected a table"),
        ({"dev": {"secrets": {"till": 1}}}, "[tool.sedano.dev.secrets] till must be a string, or a list of strings"),
        ({"dev": {"secrets": {"till": []}}}, "[tool.sedano.dev.secrets] till must be a string, or a list of strings"),
        ({"dev": {"port": True}}, "[tool.sedano.dev] port: True is not valid; expected a port from 1 to 65535"),
        ({"app": "shop tasks"}, "[tool.sedano] app: 'shop tasks' is not valid; expected module:attribute, such as shop.tasks:app"),
        ({"stage": {"Prod": {}}}, "[tool.sedano.stage]: 'Prod' is not valid; expected a stage of at most 16 lower-case letters"),
        ({"stage": {"prod": {"region": 1}}}, "[tool.sedano.stage.prod] region: 1 is not valid; expected a string"),
        ({"queues": "default"}, "[tool.sedano] queues: 'default' is not valid; expected a list of strings"),
        ({"stage": 7}, "[tool.sedano.stage]: 7 is not valid; expected a table"),
    ],
)
def test_a_fault_says_what_to_write(table: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as refused:
        project(table, FILE)
    assert str(refused.value).startswith(f"{FILE}: {message}")


def test_an_option_that_cannot_be_is_refused() -> None:
    with pytest.raises(UsageError, match=r"--stage: 'Prod!' is not valid; expected a stage"):
        resolved({"stage": "Prod!"}, {}, Project())
    with pytest.raises(UsageError, match=r"SEDANO_APP: 'a b' is not valid; expected module:attribute"):
        resolved({}, {"SEDANO_APP": "a b"}, Project())


def test_the_settings_of_a_stage_are_those_that_a_deployment_takes() -> None:
    assert {*DEPLOYMENT} == {one.name for one in fields(StageConfig)} - {"stage", "region", "local"}
    assert not {*DEPLOYMENT} & {*settings.OF_FILE, *VARIABLES}


def test_secrets_of_webhooks_are_texts_and_none_of_the_settings_that_are_shown() -> None:
    found = project({"dev": {"port": 8710, "secrets": {"till": ["a ", "b"], "git": " hush"}}}, FILE)
    assert settings.secrets(found) == {"till": ("a", "b"), "git": ("hush",)}
    assert {name for name in resolved({}, {}, found) if name.startswith("dev.")} == {"dev.port"}


SHOP = {
    "app": "shop.tasks:app", "stage": "beta", "queues": ["default"], "ignore": [], "requirements": "r.txt",
    "dev": {"port": 8_710, "timeout": 30, "secrets": {"till": "a"}},
}  # fmt: skip


def test_every_setting_is_shown_with_its_source() -> None:
    beside = {"stage": {"prod": {"memory": 1, "region": "eu-west-1", "requirements": "p.txt"}}}
    assert project({**SHOP}, FILE).stages == {}
    found = project({**SHOP, **beside}, FILE)
    assert found == Project({name: SHOP[name] for name in ("app", "queues", "ignore", "requirements")}, SHOP["dev"], beside["stage"])
    table, stage = "[tool.sedano] in pyproject.toml", "[tool.sedano.stage.prod] in pyproject.toml"
    assert resolved({"stage": "prod"}, {"SEDANO_CODE": "src"}, found, FILE) == {
        "app": Value("shop.tasks:app", table), "code": Value("src", "variable SEDANO_CODE"), "stage": Value("prod", "option --stage"),
        "region": Value("eu-west-1", stage), "profile": Value(None, DEFAULT), "queues": Value(["default"], table),
        "ignore": Value([], table), "requirements": Value("p.txt", stage), "memory": Value(1, stage),
        "dev.port": Value(8_710, "[tool.sedano.dev] in pyproject.toml"), "dev.timeout": Value(30, "[tool.sedano.dev] in pyproject.toml"),
    }  # fmt: skip


def test_a_stage_may_be_named_instead_of_described() -> None:
    assert project(SHOP, FILE).plain["stage"] == "beta"
    assert resolved({}, {}, project(SHOP, FILE), FILE)["stage"] == Value("beta", "[tool.sedano] in pyproject.toml")


@pytest.mark.parametrize(("name", "least", "most"), [("port", 1, 65_535), ("timeout", 2, 900)])
def test_a_number_has_its_range(name: str, least: int, most: int) -> None:
    assert [project({"dev": {name: value}}, FILE).dev[name] for value in (least, most)] == [least, most]
    for value in (least - 1, most + 1, float(least), str(least), None):
        with pytest.raises(UsageError, match=f"from {least} to {most}$"):
            project({"dev": {name: value}}, FILE)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"dev": 5}, "[tool.sedano.dev]: 5 is not valid; expected a table"),
        ({"stage": {"prod": 5}}, "[tool.sedano.stage.prod]: 5 is not valid; expected a table"),
        *(({"dev": {"secrets": {"till": wrong}}}, "[tool.sedano.dev.secrets] till must be a string, or a list of strings")
          for wrong in ("", " ", ["a", ""], ["a", " "], ["a", 1], [1, "a"])),
        *(({"queues": wrong}, f'[tool.sedano] queues: {wrong!r} is not valid; expected a list of strings, such as ["default"]')
          for wrong in (5, ["a", ""], ["", "a"], ["a", 1], [1, "a"], [["a"]])),
        *(({"region": wrong}, f"[tool.sedano] region: {wrong!r} is not valid; expected a string") for wrong in ("", "a\nb", 5, ["a"])),
        *(({"stage": {"prod": {name: ""}}}, f"[tool.sedano.stage.prod] {name}: '' is not valid; expected a string")
          for name in ("app", "code", "requirements", "region", "profile")),
        ({"stage": "a" * 17}, f"[tool.sedano] stage: '{'a' * 17}' is not valid; expected a stage of at most 16 lower-case letters, digits"),
    ],
)  # fmt: skip
def test_a_value_of_another_kind_is_refused_where_it_stands(table: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as refused:
        project(table, FILE)
    assert str(refused.value).startswith(f"{FILE}: {words}")


def test_the_other_settings_of_a_stage_are_left_to_its_deployment() -> None:
    assert project({"stage": {"prod": {"account": "", "memory": ""}}}, FILE).stages == {"prod": {"account": "", "memory": ""}}
