"""docs/glossary.md is the library's list of words: modules and floors use them, and one class name is one class."""

import ast
from collections import Counter, defaultdict
from typing import NamedTuple

import pytest

from tests.house import tree

MOST_WORDS = 60
PAGE = tree.ROOT / "docs" / "glossary.md"
FLOORS = ("api", "model", "ports", "engine", "aws", "memory", "sqlite")
MACHINERY: dict[str, dict[str, str]] = {
    "api": {
        "backlog": "the choice of a program's backlog by its name",
        "boot": "`@app.boot` and `@app.service`, a mixin of the app",
        "boot_declaration": "the check of boot steps and services",
        "boxes": "`app.boxed`: the declaration of a task whose body is a program",
        "call_keys": "the keys of limits, tenants and singletons",
        "checks_and_budgets": "the declarations of health checks and of budgets, a mixin of the app",
        "loops": "the check of the option `loop=`, and trio's bodies",
        "configuration": "`app.configure`, a mixin of the app",
        "configuration_control": "`app.control.reload` and `set_config`",
        "publisher_socket": "the ports of a program behind the publisher process",
        "control_part": "the base of all parts of `app.control`",
        "connector": "the function that is named in `connect=`",
        "control": "`app.control`, over many words",
        "declaration": "the check of the options of `@app.task`",
        "direct_calls": "`app.invoke`",
        "dev_server": "the search of a program for `sedano dev`",
        "polls": "`app.poll`: the declaration of a source that is read at intervals",
        "leases_and_partitions": "`app.lock` and its like, a mixin of the app",
        "hooks": "functions of the user beside each task, a mixin of the app",
        "inbox": "`app.control.broadcast` and `answers`",
        "inspection": "`app.control.inspect()`, over many words",
        "run_time_limits": "`app.control.rate_limit` and its like",
        "periodic": "`@app.periodic`, a mixin of the app",
        "scale_control": "`app.control.scale`",
        "spending_declaration": "the check of `app.spending`",
        "schedule_declaration": "the check of the call and the options of a schedule",
        "shared_tasks": "`@shared.task`: tasks declared before an app exists",
        "tables": "the declaration of tables for effects, a mixin of the app",
        "task_declarer": "the declaration of a task and the tasks of an app",
        "task_decorators": "the types of `@app.task` and its like",
        "task_options": "the names of all options of a task",
        "worker_options": "the options of `Sedano(worker=)`",
    },
    "model": {
        "addresses": "the parts of a user's URL, and the addresses to which its host may lead",
        "beats": "whether the loops of a process move, and what it answers to a probe",
        "boot": "the order of boot steps, and when a failed one is tried again",
        "brokers": "the declaration of an app's brokers",
        "bulk": "the progress of a change of many tasks",
        "boxes": "the plan of a boxed task and the lines of its program",
        "configuration": "the fields, layers and versions of an app's configuration",
        "effects": "the rule of a user's own writes beside a record",
        "connection_breaker": "the breaker of a connection to a service",
        "deployments": "the moment of the last deployment of an app",
        "direct_calls": "a call of the worker function without a queue, and its answer",
        "inline_links": "the links of a chain that run in one invocation",
        "packs": "the members of a group that share a message",
        "pack_ends": "how its members left one",
        "worker_advice": "the warnings of a process at its start",
        "canonical_json": "one text for each JSON value",
        "number_ranges": "whether an option is a number within a range",
        "prefetch": "how many messages a process that runs workers asks for",
        "publisher_frames": "the lines between a program and the publisher process",
        "restarts": "when a process that works is replaced",
        "routes": "queues by the patterns of task names",
        "settings": "the settings of a project, read from pyproject.toml",
        "spending": "the limit of the dollars that an app or a tenant costs in a day",
        "store_clock": "the time at a store, as an interval that contains it",
    },
    "ports": {
        "rollups": "the store of the sums of each object of the history",
        "absent": "the placeholders of optional ports",
        "archive": "the store of files of the history",
        "backlog": "the store of messages that no broker accepted",
        "brokers": "queues over several brokers, in order of preference",
        "consumers": "the queues as their readers see them",
        "deadlines": "how long a program waits for a port",
        "direct_calls": "the worker function, which a program calls without a queue",
        "effects": "a success and a user's own writes, recorded together",
        "functions": "the Lambda functions that boxed tasks call",
        "machine": "clock, randomness and telemetry of the machine",
        "parameters": "the values that an owner keeps for an application",
        "webhook_secrets": "the store of the secrets of webhooks",
    },
    "engine": {
        "boot": "the boot steps and the services of one process",
        "built_in_tasks": "the tasks that every app has",
        "bulk": "changes of many tasks, page by page, and their progress",
        "boxes": "the processes of boxed tasks and their calls",
        "body_sections": "`with retry():` and its like in a body",
        "configuration": "the version that holds in one process",
        "configuration_layers": "the reading of layers",
        "declaration_origins": "the module in which a name was declared",
        "deployments": "keeps the moment of the last deployment",
        "effects": "what a running task collects for its record",
        "expiry": "the end of a task whose `expires` is over",
        "gate": "the protocol of all gates of a worker",
        "hooks": "functions of the user that are called beside each task",
        "lineage_marks": "the proof of how many messages a message may cause",
        "redelivery": "giving one message back to its queue",
        "reruns": "running a task again that ended without success",
        "services": "async functions of the user for the life of a process",
        "spending": "the check of spending limits, each minute",
        "task_context": "the running task, as `current()` returns it",
        "task_log": "log lines from inside a task",
        "task_log_records": "the running task in log records",
        "unexpected_errors": "the last resort against unforeseen exceptions",
        "wake_ups": "the rule by which a waiting message is woken, for limits and singletons",
    },
    "aws": {
        "late_deployment": "the ports of a program that only publishes, by a publisher process",
        "rollups": "adapter of the port of the same name",
        "archive": "adapter of the port of the same name",
        "blobs": "adapter for large values in S3",
        "backlog": "adapter of the port of the same name",
        "brokers": "SQS in several Regions as one set of queues",
        "telemetry_choice": "the telemetry of a process by the names of its adapters",
        "client": "the AWS client: session, faults, tables",
        "consumers": "adapter of the port of the same name",
        "control": "adapter for the control record",
        "deliveries": "the event of a Lambda invocation",
        "deployment": "all ports of one deployment",
        "direct_calls": "adapter of the port of the same name",
        "functions": "adapter of the port of the same name",
        "effects": "adapter of the port of the same name",
        "expressions": "every conditional write",
        "failures": "the index of failed tasks",
        "fencing": "guarded writes to DynamoDB and S3",
        "function_url": "the request of a function URL",
        "glue": "runs of Glue",
        "group_commit": "the ledger whose claims and records of a batch go together",
        "key_store": "adapter for the keys of seals",
        "ledger_items": "the items of the ledger in DynamoDB",
        "log_lines": "the JSON lines of a function",
        "machine": "adapter of the port of the same name",
        "parameters": "adapter of the port of the same name",
        "members": "adapter for the list of members",
        "program_log": "the log of a program",
        "settings": "the variables whose names begin with SEDANO_",
        "webhook_secrets": "adapter of the port of the same name",
    },
    "memory": {
        "backlog": "adapter of the port of the same name",
        "direct_calls": "adapter of the port of the same name",
        "rollups": "adapter of the port of the same name",
        "effects": "adapter of the port of the same name",
        "functions": "adapter of the port of the same name",
        "archive": "adapter of the port of the same name",
        "blobs": "adapter for large values",
        "consumers": "adapter of the port of the same name",
        "control": "adapter for the control record",
        "folder_archive": "an archive in a folder",
        "key_store": "adapter for the keys of seals",
        "machine": "virtual clock and seeded randomness",
        "parameters": "adapter of the port of the same name",
        "stream_records": "records of streams for tests",
        "members": "adapter for the list of members",
        "webhook_secrets": "adapter of the port of the same name",
    },
    "sqlite": {
        "rollups": "adapter of the port of the same name",
        "effects": "adapter of the port of the same name",
        "archive": "adapter of the port of the same name",
        "blobs": "adapter for large values",
        "consumers": "adapter of the port of the same name",
        "control": "adapter for the control record",
        "deployment": "all ports over one file",
        "parameters": "adapter of the port of the same name",
        "key_store": "adapter for the keys of seals",
        "members": "adapter for the list of members",
        "schema": "the tables of the file",
        "store": "the file, its connections and transactions",
        "compare_and_swap": "records that change by compare-and-swap",
        "retention": "deletion of what is too old",
        "wait_lists": "the messages that wait for a lease or a permit",
        "webhook_secrets": "adapter of the port of the same name",
    },
}
"""Each file or folder of a floor that is not a word of the glossary, and its subject."""
class Word(NamedTuple):
    """One row of the glossary."""

    word: str
    meaning: str
    module: str


