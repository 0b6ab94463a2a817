"""Directories that become Lambda layers: copied into place once, under a name that depends only on their content.

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

#: The files that no layer contains: results of running, of tools and of version control.
NOT_CODE = ("__pycache__", "*.pyc", "*.egg-info", ".*", "cdk.out", "node_modules")
#: Files beside modules that are made from them, and are not part of them.
NOT_CODE_AT_TOP = ("build", "dist", "venv")
#: The parts of the library for developers' machines, or for processes on hosts, that no function runs.
FOR_DESKS = (
    "sedano/cdk", "sedano/changes", "sedano/cli", "sedano/deploy", "sedano/dev", "sedano/django/management", "sedano/emulator",
    "sedano/local", "sedano/migration", "sedano/sqlite", "sedano/testing", "sedano/views", "sedano/web", "sedano/__main__.py",
    "sedano/pytest_plugin", "sedano/memory/stream_records.py", "sedano/model/settings.py", "sedano/model/publisher_frames.py",
    "sedano/api/dev_server.py", "sedano/api/publisher_socket.py", "sedano/aws/glue.py", "sedano/aws/late_deployment.py",
    "sedano/engine/publisher/socket_connection.py", "sedano/engine/publisher/socket_queues.py",
    "sedano/engine/deployments.py", "sedano/engine/worker/standing_loop.py", "sedano/memory/archive.py", "sedano/telemetry/journal.py",
    "sedano/model/telemetry/journal_entries.py",
    *(f"sedano/model/{name}.py" for name in ("beats", "deployments", "restarts", "worker_advice")),
    *(f"sedano/model/history/{name}.py" for name in (
        "attempts", "live_state", "live_tasks", "registers", "spans", "task_costs", "tenant_loads",
    )),
    *(f"sedano/host/{name}.py" for name in (
        "acknowledger", "engine_process", "health_server", "listening_socket", "message_buffer", "one_file", "process_memory",
        "publisher_command", "publisher_lanes", "publisher_peer", "publisher_process", "pulses", "record_batches", "scaling",
        "service_manager", "stop_signals", "supervised", "worker_command", "worker_lane", "worker_process", "worker_supervisor",
        "worker_telemetry",
    )),
)  # fmt: skip
#: The part of Powertools for a web page in a browser, a third of its bytes; no function of sedano serves one.
FOR_BROWSERS = tuple(f"aws_lambda_powertools/event_handler/openapi/swagger_ui/swagger-ui{end}" for end in ("-bundle.min.js", ".min.css"))
LEFT_OUT = (*FOR_DESKS, *FOR_BROWSERS)
#: The limit of Lambda for a function and its layers together, less the room for the library and its packages.
MOST_BYTES = 240 * 1024 * 1024


class AssetError(RuntimeError):
    """A layer could not be put together."""


def sources(directory: Path, ignored: Ignored | None = None) -> Iterator[Path]:
    """Yield every file under `directory` that belongs in a layer and is not `ignored`, in an order that is the same everywhere.

    A link is replaced by its target, as for an import; one that leads back to a directory above it is skipped. Raises `AssetError`
    for a broken link.
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
                raise AssetError(f"code: {here / name} is a broken link, or not a regular file: remove it")
            yield here / name


def _beside_modules(directory: Path) -> list[str]:
    """Return the names to leave out of `directory`; a package with such a name is kept."""
    return [name for name in NOT_CODE_AT_TOP if not (directory / name / "__init__.py").is_file()]


def _leads_back(folder: Path) -> bool:
    return folder.is_symlink() and folder.resolve() in {above.resolve() for above in folder.parents}


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def digest(*directories: Path, and_bytes: bytes = b"", ignored: Ignored | None = None) -> str:
    """Return the hash of the contents of `directories`, and of `and_bytes`."""
    total = hashlib.sha256(and_bytes)
    for directory in directories:
        for path in sources(directory, ignored):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            total.update(f"{path.relative_to(directory).as_posix()}\0{content}\n".encode())
    return total.hexdigest()


def copy(directory: Path, target: Path, ignored: Ignored | None = None) -> None:
    """Copy the files that belong in a layer from `directory` to `target`."""
    for path in sources(directory, ignored):
        destination = target / path.relative_to(directory)
        destination.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, destination)


def archive(directory: Path, target: Path) -> None:
    """Write the files that belong in a layer from *directory* to the zip file *target*: the same content gives the same bytes."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as written:
        for path in sources(directory):
            entry = zipfile.ZipInfo(path.relative_to(directory).as_posix())
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            written.writestr(entry, path.read_bytes())


def unpack(packed: Path, target: Path) -> None:
    """Unpack the zip file *packed*, which `archive` wrote, to *target*."""
    with zipfile.ZipFile(packed) as read:
        read.extractall(target)


def require_that_it_fits(directory: Path, ignored: Ignored | None = None) -> None:
    """Refuse an application that Lambda would refuse after the upload; the error names its largest file."""
    sizes = {path: path.stat().st_size for path in sources(directory, ignored)}
    total = sum(sizes.values())
    if total > MOST_BYTES:
        largest = max(sizes, key=lambda path: sizes[path])
        raise AssetError(
            f"code: {directory} has {total >> 20} MB, and Lambda allows {MOST_BYTES >> 20}; the largest file is "
            f"{largest.relative_to(directory)}. Name a directory with only the application's modules, or list files that are not needed "
            "in .sedanoignore"
        )


def once(target: Path, fill: Callable[[Path], None]) -> Path:
    """Let `fill` write into `target` unless it exists; another process finds `target` complete or missing."""
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
    """Install the packages that `requirements` pins by hash into `target`, without the files that differ between machines.

    `options`: further options of pip, such as the platform that wheels are for.
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
