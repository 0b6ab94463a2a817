"""The commands that a page shows are verbs of `sedano`, with options that these verbs have."""

import re
import shlex
from collections.abc import Iterator

from sedano.cli.verb_table import VERBS


def shown_commands(text: str) -> Iterator[list[str]]:
    """Yield the words of each `sedano …` in the blocks of *text* for a shell, without the word `sedano`."""
    for block in re.findall(r"```(?:sh|console)\n(.*?)```", text, re.DOTALL):
        for line in block.splitlines():
            words = shlex.split(line.partition("#")[0].removeprefix("$ ").replace('eval "$(', "").replace(')"', ""))
            if words:
                assert words[0] == "sedano", line
                yield words[1:]


def wrong_commands(text: str) -> list[list[str]]:
    """Return the commands in *text* that are not verbs, or have an option that their verb does not have."""
    return [words for words in shown_commands(text) if words[0] not in VERBS or not _options(words) <= _known(words)]


def _options(words: list[str]) -> set[str]:
    return {word for word in words if word.startswith("-")}


def _known(words: list[str]) -> set[str]:
    command = VERBS[words[0]].load()
    inner = getattr(command, "commands", {}).get(words[1]) if len(words) > 1 else None
    return {name for one in [command, *([inner] if inner else [])] for parameter in one.params for name in parameter.opts}
