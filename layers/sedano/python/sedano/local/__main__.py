"""`python -m sedano.local --app module:attribute --code DIR`: a stage on this machine until Ctrl-C.

Nothing is loaded before `main` runs, so Ctrl-C ends the command with one line even while an AWS client is being loaded.
"""

import sys
from collections.abc import Sequence


def main(given: Sequence[str] | None = None) -> int:
    """Run the stage until Ctrl-C; return the exit status."""
    try:
        from sedano.local.command import run

        return run(given)
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped.\n")
        return 0


if __name__ == "__main__":
    sys.exit(main())
