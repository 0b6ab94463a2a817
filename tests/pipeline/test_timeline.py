"""The Spark timelines against the pure registers and against Celery's own State, task for task."""

import pytest

from glue_jobs.pipeline import schema
from glue_jobs.pipeline.landing import events, land
from glue_jobs.pipeline.timeline import finalise, merged, registers, timelines
from sedano.model.history import registers as pure
from sedano.model.states import STATE_OF_CLASS
from tests.pipeline.oracle import as_celery_says, recorded, recording, replayed
from tests.pipeline.streams import delivered, lives, written


def by_task(table):
    """Collect *table* (one row a task) as dictionaries by task id."""
    rows = [row.asDict() for row in table.collect()]
    assert len({row["uuid"] for row in rows}) == len(rows)
    return {row["uuid"]: row for row in rows}


def as_row(timeline):
    """Return a pure timeline as the row that Spark writes."""
    return {
        **{field: getattr(timeline, field) for field in ("uuid", "state", "worker", "client", "finished")},
        **{event_class: timeline.times.get(event_class) for event_class in STATE_OF_CLASS},
        **timeline.fields,
        "wait_seconds": timeline.wait_seconds,
        "run_seconds": timeline.run_seconds,
        "total_seconds": timeline.total_seconds,
    }


def told(stream):
    return {uuid: as_row(pure.finalise(known)) for uuid, known in pure.fold(stream)[0].items()}


def differing(left, right):
    assert left.keys() == right.keys()
    return [(left[uuid], right[uuid]) for uuid in left if left[uuid] != right[uuid]]


@pytest.fixture(scope="module")
def stream():
    return lives(seed=20261120, tasks=3_000)


@pytest.fixture(scope="module")
def lines(spark, stream, tmp_path_factory):
    """The generated stream, shuffled, partly doubled, split over files and landed."""
    folder = written(tmp_path_factory.mktemp("history"), delivered(1, stream), files=7)
    return events(land(spark, str(folder))).cache()


def test_no_task_differs_from_the_pure_registers(lines, stream):
    assert differing(by_task(timelines(lines)), told(stream)) == []


def test_the_order_of_arrival_does_not_matter(spark, lines, stream, tmp_path):
    again = written(tmp_path, delivered(2, stream, copies=0.5), files=3)
    assert differing(by_task(timelines(events(land(spark, str(again))))), by_task(timelines(lines))) == []


def test_registers_of_overlapping_parts_merge_to_those_of_the_whole(lines):
    early, middle, late = lines.where("clock < 20"), lines.where("clock between 10 and 40"), lines.where("clock > 30")
    known = merged(registers(late), merged(registers(early), registers(middle)), registers(early))
    assert differing(by_task(finalise(known)), by_task(timelines(lines))) == []


def test_the_recorded_stream_of_a_real_cluster_is_told_as_celery_tells_it(spark, tmp_path):
    recorded()
    celery = {uuid: as_celery_says(task) for uuid, task in replayed(recording()).items()}
    folder = written(tmp_path, delivered(3, recording()), files=4)
    sedano = by_task(timelines(events(land(spark, str(folder)))))
    facts = {uuid: {name: row[name] for name in celery[uuid]} for uuid, row in sedano.items()}
    assert differing(facts, celery) == []


def test_the_columns_are_the_contract(lines):
    columns = [(field.name, field.dataType) for field in timelines(lines).schema]
    assert columns == [(field.name, field.dataType) for field in schema.TASKS]


def test_lines_that_are_not_about_tasks_tell_no_task(spark, tmp_path):
    heartbeat = {"type": "worker-heartbeat", "timestamp": 1.0, "hostname": "w", "pid": 1, "clock": 1}
    absorbed = {"type": "message-duplicate", "timestamp": 1.0, "uuid": "u"}
    folder = written(tmp_path, [heartbeat, absorbed])
    assert timelines(events(land(spark, str(folder)))).count() == 0
