"""The settings of `sedano dev`. The verb reads them from options, the environment and the project's pyproject.toml."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

TIMEOUT_S = 60


class DevSettings(NamedTuple):
    """The settings of one `sedano dev`.

    The *app* is module:attribute, *code* the folder of its modules, and *project* the folder that has `.sedano`. *port* is that of the
    webhooks (0: a free one), *timeout* the seconds for a batch of tasks, and *secrets* are those of the webhooks by name. *pages*: the
    port of the pages (0: a free one), None for no pages. *once*: run the tasks that are due, and end.
    """

    app: str
    code: Path
    project: Path
    port: int = 0
    timeout: int = TIMEOUT_S
    secrets: Mapping[str, tuple[str, ...]] = {}
    fresh: bool = False
    reload: bool = True
    json: bool = False
    once: bool = False
    pages: int | None = 0
