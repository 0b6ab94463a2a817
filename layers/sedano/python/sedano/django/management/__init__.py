"""The commands that `sedano.django` adds to manage.py. They import the command line, so their layer is above it."""
