"""The stacks of one stage: what must survive (state) and what may be replaced at any time (core)."""
