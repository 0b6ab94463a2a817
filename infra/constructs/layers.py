"""The layers of every function: the library with its packages, the packages that the user pins, and the user's modules.

The user's packages are a separate layer, so that a changed module does not publish the packages again. The library's bytecode is a separate
layer from its sources, which are the same from every machine; Lambda merges the two. *python* is always the version that runs the
functions, such as `3.13`.
"""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from aws_cdk import Annotations, AssetHashType
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from .. import assets
from ..application import Application
from ..bytecode import bytecode_of, compile_beside, compiler
from ..packages import MODULES, library_packages
from ..places import LAYER_PINS, PACKAGES, library, library_version

NO_COMPILER = (
    "the layers contain no bytecode, because this machine has no python{python}: each cold start compiles its imports, which takes "
    "about 0.1 s of a full core for the library alone. With python{python} on the path (uv python install {python} is one way) the "
    "bytecode is made once"
)
#: The limit of Lambda, unzipped, for a function and all its layers together (AWS Lambda, "Lambda quotas").
MOST_BYTES = 250 * 1024 * 1024
#: The part of it for the function's own code, which is a few lines.
FOR_THE_FUNCTION = 64 * 1024


class Layer(NamedTuple):
    """A layer, its *name*, and how many bytes it holds unzipped."""

    version: lambda_.LayerVersion
    name: str
    size: int


def require_that_they_fit(layers: Sequence[Layer], most: int = MOST_BYTES - FOR_THE_FUNCTION) -> None:
    """Refuse layers that hold more than *most* bytes together: Lambda would refuse the function after the upload.

    Raises:
        AssetError: names the size of each.
    """
    total = sum(layer.size for layer in layers)
    if total > most:
        each = ", ".join(f"{layer.name} {layer.size / (1 << 20):.1f}" for layer in layers)
        raise assets.AssetError(
            f"code: the layers of a function have {total / (1 << 20):.1f} MB together, and Lambda allows {most / (1 << 20):.1f} ({each}): "
            "pin fewer packages, leave data out of the code, or deploy two applications"
        )


def library_layers(scope: Construct, name: str, python: str) -> list[Layer]:
    """The library and the pinned packages that it needs beyond what Lambda brings; and their bytecode, if this machine can make it."""
    parts = [library_packages(), library()]
    content = assets.digest(library(), and_bytes=LAYER_PINS.read_bytes() + repr(assets.LEFT_OUT).encode())

    def fill(modules: Path) -> None:
        for part in parts:
            assets.copy(part, modules)

    layers = [_layer(scope, name, fill, content, f"sedano {library_version()}")]
    if compiler(python) is None:
        Annotations.of(scope).add_info(NO_COMPILER.format(python=python))
    else:
        compiled = assets.digest(and_bytes=f"{content} {python}".encode())
        directory = assets.once(PACKAGES / compiled[:16], lambda target: bytecode_of(parts, python, target / MODULES))
        layers.append(_version(scope, f"{name}Bytecode", directory, compiled))
    return layers


def application_layers(scope: Construct, name: str, application: Application, python: str) -> list[Layer]:
    """The user's packages, if there are any, and the user's modules, each with its bytecode, if this machine can make it."""

    def fill(modules: Path) -> None:
        application.copy(modules)
        compile_beside(modules, python)

    content = application.content if compiler(python) is None else assets.digest(and_bytes=f"{application.content} {python}".encode())
    modules = _layer(scope, name, fill, content)
    if application.packages is None:
        return [modules]
    return [_version(scope, "Packages", application.packages, application.packages.name), modules]


def _layer(scope: Construct, name: str, fill: Callable[[Path], None], content_hash: str, description: str | None = None) -> Layer:
    with tempfile.TemporaryDirectory() as scratch:
        fill(Path(scratch) / MODULES)
        # The construct copies the directory while it is made, so the scratch directory can be deleted.
        return _version(scope, name, Path(scratch), content_hash, description)


def _version(scope: Construct, name: str, directory: Path, content_hash: str, description: str | None = None) -> Layer:
    version = lambda_.LayerVersion(
        scope,
        name,
        code=lambda_.Code.from_asset(str(directory), asset_hash=content_hash, asset_hash_type=AssetHashType.CUSTOM),
        compatible_architectures=[lambda_.Architecture.ARM_64, lambda_.Architecture.X86_64],
        description=description,
    )
    return Layer(version, name, sum(path.stat().st_size for path in directory.rglob("*") if path.is_file()))
