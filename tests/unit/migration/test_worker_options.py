"""No answer to a name of Celery denies what the command line has: an option of `sedano worker` answers its settings."""

import re

import pytest
from click import Command

from sedano.cli.verb_table import VERBS
from sedano.migration.answers import CHANGE, find
from sedano.migration.attributes import methods
from sedano.migration.imports import IMPORTS, REQUEST, RETRY
from sedano.migration.options import OPTIONS, SIGNALS
from sedano.migration.settings import SETTINGS
from tests.docs.pages import page

EVERY = [one for answers in (*SETTINGS.values(), OPTIONS, SIGNALS, IMPORTS, REQUEST, RETRY, methods()) for one in answers]
REPLACES = {
    "--concurrency": ("worker_concurrency", "worker_autoscaler", "worker_prefetch_multiplier", "worker_pool"),
    "--drain": ("worker_soft_shutdown_timeout",),
    "--processes": ("worker_pool", "worker_pool_restarts"),
    "--max-tasks": ("worker_max_tasks_per_child",),
    "--max-memory": ("worker_max_memory_per_child",),
    "--watchdog": ("worker_proc_alive_timeout", "worker_lost_wait"),
    "--log": ("worker_log_format", "worker_hijack_root_logger"),
}
"""The options of `sedano worker`, each with the settings of Celery that it replaces."""
WITHOUT = {
    "reference", "--app", "--code", "--stage", "--region", "--profile", "--queues", "--timeout", "--visibility", "--file", "--health",
    "--json",
}  # fmt: skip
"""Those that replace no setting; Celery has some of them as options of its own command."""
DENIALS = r"Lambda replaces workers|there is no (worker|pool|process)|no worker process"


def _named(verb: str) -> set[str]:
    """Return the options of a verb, in each spelling."""
    command: Command = VERBS[verb].load()
    return {spelling for one in command.params for spelling in one.opts}


def _long(verb: str) -> set[str]:
    return {one.opts[-1] for one in VERBS[verb].load().params}


def test_each_option_of_a_worker_is_weighed_against_the_settings_of_celery() -> None:
    assert _long("worker") - {"--help"} == {*REPLACES, *WITHOUT}


@pytest.mark.parametrize(("option", "name"), [(option, name) for option, names in REPLACES.items() for name in names])
def test_the_answer_to_a_setting_names_the_option_that_replaces_it(option: str, name: str) -> None:
    found = find(name, SETTINGS["Workers"])
    assert found is not None
    assert found.verdict == CHANGE
    spellings = next(one.opts for one in VERBS["worker"].load().params if option in one.opts)
    assert any(re.search(rf"`[^`]*{re.escape(one)}\b[^`]*`", found.text) for one in spellings), found.text


def test_no_answer_says_that_sedano_has_no_workers() -> None:
    assert [one.names for one in EVERY if re.search(DENIALS, one.text) and "of Celery" not in one.text] == []


def test_each_command_that_an_answer_names_exists_with_its_options() -> None:
    texts = [*(one.text for one in EVERY), page("celery.md").text]
    commands = {span for text in texts for span in re.findall(r"`sedano ([a-z]+[^`\n]*)`", text)}
    assert len(commands) > 10
    for words in (command.split() for command in commands):
        assert words[0] in VERBS, words
        assert {word.partition("=")[0] for word in words if word.startswith("-")} <= _named(words[0]), words
    alone = {word for one in SETTINGS["Workers"] for word in re.findall(r"`(--[a-z-]+)", one.text)}
    assert alone <= _named("worker")
