"""The runner notices what it should: planted survivors are reported, the others are killed, and so is a sample of the real ones."""

import ast
import importlib
import json
import os
import pkgutil
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sedano.aws.expressions import Write
from sedano.testing.strict_aws import dynamodb
from tests.mutants import typing_judge
from tests.mutants.command import COUNTS, tabled
from tests.mutants.equivalents import EQUIVALENT
from tests.mutants.mutant import Mutant
from tests.mutants.operators import changes as changed
from tests.mutants.operators import needless, nodes
from tests.mutants.target import of
from tests.mutants.targets import PLANTED, ROOMS, TARGETS
from tests.mutants.writes import changes, modules, writes

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = "6"
HELD = [target for target in TARGETS if target.holds]


def campaign(folder: Path, *arguments: str, **settings: str) -> tuple[int, dict[str, Any], str]:
    """Run the runner in a process of its own; return its status, its summary and what it printed."""
    command = [sys.executable, "-m", "tests.mutants", "--build", str(folder), *arguments]
    environment = {**os.environ, "PYTHONHASHSEED": "0", **settings}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    summary = folder / "summary.json"
    assert summary.exists(), run.stdout + run.stderr
    return run.returncode, json.loads(summary.read_text()), run.stdout


GIVEN = ("--target", PLANTED, "--equivalents", "tests.mutants.planted.equivalents")


@pytest.fixture(scope="module")
def every() -> list[Mutant]:
    """All mutants; to find them costs seconds, which a run that only collects the tests need not spend."""
    return [mutant for target in TARGETS for mutant in target.mutants()]


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, dict[str, Any], str]:
    """One campaign over the planted module, with a list of equivalents that has mistakes."""
    return campaign(tmp_path_factory.mktemp("planted"), *GIVEN)


Told = tuple[int, dict[str, Any], str]


def test_a_change_that_no_test_notices_is_reported(planted: Told) -> None:
    status, summary, printed = planted
    survivors = {(key[1], key[3], one["status"]) for one in summary["survivors"] for key in [one["key"]]}
    asked = {change for place, change, status in survivors if place == "Till.never_asked" and status == "unreached"}
    assert survivors - {("Till.never_asked", change, "unreached") for change in asked} == {("Till.sell", "`0` → `1`", "survived")}
    assert asked == {"`self.sales + 1` → `self.sales - 1`", "`1` → `2`", "`1` → `0`"}
    assert status == 1
    assert "survived: tests.mutants.planted.till:51 Till.sell: `0` → `1`" in printed


def test_every_other_change_is_killed_and_the_figures_add_up(planted: Told) -> None:
    _, summary, _ = planted
    assert (summary["survived"], summary["equivalent"], summary["not_run"]) == (4, 1, 0)
    assert summary["mutants"] == summary["killed"] + 5 == len(summary["verdicts"])
    assert summary["by_module"]["tests.mutants.planted.till"] == {name: summary[name] for name in COUNTS} == summary["by_target"][PLANTED]


def test_no_kill_is_an_error_of_the_runner_itself(planted: Told) -> None:
    kills = {entry[5].rpartition("::")[2]: entry[6] for entry in planted[1]["verdicts"] if entry[4] == "killed"}
    assert not [why for why in kills.values() if "torn down" in why or "KeyError" in why]
    assert {"test_a_receipt_names_what_was_paid_for", "test_too_little_is_refused", "test_the_larger_one_is_found"} <= {*kills}


def test_a_test_that_fails_without_a_mutant_kills_none_and_is_named(planted: Told) -> None:
    _, summary, printed = planted
    name = "test_the_larger_one_is_found_by_a_test_that_is_green_in_the_rehearsal_alone"
    assert not [entry for entry in summary["verdicts"] if entry[5].endswith(name)]
    (error,) = [error for error in summary["errors"] if name in error]
    assert error.startswith("a judge is red without any mutant, and was left out; make it green: ")
    assert f"{name}, in a process of its own: " in error
    assert error in printed


def test_the_table_keeps_the_counts_of_targets_that_another_run_judged(tmp_path: Path) -> None:
    table, counts = tmp_path / "table.json", dict.fromkeys(COUNTS, 1)
    tabled(table, {"tasks": counts, "leases": counts})
    tabled(table, {"leases": dict.fromkeys(COUNTS, 2)})
    assert json.loads(table.read_text()) == {"tasks": counts, "leases": dict.fromkeys(COUNTS, 2)}


