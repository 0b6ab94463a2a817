"""Progress, the change log and the kills are read as they are written."""

import io

from examples.census.run import most_kills, plan
from examples.local_run.changes import Change, Held, Holders, abandoned, change_of
from examples.local_run.chaos import identity
from examples.local_run.progress import Progress
from examples.local_run.watching import settled


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Say so."""
        return True


def test_a_terminal_gets_a_bar_that_is_drawn_over() -> None:
    stream = Terminal()
    progress = Progress(stream, iter(range(100)).__next__)
    progress.bar(1, 2, "tasks")
    progress.phase("next")
    assert "█" * 16 + "░" * 16 + " 1/2 tasks" in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[2K[  1.0 s] next\n")


def test_what_is_no_terminal_gets_a_line_now_and_then() -> None:
    stream, seconds = io.StringIO(), iter([0.0, 1.0, 5.0, 5.0, 6.0])
    progress = Progress(stream, seconds.__next__)
    for done in (1, 2, 3):
        progress.bar(done, 4, "tasks")
    assert stream.getvalue() == "           50%  2/4 tasks\n"


def test_a_write_to_a_task_is_read_with_what_stood_there_before() -> None:
    image = {"pk": {"S": "TASK#a%2Fb"}, "nm": {"S": "shop.add"}, "st": {"S": "RUNNING"}, "nc": {"S": "n"}, "exp": {"N": "7"}}
    record = {"Keys": {"pk": {"S": "TASK#a%2Fb"}}, "OldImage": image, "NewImage": {**image, "nc": {"S": "m"}, "exp": {"N": "9"}}}
    change = change_of(record)
    assert change == Change("a/b", "shop.add", Held("RUNNING", "n", 7), Held("RUNNING", "m", 9))
    assert change.is_steal
    assert not change.is_end


def test_a_task_that_was_revoked_before_a_worker_met_it_has_no_name() -> None:
    record = {"Keys": {"pk": {"S": "TASK#a"}}, "NewImage": {"pk": {"S": "TASK#a"}, "st": {"S": "REVOKED"}}}
    assert change_of(record) == Change("a", "", None, Held("REVOKED", "", 0))


def test_writes_about_joins_are_passed_over() -> None:
    assert change_of({"Keys": {"pk": {"S": "JOIN#a"}}, "NewImage": {}}) is None


def test_a_kill_hit_when_claims_are_left_on_which_nobody_works() -> None:
    before = {1: frozenset("ab"), 2: frozenset("cd"), 3: frozenset("e")}
    after = {1: frozenset("ab"), 2: frozenset("d"), 4: frozenset("f")}
    assert abandoned(before, after) == {1}


def test_a_copy_is_known_by_its_cloudevents_id_and_a_record_by_its_text() -> None:
    assert identity('{"id": "x", "data": 1}') == identity('{"data": 2, "id": "x"}') == "x"
    assert identity('{"v": 1}') != identity('{"v": 2}')


def test_what_lies_in_the_queues_is_told_when_it_does_not_go_away() -> None:
    assert settled(iter([{"clock": 1}, {"clock": 0}]).__next__, 60.0) == {"clock": 0}
    assert settled(lambda: {"dead": 2}, 0.0) == {"dead": 2}


def test_a_tenth_of_the_messages_is_sent_twice_and_three_kills_must_hit() -> None:
    planned = plan({"c": "commands", "f": "flags", "i": "index", "e": "events", "r": "records"}, 300)
    assert planned.duplicates == {"c": 60, "f": 30, "e": 30, "r": 10}
    assert planned.kills > most_kills(300) == 3
    assert plan({}, 10).kills == most_kills(10) == 0


class Log:
    """A change log that shows what is added to it."""

    def __init__(self) -> None:
        """Empty."""
        self.added: list[Change] = []

    def follow(self) -> list[Change]:
        """Return what was added since the last time."""
        fresh, self.added = self.added, []
        return fresh


def test_functions_and_processes_are_seen_apart_by_the_names_under_which_they_hold_claims() -> None:
    log = Log()
    seen = Holders(log)
    names = {"a": "10.0.0.7.12.0123abcd", "b": "host.77.12345678.3", "c": "host.78.01234567.0"}
    log.added = [Change(task, "t", None, Held("RUNNING", "n", 7_000, owner)) for task, owner in names.items()]
    assert seen.processes_at_work(6.0) == {77, 78}
    assert (seen.claims(), seen.at_work(6.0)) == ({7_000: frozenset("a")}, {12})
    log.added = [Change("b", "t", None, Held("SUCCESS", "n", 7_000, names["b"]))]
    assert seen.processes_at_work(6.0) == {78}
    assert seen.processes_at_work(7.1) == set(), "no process holds a claim that lapsed"
