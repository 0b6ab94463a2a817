"""Every figure of the README and the guides has a source: a kept measurement, the code, a test, or a document of AWS."""

import json
import re
from pathlib import Path

import pytest

from benchmarks import kept
from tests.docs.figures import PAGES, RESULTS, SOURCES, Entry, check, entries, figures, of_page, pattern, results, same

PAGE = """# Speed
It takes 12.5 ms a task, and
1 003 sends; after 900 s it stops. Python 3.11 runs it, as `wait(30 s)`.

| what | much |
|---|---|
| writes | 3 |

```python
pause = 77.5
```
"""
KNOWN = [
    Entry("It takes {} ms a task, and {} sends", "measured", ["speed/CPU", "speed/sends"]),
    Entry("after {} s it stops", "code", ["sedano.model.queues:MAX_DELAY_S"]),
    Entry("| writes | {} |", "measured", ["speed/writes"]),
]
MEASURED = {"speed/CPU": 12.46, "speed/sends": 1003.0, "speed/writes": 3.0}


@pytest.mark.parametrize("name", PAGES)
def test_every_figure_of_a_page_is_what_its_source_says(name: str) -> None:
    faults = check(PAGES[name].read_text(encoding="utf-8"), of_page(name), results()).faults
    assert not faults, "\n".join([f"{PAGES[name].name} (its list: tests/docs/figures/{name}.toml, how: tests/docs/figures.py):", *faults])


def test_every_figure_that_is_kept_is_used_by_a_page() -> None:
    used = {source for name in PAGES for entry in of_page(name) if entry.kind == "measured" for source in entry.sources}
    assert used == set(results())


def test_every_list_of_figures_belongs_to_a_page() -> None:
    assert {path.stem for path in SOURCES.iterdir()} <= set(PAGES)