def words() -> list[Word]:
    """The rows of the page, without the two of the head."""
    rows = [row for row in PAGE.read_text().splitlines() if row.startswith("| ")][1:]
    return [Word(*(cell.strip() for cell in row.strip("|").split("|"))) for row in rows]


def forms(word: str) -> set[str]:
    """The names that a file or folder of a word may have: its singular and its plural, and of two words also the first."""
    stems = {word.replace(" ", "_").replace("-", "_"), word.split(maxsplit=1)[0]}
    plurals = {stem + ending for stem in stems for ending in ("s", "es")} | {stem[:-1] + "ies" for stem in stems if stem.endswith("y")}
    return stems | plurals


def entries(floor: str) -> set[str]:
    """The names of the files and folders of a floor."""
    room = f"{tree.LIBRARY}{floor}/"
    below = [source.path.removeprefix(room) for source in tree.library() if source.path.startswith(room)]
    return {path.split("/")[0].removesuffix(".py") for path in below} - {"__init__"}


def repeated(sources: list[tree.Source]) -> dict[str, list[str]]:
    """The public classes at the top of several modules of *sources*, by name."""
    found: dict[str, list[str]] = defaultdict(list)
    for source in sources:
        for node in source.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(source.path.removeprefix(tree.LIBRARY))
    return {name: paths for name, paths in found.items() if len(paths) > 1}


