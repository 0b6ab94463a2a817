"""The commands that `sedano.django` adds to manage.py. They import the command line, so they are on a floor above it."""
