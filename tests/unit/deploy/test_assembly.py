"""A cloud assembly is read as the CDK wrote it: stacks in the order of their needs, roles, files, and nothing guessed."""

import json
import os
from pathlib import Path

import pytest

from sedano.deploy.account import Target
from sedano.deploy.assembly import archive, stacks
from sedano.deploy.failure import DeployError
from tests.unit.deploy.assemblies import template, write


def test_stacks_are_in_the_order_of_their_needs(tmp_path: Path) -> None:
    made = {name: template(name) for name in ("watch", "run", "keep")}
    folder = write(tmp_path, made, {"watch": ["run"], "run": ["keep"]}, terminationProtection=True, tags={"team": "shop"})
    found = stacks(folder)
    assert [one.name for one in found] == ["keep", "run", "watch"]
    assert all(one.protected and one.bootstrap == 6 and one.tags == {"team": "shop"} for one in found)
    assert [len(one.templates()) for one in found] == [1, 1, 1]


def test_places_of_an_assembly_are_filled_in_for_one_account(tmp_path: Path) -> None:
    (one,) = stacks(write(tmp_path, {"run": template("a")}))
    where = Target("123456789012", "cn-north-1", "aws-cn")
    assert where.filled(one.role) == "arn:aws-cn:iam::123456789012:role/cdk-hnb659fds-deploy-role-123456789012-cn-north-1"
    assert where.filled(one.assets[0].bucket) == "cdk-hnb659fds-assets-123456789012-cn-north-1"


def test_a_template_that_asks_for_look_ups_is_refused_with_the_command_that_does_them(tmp_path: Path) -> None:
    folder = write(tmp_path, {"run": template("a")})
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "missing": [{"key": "availability-zones"}]}))
    with pytest.raises(DeployError, match="`cdk synth` looks them up"):
        stacks(folder)


def test_the_archive_of_a_tree_is_the_same_whenever_and_in_whatever_order_it_was_written(tmp_path: Path) -> None:
    for place, names in (("one", ("b", "a", "c/d")), ("two", ("c/d", "a", "b"))):
        for name in names:
            file = tmp_path / place / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(name)
            os.utime(file, (len(place) + len(name), 10))
    assert archive(tmp_path / "one") == archive(tmp_path / "two")
