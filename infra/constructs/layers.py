"""The two layers of every function: the library with what it needs, and the user's application."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from aws_cdk import AssetHashType
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra import assets

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "layers" / "sedano" / "python"
REQUIREMENTS = ROOT / "requirements" / "layer.txt"
PACKAGES = ROOT / "build" / "packages"


def library_layer(scope: Construct, name: str) -> lambda_.LayerVersion:
    """The library and the pinned packages that it needs beyond what Lambda brings."""
    pins = REQUIREMENTS.read_bytes()
    packages = assets.once(PACKAGES / assets.digest(and_bytes=pins)[:16], lambda target: assets.install(REQUIREMENTS, target))
    return _layer(scope, name, [packages, LIBRARY], assets.digest(LIBRARY, and_bytes=pins))


def application_layer(scope: Construct, name: str, code: Path) -> lambda_.LayerVersion:
    """The user's modules, as `code` holds them."""
    assets.require_that_it_fits(code)
    return _layer(scope, name, [code], assets.digest(code))


def _layer(scope: Construct, name: str, directories: Sequence[Path], content_hash: str) -> lambda_.LayerVersion:
    with tempfile.TemporaryDirectory() as scratch:
        for directory in directories:
            assets.copy(directory, Path(scratch) / "python")
        # The construct copies what it is given while it is made, so the scratch directory may go.
        return lambda_.LayerVersion(
            scope,
            name,
            code=lambda_.Code.from_asset(scratch, asset_hash=content_hash, asset_hash_type=AssetHashType.CUSTOM),
            compatible_architectures=[lambda_.Architecture.ARM_64, lambda_.Architecture.X86_64],
        )
