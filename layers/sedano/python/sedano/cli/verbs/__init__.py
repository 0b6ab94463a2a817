"""The verbs of the command line, one module for each; `sedano.cli.verb_table` lists them.

A module here declares a click command named `command` with its options, and imports nothing but click and `sedano.cli.options` at the top,
so that help is fast. The body of the command imports the module that does the work, from `sedano.cli` or a layer below.
"""
