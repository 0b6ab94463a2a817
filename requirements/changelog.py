"""Rules about CHANGELOG.md: the text with a dated section for a version, and the contents of a section. No files, no clock."""

from __future__ import annotations

import datetime as dt
import re

HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
UNRELEASED = "Unreleased"


class ChangelogError(Exception):
    """The changelog does not fit the release; the message has the remedy."""


def section(text: str, name: str) -> str | None:
    """Return the text below the heading that begins with the word *name*; None without such a heading."""
    _, *parts = HEADING.split(text)
    sections = zip(parts[::2], parts[1::2], strict=True)
    return next((below.strip() for heading, below in sections if heading.split()[0] == name), None)


def dated(text: str, version: str, day: dt.date) -> str:
    """Return the changelog *text* with a section of *version* that has a date.

    The changes below Unreleased become that section, with the date *day*; a section that has a date already keeps it.

    Raises:
        ChangelogError: there are no changes, the version has a section and newer changes exist, or its section has no valid date.
    """
    changes = section(text, UNRELEASED)
    if changes is None:
        raise ChangelogError(f"CHANGELOG.md has no section {UNRELEASED}: write `## {UNRELEASED}` above the newest version")
    if section(text, version) is None:
        if not changes:
            raise ChangelogError(f"CHANGELOG.md has no changes below {UNRELEASED}: write what changes for users in {version}")
        return text.replace(f"## {UNRELEASED}\n", f"## {UNRELEASED}\n\n## {version} - {day.isoformat()}\n", 1)
    if changes:
        raise ChangelogError(
            f"CHANGELOG.md has a section {version} and newer changes below {UNRELEASED}: raise the version in pyproject.toml and in "
            "sedano/__init__.py, or move the changes into the section"
        )
    if date_of(text, version) is None:
        raise ChangelogError(f"the section {version} of CHANGELOG.md has no date: write `## {version} - {day.isoformat()}`")
    return text


def date_of(text: str, version: str) -> dt.date | None:
    """Return the date of the section of *version*; None without one."""
    found = re.search(rf"^## {re.escape(version)} - (\d{{4}}-\d\d-\d\d)$", text, re.MULTILINE)
    try:
        return dt.date.fromisoformat(found[1]) if found else None
    except ValueError:
        return None
