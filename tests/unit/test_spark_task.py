"""A Spark job as a task: started once, followed by schedule, started again when it failed, stopped when it is revoked."""

from collections.abc import Sequence
from pathlib import Path

import botocore.session
import pytest
from botocore.stub import Stubber

from sedano import Sedano, chain, testing
from sedano.aws.glue import GlueRuns
from sedano.errors import OptionError, RemoteError, Unavailable
from sedano.local.spark_runs import LocalRuns
from sedano.model.history.spark_run import SparkRun
from sedano.spark import spark_stop, spark_task
from tests.ended import until_ended

JOB = "history"


class Cluster:
    """A place where each run takes so many looks and then ends as it is told to."""

    def __init__(self, *ends: str, looks: int = 3, busy: int = 0) -> None:
        self.ends, self.looks, self.busy = list(ends), looks, busy
        self.started: list[tuple[str, dict[str, str]]] = []
        self.seen: list[int] = []
        self.stopped: list[str] = []

    def of(self, job: str, task_id: str) -> Sequence[SparkRun]:
        found = []
        for number, (task, _) in enumerate(self.started):
            if task == task_id:
                self.seen[number] += 1
                over = self.seen[number] > self.looks
                found.append(SparkRun(f"run-{number}", self.ends[number] if over else "RUNNING", 60.0, "Job aborted: out of disk"))
        return found

    def start(self, job: str, arguments: dict[str, str], task_id: str) -> None:
        if self.busy:
            self.busy -= 1
            raise Unavailable("another run is at work")
        self.started.append((task_id, dict(arguments)))
        self.seen.append(0)

    def stop(self, job: str, run: str) -> None:
        self.stopped.append(run)


def shop(cluster: Cluster, **options):
    app = Sedano("spark")
    job = spark_task(app, JOB, lambda: cluster, **options)

    @app.task(name="tell")
    def tell(told: dict) -> str:
        return f"{told['job']} took {told['seconds']:.0f} s"

    return app, job, tell


def test_a_canvas_goes_on_when_its_spark_job_has_ended():
    cluster = Cluster("SUCCEEDED")
    app, job, tell = shop(cluster)
    with testing.world(app) as world:
        result = chain(job.s({"--day": "2026-11-20"}), tell.s()).delay()
        world.drain()
        assert result.get() == "history took 60 s"
    assert [arguments for _, arguments in cluster.started] == [{"--day": "2026-11-20"}]


def test_a_run_that_takes_hours_is_followed_to_its_end():
    cluster = Cluster("SUCCEEDED", looks=18)
    app, job, _ = shop(cluster)
    with testing.world(app) as world:
        began = world.ports.clock.now()
        result = job.delay()
        world.drain()
        assert result.get()["run"] == "run-0"
        assert world.ports.clock.now() - began > 2 * 3600
    assert len(cluster.started) == 1


def test_a_run_that_failed_is_started_again_as_often_as_was_asked_for():
    cluster = Cluster("FAILED", "SUCCEEDED")
    app, job, _ = shop(cluster, retries=1)
    with testing.world(app) as world:
        result = job.delay()
        world.drain()
        assert result.get()["run"] == "run-1"


def test_a_job_that_goes_on_failing_fails_its_task_with_sparks_own_words():
    cluster = Cluster("FAILED", "FAILED", "FAILED")
    app, job, _ = shop(cluster, retries=1)
    with testing.world(app) as world:
        result = job.delay()
        world.drain()
        with pytest.raises(RemoteError, match="out of disk"):
            result.get()
    assert len(cluster.started) == 2


def test_a_place_that_is_busy_is_asked_again_later():
    cluster = Cluster("SUCCEEDED", busy=3)
    app, job, _ = shop(cluster)
    with testing.world(app) as world:
        result = job.delay()
        world.drain()
        assert result.get()["run"] == "run-0"


def test_two_tasks_of_one_job_follow_their_own_runs():
    cluster = Cluster("SUCCEEDED", "SUCCEEDED")
    app, job, _ = shop(cluster)
    with testing.world(app) as world:
        results = [job.delay({"--day": day}) for day in ("1", "2")]
        world.drain()
        assert {result.get()["run"] for result in results} == {"run-0", "run-1"}


def test_a_task_that_is_revoked_while_an_attempt_looks_stops_its_run():
    class Revoking(Cluster):
        def of(self, job, task_id):
            if self.started and not self.stopped:
                app.control.revoke(task_id, terminate=True)
            return super().of(job, task_id)

    cluster = Revoking("SUCCEEDED")
    app, job, _ = shop(cluster)
    with testing.world(app) as world:
        result = job.delay()
        world.drain()
        assert result.state == "REVOKED"
    assert (cluster.stopped, len(cluster.started)) == (["run-0"], 1)


