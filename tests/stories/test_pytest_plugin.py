"""The pytest plugin finds a task that is not idempotent, by the entry point of the wheel, where nothing else of this repository is."""

import re
import subprocess
import sys
from collections.abc import Mapping

import pytest

from tests.plugins.pytest_runs import LIBRARY, Elsewhere

INI = "[pytest]\npythonpath = .\nsedano_app = shop:app\n"
SHOP = """
from sedano import Sedano

app = Sedano("shop")
charges, charged = [], set()

@app.task
def count(order: str) -> None:
    charges.append(order)  # the planted fault: again for each run

@app.task
def charge(order: str) -> str:
    charged.add(order)
    return order
"""
TESTS = """
import pytest
import shop

@pytest.fixture(autouse=True)
def empty():
    shop.charges.clear()
    shop.charged.clear()

@pytest.mark.crash_points
def test_counts_once(sedano_world):
    shop.count.delay("a")
    sedano_world.drain()
    assert shop.charges == ["a"]

@pytest.mark.crash_points
def test_charges_once(sedano_world):
    assert shop.charge.delay("a").get() == "a"
    assert shop.charged == {"a"}
    assert len(sedano_world.sent("shop.charge")) == 1

@pytest.mark.crash_points(most=5)
def test_charges_once_at_some(sedano_world):
    assert shop.charge.delay("a").get() == "a"
"""


def shop_with(*lines: str) -> Mapping[str, str]:
    """Return the files of a shop with one test file of these *lines*."""
    return {"pytest.ini": INI, "shop.py": SHOP, "test_shop.py": "\n".join(["import pytest", "import shop", "", *lines, ""])}


def test_the_planted_task_is_found_at_its_point_which_can_be_repeated(elsewhere: Elsewhere) -> None:
    elsewhere.write({"pytest.ini": INI, "shop.py": SHOP, "test_shop.py": TESTS})
    code, said = elsewhere.run()
    assert code == 1, said
    assert "1 failed, 2 passed" in said
    words = "the worker died before ledger.record (after ledger.claim): shop.count ran twice"
    assert f"{words}\n    AssertionError: assert ['a', 'a'] == ['a']\n" in said
    assert f"FAILED test_shop.py::test_counts_once - {words}" in said
    counted = re.search(r"^1 of (\d+) points break this test:$", said, re.MULTILINE)
    assert counted is not None
    deaths = int(counted[1]) - 1
    assert f"test_shop.py::test_counts_once: {deaths} of {deaths} deaths, and every message doubled" in said
    assert re.search(r"test_charges_once_at_some: 5 of \d+ deaths, \d+ left out \(most=5\), and every message doubled", said)
    repeats = re.search(r"pytest (test_shop.py::test_counts_once) (--crash-point=\d+-before)", said)
    assert repeats is not None
    code, said = elsewhere.run(*repeats.groups())
    assert code == 1
    assert "1 of 1 points break this test:" in said
    assert elsewhere.run(repeats[1], "--crash-point=0-after")[0] == 0
    code, said = elsewhere.run("--lf", "-n", "2")
    assert (code, "1 failed" in said, "shop.count ran twice" in said) == (1, True, True), said


def test_each_point_has_fixtures_of_its_own_and_shares_those_of_its_module(elsewhere: Elsewhere) -> None:
    elsewhere.write({
        **shop_with(),
        "conftest.py": (
            "import pytest, shop\n"
            "def told(words):\n    with open('told', 'a') as file:\n        print(words, file=file)\n"
            "@pytest.fixture(scope='module')\ndef shared():\n    told('begin')\n    yield\n    told('end')\n"
            "@pytest.fixture\ndef own():\n    shop.charges.clear()\n    told('own')\n"
            "@pytest.fixture\ndef sedano_app():\n    return shop.app\n"
        ),
        "pytest.ini": "[pytest]\npythonpath = .\n",
        "test_a.py": (
            "import pytest, shop\n"
            "@pytest.mark.crash_points\ndef test_a(shared, own, sedano_world):\n    shop.charge.delay('a').get()\n"
            "@pytest.mark.crash_points\ndef test_b(shared, sedano_world):\n    assert not shop.charge.delay('a').get(), 'undisturbed'\n"
        ),
        "test_b.py": "def test_b(shared, sedano_world):\n    before = sedano_world.clock.now()\n    sedano_world.elapse(3600)\n"
        "    assert sedano_world.clock.now() == before + 3600\n",
    })  # fmt: skip
    code, said = elsewhere.run()
    assert (code, "1 failed, 2 passed" in said, "AssertionError: undisturbed" in said) == (1, True, True), said
    counted = re.search(r"test_a.py::test_a: (\d+) of \1 deaths", said)
    assert counted is not None
    told = (elsewhere.folder / "told").read_text().split()
    assert told == ["begin", *["own"] * (int(counted[1]) + 2), "end", "begin", "end"]


