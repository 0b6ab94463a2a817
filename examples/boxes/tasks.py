"""One app, three boxed tasks: a program in Python, one in Node, one in sh. Each has its own host beside this file."""

import sys
from pathlib import Path

from sedano import Sedano

HERE = Path(__file__).parent
app = Sedano("boxes")
words_in_python = app.boxed("words_in_python", [sys.executable, HERE / "host.py"], pool=2, memory="256M", timeout=20)
words_in_node = app.boxed("words_in_node", ["node", HERE / "host.mjs"], memory="512M", timeout=20)
size = app.boxed("size", ["sh", HERE / "host.sh"], timeout=5)