def test_the_glossary_has_at_most_sixty_words_each_once_each_a_sentence() -> None:
    listed = words()
    assert 40 <= len(listed) <= MOST_WORDS
    assert len({word.word for word in listed}) == len(listed)
    assert [word.word for word in listed if not word.meaning.endswith(".") or len(word.meaning.split()) < 3] == []


def test_the_glossary_is_linked_from_the_list_of_pages() -> None:
    assert "<glossary>" in (tree.ROOT / "docs" / "index.md").read_text()


@pytest.mark.parametrize("word", words(), ids=lambda word: word.word)
def test_a_word_names_a_module_that_exists(word: Word) -> None:
    path = tree.ROOT / tree.LIBRARY / word.module.strip("`")
    assert path.exists(), f"{word.word}: {word.module} does not exist; name its module in docs/glossary.md"


@pytest.mark.parametrize("floor", FLOORS)
def test_an_entry_of_a_floor_is_a_word_or_listed_machinery(floor: str) -> None:
    strangers = entries(floor) - {name for word in words() for name in forms(word.word)} - set(MACHINERY[floor])
    assert strangers == set(), f"{floor}/: name it by a word of docs/glossary.md, or add it with its subject to MACHINERY in {__name__}"


@pytest.mark.parametrize("floor", FLOORS)
def test_listed_machinery_exists_and_is_not_a_word(floor: str) -> None:
    gone = set(MACHINERY[floor]) - entries(floor)
    assert gone == set(), f"take it out of MACHINERY in {__name__}"
    assert set(MACHINERY[floor]).isdisjoint(name for word in words() for name in forms(word.word))


def test_a_public_class_name_names_one_class() -> None:
    twice = repeated(tree.library())
    assert not twice, f"give one of the two another name: {twice}"


@pytest.mark.parametrize("floor", FLOORS)
def test_a_file_name_names_one_file_of_a_floor(floor: str) -> None:
    """The writes of a word have its name by design: `aws/expressions/leases` beside `aws/leases`."""
    room = f"{tree.LIBRARY}{floor}/"
    paths = [source.path for source in tree.library() if source.path.startswith(room) and "/expressions/" not in source.path]
    names = Counter(path.rpartition("/")[2] for path in paths if not path.endswith("__init__.py"))
    assert [name for name, number in names.items() if number > 1] == [], "name the second one by its own subject"


def test_a_second_class_of_one_name_is_found_and_a_private_one_is_not() -> None:
    one, two = (tree.Source(f"{tree.LIBRARY}{path}", "class Claim: ...\nclass _Own: ...\n") for path in ("a.py", "b.py"))
    assert repeated([one, two]) == {"Claim": ["a.py", "b.py"]}
    assert repeated([one]) == {}


def test_a_word_is_found_in_the_names_of_files() -> None:
    assert {"leases", "lease"} <= forms("lease")
    assert "flow_runs" in forms("flow run")
    assert "parked" in forms("parked message")
    assert "priorities" in forms("priority")
    assert "lanes" not in forms("lease")
