"""Spark jobs over the event history: each module here is an entry script of a few lines, the work is in `pipeline`."""
