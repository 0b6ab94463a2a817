"""Which tests stay together when a run has several processes (`-n 2 --dist loadgroup`): those of a file, and rooms that share a server.

The Spark session, the synthesised stage and the local AWS endpoint are made once a process, so the rooms that need one stay in one process.
"""

from collections.abc import Generator

import pytest

TOGETHER = {
    "tests/pipeline": "pipeline", "tests/infra": "infra", "tests/functions": "stage", "tests/deploy": "stage", "tests/trust": "trust",
}  # fmt: skip


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Name the group of each test."""
    if not config.pluginmanager.hasplugin("xdist"):
        return
    for item in items:
        file = item.nodeid.split("::", maxsplit=1)[0]
        room = "/".join(file.split("/")[:2])
        item.add_marker(pytest.mark.xdist_group(TOGETHER.get(room, file)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let what a test printed travel between processes: a text that has no UTF-8, which some tests print, would end the run."""
    report = yield
    report.sections = [(name, text.encode("utf-8", "backslashreplace").decode()) for name, text in report.sections]
    return report
