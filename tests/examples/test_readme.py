"""What examples/README.md says stands there: every file is explained, and the commands name what exists."""

import re
from pathlib import Path

from examples.hello import tasks as hello

EXAMPLES = Path(hello.__file__).resolve().parents[1]
README = (EXAMPLES / "README.md").read_text(encoding="utf-8")


def test_every_file_of_the_census_is_explained() -> None:
    explained = set(re.findall(r"`(\w+\.py)`", README)) | set(re.findall(r"`census/(\w+\.py)`", README))
    assert explained == {path.name for path in (EXAMPLES / "census").glob("*.py")}


def test_the_command_for_hello_runs_as_it_stands_but_for_the_wait() -> None:
    (command,) = re.findall(r'python -c "(.*?)"', README)
    program = command.replace("print(greet.delay('you').get(timeout=60))", "print(greet('you'))")
    said: list[str] = []
    exec(program, {"print": said.append})  # noqa: S102 - the README is ours
    assert said == ["Hello, you!"]
