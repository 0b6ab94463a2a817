"""Workflows: what one is, whether it can run, which step comes next, and how it is drawn. Pure."""
