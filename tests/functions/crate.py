"""An app with a boxed task, whose program does what its first argument says."""

import sys
from pathlib import Path

from sedano import Sedano

HOST = Path(__file__).parents[1] / "stories" / "programs" / "boxed.py"
app = Sedano("crate")
box = app.boxed("box", [sys.executable, "-S", "-E", HOST], pool=2, memory="256M", timeout=20)