@pytest.mark.parametrize("path", sorted(RESULTS.iterdir()), ids=lambda path: path.stem)
def test_every_kept_measurement_says_how_when_and_of_what_it_was_made(path: Path) -> None:
    found = json.loads(path.read_text(encoding="utf-8"))
    assert found["command"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", found["date"])
    assert re.fullmatch(r"[0-9a-f]{7,40}\+?", found["commit"])


def test_a_page_whose_figures_have_their_sources_has_no_fault() -> None:
    found = check(PAGE, KNOWN, MEASURED)
    assert found.faults == []
    assert found.used == set(MEASURED)


@pytest.mark.parametrize(
    ("text", "planted", "said"),
    [
        ("12.5 ms", "12.4 ms", "says 12.4, speed/CPU is 12.46"),
        ("1 003 sends", "1 004 sends", "says 1 004, speed/sends is 1003"),
        ("900 s", "901 s", "says 901, sedano.model.queues:MAX_DELAY_S is 900"),
        ("| 3 |", "| 4 |", "says 4, speed/writes is 3"),
        ("it stops.", "it stops, which costs 5 USD.", "it stops, which costs 5 USD"),
        ("ms a task", "µs a task", "not in the page"),
        ("| writes | 3 |", "| writes | 3 |\n| reads | 1 |", "| writes | 3 | | reads | 1 |"),
    ],
)
def test_a_planted_wrong_figure_is_found(text: str, planted: str, said: str) -> None:
    assert any(said in fault for fault in check(PAGE.replace(text, planted, 1), KNOWN, MEASURED).faults)


@pytest.mark.parametrize("name", ["canvas", "flow", "history", "proof"])
def test_each_measured_figure_of_a_page_is_found_when_another_one_is_planted_in_its_place(name: str) -> None:
    page, known, measured = PAGES[name].read_text(encoding="utf-8"), of_page(name), results()
    places = [match.span(1) for entry in known if entry.kind == "measured" for match in pattern(entry.text).finditer(page)]
    assert len(places) > 3
    for begin, end in places:
        assert check(f"{page[:begin]}987 654.32{page[end:]}", known, measured).faults, page[begin - 30 : end + 30]


def test_a_result_that_is_gone_is_found() -> None:
    assert "no result has the name 'speed/sends'" in check(PAGE, KNOWN, {"speed/CPU": 12.5, "speed/writes": 3.0}).faults[0]


def test_a_test_that_is_gone_is_found() -> None:
    words = "after 900 s it stops"
    here = "tests/docs/test_figures.py::test_a_test_that_is_gone_is_found"
    known = [Entry("It takes 12.5 ms a task, and 1 003 sends", "given", ["an example"]), Entry("| writes | 3 |", "given", ["an example"])]
    assert check(PAGE, [*known, Entry(words, "test", [here])], {}).faults == []
    assert check(PAGE, [*known, Entry(words, "test", [f"{here}_too"])], {}).faults == [f"no test {here}_too: '{words}'"]


def test_an_entry_has_one_source() -> None:
    with pytest.raises(ValueError, match="give text and one of"):
        entries({"figure": [{"text": "5 s"}]})
    with pytest.raises(ValueError, match="give text and one of"):
        entries({"figure": [{"text": "5 s", "aws": "a guide", "given": "a size"}]})


def test_versions_code_and_targets_of_links_are_no_figures() -> None:
    assert list(figures("Spark 4.1 and 3.5, [a page](a/b-3.5.md), `13 s`\n\n    make test WAIT=2.5\n")) == []
    assert list(figures("| exit code | means |\n|---|---|\n| 130, 141 | Ctrl-C; the reader went away |\n")) == []
    assert [words for _, words in figures("3 ms and 1 000")] == ["3 ms and 1 000", "3 ms and 1 000"]


@pytest.mark.parametrize(
    ("shown", "value", "equal"),
    [
        ("12", 12.4, True), ("12", 12.6, False), ("10", 10.6, False), ("0.72", 0.724, True), ("0.72", 0.726, False),
        ("176 000", 176_400.0, True), ("176 000", 177_000.0, False), ("1 003", 1_003.0, True), ("1 003", 1_004.0, False),
        ("2.1 million", 2_140_000.0, True), ("2.1 million", 2_160_000.0, False), ("0", 0.0, True), ("0", 1.0, False),
    ],
)  # fmt: skip
def test_a_figure_is_its_source_within_the_digits_that_it_shows(shown: str, value: float, equal: bool) -> None:
    assert same(shown, value) is equal


SENDS, OTHER = {"name": "sends", "value": 7, "unit": "calls", "more": {"pages": 2}}, {"name": "x", "value": 1, "unit": "", "more": {}}
REPORT = {"sections": [{"entries": [SENDS, OTHER]}]}


def test_what_is_kept_of_a_report_is_what_was_asked_for() -> None:
    empty = {"command": "make bench", "figures": {"sends": None, "sends: pages": None}}
    found = kept.refreshed(empty, REPORT, "2026-11-23", "abc1234")
    assert found["figures"] == {"sends": {"value": 7, "unit": "calls"}, "sends: pages": {"value": 2, "unit": ""}}
    assert (found["command"], found["date"], found["commit"]) == ("make bench", "2026-11-23", "abc1234")


def test_a_report_without_a_kept_figure_keeps_nothing() -> None:
    with pytest.raises(ValueError, match="the report has no figure 'writes'"):
        kept.refreshed({"figures": {"writes": None}}, REPORT, "2026-11-23", "abc1234")


def test_any_json_has_figures_by_their_paths() -> None:
    assert kept.figures({"worlds": {"claims": {"schedules": 5, "violations": {}}}, "complete": True}) == {
        "worlds.claims.schedules": (5.0, "")
    }


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    kept.write(tmp_path / "speed.json", {"command": "make bench", "figures": {"sends": {"value": 7, "unit": "calls"}}})
    assert results(tmp_path) == {"speed/sends": 7}
