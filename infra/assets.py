"""Directories that become Lambda layers: copied into place once, under a name that only their content decides.

The hash of a layer is a hash of what it is made from: the bytes and the relative names of its sources. Times, owners,
absolute paths and the order in which a file system lists its entries change nothing, so an unchanged tree is never
published twice and two machines agree.
"""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from .ignored import Ignored

#: What no layer contains: results of running, of tools and of version control.
NOT_CODE = ("__pycache__", "*.pyc", "*.egg-info", ".*", "cdk.out", "node_modules")
#: What stands beside modules and is made from them, not part of them.
NOT_CODE_AT_TOP = ("build", "dist", "venv")
#: What of the library runs on desks, or in processes on hosts, and never in a function.
FOR_DESKS = (
    "sedano/cdk", "sedano/changes", "sedano/cli", "sedano/deploy", "sedano/dev", "sedano/emulator", "sedano/local", "sedano/sqlite",
    "sedano/testing", "sedano/views", "sedano/web", "sedano/__main__.py", "sedano/pytest_plugin.py",
    *(f"sedano/host/{name}.py" for name in (
        "acknowledging", "engine_process", "health_door", "one_file", "pulses", "service_manager", "stop_signals", "supervised",
        "waiting_room", "worker_command", "worker_process", "worker_supervisor",
    )),
)  # fmt: skip
#: What of Powertools is for a web page in a browser, a third of its bytes; no function of ours serves one.
FOR_BROWSERS = tuple(f"aws_lambda_powertools/event_handler/openapi/swagger_ui/swagger-ui{end}" for end in ("-bundle.min.js", ".min.css"))
LEFT_OUT = (*FOR_DESKS, *FOR_BROWSERS)
#: What Lambda takes for a function and its layers together, less what the library and its packages may need.
MOST_BYTES = 240 * 1024 * 1024


class AssetError(RuntimeError):
    """A layer could not be put together."""


def sources(directory: Path, ignored: Ignored | None = None) -> Iterator[Path]:
    """Every file under `directory` that belongs into a layer, and is not `ignored`, in an order that is the same everywhere.

    A link is replaced by its target, as for an import; one that leads back to its own directory is skipped. Raises `AssetError`
    for one that leads nowhere.
    """
    for place, folders, files in os.walk(directory, followlinks=True):
        here = Path(place)
        unwanted = (*NOT_CODE, *_beside_modules(here)) if here == directory else NOT_CODE
        left_out = {name for name in (*folders, *files) if (here / name).relative_to(directory).as_posix() in LEFT_OUT}
        if ignored is not None:
            left_out |= {name for name in folders if ignored.rule((here / name).relative_to(directory).as_posix(), folder=True)}
            left_out |= {name for name in files if ignored.rule((here / name).relative_to(directory).as_posix(), folder=False)}
        wanted = {name for name in (*folders, *files) if name not in left_out and not _matches(name, unwanted)}
        folders[:] = sorted(name for name in wanted.intersection(folders) if not _leads_back(here / name))
        for name in sorted(wanted.intersection(files)):
            if not (here / name).is_file():
                raise AssetError(f"code: {here / name} is a link that leads nowhere, or no file at all: take it away")
            yield here / name


def _beside_modules(directory: Path) -> list[str]:
    """The entries of `directory` that are not modules; a package of such a name is one."""
    return [name for name in NOT_CODE_AT_TOP if not (directory / name / "__init__.py").is_file()]


def _leads_back(folder: Path) -> bool:
    return folder.is_symlink() and folder.resolve() in {above.resolve() for above in folder.parents}


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def digest(*directories: Path, and_bytes: bytes = b"", ignored: Ignored | None = None) -> str:
    """The hash of what `directories` contain, and of `and_bytes`."""
    total = hashlib.sha256(and_bytes)
    for directory in directories:
        for path in sources(directory, ignored):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            total.update(f"{path.relative_to(directory).as_posix()}\0{content}\n".encode())
    return total.hexdigest()


def copy(directory: Path, target: Path, ignored: Ignored | None = None) -> None:
    """Copies what belongs into a layer from `directory` to `target`."""
    for path in sources(directory, ignored):
        destination = target / path.relative_to(directory)
        destination.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, destination)


def archive(directory: Path, target: Path) -> None:
    """Write what belongs into a layer from *directory* to the zip file *target*: the same content is the same bytes."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as written:
        for path in sources(directory):
            entry = zipfile.ZipInfo(path.relative_to(directory).as_posix())
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            written.writestr(entry, path.read_bytes())


def unpack(packed: Path, target: Path) -> None:
    """Write what `archive` put into the zip file *packed* to *target*."""
    with zipfile.ZipFile(packed) as read:
        read.extractall(target)


def require_that_it_fits(directory: Path, ignored: Ignored | None = None) -> None:
    """Refuses an application that Lambda would refuse after the upload, and names what makes it large."""
    sizes = {path: path.stat().st_size for path in sources(directory, ignored)}
    total = sum(sizes.values())
    if total > MOST_BYTES:
        largest = max(sizes, key=lambda path: sizes[path])
        raise AssetError(
            f"code: {directory} holds {total >> 20} MB, and Lambda takes {MOST_BYTES >> 20}; the largest file is "
            f"{largest.relative_to(directory)}. Name a directory that holds the application's modules alone, or name what is not deployed "
            "in .sedanoignore"
        )


def once(target: Path, fill: Callable[[Path], None]) -> Path:
    """Lets `fill` write into `target` unless it exists; a second process finds it complete or not at all."""
    if not target.is_dir():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
            filling = Path(scratch) / target.name
            filling.mkdir()
            fill(filling)
            _give(filling, target)
    return target


def _give(filling: Path, target: Path) -> None:
    try:
        filling.rename(target)
    except OSError:
        if not target.is_dir():
            raise


def install(requirements: Path, target: Path, options: Sequence[str] = ()) -> None:
    """Installs the packages that `requirements` pins by hash into `target`, without what differs between machines.

    `options`: further ones of pip, such as the platform that wheels are for.
    """
    if importlib.util.find_spec("pip") is None:
        raise AssetError(
            f"{sys.executable} has no pip, which installs packages for Lambda: `uv pip install pip` or `python -m ensurepip` adds it"
        )
    always = ["--quiet", "--disable-pip-version-check", "--no-compile", "--no-deps", "--only-binary", ":all:"]
    pins = ["--require-hashes", "--requirement", str(requirements), "--target", str(target)]
    command = [sys.executable, "-m", "pip", "install", *always, *options, *pins]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssetError(f"installing {requirements.name} for the layer failed:\n{done.stderr.strip()}")
    for volatile in ("RECORD", "INSTALLER", "REQUESTED"):
        for path in target.glob(f"*.dist-info/{volatile}"):
            path.unlink()
    shutil.rmtree(target / "bin", ignore_errors=True)
