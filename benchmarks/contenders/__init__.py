"""The contenders, sedano's and the peers', each in its own process.

The peers are in their own environment (`.venv-bench`), which is searched after the one of this process: packages that both contain, such
as boto3, are the same for every contender.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path += map(str, sorted(Path(__file__).parents[2].glob(".venv-bench/lib/python3*/site-packages")))