def test_a_change_that_only_a_late_judge_notices_is_killed(planted: Told) -> None:
    judged = {entry[3]: (entry[4], entry[5].rpartition("::")[2]) for entry in planted[1]["verdicts"] if entry[1] == "Till.close"}
    late = ("killed", "test_a_till_is_closed_late")
    assert judged["`self.sales * 2` → `self.sales // 2`"] == late
    assert {*judged.values()} == {late, ("killed", typing_judge.NAME)}


def test_an_early_judge_for_which_there_was_no_time_judges_late(planted: Told) -> None:
    judged = {entry[3]: (entry[4], entry[5].rpartition("::")[2]) for entry in planted[1]["verdicts"] if entry[1] == "Till.count"}
    assert judged["`self.sales * 3` → `self.sales // 3`"] == ("killed", "test_a_till_counts_what_it_sold_in_more_than_a_second")
    assert {status for status, _ in judged.values()} == {"killed"}


def test_an_early_judge_that_swallows_its_interruption_judges_late_and_is_not_red(planted: Told) -> None:
    name = "test_a_till_is_opened_again_by_a_judge_that_is_slow_where_no_interruption_ends_it"
    assert [error for error in planted[1]["errors"] if name in error] == []
    judged = {entry[3]: (entry[4], entry[5].rpartition("::")[2]) for entry in planted[1]["verdicts"] if entry[1] == "Till.reopen"}
    assert judged["`self.sales * 4` → `self.sales // 4`"] == ("killed", name)
    assert {status for status, _ in judged.values()} == {"killed"}


def test_a_change_that_mypy_refuses_is_killed_without_a_test(planted: Told) -> None:
    (found,) = [entry for entry in planted[1]["verdicts"] if entry[3] == "`_line(paid, name)` → `_line(name, paid)`"]
    assert found[4:6] == ["killed", typing_judge.NAME]
    assert 'Argument 1 to "_line" has incompatible type "str"' in found[6]


def test_an_endless_loop_is_killed(planted: Told) -> None:
    endless = {(entry[3], entry[4]) for entry in planted[1]["verdicts"] if entry[6] == "it does not end"}
    assert endless == {("`left -= coin` → `pass`", "killed"), ("`1` → `0`", "killed")}


def test_a_campaign_that_was_interrupted_goes_on_where_it_stopped(planted: Told, tmp_path: Path) -> None:
    campaign(tmp_path, *GIVEN, "--most", "20")
    first = (tmp_path / "results.jsonl").read_text()
    _, summary, _ = campaign(tmp_path, *GIVEN)
    assert {tuple(entry[:5]) for entry in summary["verdicts"]} == {tuple(entry[:5]) for entry in planted[1]["verdicts"]}
    whole = (tmp_path / "results.jsonl").read_text()
    names = [json.loads(line)[0] for line in whole.splitlines() if json.loads(line)[2][0] == "killed"]
    assert whole.startswith(first)
    assert len(names) == len({*names}) == summary["killed"], "what was killed is not judged again"


def test_a_condition_is_held_and_dropped_and_not_negated_besides() -> None:
    (function,) = ast.parse("def f(a, b):\n if a == b: return a == b\n return 1 if not a else zip(a, b, strict=True)").body
    kept = [change for parent, field, _, node in nodes(function) if not needless(parent, field, node) for change, _ in changed(node)]
    assert [change for change in kept if "a == b" in change or "not a" in change or "False" in change] == [
        "`if a == b` → `if True`",
        "`if a == b` → `if False`",
        "`return a == b` → `return None`",
        "`a == b` → `a != b`",
        "`return 1 if not a else zip(a, b, strict=True)` → `return None`",
        "`1 if not a else zip(a, b, strict=True)` → `1`",
        "`1 if not a else zip(a, b, strict=True)` → `zip(a, b, strict=True)`",
    ]


def test_what_a_log_line_names_is_not_changed() -> None:
    (function,) = ast.parse("def f(a, t):\n t.log('warning', 'late', by=round(a - 1, 1))\n return t.count('late', a)").body
    kept = [change for parent, field, _, node in nodes(function) if not needless(parent, field, node) for change, _ in changed(node)]
    assert kept == ["`return t.count('late', a)` → `return None`", "`t.count('late', a)` → `t.count(a, 'late')`"]


def test_a_change_of_a_constant_holds_wherever_it_is_imported(planted: Told) -> None:
    verdicts = {entry[3]: entry[4] for entry in planted[1]["verdicts"] if entry[1] == "MOST"}
    assert verdicts == {"`MOST` + 1": "killed", "`MOST` - 1": "killed"}


