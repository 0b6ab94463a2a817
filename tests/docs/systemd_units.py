"""The systemd units of the pages and of examples/, and a check of them that needs no systemd.

`KNOWN` has the directives that they use with the form of their values, from systemd.unit(5), systemd.service(5), systemd.socket(5),
systemd.exec(5) and systemd.kill(5). A directive that is not in it is reported, so a misspelt one is, and a new one is added with its form.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
UNITS = r"(?:[A-Za-z0-9@_.-]+\.(?:target|socket|service))(?: [A-Za-z0-9@_.-]+\.(?:target|socket|service))*"
SECONDS, FLAG, FILE, NAME = r"\d+", "yes|no", r"/\S+", r"[a-z_][a-z0-9_-]*"
_EXEC = {
    "Environment": r"[A-Z_]+=\S+", "EnvironmentFile": rf"-?{FILE}", "WorkingDirectory": FILE, "User": NAME, "StateDirectory": NAME,
    "ProtectSystem": "yes|no|full|strict", "ProtectHome": "yes|no|read-only|tmpfs", "ProtectProc": "noaccess|invisible|ptraceable|default",
    "RestrictAddressFamilies": r"AF_\w+(?: AF_\w+)*", "CapabilityBoundingSet": "", "AmbientCapabilities": "",
    "SystemCallArchitectures": "native", "SystemCallFilter": "@system-service", "UMask": "0[0-7]{3}",
    **dict.fromkeys(
        (
            "DynamicUser", "LockPersonality", "NoNewPrivileges", "PrivateDevices", "PrivateTmp", "ProtectClock", "ProtectControlGroups",
            "ProtectHostname", "ProtectKernelLogs", "ProtectKernelModules", "ProtectKernelTunables", "RestrictNamespaces",
            "RestrictRealtime", "RestrictSUIDSGID",
        ),
        FLAG,
    ),
}  # fmt: skip
KNOWN: Mapping[str, Mapping[str, str]] = {
    "Unit": {
        "Description": ".+", "Documentation": ".+", "StartLimitIntervalSec": SECONDS, "StartLimitBurst": r"\d+",
        **dict.fromkeys(("After", "Before", "Requires", "Wants"), UNITS),
    },
    "Service": {
        "Type": "simple|exec|forking|oneshot|dbus|notify|notify-reload|idle", "NotifyAccess": "none|main|exec|all", "ExecStart": r"/\S+ .+",
        "Restart": "no|on-success|on-failure|on-abnormal|on-watchdog|on-abort|always", "RestartSec": SECONDS, "WatchdogSec": SECONDS,
        "TimeoutStartSec": SECONDS, "TimeoutStopSec": SECONDS, "KillMode": "control-group|mixed|process|none", "KillSignal": r"SIG[A-Z]+",
        **_EXEC,
    },
    "Socket": {"ListenStream": FILE, "SocketUser": NAME, "SocketGroup": NAME, "SocketMode": "0[0-7]{3}"},
    "Install": {"WantedBy": UNITS},
}  # fmt: skip
NEEDED = {"service": ("Service", "ExecStart"), "socket": ("Socket", "ListenStream")}


def units() -> dict[str, str]:
    """Return the text of each unit, by its place."""
    found = {f"examples/hosting/{file.name}": file.read_text(encoding="utf-8") for file in (ROOT / "examples/hosting").glob("*.service")}
    for page in sorted((ROOT / "docs").glob("*.md")):
        blocks = re.findall(r"```ini\n(\[Unit\].*?|# /etc/systemd.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
        for number, text in enumerate(blocks):
            found[f"docs/{page.name} {number + 1}"] = text
    return found


def kind(text: str) -> str:
    """Return the type of the unit *text*: ``service`` or ``socket``."""
    return "socket" if "[Socket]" in text else "service"


def sections(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the section, the directive and the value of each line of *text*; a line of another form has an empty directive."""
    section = ""
    for line in text.splitlines():
        if not line or line[0] in "#;":
            continue
        if header := re.fullmatch(r"\[(\w+)\]", line):
            section = header[1]
            continue
        name, equals, value = line.partition("=")
        yield (section, name, value) if equals else (section, "", line)


def faults(text: str) -> Iterator[str]:
    """Yield the faults of the unit *text*: those that `systemd-analyze verify` finds, and directives without the ones that they need."""
    found: dict[tuple[str, str], str] = {}
    for section, name, value in sections(text):
        form = KNOWN.get(section, {}).get(name)
        if form is None:
            yield f"[{section}] {name or value}: unknown"
        elif not re.fullmatch(form, value):
            yield f"[{section}] {name}={value}: not {form}"
        elif (section, name) in found and name != "Environment":
            yield f"[{section}] {name}: given twice"
        found[section, name] = value
    section, name = NEEDED[kind(text)]
    if (section, name) not in found:
        yield f"[{section}] {name}: missing"
    yield from _without(found)


def _without(found: Mapping[tuple[str, str], str]) -> Iterator[str]:
    """Yield the directives of *found* that have no effect without another one."""
    unit = {name: value.split() for (section, name), value in found.items() if section == "Unit"}
    for other in unit.get("Requires", []):
        if other not in unit.get("After", []):
            yield f"[Unit] Requires={other}: without After={other} both start at once"
    if "network-online.target" in unit.get("After", []) and "network-online.target" not in unit.get("Wants", []):
        yield "[Unit] After=network-online.target: without Wants=network-online.target no unit may start it"
    if ("Service", "WatchdogSec") in found and found.get(("Service", "Type")) not in ("notify", "notify-reload"):
        yield "[Service] WatchdogSec: the process is expected to notify; write Type=notify"