@pytest.mark.parametrize("in_a_chain", [False, True])
def test_a_task_that_is_revoked_between_two_looks_stops_its_run_when_it_bears_the_callback(in_a_chain):
    cluster = Cluster("SUCCEEDED", looks=9)
    app, job, tell = shop(cluster)
    stop = spark_stop(app, JOB, lambda: cluster)
    with testing.world(app) as world:
        watched = job.s({}).on_error(stop.s())
        result = (chain(watched, tell.s()) if in_a_chain else watched).delay()
        world.elapse(200)
        app.control.revoke(result.parent.id if in_a_chain else result.id)
        assert cluster.stopped == []
        world.drain()
        assert result.state == "REVOKED"
    assert (cluster.stopped, len(cluster.started)) == (["run-0"], 1)


def test_a_task_that_is_revoked_between_two_looks_without_the_callback_is_not_followed_any_more():
    cluster = Cluster("SUCCEEDED", looks=9)
    app, job, _ = shop(cluster)
    with testing.world(app) as world:
        result = job.delay()
        world.elapse(200)
        looks = list(cluster.seen)
        app.control.revoke(result.id)
        world.drain()
    assert (cluster.stopped, cluster.seen) == ([], looks)


def test_an_attempt_that_finds_a_run_of_its_task_begun_meanwhile_starts_none():
    class Overtaken(Cluster):
        def of(self, job, task_id):
            if self.started:
                return super().of(job, task_id)
            self.start(job, {}, task_id)  # another attempt is quicker, after this one has looked
            return []

    cluster = Overtaken("SUCCEEDED")
    app, job, _ = shop(cluster)
    with testing.world(app) as world:
        result = job.delay()
        world.drain()
        assert result.get()["run"] == "run-0"
    assert len(cluster.started) == 1


@pytest.mark.parametrize("retries", [-1, 6])
def test_more_retries_than_can_be_honoured_are_refused(retries):
    with pytest.raises(OptionError, match="retries"):
        spark_task(Sedano("spark"), JOB, Cluster, retries=retries)


def ended(runs: LocalRuns, folder: Path, task_id: str) -> SparkRun:
    until_ended(int((folder / JOB / runs.of(JOB, task_id)[-1].id).read_text()))
    return runs.of(JOB, task_id)[-1]


def test_a_job_runs_on_this_machine_and_its_end_is_found_by_another_process(tmp_path):
    runs = LocalRuns(tmp_path, {JOB: "platform"})
    assert runs.of(JOB, "t") == []
    runs.start(JOB, {}, "t")
    assert ended(runs, tmp_path, "t").state == "SUCCEEDED"
    assert [run.state for run in LocalRuns(tmp_path, {}).of(JOB, "t")] == ["SUCCEEDED"]
    assert runs.of(JOB, "another task") == []


def test_a_job_that_fails_on_this_machine_tells_its_last_words(tmp_path):
    runs = LocalRuns(tmp_path, {JOB: "no_such_module"})
    runs.start(JOB, {"--day": "1"}, "t")
    run = ended(runs, tmp_path, "t")
    assert (run.state, "No module named no_such_module" in run.detail) == ("FAILED", True)


def test_a_job_on_this_machine_can_be_stopped(tmp_path):
    runs = LocalRuns(tmp_path, {JOB: "timeit"})
    runs.start(JOB, {"-n": "1", "-r": "1", "import threading; threading.Event().wait()": ""}, "t")
    (run,) = runs.of(JOB, "t")
    assert run.state == "RUNNING"
    runs.stop(JOB, run.id)
    assert ended(runs, tmp_path, "t") == SparkRun("t/000.pid", "FAILED", 0.0, "its process was killed")


def test_a_job_that_this_machine_does_not_have_is_refused(tmp_path):
    with pytest.raises(OptionError, match="this machine has history"):
        LocalRuns(tmp_path, {JOB: "platform"}).start("census", {}, "t")


@pytest.fixture
def glue():
    session = botocore.session.Session()
    session.set_credentials("test", "test")
    client = session.create_client("glue", region_name="us-east-1")
    with Stubber(client) as stub:
        yield GlueRuns(client), stub


def test_a_run_on_glue_bears_its_task_and_is_found_by_it(glue):
    runs, stub = glue
    stub.add_response("start_job_run", {"JobRunId": "jr_2"}, {"JobName": JOB, "Arguments": {"--day": "1", "--sedano-task": "t"}})
    found = [
        {"Id": "jr_3", "JobRunState": "TIMEOUT", "Arguments": {"--sedano-task": "t"}},
        {"Id": "jr_2", "JobRunState": "WAITING", "Arguments": {"--sedano-task": "other"}},
        {"Id": "jr_1", "JobRunState": "SUCCEEDED", "ExecutionTime": 61, "Arguments": {"--sedano-task": "t"}},
    ]
    stub.add_response("get_job_runs", {"JobRuns": found}, {"JobName": JOB, "MaxResults": 200})
    runs.start(JOB, {"--day": "1"}, "t")
    assert runs.of(JOB, "t") == [SparkRun("jr_1", "SUCCEEDED", 61.0, "SUCCEEDED"), SparkRun("jr_3", "FAILED", 0.0, "TIMEOUT")]


def test_a_glue_job_that_is_at_work_for_somebody_else_is_busy(glue):
    runs, stub = glue
    stub.add_client_error("start_job_run", "ConcurrentRunsExceededException")
    with pytest.raises(Unavailable, match="as many runs as it may have"):
        runs.start(JOB, {}, "t")

