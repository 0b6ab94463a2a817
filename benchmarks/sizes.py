"""Bytes: a message in the queue, and the Lambda layer without Powertools."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

from benchmarks import tasks
from benchmarks.report import Entry, Section, Target
from infra.assets import sources
from sedano import memory
from sedano.ports import command_queue

LAYER = Path(__file__).resolve().parent.parent / "layers" / "sedano" / "python"
MESSAGE_TARGET = 420
LAYER_TARGET = 1_070_000


def message() -> str:
    """Return the message of `add.delay(1, 2)`."""
    ports = memory.ports()
    tasks.app.attach(ports)
    try:
        tasks.add.delay(1, 2)
    finally:
        tasks.app.attach(None)
    (delivery,) = ports.queues.receive(command_queue("default"))
    return delivery.body


def layer() -> int:
    """Return the bytes of the unpacked library, as a function reads it."""
    return sum(path.stat().st_size for path in sources(LAYER))


def zipped() -> int:
    """Return the bytes of the library, as it is uploaded."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sources(LAYER):
            archive.write(path, path.relative_to(LAYER))
    return len(packed.getvalue())


def section() -> Section:
    """Return the numbers for the report."""
    return Section("Bytes", "the body of add.delay(1, 2); the library's files, zipped as they are uploaded", [
        Entry("message of add(1, 2)", len(message().encode()), "bytes", Target(MESSAGE_TARGET)),
        Entry("layer without Powertools", zipped(), "bytes", Target(LAYER_TARGET), {"unpacked": layer()}),
    ])  # fmt: skip
