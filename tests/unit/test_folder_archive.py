"""The folder of an archive beyond what all archives promise: what the listing says, what stays of folders, and what reaches the disk."""

import errno
import os
from pathlib import Path

import pytest

from sedano.memory import START, VirtualClock
from sedano.memory.folder_archive import LEASES, FolderArchive, FolderLeases
from sedano.model.leases import LeaseRecord
from sedano.model.store_clock import Interval
from sedano.ports.archive import Filed

NANOSECONDS = 1_500_000_000_250_000_000


def test_a_listed_file_has_its_size_its_mark_and_its_time(tmp_path: Path) -> None:
    archive = FolderArchive(tmp_path)
    archive.put_once("a/b", b"abc")
    os.utime(tmp_path / "a/b", ns=(0, NANOSECONDS))
    assert list(archive.names("")) == [Filed("a/b", 3, f"3-{NANOSECONDS}", 1_500_000_000.25)]


def test_a_folder_goes_with_its_last_file_and_the_archives_own_stays(tmp_path: Path) -> None:
    root = tmp_path / "archive"
    for name in ("a/b/1", "a/b/2", "a/3"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"1")
    archive, folders = FolderArchive(root), []
    for name in ("a/b/1", "a/b/2", "never/there", "a/3"):
        archive.remove([name])
        folders.append([path.relative_to(root).as_posix() for path in sorted(root.rglob("*")) if path.is_dir()])
    assert folders == [["a", "a/b"], ["a"], ["a"], []]
    assert root.is_dir()


def test_an_archive_makes_its_folder_and_all_above_and_below_it(tmp_path: Path) -> None:
    archive = FolderArchive(tmp_path / "not" / "made" / "yet")
    archive.put_once("a/b/c", b"1")
    assert (tmp_path / "not/made/yet/a/b/c").read_bytes() == b"1"


@pytest.mark.parametrize(("disk", "fault"), [("/dev/full", errno.ENOSPC), ("/dev/null", errno.EINVAL)])
def test_a_file_whose_bytes_do_not_reach_the_disk_is_not_put_in_place(tmp_path: Path, disk: str, fault: int) -> None:
    """The first takes no bytes, the second cannot say that it has them; both are asked, in this order, before the file has its name."""
    (tmp_path / f".a.{os.getpid()}").symlink_to(disk)
    with pytest.raises(OSError, match=r"^\[Errno ") as refused:
        FolderArchive(tmp_path).put_once("a", b"1")
    assert first_of(refused.value).errno == fault
    assert not (tmp_path / "a").exists()


def first_of(error: BaseException) -> OSError:
    """Return what went wrong first, where closing the file failed too."""
    while error.__context__ is not None:
        error = error.__context__
    assert isinstance(error, OSError)
    return error


def test_the_leases_in_a_folder_can_be_read_by_people_and_have_the_time_of_the_clock(tmp_path: Path) -> None:
    leases = FolderLeases(tmp_path, VirtualClock(START))
    assert leases.time() == Interval(START * 1_000, START * 1_000)
    leases.take(LeaseRecord("a", 1, "n" * 32, "host", 1, True, 30_000, 30_000), None)
    assert (tmp_path / LEASES).read_text().startswith('[\n {\n  "name": "a",\n  "token": 1,\n')
