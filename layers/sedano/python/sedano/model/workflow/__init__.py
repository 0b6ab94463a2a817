"""Workflows: their definition, its validation, the rule of the next step, and their drawing. Pure."""
