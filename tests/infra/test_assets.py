"""A layer is what its sources are: the same tree gives the same name on every machine, another tree another name."""

import os
from pathlib import Path

import pytest

from infra import assets
from infra.places import library


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small package with everything that must not be deployed beside it."""
    root = tmp_path / "tree"
    for name in (
        "shop/__init__.py",
        "shop/tasks.py",
        "shop/menu.json",
        "shop/__pycache__/tasks.pyc",
        ".git/HEAD",
        ".env",
        "build/old.py",
        "shop/build/plan.py",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    return root


def test_what_running_and_version_control_leave_behind_is_not_deployed(tree: Path) -> None:
    names = [path.relative_to(tree).as_posix() for path in assets.sources(tree)]
    assert names == ["shop/__init__.py", "shop/menu.json", "shop/tasks.py", "shop/build/plan.py"]


def test_a_link_is_deployed_as_what_it_leads_to_and_followed_once(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "common").mkdir()
    (tmp_path / "common" / "prices.py").write_text("TEA = 3")
    (tree / "common").symlink_to("../common")
    (tree / "shop" / "menu.txt").symlink_to("menu.json")
    (tmp_path / "common" / "again").symlink_to(tree)
    (tree / "shop" / "itself").symlink_to(".")
    names = {path.relative_to(tree).as_posix(): path.read_text() for path in assets.sources(tree)}
    assert names["common/prices.py"] == "TEA = 3"
    assert names["shop/menu.txt"] == names["shop/menu.json"]
    assert not any("again" in name or "itself" in name for name in names)


def test_a_link_that_leads_nowhere_is_refused_by_name(tree: Path) -> None:
    (tree / "shop" / "prices.py").symlink_to("gone.py")
    with pytest.raises(assets.AssetError, match=r"^code: .*/tree/shop/prices\.py is a broken link, or not a regular file: remove it"):
        list(assets.sources(tree))


def test_a_package_that_is_called_like_what_tools_leave_behind_is_deployed(tree: Path) -> None:
    (tree / "build" / "__init__.py").write_text("")
    assert {"build/__init__.py", "build/old.py"} < {path.relative_to(tree).as_posix() for path in assets.sources(tree)}


def test_what_runs_on_desks_alone_is_not_in_a_layer() -> None:
    names = {path.relative_to(library()).as_posix() for path in assets.sources(library())}
    assert {"sedano/__init__.py", "sedano/host/functions.py", "sedano/workflow/orchestration.py"} < names
    assert not any(f"{name}/".startswith(tuple(f"{desk}/" for desk in assets.FOR_DESKS)) for name in names)
    in_a_wheel = {"sedano/cdk"}
    assert all((library() / name).exists() for name in {*assets.FOR_DESKS} - in_a_wheel)


def test_more_than_lambda_takes_is_refused_with_the_place_and_the_size(tree: Path) -> None:
    with (tree / "shop" / "model.bin").open("wb") as sparse:
        sparse.truncate(assets.MOST_BYTES + 1)
    with pytest.raises(assets.AssetError, match=r"^code: .*/tree has 2\d\d MB, .*shop/model\.bin"):
        assets.require_that_it_fits(tree)


def test_the_name_of_a_layer_does_not_depend_on_times_places_or_rubbish(tree: Path, tmp_path: Path) -> None:
    before = assets.digest(tree)
    for path in assets.sources(tree):
        os.utime(path, (1, 1))
    (tree / "shop" / "__pycache__" / "other.pyc").write_text("rubbish")
    moved = tree.rename(tmp_path / "elsewhere")
    assert assets.digest(moved) == before


def test_a_changed_renamed_or_removed_file_changes_the_name(tree: Path) -> None:
    names = [assets.digest(tree)]
    (tree / "shop" / "tasks.py").write_text("changed")
    names.append(assets.digest(tree))
    (tree / "shop" / "tasks.py").rename(tree / "shop" / "jobs.py")
    names.append(assets.digest(tree))
    (tree / "shop" / "jobs.py").unlink()
    names.append(assets.digest(tree))
    names.append(assets.digest(tree, and_bytes=b"pins"))
    assert len(set(names)) == len(names)


def test_two_files_cannot_be_mistaken_for_one(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    (tmp_path / "one" / "a").write_text("xb")
    (tmp_path / "two" / "ax").write_text("b")
    assert assets.digest(tmp_path / "one") != assets.digest(tmp_path / "two")


def test_a_directory_is_made_whole_or_not_at_all(tmp_path: Path) -> None:
    def fail(target: Path) -> None:
        (target / "half").write_text("half")
        raise assets.AssetError("the disk is full")

    with pytest.raises(assets.AssetError, match="the disk is full"):
        assets.once(tmp_path / "made", fail)
    assert list(tmp_path.iterdir()) == []


def test_what_was_made_is_not_made_again(tmp_path: Path) -> None:
    made = []
    for _ in range(2):
        assets.once(tmp_path / "made", made.append)
    assert len(made) == 1


def test_who_comes_second_gives_way_to_who_came_first(tmp_path: Path) -> None:
    def overtaken(target: Path) -> None:
        (target / "mine").touch()
        (tmp_path / "made").mkdir()
        (tmp_path / "made" / "theirs").touch()

    assets.once(tmp_path / "made", overtaken)
    assert [path.name for path in (tmp_path / "made").iterdir()] == ["theirs"]


def test_a_pin_whose_hash_is_wrong_is_refused_with_what_the_installer_said(tmp_path: Path) -> None:
    pins = tmp_path / "layer.txt"
    pins.write_text(f"jmespath==1.1.0 --hash=sha256:{'0' * 64}\n")
    with pytest.raises(assets.AssetError, match=r"installing layer.txt for the layer failed:(.|\n)*HASH"):
        assets.install(pins, tmp_path / "packages")
