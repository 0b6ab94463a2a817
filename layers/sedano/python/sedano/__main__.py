"""`python -m sedano`: see `sedano.cli`."""

import sys

from sedano.cli import main

sys.exit(main(sys.argv[1:]))
