"""The messages of the open protocol: their values, their text, and their rules."""