def test_a_change_inside_a_function_that_was_made_at_import_is_killed(planted: Told) -> None:
    verdicts = {entry[3]: entry[4] for entry in planted[1]["verdicts"] if entry[1] == "_above"}
    assert verdicts["`isinstance(price, int) and price > least` → `isinstance(price, int)`"] == "killed"
    assert set(verdicts.values()) == {"killed"}
    assert not any("return is_above" in change for change in verdicts), "what only an import runs is not changed"


def test_an_equivalent_whose_line_changed_or_that_is_killed_is_an_error(planted: Told) -> None:
    gone, killed = sorted((error for error in planted[1]["errors"] if "is red" not in error), reverse=True)
    assert "no mutant is named so any more" in gone
    assert "if one < two:" in gone
    assert "named equivalent but killed by tests/mutants/planted/judge_till.py::test_a_till_sells_three_things" in killed


def test_each_equivalent_is_a_mutant_of_today_with_a_reason(every: list[Mutant]) -> None:
    known = {mutant.key for mutant in every}
    assert [key for key in EQUIVALENT if key not in known] == []
    assert all(len(reason) > 20 for reason in EQUIVALENT.values())


def test_mutants_are_told_apart_by_their_keys(every: list[Mutant]) -> None:
    assert len({mutant.key for mutant in every}) == len(every)


def test_every_module_that_decides_and_every_conditional_write_has_one_target() -> None:
    rooms = [importlib.import_module(f"sedano.{room}") for room in ROOMS]
    found = [one.name for room in rooms for one in pkgutil.walk_packages(room.__path__, f"{room.__name__}.") if not one.ispkg]
    deciding = [name for name in [*found, *modules()] if of(name)]
    targets = Counter(f"sedano.{module}" for target in TARGETS for module in target.modules)
    assert [name for name in deciding if not targets[name]] == [], "name them in tests/mutants/targets.py, with the tests that judge them"
    assert [name for name, count in targets.items() if count > 1] == [], "one target is enough"


def test_every_judge_is_a_file_of_tests() -> None:
    assert [file for target in TARGETS for file in target.files() if not Path(file).is_file()] == []


@pytest.mark.parametrize("module", modules())
def test_a_changed_expression_is_one_that_dynamodb_accepts(module: str) -> None:
    for _, write in writes(module):
        for change, new in changes(write):
            given = dict(new.parameters)
            if values := {name: {"S": "x"} for name in re.findall(r":\w+", f"{new.condition} {new.update}")}:
                given["ExpressionAttributeValues"] = values
            if "#e" in new.names:  # the adapter numbers these
                given["ExpressionAttributeNames"] = {name: attribute.replace("0", "7") for name, attribute in new.names.items()}
            assert [*dynamodb.problems("UpdateItem", {"TableName": "t", "Key": {"pk": {"S": "k"}}, **given})] == [], change


def test_an_attribute_that_is_not_written_is_read_under_its_own_name() -> None:
    """Under another name everywhere, it would be written and read as before, and the change would be none."""
    write = Write("#u < :now AND #w = :me", "SET #u = :until, #h = :me REMOVE #w", {"#u": "until", "#h": "holder", "#w": "who"})
    found = {change: new for change, new in changes(write) if " is not " in change}
    assert {change: (new.update, {**new.names}) for change, new in found.items()} == {
        "`until` is not set": ("SET #zzu = :until, #h = :me REMOVE #w", {**write.names, "#zzu": "zzuntil"}),
        "`holder` is not set": ("SET #u = :until, #zzh = :me REMOVE #w", {"#u": "until", "#w": "who", "#zzh": "zzholder"}),
        "`who` is not removed": ("SET #u = :until, #h = :me REMOVE #zzw", {**write.names, "#zzw": "zzwho"}),
    }
    assert {new.condition for new in found.values()} == {write.condition}


def test_a_sample_of_the_changes_of_modules_that_hold_is_killed(tmp_path: Path, assembly: Path, request: pytest.FixtureRequest) -> None:
    seed = str(request.config.getoption("hypothesis_seed") or 1)
    names = [argument for target in HELD for argument in ("--target", target.name)]
    status, summary, printed = campaign(tmp_path, *names, "--most", SAMPLE, "--seed", seed, SEDANO_ASSEMBLY=str(assembly))
    assert status == 0, printed
    assert summary["killed"] + summary["equivalent"] == sum(min(int(SAMPLE), len(list[Mutant](target.mutants()))) for target in HELD)
