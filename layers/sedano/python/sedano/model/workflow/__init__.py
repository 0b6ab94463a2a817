"""Workflows: their definition, its validation, the rule for the next steps, and their pictures. Pure."""
