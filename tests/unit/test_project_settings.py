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
    found = project({"dev": {"port": 8710, "secrets": {"till": ["a ", "b"], "git": "c"}}}, FILE)
    assert settings.secrets(found) == {"till": ("a", "b"), "git": ("c",)}
    assert {name for name in resolved({}, {}, found) if name.startswith("dev.")} == {"dev.port"}
