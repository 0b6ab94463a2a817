"""The layers of every function: the library with what it needs, the packages that the user pins, and the user's modules.

The user's packages are a layer apart from the modules, so that a changed module publishes no package again.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path

from aws_cdk import AssetHashType
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from .. import assets
from ..application import Application
from ..packages import MODULES, library_packages
from ..places import LAYER_PINS, LIBRARY


def library_layer(scope: Construct, name: str) -> lambda_.LayerVersion:
    """The library and the pinned packages that it needs beyond what Lambda brings."""
    pins = LAYER_PINS.read_bytes()
    packages = library_packages()

    def fill(modules: Path) -> None:
        assets.copy(packages, modules)
        assets.copy(LIBRARY, modules)

    return _layer(scope, name, fill, assets.digest(LIBRARY, and_bytes=pins + repr(assets.LEFT_OUT).encode()))


def application_layers(scope: Construct, name: str, application: Application) -> list[lambda_.LayerVersion]:
    """The user's packages, if there are any, and the user's modules."""
    modules = _layer(scope, name, application.copy, application.content)
    if application.packages is None:
        return [modules]
    return [_version(scope, "Packages", application.packages, application.packages.name), modules]


def _layer(scope: Construct, name: str, fill: Callable[[Path], None], content_hash: str) -> lambda_.LayerVersion:
    with tempfile.TemporaryDirectory() as scratch:
        fill(Path(scratch) / MODULES)
        # The construct copies what it is given while it is made, so the scratch directory may go.
        return _version(scope, name, Path(scratch), content_hash)


def _version(scope: Construct, name: str, directory: Path, content_hash: str) -> lambda_.LayerVersion:
    return lambda_.LayerVersion(
        scope,
        name,
        code=lambda_.Code.from_asset(str(directory), asset_hash=content_hash, asset_hash_type=AssetHashType.CUSTOM),
        compatible_architectures=[lambda_.Architecture.ARM_64, lambda_.Architecture.X86_64],
    )
