"""What functions stand on: the library with its pinned packages, and the application, for any architecture."""

import json
from pathlib import Path

from infra import places
from infra.assets import FOR_BROWSERS, FOR_DESKS
from infra.packages import library_packages
from infra.places import LAYER_PINS
from sedano import __version__
from sedano.deploy import assembly
from tests.infra.template import Templates, target
from tests.plugins.resources import CODE

MEGABYTE = 1_000_000


def _layers(templates: Templates) -> dict[str, Path]:
    """The directory of every layer, by its logical id without the hash."""
    return {name[:-8]: _directory(templates, name) for name in templates.of_type("Lambda::LayerVersion")}


def _directory(templates: Templates, logical_id: str) -> Path:
    properties = templates.resources[logical_id]["Properties"]
    archive = properties.get("Code") or properties["Content"]
    return templates.directory / f"asset.{archive['S3Key'].removesuffix('.zip')}"


def _files(directory: Path) -> set[str]:
    return {path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file()}


def test_every_function_stands_on_every_layer(templates: Templates) -> None:
    layers = list(templates.of_type("Lambda::LayerVersion"))
    assert [name[:-8] for name in layers] in (["Library", "LibraryBytecode", "Application"], ["Library", "Application"])
    for name, function in templates.functions().items():
        assert set(map(target, function["Layers"])) == set(layers), name


def test_the_layer_of_the_library_is_described_by_its_version(templates: Templates) -> None:
    described = {name[:-8]: one.get("Description") for name, one in templates.of_type("Lambda::LayerVersion").items()}
    assert {name: text for name, text in described.items() if text} == {"Library": f"sedano {__version__}"}


def test_the_library_layer_is_the_library_and_what_is_pinned_for_it(templates: Templates) -> None:
    directory = _layers(templates)["Library"]
    library = {name for name in _files(directory) if name.startswith("python/sedano/")}
    modules = {path.relative_to(places.library()).as_posix() for path in places.library().rglob("*.py")}
    needed = {name for name in modules if not f"{name}/".startswith(tuple(f"{desk}/" for desk in FOR_DESKS))}
    assert {f"python/{name}" for name in needed | {"sedano/py.typed"}} <= library
    pinned = [line.split("==")[0] for line in LAYER_PINS.read_text().splitlines() if "==" in line]
    for name in pinned:
        assert list(directory.glob(f"python/{name.replace('-', '_')}*.dist-info/METADATA")), name


def test_pages_for_browsers_are_left_out_and_nothing_else_of_the_packages(templates: Templates) -> None:
    packages = library_packages()
    shipped = _files(_layers(templates)["Library"])
    missing = {name for name in _files(packages) if f"python/{name}" not in shipped}
    assert {name for name in missing if not name.startswith("bin/") and not name.endswith(".pyc")} == set(FOR_BROWSERS)


def test_no_function_carries_the_pages_or_the_server_of_a_desk(templates: Templates) -> None:
    desks = tuple(f"python/sedano/{folder}/" for folder in ("dev", "views", "web"))
    assert not [name for name in _files(_layers(templates)["Library"]) if name.startswith(desks)]


def test_the_layer_is_pure_python_and_brings_no_client_of_its_own(templates: Templates) -> None:
    names = _files(_layers(templates)["Library"])
    assert not [name for name in names if name.endswith((".so", ".pyd", ".pyc"))]
    assert not [name for name in names if name.startswith(("python/boto", "python/bin/"))]


def test_the_library_with_its_packages_is_a_small_upload(templates: Templates) -> None:
    whole = assembly.archive(_layers(templates)["Library"])
    library = assembly.archive(_layers(templates)["Library"] / "python" / "sedano")
    assert 100_000 < len(library) <= 1.07 * MEGABYTE
    assert len(library) < len(whole) <= 1.7 * MEGABYTE


def test_the_application_layer_is_the_directory_that_the_user_named(templates: Templates) -> None:
    expected = {f"python/{path.relative_to(CODE).as_posix()}" for path in CODE.rglob("*.py")}
    assert {name for name in _files(_layers(templates)["Application"]) if not name.endswith(".pyc")} == expected


def test_a_function_is_its_handler_and_nothing_else(templates: Templates) -> None:
    for name, properties in templates.of_type("Lambda::Function").items():
        assert _files(_directory(templates, name)) == {"handler.py"}, properties["Handler"]


def test_every_asset_is_found_where_the_assembly_says(templates: Templates) -> None:
    listings = [json.loads(path.read_text()) for path in templates.directory.glob("*.assets.json")]
    sources = [file["source"]["path"] for listing in listings for file in listing["files"].values()]
    assert sources
    assert all((templates.directory / source).exists() for source in sources)
