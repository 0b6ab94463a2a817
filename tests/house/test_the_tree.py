"""The tree obeys the house rules: each rule over every file it concerns."""

import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable

import pytest

from tests.house import imports, purity, shape, tree
from tests.house.tree import Source

Rule = Callable[[Source], list[str]]

EVERY_FILE: list[Rule] = [shape.nothing_unfinished, shape.names_no_machine, shape.has_a_name_that_says_something]
EVERY_MODULE: list[Rule] = [
    shape.fits_on_a_few_screens,
    shape.functions_are_short,
    shape.says_what_it_is,
    imports.at_the_top,
    imports.no_type_checking,
    imports.visitors_use_their_door,
    imports.ours_by_statement,
]
EVERY_LIBRARY_MODULE: list[Rule] = [
    shape.public_things_are_documented,
    shape.records_name_their_fields,
    imports.only_floors_below,
    imports.one_room_knows_engine_and_aws,
    imports.queues_say_their_bounds,
    imports.by_name_only_where_allowed,
    imports.frameworks_in_their_rooms,
    purity.html_by_escaping,
]
LATE_LOADED = ["boto3", "botocore", "asyncio", "aws_lambda_powertools", "pyspark", "aws_cdk"]


def assert_obeyed(sources: Iterable[Source], *rules: Rule) -> None:
    """Say everything that the rules have against the sources."""
    complaints = [complaint for rule in rules for source in sources for complaint in rule(source)]
    assert not complaints, "\n".join(["", *complaints])


def under(folder: str) -> list[Source]:
    """The Python files of one folder."""
    return [source for source in tree.python() if source.path.startswith(folder)]


def test_every_file_is_finished_names_no_machine_and_has_a_name_that_says_something() -> None:
    assert_obeyed(tree.sources(), *EVERY_FILE)


def test_every_module_is_small_says_what_it_is_and_imports_in_the_open() -> None:
    assert_obeyed(tree.python(), *EVERY_MODULE)


def test_every_library_module_imports_only_floors_below_and_documents_what_is_public() -> None:
    assert_obeyed(tree.library(), *EVERY_LIBRARY_MODULE)


def test_every_permission_to_import_late_or_by_name_is_used() -> None:
    by_name = {source.path for source in tree.library() if any(name.startswith("importlib") for name, _ in imports.imported(source))}
    assert set(imports.BY_NAME) <= by_name
    assert set(imports.LATE) <= {source.path for source in tree.python() if imports.below_the_top(source)}


def test_the_library_has_at_most_ten_modules_at_its_top_level() -> None:
    assert shape.top_level_is_small(tree.paths()) == []


def test_classes_are_small_and_every_permission_to_be_large_is_used() -> None:
    shipped = [source for source in tree.python() if not source.path.startswith("tests/")]
    assert_obeyed(shipped, shape.classes_are_small)
    large = {f"{s.path} {name}" for s in shipped for name, number in shape.public_methods(s).items() if number > shape.PUBLIC_METHODS}
    assert set(shape.MANY_METHODS) == large


def test_the_model_is_pure() -> None:
    model = under(f"{tree.LIBRARY}model/")
    assert_obeyed(model, purity.imports_only_pure, purity.calls_only_pure)


def test_spark_jobs_need_nothing_beside_spark_and_take_no_row_to_python() -> None:
    assert_obeyed(under("glue_jobs/"), purity.frames_are_sparks_own)


def test_conditional_writes_stand_in_one_room() -> None:
    deployed = [*tree.library(), *under("functions/"), *under("glue_jobs/")]
    assert_obeyed(deployed, purity.expressions_in_their_room)


def test_no_module_imports_itself_through_others() -> None:
    assert imports.no_cycles(tree.library()) == []


def test_handlers_decide_nothing() -> None:
    handlers = [source for source in under("functions/") if source.stem == "handler"]
    assert_obeyed(handlers, shape.handler_decides_nothing)


def test_every_room_of_tests_belongs_to_the_run() -> None:
    configured = tomllib.loads((tree.ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["testpaths"]
    rooms = {"/".join(source.path.split("/")[:2]) for source in under("tests/") if source.stem.startswith("test_")}
    assert rooms <= set(configured)


def test_tests_replace_nothing() -> None:
    assert_obeyed(under("tests/"), shape.tests_replace_nothing)


def test_every_top_folder_has_a_readme_that_fits_a_glance() -> None:
    readmes = [source for source in tree.sources() if source.path.count("/") == 1 and source.stem == "README"]
    assert shape.every_folder_says_what_it_is(list(tree.paths())) == []
    assert_obeyed(readmes, shape.readme_fits_a_glance)


@pytest.mark.skipif(f"{tree.LIBRARY}__init__.py" not in tree.paths(), reason="the package has no front door yet")
def test_importing_sedano_loads_no_aws_client_and_no_event_loop() -> None:
    program = f"import sys, sedano; print(*sorted(sys.modules.keys() & set({LATE_LOADED})))"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tree.ROOT)
    assert said.stdout.split() == []
