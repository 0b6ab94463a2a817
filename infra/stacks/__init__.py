"""The stacks of one stage: durable resources (state) and those that may be replaced at any time (core)."""
