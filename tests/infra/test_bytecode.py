"""What a cold start need not compile: the layers bring bytecode of the functions' Python, and remain what they are without it."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from infra.bytecode import FOLDER, compile_beside, compiler
from infra.config import StageConfig
from infra.packages import here
from infra.places import FUNCTIONS, ROOT
from tests.infra.template import Templates, read, target
from tests.plugins.resources import APP

#: Starts the worker's handler; says which modules of the layers were loaded, and which files of theirs were compiled for it.
PROGRAM = """
import runpy, sys
layers, compiled = sys.argv[2], []
sys.addaudithook(lambda event, args: compiled.append(str(args[1])) if event == "compile" else None)
sys.dont_write_bytecode = True
assert callable(runpy.run_path(sys.argv[1])["handler"])
loaded = [module.__file__ for module in list(sys.modules.values()) if (getattr(module, "__file__", None) or "").startswith(layers)]
print(len(loaded), *(name for name in compiled if name.startswith(layers)))
"""
FAILING = "import sedano\ntry:\n    sedano.Sedano('no such name')\nexcept Exception as error:\n    import traceback; traceback.print_exc()"
TOLD = "aws:cdk:info"


def laid_out(templates: Templates, place: Path, layers: int) -> Path:
    """Lay the first so many layers of the worker over one another, as Lambda does; return the folder with their modules."""
    for reference in templates.functions()["worker"]["Layers"][:layers]:
        properties = templates.resources[target(reference)]["Properties"]
        archive = (properties.get("Code") or properties["Content"])["S3Key"]
        shutil.copytree(templates.directory / f"asset.{archive.removesuffix('.zip')}", place, dirs_exist_ok=True)
    return place / "python"


def run(modules: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run Python over the layers."""
    known = dict.fromkeys(("EVENTS", "RECORDS", "PARKED"), "https://sqs.eu-central-1.amazonaws.com/123456789012/some")
    settings = {
        **{f"SEDANO_{name}_QUEUE": url for name, url in known.items()},
        "SEDANO_QUEUES": json.dumps({"default": known["EVENTS"]}), "SEDANO_LEDGER_TABLE": "ledger", "SEDANO_CONTROL_TABLE": "control",
        "SEDANO_BLOBS_BUCKET": "blobs", "SEDANO_HISTORY_BUCKET": "history", "SEDANO_APP": APP, "AWS_DEFAULT_REGION": "eu-central-1",
    }  # fmt: skip
    variables = {**os.environ, **settings, "PYTHONPATH": str(modules)}
    return subprocess.run([sys.executable, *command], env=variables, capture_output=True, text=True, check=True, cwd=modules.parent)


@pytest.fixture(scope="module")
def local(assembly: Path) -> Templates:
    """A stage whose functions run this machine's Python."""
    return read(assembly)


def started(modules: Path) -> list[str]:
    """What the worker says that was started from the layers in *modules*."""
    return run(modules, "-c", PROGRAM, str(FUNCTIONS / "worker" / "handler.py"), str(modules)).stdout.split()


def test_a_cold_start_compiles_nothing_that_the_layers_bring(local: Templates, tmp_path: Path) -> None:
    loaded, *compiled = started(laid_out(local, tmp_path / "opt", layers=3))
    assert int(loaded) > 100
    assert compiled == []


def test_without_bytecode_it_compiles_each_module_that_it_loads(local: Templates, tmp_path: Path) -> None:
    modules = laid_out(local, tmp_path / "opt", layers=3)
    for folder in list(modules.rglob(FOLDER)):
        shutil.rmtree(folder)
    loaded, *compiled = started(modules)
    assert len(compiled) == int(loaded) > 100


def test_a_traceback_shows_the_lines_and_the_files_of_the_layer(local: Templates, tmp_path: Path) -> None:
    modules = laid_out(local, tmp_path / "opt", layers=2)
    said = run(modules, "-c", FAILING).stderr
    assert f'File "{modules}/sedano/' in said
    assert "    raise " in said


def test_bytecode_tells_nothing_of_the_machine_that_made_it(local: Templates, tmp_path: Path) -> None:
    made = list(laid_out(local, tmp_path / "opt", layers=3).rglob("*.pyc"))
    assert len(made) > 500
    places = [os.fsencode(place) for place in (ROOT, Path(tempfile.gettempdir()) / tempfile.gettempprefix())]
    assert [path.name for path in made if any(place in path.read_bytes() for place in places)] == []
    assert all(b"/opt/python/" in path.read_bytes() for path in made)


def test_sources_and_bytecode_of_the_library_leave_room_for_what_an_application_may_weigh(local: Templates, tmp_path: Path) -> None:
    modules = laid_out(local, tmp_path / "opt", layers=2)
    assert sum(path.stat().st_size for path in modules.rglob("*") if path.is_file()) <= 10 * 1024 * 1024


def test_what_does_not_compile_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text("A = 1\n")
    (tmp_path / "template.py").write_text("class {{ name }}: ...\n")
    compile_beside(tmp_path, here().python)
    assert sorted(path.name.split(".")[0] for path in tmp_path.rglob("*.py*") if path.is_file()) == ["good", "good", "template"]


def test_where_both_would_be_too_much_the_sources_go_alone(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text("A = 1\n")
    compile_beside(tmp_path, here().python, most=100)
    assert [path.name for path in tmp_path.iterdir()] == ["good.py"]


def test_bytecode_is_never_made_by_another_python(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text("A = 1\n")
    assert compiler("3.2") is None
    compile_beside(tmp_path, "3.2")
    assert [path.name for path in tmp_path.iterdir()] == ["good.py"]


def test_an_interpreter_on_the_path_makes_it_if_it_is_what_it_is_called(tmp_path: Path) -> None:
    fake = tmp_path / "python3.2"
    fake.write_text("#!/bin/sh\necho cpython-32 final\n")
    fake.chmod(0o755)
    liar = tmp_path / "python3.1"
    liar.write_text("#!/bin/sh\necho cpython-31 alpha\n")
    liar.chmod(0o755)
    assert (compiler("3.2", str(tmp_path)), compiler("3.1", str(tmp_path))) == (str(fake), None)


def test_where_nothing_can_make_it_the_synthesis_says_what_would(production: Templates) -> None:
    python = StageConfig(stage="prod").python
    told = [json.loads(path.read_text()).values() for path in production.directory.glob("*.metadata.json")]
    said = [entry["data"] for found in told for entries in found for entry in entries if entry["type"] == TOLD]
    layers = [name for name in production.of_type("Lambda::LayerVersion") if "Bytecode" in name]
    if compiler(python):
        assert (len(layers), said) == (1, [])
    else:
        assert layers == []
        assert [f"uv python install {python}" in text for text in said] == [True]
