"""The contenders, ours and the peers', each a process of its own.

The peers stand in an environment of their own (`.venv-bench`), which is searched after the one of this process: what both hold is the same
for every contender, such as boto3.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path += map(str, sorted(Path(__file__).parents[2].glob(".venv-bench/lib/python3*/site-packages")))