def test_a_test_that_cannot_be_repeated_says_why(elsewhere: Elsewhere) -> None:
    elsewhere.write(shop_with(
        "runs = []",
        "@pytest.mark.crash_points",
        "def test_differs(sedano_world):",
        "    runs.append(1)",
        "    if len(runs) == 1:",
        "        shop.charge.delay('a').get()",
        "@pytest.mark.crash_points",
        "def test_idles(sedano_world):",
        "    shop.charge.delay('a')",
    ))  # fmt: skip
    code, said = elsewhere.run()
    assert (code, "2 failed" in said) == (1, True), said
    assert "never reached, because the test made other calls this time; make each run do the same (use a fixed seed)" in said
    assert "no process of sedano_world made a call: run them with sedano_world.drain(), or wait for a result with get()" in said
    code, said = elsewhere.run("test_shop.py::test_differs", "--crash-point=0-before")
    assert (code, "the crash point 0-before does not exist: the first is 0-after, the last" in said) == (1, True), said


@pytest.mark.parametrize(
    ("ini", "mark", "arguments", "words"),
    [
        ("", "", (), 'sedano_app = "shop.tasks:app"'),
        ("sedano_app = shop:nothing", "", (), "app 'shop:nothing' (sedano_app in the ini file of pytest): module 'shop' has no attribute"),
        ("sedano_app = shop:app", "@pytest.mark.crash_points(most=0)", (), "crash_points takes most=, a whole number from 1"),
        ("sedano_app = shop:app", "@pytest.mark.crash_points(9)", (), "crash_points takes most=, a whole number from 1"),
        ("sedano_app = shop:app", "", ("--crash-point=x",), "--crash-point: crash point 'x': write the number of a call and a side"),
    ],
)
def test_what_cannot_be_honoured_says_what_to_write(
    elsewhere: Elsewhere, ini: str, mark: str, arguments: tuple[str, ...], words: str
) -> None:
    elsewhere.write({**shop_with(mark, "def test_one(sedano_world):", "    pass"), "pytest.ini": f"[pytest]\npythonpath = .\n{ini}\n"})
    code, said = elsewhere.run(*arguments)
    assert code != 0
    assert words in said


def test_a_marker_without_the_world_says_so(elsewhere: Elsewhere) -> None:
    elsewhere.write(shop_with("@pytest.mark.crash_points", "def test_one():", "    pass"))
    code, said = elsewhere.run("--strict-markers")
    assert (code, "crash_points kills the processes of sedano_world; take that fixture as an argument" in said) == (4, True), said


def test_the_plugin_loads_nothing_of_the_library_before_a_test_wants_it() -> None:
    program = "import sys, sedano.pytest_plugin; print(*sorted(name for name in sys.modules if name.split('.')[0] == 'sedano'))"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=LIBRARY)
    assert said.stdout.split() == ["sedano", "sedano.pytest_plugin"]


def test_a_seed_decides_the_random_choices_and_the_summary_names_it(elsewhere: Elsewhere) -> None:
    elsewhere.write(shop_with("def test_notes_the_id(sedano_world):", '    open("id", "w").write(shop.charge.delay("a").id)'))
    ids = []
    for option in ("--sedano-seed=7", "--sedano-seed=7", "--sedano-seed=8", "--sedano-seed=random"):
        code, said = elsewhere.run(option)
        assert code == 0, said
        named = re.search(r"^sedano: repeat these random choices with (--sedano-seed=\d+)$", said, re.MULTILINE)
        assert named is not None, said
        assert option in (named[1], "--sedano-seed=random")
        ids.append((elsewhere.folder / "id").read_text())
    assert ids[0] == ids[1] != ids[2] != ids[3]
    assert elsewhere.run(named[1])[0] == 0
    assert (elsewhere.folder / "id").read_text() == ids[3]
    assert "--sedano-seed" not in elsewhere.run()[1]
    code, said = elsewhere.run("--sedano-seed=x")
    assert code == 4
    assert "x: write a whole number, or random" in said
