"""`python -m sedano`: see `sedano.cli`."""

from sedano.cli import command

command()
