"""What a change of code touches is told by resources and their types, what was proven by what it must come to."""

from pathlib import Path

from benchmarks.deploy import layers, proven, touched


def _resources(**layers: str) -> dict[str, dict[str, dict[str, object]]]:
    layer = {name: {"Type": "AWS::Lambda::LayerVersion", "Properties": {"Key": key}} for name, key in layers.items()}
    return {"core": {**layer, "Queue": {"Type": "AWS::SQS::Queue"}}}


def test_the_same_resources_are_untouched_whatever_the_tool_notes_about_them() -> None:
    before, after = _resources(Code1="a"), _resources(Code1="a")
    after["core"]["Queue"]["Metadata"] = {"aws:asset:path": "elsewhere"}
    assert touched(before, after) == {}


def test_what_is_new_changed_or_gone_is_told_with_its_type() -> None:
    before, after = _resources(Code1="a", Same="s"), _resources(Code2="b", Same="s")
    after["core"]["Queue"]["Properties"] = {"Delay": 1}
    layer = "AWS::Lambda::LayerVersion"
    assert touched(before, after) == {"core/Code1": layer, "core/Code2": layer, "core/Queue": "AWS::SQS::Queue"}
    assert touched(before, {}) == {"core/Code1": layer, "core/Same": layer, "core/Queue": "AWS::SQS::Queue"}


def test_what_was_proven_is_judged_and_what_was_not_is_named() -> None:
    section = proven({"unused grants": 0, "forbidden calls": 200, "forbidden calls that went through": 1, "in flight in upgrades": 9_999})
    assert {entry.name: (entry.value, entry.verdict) for entry in section.entries} == {
        "unused grants": (0, "met"),
        "forbidden calls refused": (99.5, "MISSED"),
        "in flight in upgrades": (9_999, "MISSED"),
    }
    assert section.how.endswith("run it to measure: lost in upgrades, doubled in upgrades")


def test_the_layer_of_the_library_is_weighed_apart_from_its_bytecode_which_not_every_machine_makes(tmp_path: Path) -> None:
    for asset in ("asset.one/python/sedano/__init__.py", "asset.app/python/__pycache__/shop.cpython-313.pyc"):
        (tmp_path / asset).parent.mkdir(parents=True)
        (tmp_path / asset).touch()
    assert layers(tmp_path) == (tmp_path / "asset.one", [])
    (tmp_path / "asset.two/python/sedano/__pycache__").mkdir(parents=True)
    assert layers(tmp_path) == (tmp_path / "asset.one", [tmp_path / "asset.two"])
