"""A time limit that the functions cannot keep is refused before anything is deployed; on this machine the task is given the time."""

from pathlib import Path

import pytest

from infra.application import application
from infra.config import ConfigError, StageConfig
from sedano.local.stage import stage_context
from sedano.local.synthesis import synthesise
from tests.infra.template import read

SOURCE = "from sedano import Sedano\n\napp = Sedano('shop')\n\n@app.task({limit})\ndef crunch() -> None: ...\n"


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """The directory of an application whose one task has limits; `shop.py` is written by the test."""
    return tmp_path


@pytest.mark.parametrize(
    ("limit", "timeout", "said"),
    [
        ("time_limit=300", 60, "timeout: 60 cannot be used; expected at least 305, as the task shop.crunch has a time limit of 300 s"),
        ("soft_time_limit=300", 304, "timeout: 304 cannot be used; expected at least 305, as the task shop.crunch has a time limit"),
        ("time_limit=300", 305, ""),
        ("time_limit=55", 60, ""),
        ("", 1, ""),
        ("time_limit=1200", 900, "expected a shorter time_limit= of shop.crunch, 1200: Lambda ends an invocation after 900 s"),
    ],
)
def test_a_time_limit_that_the_functions_cannot_keep_is_refused(code: Path, limit: str, timeout: int, said: str) -> None:
    (code / "shop.py").write_text(SOURCE.format(limit=limit))
    if not said:
        assert application("shop:app", code, StageConfig(timeout=timeout)).declared.tasks
        return
    with pytest.raises(ConfigError) as refused:
        application("shop:app", code, StageConfig(timeout=timeout))
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("guard", "timeout", "said"),
    [
        (60, 60, "timeout: 60 cannot be used; expected at least 61, or a shorter guard than 60 s in Sedano(worker="),
        (59.5, 59, "timeout: 59 cannot be used; expected at least 60, or a shorter guard"),
        (59.5, 60, ""),
    ],
)
def test_a_guard_that_leaves_a_worker_no_time_is_refused(code: Path, guard: float, timeout: int, said: str) -> None:
    source = SOURCE.format(limit="").replace("('shop')", f"('shop', worker=WorkerSettings(guard={guard}))")
    (code / "shop.py").write_text(source.replace("import Sedano", "import Sedano, WorkerSettings"))
    if not said:
        assert application("shop:app", code, StageConfig(timeout=timeout)).declared.worker["guard"] == guard
        return
    with pytest.raises(ConfigError) as refused:
        application("shop:app", code, StageConfig(timeout=timeout))
    assert said in str(refused.value)


def test_on_this_machine_the_task_is_given_the_time(code: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    (code / "shop.py").write_text(SOURCE.format(limit="time_limit=30"))
    found = read(synthesise(stage_context("shop:app", code), tmp_path_factory.mktemp("timed") / "cdk.out"))
    assert {function["Timeout"] for function in found.functions().values()} == {35}
