"""What Lambda takes is looked at over all layers of a function together: each of them may fit, and their sum not."""

from pathlib import Path

import pytest

from infra.assets import AssetError
from infra.constructs.layers import FOR_THE_FUNCTION, MOST_BYTES, Layer, require_that_they_fit
from infra.places import FUNCTIONS
from sedano.local import LocalStageError
from sedano.local.stage import stage_context
from sedano.local.synthesis import synthesise
from tests.infra.template import Templates
from tests.infra.test_packages import Shelf
from tests.plugins.resources import APP, CODE

MB = 1 << 20


def _layers(*sizes: int) -> list[Layer]:
    return [Layer(None, f"L{number}", size) for number, size in enumerate(sizes)]  # type: ignore[arg-type]


def test_lambda_takes_250_mib_for_a_function_and_its_layers() -> None:
    most = MOST_BYTES - FOR_THE_FUNCTION
    assert MOST_BYTES == 262_144_000
    require_that_they_fit(_layers(most - 1, 1))
    with pytest.raises(AssetError, match=r"^code: the layers of a function have 274\.0 MB together, and Lambda allows 249\.9 \(L0 137"):
        require_that_they_fit(_layers(137 * MB, 137 * MB))
    with pytest.raises(AssetError):
        require_that_they_fit(_layers(most, 1))


def test_the_functions_themselves_are_smaller_than_what_is_left_to_them() -> None:
    for function in FUNCTIONS.iterdir():
        assert sum(path.stat().st_size for path in function.rglob("*.py")) < FOR_THE_FUNCTION, function.name


def test_the_sum_is_refused_before_anything_is_deployed(tmp_path: Path) -> None:
    """The application and its packages are each below the limit of one directory, and together above that of a function."""
    code, shelf = tmp_path / "code", Shelf(tmp_path)
    code.mkdir()
    (code / "shop.py").write_text("from sedano import Sedano\n\napp = Sedano('shop')\n")
    with (code / "model.bin").open("wb") as sparse:
        sparse.truncate(230 * MB)
    pins = shelf.pin(shelf.wheel("large", module=b"#" * (20 * MB)))
    context = {**stage_context("shop:app", code), "local": "false", "requirements": str(pins)}
    with pytest.raises(LocalStageError, match=r"the layers of a function have 2\d\d\.\d MB together"):
        synthesise(context, tmp_path / "cdk.out")


def test_what_is_measured_is_what_is_uploaded(production: Templates) -> None:
    """An application of some kilobytes leaves nearly all of it."""
    assert APP
    assert CODE.is_dir()
    layers = production.of_type("Lambda::LayerVersion")
    directories = [production.directory / f"asset.{one['Content']['S3Key'].removesuffix('.zip')}" for one in layers.values()]
    total = sum(path.stat().st_size for directory in directories for path in directory.rglob("*") if path.is_file())
    assert 1 * MB < total < 30 * MB
