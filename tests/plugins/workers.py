"""Which tests stay together when a run has several processes (`-n 2 --dist loadgroup`): those of a file, and rooms that share a server.

The Spark session, the synthesised stage and the local AWS endpoint are made once a process, so the rooms that need one stay in one process.
What needs the endpoint comes last in any run: from its start on, the endpoint takes most of a core for itself.
"""

from collections.abc import Generator

import pytest

TOGETHER = {"tests/pipeline": "pipeline", "tests/infra": "infra", "tests/trust": "trust"}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put what needs the endpoint last, and name the group of each test."""
    items.sort(key=_needs_the_endpoint)
    if not config.pluginmanager.hasplugin("xdist"):
        return
    for item in items:
        file = item.nodeid.split("::", maxsplit=1)[0]
        group = "ministack" if _needs_the_endpoint(item) else TOGETHER.get("/".join(file.split("/")[:2]), file)
        item.add_marker(pytest.mark.xdist_group(group))


def _needs_the_endpoint(item: pytest.Item) -> bool:
    asked = {"ministack", "ministack_resources"} & {*getattr(item, "fixturenames", ())}
    return bool(asked) or item.get_closest_marker("ministack") is not None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let what a test printed travel between processes: a text that has no UTF-8, which some tests print, would end the run."""
    report = yield
    report.sections = [(name, text.encode("utf-8", "backslashreplace").decode()) for name, text in report.sections]
    return report
