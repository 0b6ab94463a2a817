"""Finds the setting of Celery that a name means: lower case, Django's `CELERY_…`, or the older upper-case names."""

from __future__ import annotations

from sedano.migration.answers import NameAnswer, find
from sedano.migration.settings import SETTINGS

_ALL = tuple(answer for answers in SETTINGS.values() for answer in answers)
_OLDER = {
    "CELERY_EAGER_PROPAGATES_EXCEPTIONS": "task_eager_propagates",
    "CELERY_MAX_CACHED_RESULTS": "result_cache_max",
    "CELERY_MESSAGE_COMPRESSION": "task_compression",
    "CELERY_RESULT_DBURI": "database_url",
    "CELERY_RESULT_DB_SHORT_LIVED_SESSIONS": "database_short_lived_sessions",
    "CELERY_RESULT_DB_TABLENAMES": "database_table_names",
    "CELERY_RESULT_ENGINE_OPTIONS": "database_engine_options",
    "CELERY_SEND_TASK_SENT_EVENT": "task_send_sent_event",
    "CELERY_SEND_EVENTS": "worker_send_task_events",
    "CELERY_TASK_RESULT_EXPIRES": "result_expires",
    "CELERYD_TASK_SOFT_TIME_LIMIT": "task_soft_time_limit",
    "CELERYD_TASK_TIME_LIMIT": "task_time_limit",
    "CELERYD_WORKER_LOST_WAIT": "worker_lost_wait",
}
"""Older names that follow no rule."""
_PREFIXES = (("CELERYD_", ("worker_", "")), ("CELERYBEAT_", ("beat_",)), ("CELERY_", ("", "task_", "worker_")))


def setting(name: str) -> tuple[str, NameAnswer] | None:
    """Return the setting that the lower-case *name* is, with its answer; None for any other name."""
    found = find(name, _ALL)
    return None if found is None else (name, found)


def upper_case_setting(name: str) -> tuple[str, NameAnswer] | None:
    """Return the setting that an upper-case *name* of a Django project or an old configuration means; None for any other name."""
    if name in _OLDER:
        return setting(_OLDER[name])
    if name.startswith("BROKER_"):
        return setting(name.lower())
    for prefix, spaces in _PREFIXES:
        if name.startswith(prefix):
            rest = name.removeprefix(prefix).lower()
            return next((found for space in spaces if (found := setting(space + rest)) is not None), None)
    return None


def heading(answer: NameAnswer) -> str:
    """Return the anchor of the table that has *answer*."""
    return next(name.lower() for name, answers in SETTINGS.items() if answer in answers)
