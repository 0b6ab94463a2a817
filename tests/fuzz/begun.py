"""Importing this instruments the library, with the fault in it that `SEDANO_FUZZ_PLANT` names, if any. It must come before the library."""

from __future__ import annotations

import os

from tests.fuzz.edges import instrumented
from tests.fuzz.faults import FAULTS

PLANT = "SEDANO_FUZZ_PLANT"
PLANTED = FAULTS.get(os.environ.get(PLANT, ""))
EDGES = instrumented({PLANTED.module: (PLANTED.right, PLANTED.wrong)} if PLANTED is not None else {})
"""The marks of this process."""
