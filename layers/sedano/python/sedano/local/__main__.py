"""`python -m sedano.local --app module:attribute --code DIR`: a stage on this machine until Ctrl-C."""

import argparse
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from sedano.local.failure import LocalStageError
from sedano.local.stage import LocalStage, local_stage

DIRECTORY = Path("build") / "local"


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line, read."""
    parser = argparse.ArgumentParser(prog="python -m sedano.local", description="Run a stage on this machine.")
    parser.add_argument("--app", required=True, help="the application, as module:attribute")
    parser.add_argument("--code", required=True, type=Path, help="the directory that holds its modules")
    parser.add_argument("--directory", default=DIRECTORY, type=Path, help="for the log and the templates")
    return parser.parse_args(given)


def announce(stage: LocalStage, seconds: float) -> None:
    """Says where the stage is: words on stderr, and on stdout what a shell can evaluate."""
    sys.stderr.write(f"{', '.join(stage.stacks)} created on {stage.endpoint.url} in {seconds:.0f} s.\n")
    sys.stderr.write(f"Its log is {stage.endpoint.log}. In another shell, so that your program uses it, either these lines,\n")
    sys.stderr.write(f"or the same from a file that only you can read:  . {shlex.quote(str(stage.file))}\n\n")
    sys.stdout.write(stage.exports)
    sys.stdout.flush()
    sys.stderr.write("\nCtrl-C stops it and forgets everything.\n")


def main(given: Sequence[str] | None = None) -> int:
    """Runs the stage until Ctrl-C, or until its endpoint ends by itself."""
    options = arguments(given)
    started = time.monotonic()
    sys.stderr.write("Starting an AWS endpoint on this machine and creating the stacks on it ...\n")
    try:
        with local_stage(app=options.app, code=options.code, directory=options.directory) as stage:
            announce(stage, time.monotonic() - started)
            status = stage.endpoint.wait()
            raise LocalStageError(f"the endpoint ended with status {status}:\n{stage.endpoint.last_lines()}")
    except LocalStageError as error:
        sys.stderr.write(f"sedano: {error}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped.\n")
        return 0


if __name__ == "__main__":
    sys.exit(main())
