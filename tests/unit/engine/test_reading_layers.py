"""What is read from each kind of layer, and which error a layer gives that cannot be read."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from sedano import memory
from sedano.engine.configuration_layers import read
from sedano.errors import ConfigurationError
from sedano.model.configuration.layers import layer
from sedano.model.memos import Memo
from sedano.ports import Ports

TEXT = """
pool = 1
[tool.shop]
sender = "file"
"""


@pytest.fixture
def ports() -> Ports:
    kept = {"/shop/pool": "2", "/other/pool": "3", "shop/prod/flags": '{"pool": 4}', "shop/prod/none": ""}
    return replace(memory.ports(), parameters=memory.MemoryParameters(kept))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "shop.toml"
    path.write_text(TEXT, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "found"),
    [("ssm:/shop/", {"pool": "2"}), ("appconfig:shop/prod/flags", {"pool": 4}), ("appconfig:shop/prod/none", {}), ("stage:", {})],
)
def test_a_layer_of_the_deployment_is_read_from_its_store(ports: Ports, text: str, found: dict[str, object]) -> None:
    assert read(layer(text), ports) == found


def test_the_values_of_the_stage_are_those_of_its_memo(ports: Ports) -> None:
    ports.memos.change(Memo("config:stage", '{"pool":"5"}', "n-1"), Memo("config:stage"))
    assert read(layer("stage:"), ports) == {"pool": "5"}


def test_of_the_variables_those_with_the_prefix_count_without_it() -> None:
    prefix = f"SEDANO_TEST_{os.getpid()}_"
    os.environ[f"{prefix}POOL"] = "6"
    try:
        assert read(layer(f"env:{prefix}"), None) == {"POOL": "6"}
    finally:
        del os.environ[f"{prefix}POOL"]


def test_of_a_module_its_public_values_count() -> None:
    assert read(layer("module:tests.stories.configured"), None) == {"SENDER": "module", "HERE": Path()}


@pytest.mark.parametrize(
    ("table", "found"),
    [
        ("", {"pool": 1, "tool": {"shop": {"sender": "file"}}}), ("#tool", {"shop": {"sender": "file"}}),
        ("#tool.shop", {"sender": "file"}), ("#tool.shop?", {"sender": "file"}), ("#tool.none?", {}), ("#none.shop?", {}),
    ],
)  # fmt: skip
def test_of_a_file_all_or_one_table_counts(file: Path, table: str, found: dict[str, object]) -> None:
    assert read(layer(f"toml:{file}{table}"), None) == found


@pytest.mark.parametrize(("table", "may_miss"), [("none", ""), ("pool", ""), ("pool", "?"), ("none.shop", "")])
def test_what_is_no_table_is_refused(file: Path, table: str, may_miss: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read(layer(f"toml:{file}#{table}{may_miss}"), None)
    where = f"toml:{file}#{table}{may_miss}"
    assert str(refused.value) == f"layer {where}: the file has no table [{table}]; write it, or correct the layer"


def test_a_file_that_may_be_missing_gives_nothing(tmp_path: Path) -> None:
    assert read(layer(f"toml:{tmp_path}/none.toml?"), None) == {}
    with pytest.raises(ConfigurationError, match=r"no such file in .*; create it, or write toml:.*/none.toml"):
        read(layer(f"toml:{tmp_path}/none.toml"), None)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[1]", 'layer appconfig:a/b/c: its text is not a JSON object, such as {"pool": 10}; deploy one'),
        ("pool", "layer appconfig:a/b/c: Expecting value: line 1 column 1 (char 0); deploy a JSON object"),
    ],
)
def test_a_profile_of_another_form_is_refused(text: str, why: str) -> None:
    ports = replace(memory.ports(), parameters=memory.MemoryParameters({"a/b/c": text}))
    with pytest.raises(ConfigurationError) as refused:
        read(layer("appconfig:a/b/c"), ports)
    assert str(refused.value) == why
