"""Build every task's timeline from the event history: the entry script, for a laptop, Glue and EMR alike.

python -m glue_jobs.timeline --source events/ --target build/history --ledger ledger.jsonl
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from glue_jobs.pipeline.job import run
from glue_jobs.pipeline.options import read
from glue_jobs.pipeline.session import session

#: About half a million events, packed.
SMALL_BYTES = 16 * 2**20


def arguments(given: Sequence[str]) -> argparse.Namespace:
    """Read the options; options that only Glue uses (``--JOB_NAME`` and the like) are ignored."""
    parser = argparse.ArgumentParser(prog="glue_jobs.timeline", description=__doc__, allow_abbrev=False)
    parser.add_argument("--source", required=True, help="folder or prefix of *.jsonl.gz files of events, read recursively")
    parser.add_argument("--target", required=True, help="folder or prefix for the tables; those of an earlier run are replaced")
    parser.add_argument("--ledger", help='JSON lines {"uuid", "state"}: final states to compare the timelines with')
    options = read(parser, given)
    for option, place in (("--source", options.source), ("--ledger", options.ledger)):
        if place is not None and "://" not in place and not Path(place).exists():
            parser.error(f"{option}: there is nothing at {place}")
    return options


def is_small(source: str) -> bool:
    """Return whether *source* is a folder or file of this machine that Spark reads in a few seconds."""
    place = Path(source)
    files = [path for path in (place, *place.rglob("*")) if path.is_file()]
    return bool(files) and sum(file.stat().st_size for file in files) < SMALL_BYTES


def main(given: Sequence[str]) -> None:
    """Run the job and print its summary."""
    options = arguments(given)
    spark = session("sedano timeline", short=is_small(options.source))
    try:
        print(json.dumps(run(spark, options.source, options.target, options.ledger), indent=2))
    finally:
        spark.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
