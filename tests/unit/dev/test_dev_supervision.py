"""The files that `sedano dev` watches, and when a worker is started again or ended."""

from pathlib import Path

from sedano.dev.watch import LEAST_S, FolderWatch, interval
from sedano.dev.worker_processes import GRACE_S, LEAVE_S, overdue
from sedano.model.restarts import backoff


def test_saved_added_and_deleted_files_are_changes_and_others_are_not(tmp_path: Path) -> None:
    kept, gone = tmp_path / "kept.py", tmp_path / "gone.toml"
    for path in (kept, gone):
        path.write_text("1")
    watch = FolderWatch(tmp_path)
    assert watch.changes() == []
    for name in (".git", "venv", "__pycache__", "deep"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "new.py").write_text("1")
    (tmp_path / "notes.txt").write_text("1")
    gone.unlink()
    kept.write_text("22")
    assert watch.changes() == [str(tmp_path / "deep" / "new.py"), str(gone), str(kept)]
    assert watch.changes() == []
    other = tmp_path / "other.py"
    other.write_text("33")
    watch.changes()
    other.rename(kept)
    assert watch.changes() == [str(kept), str(other)]


def test_looking_costs_at_most_a_hundredth_of_a_core() -> None:
    assert interval(0.0) == interval(0.001) == LEAST_S
    assert interval(0.02) == 2.0


def test_a_worker_that_dies_in_a_row_is_started_later_each_time() -> None:
    assert [backoff(deaths) for deaths in range(8)] == [0, 0, 0.5, 1, 2, 4, 5, 5]


def test_a_worker_is_overdue_after_its_deadline_or_when_it_does_not_leave() -> None:
    assert not overdue(None, None, 1e9)
    assert not overdue(100.0, 0.0, 100.0 + GRACE_S)
    assert overdue(100.0, None, 100.1 + GRACE_S)
    assert not overdue(None, 100.0, 100.0 + LEAVE_S)
    assert overdue(None, 100.0, 100.1 + LEAVE_S)
