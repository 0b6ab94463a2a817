"""A setting is found in each of the ways to write it."""

from pathlib import Path

import pytest

from tests.unit.migration.sources import report

WAYS = {
    "app.conf.update(dict(task_serializer='pickle'))": "app.conf.task_serializer",
    "app.conf |= {'task_serializer': 'pickle'}": "app.conf.task_serializer",
    "app.conf.update(**{'task_serializer': 'pickle'})": "app.conf.task_serializer",
    "CONF = {'task_serializer': 'pickle'}\napp.conf.update(CONF)": "app.conf.task_serializer",
    "app.config_from_object({'task_serializer': 'pickle'})": "app.conf.task_serializer",
    "app.config_from_object(dict(task_serializer='pickle'))": "app.conf.task_serializer",
    "CELERY = {'task_serializer': 'pickle'}": "app.conf.task_serializer",
    "CELERY = dict(task_serializer='pickle')": "app.conf.task_serializer",
    "other = Celery('y', task_serializer='pickle')": "Celery(task_serializer='pickle')",
}


@pytest.mark.parametrize("way", WAYS)
def test_a_setting_is_found_however_it_is_written(way: str, tmp_path: Path) -> None:
    found = report(tmp_path, {"a.py": f"from celery import Celery\napp = Celery('x')\n{way}\n"}).found
    assert [one.found for one in found if one.verdict == "lost"] == [WAYS[way]]
