"""Options that processes cannot honour are refused for the queues that processes serve, with what to write instead."""

from pathlib import Path

import pytest

from infra.application import application
from infra.config import ConfigError, StageConfig
from infra.fleet import Fleet

APP = """
from sedano import Breaker, Sedano, WorkerSettings

app = Sedano("shop", queues=("default", "mail"){settings})
{declared}

@app.task
def order() -> None: ...

@app.task(queue="mail"{options})
def send() -> None: ...
"""
FLEET = Fleet(image="shop:7")
OF_LAMBDA = ("app.threads(most=4)", "app.coroutines(most=4)", "app.prefer('short')")


def _looked_at(code: Path, served_by: dict[str, str], *, settings: str = "", declared: str = "", options: str = "") -> None:
    """Look at the app with these declarations, as a synthesis for *served_by* does."""
    (code / "shop.py").write_text(APP.format(settings=settings, declared=declared, options=options))
    fleet = FLEET if "fargate" in served_by.values() else None
    application("shop:app", code, StageConfig(served_by=served_by, fleet=fleet))


@pytest.mark.parametrize(
    ("server", "instead"),
    [("fargate", "fleet has least= and most= tasks, and"), ("process", "--concurrency bounds those of a process, and")],
)
def test_a_budget_of_invocations_is_refused_where_no_invocation_serves_the_queue(tmp_path: Path, server: str, instead: str) -> None:
    declared = "app.budget('mail', least=2, most=20)"
    with pytest.raises(ConfigError) as refused:
        _looked_at(tmp_path, {"mail": server}, declared=declared)
    assert str(refused.value) == (
        f"served_by[mail]: '{server}' cannot be used; expected lambda, or no app.budget('mail', …), which changes Lambda's concurrency "
        f"alone: {instead} `sedano scale mail N` bounds its bodies on all hosts"
    )
    _looked_at(tmp_path, {"default": server}, declared=declared)


def test_a_rate_that_each_worker_counts_alone_is_refused_where_each_lane_would_be_one(tmp_path: Path) -> None:
    alone = ", rate='2/s', per='worker'"
    with pytest.raises(ConfigError, match=r"^served_by\[mail\]: 'process' .* no per='worker' of shop\.send: .* is for all workers$"):
        _looked_at(tmp_path, {"mail": "process"}, options=alone)
    _looked_at(tmp_path, {"default": "process"}, options=alone)
    _looked_at(tmp_path, {"mail": "process"}, options=", rate='2/s', concurrency=3, circuit=Breaker(shared=True)")


@pytest.mark.parametrize("declared", OF_LAMBDA)
def test_a_budget_of_one_batch_is_refused_where_no_queue_has_batches(tmp_path: Path, declared: str) -> None:
    name = declared.partition("(")[0]
    with pytest.raises(ConfigError) as refused:
        _looked_at(tmp_path, {"mail": "fargate", "default": "process"}, declared=declared)
    assert f"expected a queue with tasks for Lambda, or no {name}(…): a process takes messages one by one" in str(refused.value)
    assert "--concurrency of your hosts, says how many bodies it runs at once" in str(refused.value)
    _looked_at(tmp_path, {"mail": "fargate"}, declared=declared)


def test_the_threads_of_a_worker_are_refused_where_lanes_take_their_place(tmp_path: Path) -> None:
    many = ", worker=WorkerSettings(concurrency=4)"
    with pytest.raises(ConfigError, match=r"no WorkerSettings\(concurrency=…\): a process takes messages one by one"):
        _looked_at(tmp_path, {"mail": "process", "default": "process"}, settings=many)
    _looked_at(tmp_path, {"mail": "process", "default": "process"}, settings=", worker=WorkerSettings(window=50)")


def test_a_time_limit_longer_than_any_process_allows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^time_limit of shop\.send: 39600.* expected at most 39595, because `sedano worker`"):
        _looked_at(tmp_path, {"mail": "process"}, options=", time_limit=39_600")
    _looked_at(tmp_path, {"mail": "process"}, options=", time_limit=39_595")
