"""The benchmark of the pages: it measures each page, and its prices and sizes are those of the views."""

from benchmarks import pages
from sedano.web.respond import ASSETS


def test_each_page_is_measured_and_small() -> None:
    found = {one.name: one for one in pages.section(40).entries}
    assert len(found) == 1 + 4 * len(pages.PAGES)
    assert found["all scripts and styles, compressed"].verdict == "met"
    assert len(ASSETS) == 3
    assert {one.verdict for name, one in found.items() if name.endswith(": bytes")} == {"met"}
    assert found["/tasks: HTML"].more["rows"] == 40
    assert found["/failures: HTML"].more["rows"] == 1


def test_an_idle_hour_costs_120_views() -> None:
    found = {one.name: one for one in pages.section(10).entries}
    price = found["/throughput: a million views"]
    assert price.value > 0
    assert round(price.more["an idle hour"] * 1e6 / price.value) == 120
