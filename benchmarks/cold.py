"""Cold start: from nothing imported to a handler that can take its first message, compared with the import of boto3 and two clients.

Each start is a new process; its CPU time is measured without the interpreter's own start. Sedano starts from its layers, merged as on
Lambda, where nothing can be written; the others have warm bytecode. Nothing is sent.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.contest import Sample, in_turns, ratio
from benchmarks.publishing import deployed
from benchmarks.report import Entry, Section, Target
from infra import assets
from infra.bytecode import compile_beside
from infra.packages import here, library_packages
from infra.places import library

ROUNDS = 9
ROOT = Path(__file__).resolve().parent.parent
NOWHERE = "http://127.0.0.1:9"
TITLE = "Cold start"
YARDSTICK = "boto3 with SQS and DynamoDB clients"
OURS = "sedano: worker handler"
RELATIVE = "worker handler, of boto3 with two clients"
BARE = "sedano: worker handler, layers without bytecode"
STARTS = {
    YARDSTICK: "import boto3; boto3.client('sqs'); boto3.client('dynamodb')",
    OURS: "import handler",
    BARE: "import handler",
    "sedano: import sedano alone": "import sedano",
    "Powertools: batch with idempotency": "import boto3; boto3.client('sqs'); import benchmarks.contenders.powertools_handler",
    "Celery: app on SQS": (
        "import benchmarks.contenders, boto3, celery; celery.Celery('a', broker='sqs://').connection().transport; boto3.client('sqs')"
    ),
}
APP = "from sedano import Sedano\n\napp = Sedano('cold')\n\n\n@app.task\ndef add(a: int, b: int) -> int:\n    return a + b\n"
HOW = (
    "CPU ms of a fresh process, without the interpreter's own start; one app with one task; sedano from its layers, read-only, which "
    "contain bytecode if the deploying machine has the functions' Python; the others with warm bytecode"
)


def section(progress: Callable[[], None], scratch: Path) -> Section:
    """Return the numbers for the report; the app that is started is written to *scratch*."""
    cpu = _measured(STARTS, progress, scratch)
    entries = [_held(cpu)]
    entries += [Entry(name, statistics.median(found) * 1e3, "ms", more={"best": min(found) * 1e3}) for name, found in cpu.items()]
    return Section(TITLE, HOW, entries)


def handler(scratch: Path) -> Entry:
    """Return only the number that has a target."""
    return _held(_measured((YARDSTICK, OURS), lambda: None, scratch))


def _held(cpu: Mapping[str, Sequence[float]]) -> Entry:
    return Entry(RELATIVE, ratio(cpu[OURS], cpu[YARDSTICK]), "times", Target(1.15))


def _measured(names: Iterable[str], progress: Callable[[], None], scratch: Path) -> dict[str, list[float]]:
    """Return the CPU seconds of starting each of these, in turns."""
    scratch.mkdir(parents=True, exist_ok=True)
    (scratch / "coldapp.py").write_text(APP)
    bare, whole = _laid_out(scratch / "opt-sources", bytecode=False), _laid_out(scratch / "opt", bytecode=True)
    starts = {name: _starting(STARTS[name], scratch, bare if name == BARE else whole, compiled=name != BARE) for name in names}
    samples = in_turns(starts, ROUNDS, progress)
    return {name: [sample.cpu for sample in found] for name, found in samples.items()}


def _laid_out(place: Path, *, bytecode: bool) -> Path:
    """Merge the library's layers in *place*, as Lambda does."""
    shutil.rmtree(place, ignore_errors=True)
    for part in (library_packages(), library()):
        assets.copy(part, place)
    if bytecode:
        compile_beside(place, here().python)
    return place


def _starting(code: str, scratch: Path, layers: Path, *, compiled: bool) -> Callable[[], Sample]:
    path = os.pathsep.join(map(str, (scratch, layers, ROOT / "functions" / "worker", ROOT)))
    environment = {**deployed(NOWHERE), "PYTHONPATH": path, "SEDANO_APP": "coldapp:app"}
    timed = f"import time; began = time.process_time(); {code}; print(time.process_time() - began)"

    def start(writes: str) -> Sample:
        # Do not depend on the shell's setting for writing bytecode.
        variables = {**environment, "PYTHONDONTWRITEBYTECODE": writes}
        done = subprocess.run([sys.executable, "-c", timed], env=variables, capture_output=True, text=True, check=True)
        seconds = float(done.stdout.split()[-1])
        return Sample(seconds, seconds)

    if compiled:
        # Write the bytecode that no layer contains: that of boto3, of the handler and of the app.
        start("")
    return lambda: start("1")
